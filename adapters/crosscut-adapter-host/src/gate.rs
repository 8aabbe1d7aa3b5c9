//! What later commands of a queue wait for: barriers that have not completed.
//!
//! Commands run when they are submitted, so a barrier is complete from the start, unless it waits for
//! a promise. Then whoever submits the next command waits.

use std::sync::atomic::{AtomicBool, Ordering};
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
        // The first failure is the outcome, once all have ended: what the barrier before waits for may still run.
        let rest = Arc::new(Mutex::new((waited.len(), Ok(()))));
        for (later, counts) in waited {
            let (joined, rest) = (Arc::clone(&joined), Arc::clone(&rest));
            later.latch.on_set(Box::new(move |outcome| {
                let mut rest = rest.lock().unwrap_or_else(PoisonError::into_inner);
                rest.0 -= 1;
                if counts && rest.1.is_ok() {
                    rest.1 = outcome;
                }
                let ended = (rest.0 == 0).then(|| rest.1.clone());
                drop(rest);
                if let Some(outcome) = ended {
                    joined.end(outcome);
                }
            }));
        }
        Some(joined)
    }
}

#[cfg(test)]
mod tests {
    use crosscut_adapter_api::promise_dropped;

    use super::*;

    #[test]
    fn a_barrier_behind_a_failure_still_waits_for_the_barrier_before() {
        let gate = Gate::default();
        let (slow, lost) = (Later::new(None), Later::new(None));
        gate.close(&[&LaterEvent(Arc::clone(&slow))], None);
        lost.end(Err(promise_dropped()));
        let barrier = gate.close(&[&LaterEvent(lost)], None).expect("something to wait for");
        assert_eq!(barrier.latch.get(), None);
        slow.end(Ok(()));
        assert_eq!(barrier.latch.get(), Some(Err(promise_dropped())));
        assert_eq!((gate.pass(), gate.pass()), (Err(promise_dropped()), Ok(())));
    }
}
