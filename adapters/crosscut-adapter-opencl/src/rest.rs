//! Queues that are let rest before they are released.
//!
//! Intel's CPU runtime (2026.22) hangs if the last one to let go of a queue out of order is one of the
//! queue's own commands: it does so on a thread of the driver's, which then waits for the task that it
//! is in the middle of. A command lets go a moment after its event has completed, when the program may
//! have released the queue already. So such a queue is kept until everything on it has completed and a
//! while has passed, and released by whoever gives up or makes the next one. A process that ends
//! releases none: see `exit`.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crosscut_adapter_api::Event;

use crate::context::ContextHandle;
use crate::exit;
use crate::sys::Handle;

/// By then the driver's threads have long left what they were in the middle of.
const REST: Duration = Duration::from_millis(500);

/// A queue that its owner has given up.
struct Resting {
    context: Arc<ContextHandle>,
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

/// Takes over the one reference to a queue, whose last command is `last`.
pub(crate) fn lay_down(context: &Arc<ContextHandle>, queue: Handle, last: Box<dyn Event>) {
    let resting = Resting { context: Arc::clone(context), queue, last, complete: None };
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
            // SAFETY: this is the one reference that creating the queue gave.
            unsafe { (self.context.api.clReleaseCommandQueue)(self.queue) };
        }
    }
}
