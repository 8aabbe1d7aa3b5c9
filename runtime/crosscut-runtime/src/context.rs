//! Contexts: a device opened, with its own memory, globals and built programs.

use std::fmt;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock, RwLock, Weak};

use crosscut_adapter_api::{self as adapter, MemoryKind};

use crate::device::Device;
use crate::escaped::Escaped;
use crate::global::Globals;
use crate::lines::Areas;
use crate::memory::{Allocation, allocate};
use crate::program::Kernels;
use crate::record::Records;
use crate::sync::Mutex;
use crate::usm::Allocations;
use crate::{Error, ErrorKind, trace};

/// A device opened. Copies are the same context.
///
/// ```
/// use crosscut::prelude::*;
///
/// let context = crosscut::default_device()?.create_context()?;
/// let (one, other) = (Queue::in_context(&context)?, Queue::in_context(&context)?);
/// let mut x = one.zeroed::<u32>(4)?; // memory belongs to the context: both queues may use it
/// other.for_each(&mut x, (), |i, x, ()| *x = i as u32)?;
/// assert_eq!(one.download(&x)?, [0, 1, 2, 3]);
/// assert_eq!(context.device(), one.device());
/// # Ok::<(), crosscut::Error>(())
/// ```
#[derive(Clone)]
pub struct Context(Arc<Inner>);

pub(crate) struct Inner {
    // Before `adapter`: memory is given back while the context is still there.
    pub(crate) globals: Globals,
    pub(crate) escaped: Escaped,
    pub(crate) kernels: Kernels,
    pub(crate) records: Records,
    pub(crate) areas: Areas,
    spare: OnceLock<Arc<Allocation>>,
    pub(crate) usm: Allocations,
    /// A number that no other context ever has.
    pub(crate) number: u64,
    /// Held from looking up whom a command waits for until it is noted where others look.
    pub(crate) submit: Mutex<()>,
    native_lock: RwLock<()>,
    default: bool,
    native: bool,
    pub(crate) adapter: Arc<dyn adapter::Context>,
    device: Device,
}

/// The lock of every native default context: their globals are the statics themselves, of which
/// there is one set in the process.
static STATICS_LOCK: RwLock<()> = RwLock::new(());

impl Context {
    /// Opens a device, for whoever asked.
    pub(crate) fn create(device: &Device) -> Result<Self, Error> {
        Self::open(device, false, |_| device.clone())
    }

    /// Opens a device for the device itself to keep; `statics` says whether globals are the program's
    /// own statics here.
    pub(crate) fn create_default(device: &Device, statics: bool) -> Result<Self, Error> {
        Self::open(device, statics, |context| device.as_known_to(context))
    }

    fn open(
        device: &Device,
        default: bool,
        known: impl FnOnce(&Weak<Inner>) -> Device,
    ) -> Result<Self, Error> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let adapter = device.adapter().create_context().map_err(|error| {
            Error::driver(format!("opening `{}` ({})", device.info().name, device.backend()), error)
        })?;
        log::debug!("opened {} {}", device.selector(), device.name());
        Ok(Self(Arc::new_cyclic(|context| Inner {
            globals: Globals::default(),
            escaped: Escaped::default(),
            kernels: Kernels::default(),
            records: Records::default(),
            areas: Areas::default(),
            spare: OnceLock::new(),
            usm: Allocations::default(),
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            submit: Mutex::new(()),
            native_lock: RwLock::new(()),
            default,
            native: device.is_native(),
            adapter: trace::wrap(adapter, device),
            device: known(context),
        })))
    }

    /// The device it opened.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// The context, if it is still there.
    pub(crate) fn upgrade(context: &Weak<Inner>) -> Option<Self> {
        context.upgrade().map(Self)
    }

    pub(crate) fn inner(&self) -> &Inner {
        &self.0
    }

    /// Refuses what belongs to another context.
    pub(crate) fn owns(&self, other: &Self, what: &str) -> Result<(), Error> {
        if Arc::ptr_eq(&self.0, &other.0) {
            return Ok(());
        }
        let [ours, theirs] = [self, other]
            .map(|context| format!("{} {}", context.device().selector(), context.device().name()));
        Err(Error::new(
            ErrorKind::Invalid,
            format!(
                "{what} belongs to another context (on `{theirs}`) than the queue (on `{ours}`)"
            ),
        )
        .with_help(
            "use it with a queue of the context it was made in, or bring it over with `queue.copy`",
        ))
    }

    /// Whether kernels run as native code.
    pub(crate) fn is_native(&self) -> bool {
        self.0.native
    }

    /// Whether a global's instance here is the static itself.
    pub(crate) fn uses_statics(&self) -> bool {
        self.0.native && self.0.default
    }

    /// Native code uses globals nobody told of: kernels hold this for reading, whoever writes a
    /// plain global holds it for writing.
    pub(crate) fn native_lock(&self) -> &RwLock<()> {
        if self.uses_statics() { &STATICS_LOCK } else { &self.0.native_lock }
    }

    /// Memory to point at where an argument is empty, because no argument is ever null.
    pub(crate) fn spare(&self) -> Result<&Allocation, Error> {
        if let Some(spare) = self.0.spare.get() {
            return Ok(spare);
        }
        // 64 bytes are aligned for everything a kernel may think it points at.
        const SIZE: NonZeroUsize = NonZeroUsize::new(64).unwrap();
        let spare = allocate(self, MemoryKind::Device, SIZE, SIZE.get())?;
        Ok(self.0.spare.get_or_init(|| spare))
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        if self.native {
            self.globals.retire();
        }
    }
}

impl PartialEq for Context {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Context {}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Context").field("device", &self.0.device).finish_non_exhaustive()
    }
}
