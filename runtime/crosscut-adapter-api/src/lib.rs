//! What an adapter implements: one driver's devices, contexts, memory, programs and queues.
//!
//! The contract, both ways:
//!
//! - **The runtime checks, adapters trust.** Every length is non-zero, every range lies inside its
//!   allocation, every object handed to a context or queue was made by that same context (memory and
//!   events perhaps by one that was [opened together](Joinable) with it), every image has passed its
//!   checks. An adapter that meets anything else has met a bug of the runtime
//!   and panics; it does not invent an error for it.
//! - **Absence is data.** A missing library or driver is an [`Absence`] with its reason, never a
//!   panic and never an error of a later call.
//! - **Errors keep what the driver said.** [`DriverError`] has the call and the untranslated code.
//! - **Threads may share everything.** Whatever a driver does not allow to be called at the same
//!   time, the adapter serialises.
//! - **A failed call changes nothing** that another object could notice.
//! - Optional abilities are separate traits, reached by an `as_...` method that answers `None`.

mod binaries;
mod error;
mod event;
pub mod exit;
mod feature;
mod info;
mod joinable;
mod latch;
mod library;
mod native;
mod partition;
pub mod turns;
mod variable;
pub mod watch;

use std::any::Any;
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::Arc;

pub use binaries::ProgramBinaries;
pub use error::{Absence, DriverError, DriverErrorKind};
pub use event::{Completed, Event, EventState, EventTimes, Promise, Promised};
pub use feature::{Feature, Features};
pub use info::{Backend, CodeForm, DeviceInfo, DeviceKind, Limits};
pub use joinable::Joinable;
pub use latch::{Latch, promise_dropped};
pub use library::first_library;
pub use native::{NativeEntry, NativeLaunch, NativeOutcome, NativePanic, NativeQueue, Slot};
pub use partition::{Partition, Partitionable};
pub use variable::{Variable, VariableQueue};

/// One driver interface, for example OpenCL.
pub trait Adapter: Send + Sync {
    /// Which interface this is.
    fn backend(&self) -> Backend;

    /// The devices found, in the driver's order.
    ///
    /// # Errors
    /// Says why there is none: library missing, no platform, no device.
    fn devices(&self) -> Result<Vec<Arc<dyn Device>>, Absence>;
}

/// A device as listed, not yet opened.
pub trait Device: Send + Sync {
    /// What the driver says about it.
    fn info(&self) -> &DeviceInfo;

    /// Opens the device. Each context has its own memory, programs and device globals.
    ///
    /// # Errors
    /// The driver's refusal.
    fn create_context(&self) -> Result<Arc<dyn Context>, DriverError>;

    /// Cutting it into sub-devices, where the driver can.
    fn as_partitionable(&self) -> Option<&dyn Partitionable> {
        None
    }

    /// Opening it together with others, where the driver can.
    fn as_joinable(&self) -> Option<&dyn Joinable> {
        None
    }
}

/// So many bytes, and what is missing to whole words of 32 bits: kernels reach an atomic of 8 or 16 bits by the word around
/// it. `None` where no number is as large.
#[must_use]
pub fn whole_words(size: NonZeroUsize) -> Option<usize> {
    size.get().checked_next_multiple_of(4)
}

/// An opened device.
pub trait Context: Send + Sync {
    /// Allocates uninitialised memory, aligned to `align` (a power of two) on the device: of a driver's, in
    /// [whole words](whole_words).
    ///
    /// # Errors
    /// [`DriverErrorKind::OutOfMemory`] where there is not enough; the driver's refusal otherwise.
    fn allocate(
        &self,
        kind: MemoryKind,
        size: NonZeroUsize,
        align: usize,
    ) -> Result<Box<dyn Memory>, DriverError>;

    /// Makes a queue. Queues of one context run side by side.
    ///
    /// # Errors
    /// The driver's refusal.
    fn create_queue(&self, options: &QueueOptions) -> Result<Box<dyn Queue>, DriverError>;

    /// Makes an event that completes when the runtime says so. Commands of any queue of this context
    /// may wait for it.
    ///
    /// A promise that is dropped without being kept has its event fail.
    ///
    /// # Errors
    /// The driver's refusal.
    fn promise(&self) -> Result<Promised, DriverError>;

    /// Builds a program. `code` has one of the forms that [`DeviceInfo::code_forms`] lists.
    ///
    /// # Errors
    /// [`DriverErrorKind::Build`] with the driver's build log in [`DriverError::log`].
    fn build(&self, form: CodeForm, code: &[u8]) -> Result<Box<dyn Program>, DriverError>;

    /// Whether SPIR-V may declare this capability, one that only says something about the module: code
    /// is handed over without those that are not taken.
    fn takes_annotation(&self, capability: u32) -> bool {
        let _ = capability;
        false
    }

    /// Whether the driver's compiler takes the turns of loops in another order unless it is kept from that: the runtime then
    /// hands over code that does so.
    fn reorders_loops(&self) -> bool {
        false
    }

    /// What every offset of an [`Argument::Memory`] is a multiple of, in bytes.
    ///
    /// 1 wherever memory has addresses. A device with memory objects only can hand a part of one to
    /// a kernel only where this much alignment allows it to.
    fn argument_alignment(&self) -> usize {
        1
    }

    /// Whether a feature of the device is missing here: one that the devices opened together with it do
    /// not share.
    fn lacks(&self, feature: Feature) -> bool {
        let _ = feature;
        false
    }

    /// Turning built programs into bytes and back, where the driver can.
    fn as_caching(&self) -> Option<&dyn ProgramBinaries> {
        None
    }
}

/// Where memory lives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MemoryKind {
    /// On the device.
    #[default]
    Device,
    /// Wherever host and device both reach it; [`Memory::host_address`] is set if the driver can.
    HostVisible,
    /// In the host's memory, at one address for host and device. Asked for only where the device has
    /// [`Feature::UsmHost`].
    Host,
    /// Moving between host and device as they use it, at one address for both. Asked for only where
    /// the device has [`Feature::UsmShared`].
    Shared,
}

/// An allocation. Dropping it frees it; the runtime has waited for every command that uses it.
pub trait Memory: Send + Sync {
    /// Its size in bytes, as asked for.
    fn size(&self) -> NonZeroUsize;

    /// Where the host can read and write it directly, if it can.
    fn host_address(&self) -> Option<NonNull<u8>>;

    /// Calls `visit` with the [host's address](Self::host_address), and keeps the memory there until
    /// that has returned, even if the process begins to end meanwhile. False, and no call, where there
    /// is no such address, or the driver may be gone already.
    fn visit_on_host(&self, visit: &mut dyn FnMut(NonNull<u8>)) -> bool {
        self.host_address().map(visit).is_some()
    }

    /// Where the device sees it, if the driver tells: the same for as long as it is allocated.
    fn device_address(&self) -> Option<u64>;

    /// For the adapter to find its own type again.
    fn as_any(&self) -> &dyn Any;
}

/// A built program.
pub trait Program: Send + Sync {
    /// Finds a kernel by its name in the code.
    ///
    /// # Errors
    /// [`DriverErrorKind::Build`] if the program has none of that name.
    fn kernel(&self, name: &str) -> Result<Box<dyn Kernel>, DriverError>;

    /// Finds a variable by the name that the code gives it for the host. `None` if there is none, or
    /// if the driver knows no names of variables.
    fn variable(&self, name: &str) -> Option<Box<dyn Variable>> {
        let _ = name;
        None
    }

    /// For the adapter to find its own type again.
    fn as_any(&self) -> &dyn Any;
}

/// A kernel of a built program. It keeps its program alive.
pub trait Kernel: Send + Sync {
    /// What it asks of the work-groups it runs in, beyond what its device does.
    fn groups(&self) -> KernelGroups {
        KernelGroups::default()
    }

    /// For the adapter to find its own type again.
    fn as_any(&self) -> &dyn Any;
}

/// The work-groups that a kernel can run in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct KernelGroups {
    /// The most items of a group, where those are fewer than its device takes: kernels share registers.
    pub largest: Option<NonZeroUsize>,
    /// The one shape it was compiled for, the fastest dimension first.
    pub required: Option<[usize; 3]>,
}

/// How commands of one queue may overlap.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum QueueOrder {
    /// Each command starts when the one before it has completed.
    #[default]
    InOrder,
    /// Commands start as soon as the events they wait for have completed.
    OutOfOrder,
}

/// What a queue is asked to be.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QueueOptions {
    /// How its commands may overlap.
    pub order: QueueOrder,
    /// Whether its events tell [when they ran](Event::times).
    pub profiling: bool,
}

/// The index space of a launch: 1 to 3 extents, the last one fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Extent {
    /// How many of `size` count: 1, 2 or 3.
    pub dimensions: u8,
    /// Items per dimension; all non-zero, 1 beyond `dimensions`.
    pub size: [usize; 3],
    /// The items of a work-group per dimension: each divides its `size`, all are 1 beyond
    /// `dimensions`. `None` leaves groups to the driver: the kernel does not ask about them.
    pub group: Option<[usize; 3]>,
}

impl Extent {
    /// The work-groups per dimension; the items themselves where groups are the driver's.
    #[must_use]
    pub fn groups(&self) -> [usize; 3] {
        match self.group {
            Some(group) => std::array::from_fn(|at| self.size[at] / group[at]),
            None => self.size,
        }
    }
}

/// One argument of a kernel, in the order of its parameters.
#[derive(Clone, Copy)]
pub enum Argument<'a> {
    /// Plain bytes, as many as the parameter has: 4 or 8 for kernels of images.
    Value(&'a [u8]),
    /// The address of `memory` plus `offset` bytes; `offset` is less than its size and a multiple
    /// of [`Context::argument_alignment`].
    Memory {
        /// The allocation.
        memory: &'a dyn Memory,
        /// Where in it the argument points.
        offset: usize,
    },
    /// The address of so many bytes of the work-group's own memory, aligned for any element.
    Local(NonZeroUsize),
}

/// A byte of an allocation, where a copy begins.
#[derive(Clone, Copy)]
pub struct Location<'a> {
    /// The allocation.
    pub memory: &'a dyn Memory,
    /// The byte's number in it.
    pub offset: usize,
}

/// A sequence of commands on one device.
///
/// Every command starts once all events in `after` have completed (and, in order, the command
/// before it). A returned event completes when the command has. Commands are on their way to the
/// device when the method returns: no flush is needed for them to complete.
pub trait Queue: Send + Sync {
    /// Runs `kernel` once for every index of `extent`.
    ///
    /// # Safety
    /// `arguments` fit the kernel's parameters in number and size, and every allocation among them,
    /// and every one whose address those hold, lives until the event completes.
    ///
    /// # Errors
    /// The driver's refusal; the command then does not run.
    unsafe fn launch(
        &self,
        kernel: &dyn Kernel,
        extent: Extent,
        arguments: &[Argument<'_>],
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError>;

    /// Copies `size` bytes from host memory to `target` at `offset`.
    ///
    /// # Safety
    /// `source` is readable for `size` bytes and unchanged, and `target` lives, until the event
    /// completes.
    ///
    /// # Errors
    /// The driver's refusal; the command then does not run.
    unsafe fn write(
        &self,
        target: &dyn Memory,
        offset: usize,
        source: *const u8,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError>;

    /// Copies `size` bytes of `source` at `offset` to host memory.
    ///
    /// # Safety
    /// `target` is writable for `size` bytes and touched by nobody else, and `source` lives, until
    /// the event completes.
    ///
    /// # Errors
    /// The driver's refusal; the command then does not run.
    unsafe fn read(
        &self,
        source: &dyn Memory,
        offset: usize,
        target: *mut u8,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError>;

    /// Fills `size` bytes of `target` at `offset` with `pattern`, over and over.
    ///
    /// The pattern has 1, 2, 4, 8, 16, 32, 64 or 128 bytes, of which `offset` and `size` are
    /// multiples, and it is the adapter's only until this returns.
    ///
    /// # Safety
    /// `target` lives until the event completes, and is aligned to the pattern's length.
    ///
    /// # Errors
    /// The driver's refusal; the command then does not run.
    unsafe fn fill(
        &self,
        target: &dyn Memory,
        offset: usize,
        pattern: &[u8],
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError>;

    /// Copies `size` bytes from one place in the context's memory to another. Both may be of one
    /// allocation; they do not overlap.
    ///
    /// # Safety
    /// Both allocations live until the event completes.
    ///
    /// # Errors
    /// The driver's refusal; the command then does not run.
    unsafe fn copy(
        &self,
        target: Location<'_>,
        source: Location<'_>,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError>;

    /// A command that does nothing but wait: for the events in `after`, or, if there are none, for
    /// every command submitted to this queue so far. Commands submitted to this queue later start
    /// only when it has completed; where an event in `after` fails, whether they do is open.
    ///
    /// # Errors
    /// The driver's refusal.
    fn barrier(&self, after: &[&dyn Event]) -> Result<Box<dyn Event>, DriverError>;

    /// Blocks until every command submitted so far has completed.
    ///
    /// # Errors
    /// The driver's word that a command failed.
    fn wait(&self) -> Result<(), DriverError>;

    /// Copies from and to variables of programs, where the driver can.
    fn as_variables(&self) -> Option<&dyn VariableQueue> {
        None
    }

    /// Launching native code, on the device that runs it.
    fn as_native(&self) -> Option<&dyn NativeQueue> {
        None
    }
}
