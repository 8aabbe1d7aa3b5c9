//! How queues out of order end.
//!
//! Intel's CPU runtime (2026.22) hangs if the last one to let go of a queue out of order is one of the
//! queue's own commands: it does so on a thread of the driver's, which then waits for the task that it
//! is in the middle of. A command lets go a moment after its event has completed, when the program may
//! have released the queue already. So such a queue is kept until everything on it has completed and a
//! while has passed, and released by whoever gives up or makes the next one.
//!
//! The same runtime aborts now and then, in a call of a pure virtual function, if the process ends while such
//! a queue has commands: always if one waits for a host task, and in one of twenty runs with a plain kernel.
//! It does not if the queue has been released by then. So a process that ends releases those of CPUs, and does not
//! mind a thread of the driver's that hangs. Drivers of other devices may wait there for what has been submitted:
//! their queues are left to them.

use std::sync::{Arc, Mutex, Once, PoisonError};
use std::time::{Duration, Instant};

use crosscut_adapter_api::{DeviceKind, DriverError, Event};

use crate::context::ContextHandle;
use crate::exit;
use crate::sys::{Api, Handle};

/// By then the driver's threads have long left what they were in the middle of.
const REST: Duration = Duration::from_millis(500);

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
    drop(releasable);
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
    /// Stays for as long as its queue does.
    _context: Arc<ContextHandle>,
    queue: Handle,
    /// Completes after everything else on the queue.
    last: Box<dyn Event>,
    /// When it was first seen to have.
    complete: Option<Instant>,
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
    let resting = Resting { _context: Arc::clone(context), queue, last, complete: None };
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
