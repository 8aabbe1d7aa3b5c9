//! The one error type, for every layer above the adapters.

use std::fmt;

use crosscut_adapter_api::{DriverError, DriverErrorKind};

use crate::panic::KernelPanic;

/// What went wrong, and what to do about it.
///
/// ```
/// use crosscut::ErrorKind;
/// use crosscut::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut x = queue.zeroed::<u32>(3)?;
/// let error = queue.upload_into(&mut x, &[1, 2]).expect_err("two are not three");
/// assert_eq!(error.kind(), ErrorKind::Invalid);
/// assert_eq!(error.message(), "2 elements were to be copied to 3");
/// assert!(error.help().is_some());
/// assert_eq!((error.driver_call(), error.driver_code()), (None, None)); // no driver was asked
/// # Ok::<(), crosscut::Error>(())
/// ```
#[derive(Clone)]
pub struct Error(Box<Inner>);

#[derive(Clone)]
struct Inner {
    kind: ErrorKind,
    message: String,
    driver: Option<DriverError>,
    help: Option<String>,
    panic: Option<KernelPanic>,
    may_run: bool,
}

/// What a caller can do about an [`Error`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The call makes no sense as it is: lengths that differ, a device of another context.
    Invalid,
    /// There is no such device.
    NoDevice,
    /// The device has not enough memory.
    OutOfMemory,
    /// A device image or its build by the driver failed.
    Build,
    /// A kernel panicked.
    Panic,
    /// The device cannot run this kernel.
    KernelNotSupported,
    /// The device has not what is asked for: a kind of memory, for one.
    FeatureNotSupported,
    /// The device is gone or a command on it failed.
    DeviceLost,
    /// The driver refused a call for another reason.
    Driver,
}

impl Error {
    /// An error of `kind`; `message` is lower case, without a full stop.
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner {
            kind,
            message: message.into(),
            driver: None,
            help: None,
            panic: None,
            may_run: false,
        }))
    }

    /// An [`ErrorKind::Invalid`] error.
    #[doc(hidden)]
    #[must_use]
    pub fn invalid(message: impl Into<String>, help: impl Into<String>) -> Self {
        Self::new(ErrorKind::Invalid, message).with_help(help)
    }

    /// Adds what to do.
    pub(crate) fn with_help(mut self, help: impl Into<String>) -> Self {
        self.0.help = Some(help.into());
        self
    }

    /// Notes whether a copy may go on that this tells of, beside what was known before.
    pub(crate) fn with_may_run(mut self, may_run: bool) -> Self {
        self.0.may_run |= may_run;
        if may_run {
            let help = "end the process if memory of your own was lent to this call: the driver may still use it";
            self = self.with_help(help);
        }
        self
    }

    /// Whether nobody can tell that the driver has let go of the host's memory that the call had: it must stay
    /// for ever.
    #[doc(hidden)]
    #[must_use]
    pub fn may_run(&self) -> bool {
        self.0.may_run
    }

    /// A driver's refusal while doing `what`.
    pub(crate) fn driver(what: impl Into<String>, error: DriverError) -> Self {
        let (kind, help) = match error.kind {
            DriverErrorKind::OutOfMemory => {
                (ErrorKind::OutOfMemory, "use less memory, or drop buffers that are done with")
            }
            DriverErrorKind::Build => (
                ErrorKind::Build,
                "the driver's words are above; `CROSSCUT_DEVICE=host` runs without it",
            ),
            DriverErrorKind::DeviceLost => {
                (ErrorKind::DeviceLost, "make a new queue, or choose another device")
            }
            _ => (ErrorKind::Driver, "choose another device by CROSSCUT_DEVICE if it persists"),
        };
        let mut made = Self::new(kind, what).with_help(help);
        made.0.driver = Some(error);
        made
    }

    pub(crate) fn panic(panic: KernelPanic) -> Self {
        let mut made = Self::new(ErrorKind::Panic, panic.to_string());
        made.0.panic = Some(panic);
        made
    }

    /// What a caller can do about it.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What went wrong, in one line.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// A way out, where there is one.
    #[must_use]
    pub fn help(&self) -> Option<&str> {
        self.0.help.as_deref()
    }

    /// The driver function that refused, as the vendor spells it.
    #[must_use]
    pub fn driver_call(&self) -> Option<&'static str> {
        self.0.driver.as_ref().map(|driver| driver.call)
    }

    /// What that function returned, untranslated.
    #[must_use]
    pub fn driver_code(&self) -> Option<i32> {
        self.0.driver.as_ref().map(|driver| driver.code)
    }

    /// The panic, if this is one.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let x = queue.zeroed::<u32>(3)?;
    /// let error = queue
    ///     .parallel_for(4, &x, |i, x| assert_eq!(x[i], 0))?
    ///     .wait()
    ///     .expect_err("the fourth item reads beyond the end");
    /// let panic = error.kernel_panic().expect("it is a panic");
    /// assert_eq!((panic.item.as_slice(), panic.linear_item), (&[3][..], 3));
    /// assert!(panic.line > 0 && panic.message.contains("out of bounds"));
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    #[must_use]
    pub fn kernel_panic(&self) -> Option<&KernelPanic> {
        self.0.panic.as_ref()
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)?;
        if let Some(driver) = &self.0.driver {
            write!(f, ": {driver}")?;
        }
        if let Some(help) = &self.0.help {
            write!(f, "\n  help: {help}")?;
        }
        Ok(())
    }
}

/// The same as `Display`: this is what a `main` that returns an error prints.
impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for Error {}
