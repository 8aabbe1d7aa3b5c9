//! How queues out of order end.
//!
//! Intel's CPU runtime (2026.22) hangs if the last one to let go of a queue out of order is one of the
//! queue's own commands: it does so on a thread of the driver's, which then waits for the task that it
//! is in the middle of. A command lets go a moment after its event has completed, when the program may
//! have released the queue already. So such a queue is kept until everything on it has completed and a
//! while has passed, and released by whoever gives up or makes the next one.
//!
//! The same runtime crashes if a command of such a queue ends while the process does: the thread that ran the
//! command finds objects torn down (queues in order it waits for). And it crashes if a command waits there for a host
//! task, unless the queue has been released by then. So a process that ends waits for what queues of CPUs were given,
//! though not for long, and releases them; a thread of the driver's that hangs does not matter then. Drivers of other
//! devices may wait there for what has been submitted: their queues are left to them.

use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use crosscut_adapter_api::{DeviceKind, DriverError, Event};

use crate::context::ContextHandle;
use crate::event::ask_status;
use crate::exit;
use crate::sys::{self, Api, Handle};

/// By then the driver's threads have long left what they were in the middle of.
const REST: Duration = Duration::from_millis(500);

/// How long commands may hold up the end of the process. Those that run longer end while the driver is torn down by
/// a rare chance only, those that wait for a host task do not end.
const PATIENCE: Duration = Duration::from_secs(2);

/// A queue out of order that has not been released.
struct Held {
    api: &'static Api,
    queue: Handle,
    /// Whether that is to be done when the process ends, too.
    also_at_exit: bool,
}

// SAFETY: the raw pointer is a `cl_command_queue`, and OpenCL 3.0, appendix A.2, says: "All OpenCL
// API calls are thread-safe except those that modify the state of cl_kernel objects".
unsafe impl Send for Held {}

/// Whoever takes a queue off this list is the one to release it. Nothing is called while it is locked.
static HELD: Mutex<Vec<Held>> = Mutex::new(Vec::new());

/// Holds a queue that was just made, until it is released.
pub(crate) fn hold(context: &ContextHandle, queue: Handle) {
    static FIRST: Once = Once::new();
    let also_at_exit = context.info.kind == DeviceKind::Cpu;
    let held = Held { api: context.api, queue, also_at_exit };
    HELD.lock().unwrap_or_else(PoisonError::into_inner).push(held);
    FIRST.call_once(|| exit::before_the_driver(release_all));
}

/// Releases a queue that is held, unless that is done already.
fn release(queue: Handle) {
    let mut held = HELD.lock().unwrap_or_else(PoisonError::into_inner);
    let place = held.iter().position(|held| held.queue == queue);
    let taken = place.map(|place| held.swap_remove(place));
    drop(held);
    drop(taken);
}

/// Releases what is to be released when the process ends.
fn release_all() {
    let held = HELD.try_lock().map_or_else(|_| Vec::new(), |mut held| std::mem::take(&mut *held));
    let (releasable, left): (Vec<_>, Vec<_>) = held.into_iter().partition(|held| held.also_at_exit);
    std::mem::forget(left);
    wait_for(&releasable);
    drop(releasable);
}

/// Waits until what the queues were given has ended, for as long as patience lasts.
fn wait_for(queues: &[Held]) {
    let started = Instant::now();
    let mut last: Vec<Last> = queues.iter().filter_map(Held::last).collect();
    loop {
        last.retain(|last| !last.is_over());
        if last.is_empty() || started.elapsed() > PATIENCE {
            return;
        }
        std::thread::sleep(Duration::from_micros(100));
    }
}

/// An event that completes after everything that its queue was given. The process is ending: a `ClEvent` would
/// refuse to ask the driver.
struct Last {
    api: &'static Api,
    event: Handle,
}

impl Held {
    /// `None` if the driver refuses.
    fn last(&self) -> Option<Last> {
        let (api, mut event) = (self.api, std::ptr::null_mut());
        // SAFETY: the queue is alive, as whoever has this is the one to release it; an empty list waits for
        // everything.
        let code = unsafe {
            (api.clEnqueueBarrierWithWaitList)(self.queue, 0, std::ptr::null(), &raw mut event)
        };
        // SAFETY: as above.
        unsafe { (api.clFlush)(self.queue) };
        (code == sys::CL_SUCCESS).then_some(Last { api, event })
    }
}

impl Last {
    /// Whether it has completed, or nobody can tell.
    fn is_over(&self) -> bool {
        // SAFETY: the event is alive, and so is the driver: only `release_all` asks, which is called before it is torn
        // down.
        !matches!(unsafe { ask_status(self.api, self.event) }, Ok(1..))
    }
}

impl Drop for Last {
    fn drop(&mut self) {
        // SAFETY: this is the one reference that enqueueing gave.
        unsafe { (self.api.clReleaseEvent)(self.event) };
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        // SAFETY: this is the one reference that creating the queue gave; the driver is there, as whoever
        // releases one has asked and whoever releases all is told.
        unsafe { (self.api.clReleaseCommandQueue)(self.queue) };
    }
}

/// A queue that its owner has given up.
struct Resting {
    queue: Handle,
    /// Completes after everything else on the queue.
    last: Box<dyn Event>,
    /// When it was first seen to have.
    complete: Option<Instant>,
    /// Stays for as long as queue and event do: it is dropped last.
    _context: Arc<ContextHandle>,
}

// SAFETY: the raw pointer is a `cl_command_queue`, and OpenCL 3.0, appendix A.2, says: "All OpenCL
// API calls are thread-safe except those that modify the state of cl_kernel objects".
unsafe impl Send for Resting {}

static RESTING: Mutex<Vec<Resting>> = Mutex::new(Vec::new());

/// Releases a queue that is held once that can be done: `last` is the last of its commands, or the reason why
/// there is none.
pub(crate) fn give_up(
    context: &Arc<ContextHandle>,
    queue: Handle,
    last: Result<Box<dyn Event>, DriverError>,
) {
    let Ok(last) = last else {
        if let Some(_alive) = exit::driver() {
            release(queue);
        }
        return;
    };
    let resting = Resting { queue, last, complete: None, _context: Arc::clone(context) };
    RESTING.lock().unwrap_or_else(PoisonError::into_inner).push(resting);
    release_rested();
}

/// Releases the queues that have rested.
pub(crate) fn release_rested() {
    let mut resting = RESTING.lock().unwrap_or_else(PoisonError::into_inner);
    let rested: Vec<Resting> = resting.extract_if(.., |queue| queue.has_rested()).collect();
    drop(resting);
    // Out of the lock: releasing the last of a context may release much else.
    drop(rested);
}

impl Resting {
    fn has_rested(&mut self) -> bool {
        // A command that failed is over too.
        if self.complete.is_none() && !matches!(self.last.is_complete(), Ok(false)) {
            self.complete = Some(Instant::now());
        }
        self.complete.is_some_and(|since| since.elapsed() >= REST)
    }
}

impl Drop for Resting {
    fn drop(&mut self) {
        if let Some(_alive) = exit::driver() {
            release(self.queue);
        }
    }
}
