//! Copies between two contexts: through the host.

use std::sync::Arc;

use crate::Error;
use crate::block::Block;
use crate::ended::kept_if_in_use;
use crate::event::Event;
use crate::queue::Queue;

/// What goes through the host between two contexts goes in pieces of so many bytes.
const STAGE: usize = 4 << 20;

impl Queue {
    /// Copies what is of this queue's context to another, or back, after `after`. Complete when this
    /// returns.
    ///
    /// # Errors
    /// Those of reading the one and of writing the other.
    ///
    /// # Safety
    /// As [`copy_block`](Self::copy_block), with one of both of this queue's context.
    pub(crate) unsafe fn copy_across(
        &self,
        target: Block<'_>,
        source: Block<'_>,
        atomic_width: usize,
        after: &[Event],
    ) -> Result<Event, Error> {
        self.take_turn(after)?;
        // SAFETY: passed on.
        self.timed(|| unsafe { self.carry_across(target, source, atomic_width) })
    }

    /// In pieces, or directly where one of both is the host's own memory.
    ///
    /// # Safety
    /// As [`copy_across`](Self::copy_across).
    unsafe fn carry_across(
        &self,
        target: Block<'_>,
        source: Block<'_>,
        atomic_width: usize,
    ) -> Result<(), Error> {
        let size = source.size();
        if size == 0 {
            return Ok(());
        }
        // The queue that this one is not.
        let (other, reader, writer);
        if source.context() == self.context() {
            other = Queue::new(target.context())?;
            (reader, writer) = (self, &other);
        } else {
            other = Queue::new(source.context())?;
            (reader, writer) = (&other, self);
        }
        if writer.context().is_native()
            && let Some(to) = target.as_region().and_then(|it| it.bytes())
            && let Some(place) = to.host_address()
        {
            // SAFETY: nobody else uses the target, by the caller's promise, and it has the size.
            let read = unsafe { reader.read_block(source, place, atomic_width, &[]) };
            return kept_if_in_use(Arc::clone(to.allocation), read).map(drop);
        }
        if reader.context().is_native()
            && atomic_width == 0
            && let Some(from) = source.as_region().and_then(|it| it.bytes())
            && let Some(place) = from.host_address()
        {
            let writers = from.allocation.uses().writers();
            writers.tell()?;
            // SAFETY: the source is plain data, borrowed by the caller, and it has the size.
            let written = unsafe { writer.write_block(target, place, &[]) };
            return kept_if_in_use(Arc::clone(from.allocation), written).map(drop);
        }
        let (mut to, mut from) = (target.cursor(), source.cursor());
        let mut stage = vec![0u8; size.min(STAGE)];
        let mut carry = || {
            let mut done = 0;
            while done < size {
                let more = stage.len().min(size - done);
                let room = stage.as_mut_ptr();
                // SAFETY: the stage has room for the piece, and the rest is the caller's promise.
                unsafe { reader.read_runs(&mut from, more, room, atomic_width, &[]) }?;
                // SAFETY: the stage has the piece, and the target is the caller's promise.
                unsafe { writer.write_runs(&mut to, more, stage.as_ptr(), &[]) }?;
                done += more;
            }
            Ok(())
        };
        let carried = carry();
        kept_if_in_use(stage, carried).map(drop)
    }
}
