//! Barriers, however many in a row.
//!
//! Intel's CPU runtime completes a barrier inside of the call that completes what it waited for, and what waits for the
//! barrier inside of that: some thousands of them, each behind the one before, overflow the stack of the thread that
//! completes the first. A command with work to do is run by a thread of the driver's, which begins anew. So every
//! now and then there is one between two barriers.

use std::num::NonZeroUsize;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use crosscut_adapter_api::{DriverError, Event, Queue};

use crate::event::ClEvent;
use crate::memory::ClMemory;
use crate::queue::ClQueue;

/// So many in a row fit on any stack: each takes some 500 bytes of it.
const LONGEST_ROW: u32 = 64;

/// The barriers of one queue.
#[derive(Default)]
pub(crate) struct Barriers {
    /// How many are in a row up to the newest. A guess where threads share the queue: wrong by a few at most.
    in_a_row: AtomicU32,
    /// What the work between two of them writes.
    scratch: OnceLock<ClMemory>,
}

impl ClQueue {
    /// A barrier behind `after`, and behind the one before it on this queue.
    pub(crate) fn barrier_in_a_row(
        &self,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        let before = ClEvent::own(after).map(|event| event.barriers).max().unwrap_or(0);
        let barrier = self.plain_barrier(after)?;
        let in_a_row = before.max(self.barriers.in_a_row.load(Ordering::Relaxed)) + 1;
        // Where the driver refuses more than the barrier that there is, that will do.
        let another = (in_a_row > LONGEST_ROW).then(|| self.barrier_after_work(&barrier)).flatten();
        let (mut barrier, in_a_row) = another.map_or((barrier, in_a_row), |other| (other, 1));
        barrier.barriers = in_a_row;
        self.barriers.in_a_row.store(in_a_row, Ordering::Relaxed);
        Ok(Box::new(barrier))
    }

    /// Another barrier behind this one, with work between them.
    fn barrier_after_work(&self, barrier: &ClEvent) -> Option<ClEvent> {
        const ONE: NonZeroUsize = NonZeroUsize::MIN;
        if self.barriers.scratch.get().is_none() {
            // Another thread's will do as well.
            let _ = self.barriers.scratch.set(ClMemory::object(self.context(), ONE).ok()?);
        }
        let scratch = self.barriers.scratch.get()?;
        // SAFETY: the one byte of a memory object, which nobody reads. It goes with the queue, and the runtime lets go of
        // a queue once its commands have completed. Whoever drops one earlier relies on what `lib.rs` says of released
        // objects.
        let work = unsafe { self.fill(scratch, 0, &[0], ONE, &[barrier]) }.ok()?;
        self.plain_barrier(&[&*work]).ok()
    }
}
