//! A queue: runs each command at once.

use std::num::NonZeroUsize;
use std::sync::Arc;

use crosscut_adapter_api::{
    Argument, DriverError, Event, EventTimes, Extent, Kernel, Location, Memory, NativeEntry,
    NativeLaunch, NativeOutcome, NativeQueue, Queue, QueueOptions,
};

use crate::event::{Done, DoneAt, LaterEvent, now};
use crate::fill;
use crate::gate::Gate;
use crate::pool;
use crate::workers::Workers;

pub(crate) struct HostQueue {
    workers: Arc<Workers>,
    profiling: bool,
    gate: Gate,
}

/// When a command was submitted and when it started, on a queue with profiling.
struct Timing(Option<(u64, u64)>);

impl HostQueue {
    pub(crate) fn new(options: &QueueOptions, workers: &Arc<Workers>) -> Self {
        let workers = Arc::clone(workers);
        Self { workers, profiling: options.profiling, gate: Gate::default() }
    }

    /// Waits for what a command must wait for.
    #[inline]
    fn begin(&self, after: &[&dyn Event]) -> Result<Timing, DriverError> {
        let submitted = self.profiling.then(now);
        // A barrier that failed is told by its own event.
        let _ = self.gate.pass();
        Timing::start(submitted, after)
    }
}

impl Timing {
    /// Waits for the events, and starts.
    #[inline]
    fn start(submitted: Option<u64>, after: &[&dyn Event]) -> Result<Self, DriverError> {
        wait_all(after)?;
        Ok(Self(submitted.map(|submitted| (submitted, now()))))
    }

    /// The event of a command that has just run.
    fn done(self) -> Box<dyn Event> {
        match self.0 {
            None => Box::new(Done),
            Some((submitted, started)) => {
                Box::new(DoneAt(EventTimes { submitted, started, ended: now() }))
            }
        }
    }
}

/// Most are complete from the start; the others are those of promises.
fn wait_all(after: &[&dyn Event]) -> Result<(), DriverError> {
    after.iter().try_for_each(|event| event.wait())
}

fn address(memory: &dyn Memory, offset: usize) -> *mut u8 {
    let Some(base) = memory.host_address() else {
        unreachable!("memory of another adapter was given to the host CPU")
    };
    // The runtime keeps offsets inside the allocation; wrapping arithmetic needs no promise here.
    base.as_ptr().wrapping_add(offset)
}

impl Queue for HostQueue {
    unsafe fn launch(
        &self,
        _kernel: &dyn Kernel,
        _extent: Extent,
        _arguments: &[Argument<'_>],
        _after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        unreachable!("the host CPU has no built programs to launch from")
    }

    unsafe fn write(
        &self,
        target: &dyn Memory,
        offset: usize,
        source: *const u8,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        let timing = self.begin(after)?;
        // SAFETY: the caller promises a readable source and a live target, and that the range lies
        // inside the target; host memory never overlaps an allocation of ours. (`copy` would allow
        // even that.)
        unsafe { source.copy_to(address(target, offset), size.get()) };
        Ok(timing.done())
    }

    unsafe fn read(
        &self,
        source: &dyn Memory,
        offset: usize,
        target: *mut u8,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        let timing = self.begin(after)?;
        // SAFETY: the caller promises a writable target and a live source, and that the range lies
        // inside the source.
        unsafe { target.copy_from(address(source, offset), size.get()) };
        Ok(timing.done())
    }

    unsafe fn fill(
        &self,
        target: &dyn Memory,
        offset: usize,
        pattern: &[u8],
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        let timing = self.begin(after)?;
        // SAFETY: the caller promises a live target and that the range lies inside it.
        unsafe { fill::repeat(address(target, offset), pattern, size.get()) };
        Ok(timing.done())
    }

    unsafe fn copy(
        &self,
        target: Location<'_>,
        source: Location<'_>,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        let timing = self.begin(after)?;
        let target = address(target.memory, target.offset);
        // SAFETY: the caller promises that both live, and that both ranges lie inside them.
        unsafe { target.copy_from(address(source.memory, source.offset), size.get()) };
        Ok(timing.done())
    }

    fn barrier(&self, after: &[&dyn Event]) -> Result<Box<dyn Event>, DriverError> {
        let submitted = self.profiling.then(now);
        Ok(match self.gate.close(after, submitted) {
            Some(later) => Box::new(LaterEvent(later)),
            None => Timing(submitted.map(|submitted| (submitted, now()))).done(),
        })
    }

    fn wait(&self) -> Result<(), DriverError> {
        self.gate.pass()
    }

    fn as_native(&self) -> Option<&dyn NativeQueue> {
        Some(self)
    }
}

impl NativeQueue for HostQueue {
    unsafe fn launch_native(
        &self,
        entry: NativeEntry,
        launch: &NativeLaunch<'_>,
        after: &[&dyn Event],
    ) -> Result<NativeOutcome, DriverError> {
        // The runtime has waited for the queue's turn. It would be too late here, where it holds the
        // globals: what the queue waits for may need them.
        let timing = Timing::start(self.profiling.then(now), after)?;
        // SAFETY: the caller's promise is passed on unchanged.
        let outcome = unsafe { pool::run(&self.workers, entry, launch) };
        Ok((timing.done(), outcome))
    }
}
