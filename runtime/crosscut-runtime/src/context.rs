//! Contexts: devices opened, with memory of their own, and for each its globals and built programs.

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

/// A device opened, or several together: they use the same memory, and each has its own device globals.
///
/// A queue that is made in it is on one of them, its [`device`](Self::device); [`on`](Self::on) gives
/// the same context with another one there. Copies are the same context, whichever device that is.
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
pub struct Context {
    space: Arc<Space>,
    /// Which of the members this one stands for.
    index: usize,
}

/// What the devices of a context share: commands of all of them are in one order.
pub(crate) struct Space {
    // Before `devices`: what was made of a device goes first.
    members: Box<[Member]>,
    pub(crate) escaped: Escaped,
    pub(crate) usm: Allocations,
    /// A number that no other context ever has.
    pub(crate) number: u64,
    /// Held from looking up whom a command waits for until it is noted where others look.
    pub(crate) submit: Mutex<()>,
    default: bool,
    native: bool,
    /// One for each member.
    devices: Box<[Device]>,
}

/// What each device of a context has for itself.
pub(crate) struct Member {
    // Before `adapter`: memory is given back while the context is still there.
    pub(crate) globals: Globals,
    pub(crate) kernels: Kernels,
    pub(crate) records: Records,
    pub(crate) areas: Areas,
    /// By alignment, see [`Context::spare`].
    spares: [OnceLock<Arc<Allocation>>; SPARES],
    native_lock: RwLock<()>,
    pub(crate) adapter: Arc<dyn adapter::Context>,
}

impl Member {
    fn new(adapter: Arc<dyn adapter::Context>) -> Self {
        Self {
            globals: Globals::default(),
            kernels: Kernels::default(),
            records: Records::default(),
            areas: Areas::default(),
            spares: Default::default(),
            native_lock: RwLock::new(()),
            adapter,
        }
    }
}

/// Alignments up to this one share their spare memory.
const LEAST_SPARE_ALIGNMENT: usize = 64;
/// No type of Rust has a larger one.
const LARGEST_ALIGNMENT: usize = 1 << 29;
const SPARES: usize = (LARGEST_ALIGNMENT / LEAST_SPARE_ALIGNMENT).ilog2() as usize + 1;

/// The lock of every native default context: their globals are the statics themselves, of which
/// there is one set in the process.
static STATICS_LOCK: RwLock<()> = RwLock::new(());

impl Context {
    /// Opens a device, for whoever asked.
    pub(crate) fn create(device: &Device) -> Result<Self, Error> {
        let opened = open(device)?;
        Ok(Self::over(vec![opened], false, |_| Box::new([device.clone()])))
    }

    /// Opens a device for the device itself to keep; `statics` says whether globals are the program's
    /// own statics here.
    pub(crate) fn create_default(device: &Device, statics: bool) -> Result<Self, Error> {
        let opened = open(device)?;
        Ok(Self::over(vec![opened], statics, |space| Box::new([device.as_known_to(space)])))
    }

    /// A context over devices that have been opened, each by the one in its place.
    pub(crate) fn over(
        opened: Vec<Arc<dyn adapter::Context>>,
        default: bool,
        devices: impl FnOnce(&Weak<Space>) -> Box<[Device]>,
    ) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let space = Arc::new_cyclic(|space| {
            let devices = devices(space);
            let wrapped = opened.into_iter().zip(&devices).map(|(opened, device)| {
                log::debug!("opened {} {}", device.selector(), device.name());
                Member::new(trace::wrap(opened, device))
            });
            Space {
                members: wrapped.collect(),
                escaped: Escaped::default(),
                usm: Allocations::default(),
                number: NEXT.fetch_add(1, Ordering::Relaxed),
                submit: Mutex::new(()),
                default,
                native: devices.iter().all(Device::is_native),
                devices,
            }
        });
        Self { space, index: 0 }
    }

    /// The device that a queue made in it is on.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.space.devices[self.index]
    }

    /// All of its devices, in the order in which it was asked for them.
    ///
    /// ```
    /// let device = crosscut::default_device()?;
    /// assert_eq!(device.create_context()?.devices(), [device.clone()]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    #[must_use]
    pub fn devices(&self) -> &[Device] {
        &self.space.devices
    }

    /// Which of its devices [`device`](Self::device) is.
    pub(crate) fn index(&self) -> usize {
        self.index
    }

    /// This context once for each of its devices.
    pub(crate) fn on_each(&self) -> impl Iterator<Item = Self> + '_ {
        (0..self.space.members.len()).map(|index| self.at(index))
    }

    /// This context with the device of this number.
    pub(crate) fn at(&self, index: usize) -> Self {
        Self { space: Arc::clone(&self.space), index }
    }

    /// The context, if it is still there.
    pub(crate) fn upgrade(space: &Weak<Space>) -> Option<Self> {
        space.upgrade().map(|space| Self { space, index: 0 })
    }

    /// What the device has for itself here.
    pub(crate) fn inner(&self) -> &Member {
        &self.space.members[self.index]
    }

    /// What it shares with the others.
    pub(crate) fn space(&self) -> &Space {
        &self.space
    }

    /// Refuses what belongs to another context.
    pub(crate) fn owns(&self, other: &Self, what: &str) -> Result<(), Error> {
        if self == other {
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
        self.space.native
    }

    /// Whether a global's instance here is the static itself.
    pub(crate) fn uses_statics(&self) -> bool {
        self.space.native && self.space.default
    }

    /// Native code uses globals nobody told of: kernels hold this for reading, whoever writes a
    /// plain global holds it for writing.
    pub(crate) fn native_lock(&self) -> &RwLock<()> {
        if self.uses_statics() { &STATICS_LOCK } else { &self.inner().native_lock }
    }

    /// Memory to point at where an argument whose elements are aligned to `align`, a power of two, is
    /// empty, because no argument is ever null.
    pub(crate) fn spare(&self, align: usize) -> Result<&Allocation, Error> {
        let align = align.clamp(LEAST_SPARE_ALIGNMENT, LARGEST_ALIGNMENT);
        let place = &self.inner().spares[(align / LEAST_SPARE_ALIGNMENT).ilog2() as usize];
        if let Some(spare) = place.get() {
            return Ok(spare);
        }
        const SIZE: NonZeroUsize = NonZeroUsize::new(LEAST_SPARE_ALIGNMENT).unwrap();
        let spare = allocate(self, MemoryKind::Device, SIZE, align)?;
        Ok(place.get_or_init(|| spare))
    }
}

fn open(device: &Device) -> Result<Arc<dyn adapter::Context>, Error> {
    device.adapter().create_context().map_err(|error| {
        Error::driver(format!("opening `{}` ({})", device.name(), device.backend()), error)
    })
}

impl Drop for Space {
    fn drop(&mut self) {
        if self.native {
            self.members.iter().for_each(|member| member.globals.retire());
        }
    }
}

/// Whether they are the same context, whichever device each is on.
impl PartialEq for Context {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.space, &other.space)
    }
}

impl Eq for Context {}

impl fmt::Debug for Context {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("Context");
        shown.field("device", self.device());
        if self.devices().len() > 1 {
            shown.field("devices", &self.devices());
        }
        shown.finish_non_exhaustive()
    }
}
