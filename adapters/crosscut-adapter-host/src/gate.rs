//! What later commands of a queue wait for: barriers that have not completed.
//!
//! Commands run when they are submitted, so a barrier is complete from the start, unless it waits for
//! a promise. Then whoever submits the next command waits.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crosscut_adapter_api::{DriverError, Event};

use crate::event::{Later, LaterEvent};

#[derive(Default)]
pub(crate) struct Gate {
    /// Whether there ever was such a barrier: most queues never have one.
    used: AtomicBool,
    barrier: Mutex<Option<Arc<Later>>>,
}

impl Gate {
    /// Blocks until the last barrier has completed.
    ///
    /// # Errors
    /// What it waited for failed. The next one who asks is not told again.
    #[inline]
    pub(crate) fn pass(&self) -> Result<(), DriverError> {
        if self.used.load(Ordering::Acquire) { self.wait() } else { Ok(()) }
    }

    #[cold]
    fn wait(&self) -> Result<(), DriverError> {
        // Cloned, so that nobody waits under the lock.
        let barrier = self.barrier.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let Some(barrier) = barrier else { return Ok(()) };
        barrier.latch.wait().inspect_err(|_| {
            // Told once: it is over, and holds nobody up.
            let mut current = self.barrier.lock().unwrap_or_else(PoisonError::into_inner);
            current.take_if(|current| Arc::ptr_eq(current, &barrier));
        })
    }

    /// Closes the gate until these events, and the barrier before, have completed. `None` if all
    /// have.
    pub(crate) fn close(&self, after: &[&dyn Event], submitted: Option<u64>) -> Option<Arc<Later>> {
        let mut barrier = self.barrier.lock().unwrap_or_else(PoisonError::into_inner);
        let later = |event: &&dyn Event| {
            event.as_any().downcast_ref::<LaterEvent>().map(|event| Arc::clone(&event.0))
        };
        let after = after.iter().filter_map(later).map(|later| (later, true));
        // The barrier before is waited for and not followed into its failure.
        let before = barrier.take().map(|barrier| (barrier, false));
        let open = |(later, _): &(Arc<Later>, bool)| !matches!(later.latch.get(), Some(Ok(())));
        let waited: Vec<_> = after.chain(before).filter(open).collect();
        if waited.is_empty() {
            return None;
        }
        let joined = Later::new(submitted);
        *barrier = Some(Arc::clone(&joined));
        drop(barrier);
        self.used.store(true, Ordering::Release);
        let left = Arc::new(AtomicUsize::new(waited.len()));
        for (later, counts) in waited {
            let (joined, left) = (Arc::clone(&joined), Arc::clone(&left));
            later.latch.on_set(Box::new(move |outcome| {
                let outcome = if counts { outcome } else { Ok(()) };
                // The first failure is the outcome, whatever the rest does.
                if outcome.is_err() || left.fetch_sub(1, Ordering::AcqRel) == 1 {
                    joined.end(outcome);
                }
            }));
        }
        Some(joined)
    }
}
