//! Copies and fills: between the host and a buffer, inside a context, and between contexts.

use std::sync::Arc;

use crosscut_adapter_api::{DriverError, Location};

use crate::Error;
use crate::block::Block;
use crate::bytes;
use crate::command::{Command, Outcome};
use crate::ended::FailedCopy;
use crate::event::Event;
use crate::memory::Allocation;
use crate::queue::Queue;
use crate::region::{Bytes, Region};
use crate::trace;
use crate::uses::{Access, Writers};

/// Drivers take patterns of up to so many bytes.
const LONGEST_PATTERN: usize = 128;

/// A copy to the host on its way.
pub struct Reading {
    /// The copy.
    pub event: Event,
    /// What it copies was written by these.
    writers: Option<Writers>,
}

impl Reading {
    /// Blocks until it has ended, and tells of a panic of the kernel that wrote what it copies.
    ///
    /// # Errors
    /// The copy failed, or the kernel panicked.
    pub fn wait(&self) -> Result<(), Error> {
        self.event.wait()?;
        self.writers.as_ref().map_or(Ok(()), Writers::tell)
    }
}

impl Queue {
    /// Copies `source` to a region and waits for it.
    ///
    /// # Errors
    /// It is of another context; the driver's refusal.
    ///
    /// # Safety
    /// As many bytes as the region has are readable at `source`, and nobody else uses the region
    /// meanwhile.
    pub unsafe fn write(
        &self,
        target: Region<'_>,
        source: *const u8,
        after: &[Event],
    ) -> Result<(), Error> {
        // SAFETY: passed on, and the wait below comes before the caller gets its memory back; its error says where that
        // was in vain.
        match unsafe { self.begin_write(target, source, after) }? {
            Some(command) => self.wait_for_copy(&command).map_err(to_device),
            None => Ok(()),
        }
    }

    /// Copies `source` to a region.
    ///
    /// # Errors
    /// It is of another context; the driver's refusal.
    ///
    /// # Safety
    /// As [`write`](Self::write), with `source` readable and unchanged until the event completes.
    pub unsafe fn start_write(
        &self,
        target: Region<'_>,
        source: *const u8,
        after: &[Event],
    ) -> Result<Event, Error> {
        // SAFETY: passed on.
        let command = unsafe { self.begin_write(target, source, after) }?;
        Ok(command.map_or_else(Event::nothing, Event::of))
    }

    /// # Safety
    /// As [`start_write`](Self::start_write).
    unsafe fn begin_write(
        &self,
        target: Region<'_>,
        source: *const u8,
        after: &[Event],
    ) -> Result<Option<Arc<Command>>, Error> {
        self.context().owns(target.buffer().context(), "the buffer")?;
        let Some(bytes @ Bytes { allocation, offset, size }) = target.bytes() else {
            self.take_turn(after)?;
            return Ok(None);
        };
        let (uses, after) = ([(allocation, Access::Write)], self.dependencies(after)?);
        let command = self.submit(&uses, after, Outcome::Settled, |after| {
            // SAFETY: the source is the caller's promise; dropping the allocation waits for this
            // command, which is noted in its uses.
            unsafe { self.adapter.write(allocation.memory(), offset, source, size, after) }
        });
        let command = command.inspect(|it| self.note_replaced(bytes, it));
        command.map(Some).map_err(to_device)
    }

    /// Copies a region to `target` and waits for it.
    ///
    /// # Errors
    /// It is of another context; the driver's refusal; a kernel panicked.
    ///
    /// # Safety
    /// As many bytes as the region has are writable at `target`. `atomic_width` is 0, or the region
    /// is made of atomics of that many bytes.
    pub unsafe fn read(
        &self,
        source: Region<'_>,
        target: *mut u8,
        atomic_width: usize,
        after: &[Event],
    ) -> Result<(), Error> {
        let writers = source.bytes().map(|bytes| bytes.allocation.uses().writers());
        // SAFETY: passed on, and the wait below comes before the caller gets its memory back; its error says where that
        // was in vain.
        if let Some(command) = unsafe { self.begin_read(source, target, atomic_width, after) }? {
            self.wait_for_copy(&command).map_err(to_host)?;
        }
        // Whoever wrote it, on whichever queue, has completed: what it says comes first.
        writers.map_or(Ok(()), |writers| writers.tell())?;
        self.settle_pending()
    }

    /// Copies a region to `target`.
    ///
    /// # Errors
    /// It is of another context; the driver's refusal. A kernel that panicked is told by whoever
    /// waits next.
    ///
    /// # Safety
    /// As [`read`](Self::read), with `target` writable and touched by nobody else until the event
    /// completes.
    pub unsafe fn start_read(
        &self,
        source: Region<'_>,
        target: *mut u8,
        atomic_width: usize,
        after: &[Event],
    ) -> Result<Reading, Error> {
        let writers = source.bytes().map(|bytes| bytes.allocation.uses().writers());
        if self.context().is_native() {
            // SAFETY: passed on.
            let read = || unsafe { self.begin_read(source, target, atomic_width, after) };
            return Ok(Reading { event: self.timed(|| read().map(drop))?, writers });
        }
        // SAFETY: passed on.
        let command = unsafe { self.begin_read(source, target, atomic_width, after) }?;
        Ok(Reading { event: command.map_or_else(Event::nothing, Event::of), writers })
    }

    /// # Safety
    /// As [`start_read`](Self::start_read).
    unsafe fn begin_read(
        &self,
        source: Region<'_>,
        target: *mut u8,
        atomic_width: usize,
        after: &[Event],
    ) -> Result<Option<Arc<Command>>, Error> {
        self.context().owns(source.buffer().context(), "the buffer")?;
        let Some(bytes) = source.bytes() else {
            self.take_turn(after)?;
            return Ok(None);
        };
        if let (true, Some(from)) = (self.context().is_native(), bytes.host_address()) {
            self.take_turn(after)?;
            let _span = trace::span("transfer", || format!("read {} bytes", bytes.size));
            // SAFETY: both have `size` bytes by the caller's promise. Native kernels run while
            // somebody lends the buffer to them: for writing not now, because it is borrowed here;
            // otherwise at most as atomics.
            unsafe { bytes::load(from, target, bytes.size.get(), atomic_width) };
            return Ok(None);
        }
        let Bytes { allocation, offset, size } = bytes;
        let (uses, after) = ([(allocation, Access::Read)], self.dependencies(after)?);
        let command = self.submit(&uses, after, Outcome::Settled, |after| {
            // SAFETY: the target is the caller's promise; dropping the allocation waits for this
            // command, which is noted in its uses.
            unsafe { self.adapter.read(allocation.memory(), offset, target, size, after) }
        });
        command.map(Some).map_err(to_host)
    }

    /// Fills a region with a pattern, over and over.
    ///
    /// # Errors
    /// It is of another context or no multiple of the pattern; the driver's refusal.
    ///
    /// # Safety
    /// Nobody else uses the region meanwhile.
    pub unsafe fn fill(
        &self,
        target: Region<'_>,
        pattern: &[u8],
        after: &[Event],
    ) -> Result<Event, Error> {
        self.context().owns(target.buffer().context(), "the buffer")?;
        let Some(bytes @ Bytes { allocation, offset, size }) = target.bytes() else {
            return self.nothing_after(after);
        };
        let length = pattern.len();
        if length == 0 || !size.get().is_multiple_of(length) {
            return Err(Error::invalid(
                format!("a pattern of {length} bytes does not fill {size} bytes"),
                "fill a multiple of the pattern",
            ));
        }
        // A pattern of equal bytes is one byte: no driver minds where that begins.
        let pattern =
            if pattern.iter().all(|byte| *byte == pattern[0]) { &pattern[..1] } else { pattern };
        if !bytes.takes_pattern(pattern.len()) {
            return self.fill_by_copies(bytes, pattern, after);
        }
        let (uses, after) = ([(allocation, Access::Write)], self.dependencies(after)?);
        let command = self.submit(&uses, after, Outcome::Settled, |after| {
            // SAFETY: dropping the allocation waits for this command, which is noted in its uses;
            // it is aligned to the pattern.
            unsafe { self.adapter.fill(allocation.memory(), offset, pattern, size, after) }
        });
        let command = command.inspect(|it| self.note_replaced(bytes, it));
        command.map(Event::of).map_err(filling)
    }

    /// What no driver's fill takes: the pattern once, and then what is there as often as needed.
    fn fill_by_copies(
        &self,
        target: Bytes<'_>,
        pattern: &[u8],
        after: &[Event],
    ) -> Result<Event, Error> {
        let Bytes { allocation, offset, size } = target;
        let uses = [(allocation, Access::Write)];
        let Some(length) = std::num::NonZeroUsize::new(pattern.len()) else {
            return Ok(Event::nothing());
        };
        let after = self.dependencies(after)?;
        let write = |source: *const u8| {
            let written = self.submit(&uses, after, Outcome::Settled, |after| {
                // SAFETY: `staged` keeps the source until the command has ended; dropping the allocation
                // waits for it.
                unsafe { self.adapter.write(allocation.memory(), offset, source, length, after) }
            });
            written.map_err(filling)
        };
        // SAFETY: the pattern has as many bytes.
        let mut last = unsafe { self.staged(pattern.as_ptr(), length, write) }?;
        let mut done = length;
        while let Some(more) = std::num::NonZeroUsize::new(done.get().min(size.get() - done.get()))
        {
            let at = |offset| Location { memory: allocation.memory(), offset };
            let copied = self.submit(&uses, Vec::new(), Outcome::Settled, |after| {
                // SAFETY: dropping the allocation waits for this command, which is noted in its
                // uses; `more` bytes behind `done` are inside, and apart from those before.
                unsafe { self.adapter.copy(at(offset + done.get()), at(offset), more, after) }
            });
            last = copied.map_err(filling)?;
            done = done.saturating_add(more.get());
        }
        self.note_replaced(target, &last);
        Ok(Event::of(last))
    }

    /// Copies a region to another one of the same size. Inside the queue's context the copy is on its
    /// way when this returns; where one of them is of another context, it is complete.
    ///
    /// # Errors
    /// Their sizes differ, neither is of the queue's context; the driver's refusal; between contexts
    /// also a panic of the kernel that wrote the source.
    ///
    /// # Safety
    /// They do not overlap, and nobody else uses the target meanwhile. `atomic_width` is 0, or the
    /// source is made of atomics of that many bytes.
    pub unsafe fn copy(
        &self,
        target: Region<'_>,
        source: Region<'_>,
        atomic_width: usize,
        after: &[Event],
    ) -> Result<Event, Error> {
        if target.size() != source.size() {
            return Err(Error::invalid(
                format!("{} bytes were to be copied to {}", source.size(), target.size()),
                "make both parts equally long",
            ));
        }
        let own = |region: Region<'_>| region.buffer().context() == self.context();
        match (own(source), own(target)) {
            (true, true) => {}
            (false, false) => {
                return self
                    .context()
                    .owns(source.buffer().context(), "what is copied")
                    .map(|()| Event::nothing());
            }
            _ => {
                let (target, source) = (Block::whole(target), Block::whole(source));
                // SAFETY: passed on.
                return unsafe { self.copy_across(target, source, atomic_width, after) };
            }
        }
        let (Some(to), Some(from)) = (target.bytes(), source.bytes()) else {
            return self.nothing_after(after);
        };
        if let (true, Some(to_address), Some(from)) =
            (self.context().is_native(), to.host_address(), from.host_address())
        {
            self.take_turn(after)?;
            to.forget_writers();
            return self.timed(|| {
                let _span = trace::span("transfer", || format!("copy {} bytes", source.size()));
                // SAFETY: both have the size. The target is the caller's alone; the source is
                // borrowed, so that kernels write it at most as atomics.
                unsafe { bytes::load(from, to_address, source.size(), atomic_width) };
                Ok(())
            });
        }
        let after = self.dependencies(after)?;
        // The one that is written comes last, so that one allocation in both is noted as written.
        let uses = [(from.allocation, Access::Read), (to.allocation, Access::Write)];
        let command = self.submit(&uses, after, Outcome::Settled, |after| {
            let (to_memory, from_memory) = (to.allocation.memory(), from.allocation.memory());
            let to = Location { memory: to_memory, offset: to.offset };
            let from_at = Location { memory: from_memory, offset: from.offset };
            // SAFETY: dropping either allocation waits for this command, which is noted in its uses;
            // they do not overlap, by the caller's promise.
            unsafe { self.adapter.copy(to, from_at, from.size, after) }
        });
        let command = command.inspect(|it| self.note_replaced(to, it));
        command.map(Event::of).map_err(|error| Error::driver("copying on the device", error))
    }

    /// Notes that a command, the last one so far to write there, replaces these bytes: where that is the
    /// whole allocation, nobody reads what was in it before.
    pub(crate) fn note_replaced(&self, bytes: Bytes<'_>, command: &Arc<Command>) {
        if self.context().is_native() {
            bytes.forget_writers();
        } else if bytes.is_everything() {
            bytes.allocation.uses().replaced_by(command);
        }
    }
}

impl Bytes<'_> {
    /// Whether a driver's fill takes a pattern of this length here.
    pub(crate) fn takes_pattern(&self, length: usize) -> bool {
        length.is_power_of_two()
            && length <= LONGEST_PATTERN
            && self.offset.is_multiple_of(length)
            && self.allocation.is_aligned_to(length)
    }

    /// Whether they are the whole allocation.
    fn is_everything(&self) -> bool {
        self.size == self.allocation.memory().size()
    }

    /// For native code, where commands are noted only if they panicked: where these bytes are the whole
    /// allocation and are replaced, nobody reads what was in it before.
    fn forget_writers(&self) {
        if self.is_everything() {
            drop(self.allocation.uses().written_over(true));
        }
    }
}

impl Allocation {
    /// Whether its first byte is at a multiple of `align`, as far as is known.
    fn is_aligned_to(&self, align: usize) -> bool {
        match self.memory().device_address() {
            Some(address) => address.is_multiple_of(align as u64),
            // Memory objects are aligned for every type of a kernel.
            None => align <= LONGEST_PATTERN,
        }
    }
}

fn to_device(failed: impl Into<FailedCopy>) -> Error {
    failed.into().while_doing("copying to the device")
}

fn to_host(failed: impl Into<FailedCopy>) -> Error {
    failed.into().while_doing("copying from the device")
}

fn filling(error: DriverError) -> Error {
    Error::driver("filling a buffer", error)
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use crosscut_adapter_api::{QueueOptions, QueueOrder};
    use crosscut_adapter_mock::Mock;

    use super::*;
    use crate::{Buffer, Runtime};

    #[test]
    fn thousands_of_copies_to_the_host_behind_writes_share_whom_they_wait_for() {
        let mock = Mock::new();
        let runtime = Runtime::with_selector(vec![Arc::new(mock.clone())], "");
        let context = &runtime.devices().unwrap().remove(0).default_context().unwrap();
        let options = QueueOptions { order: QueueOrder::OutOfOrder, ..QueueOptions::default() };
        let queue = Queue::with_options(context, options).unwrap();
        let buffer = Buffer::allocate(context, 8, 8).unwrap();
        let (mut bytes, mut events, mut readings) = ([0; 2000], Vec::new(), Vec::new());
        mock.hold();
        for byte in &mut bytes {
            // SAFETY: nobody else writes the buffer.
            events.push(unsafe { queue.fill((&buffer).into(), &[1; 8], &[]) }.unwrap());
            let part = Region::new(&buffer, 0..1).unwrap();
            // SAFETY: the byte is there until the wait below.
            readings.push(unsafe { queue.start_read(part, byte, 0, &[]) }.unwrap());
        }
        let first = events[0].unsettled().next().unwrap();
        let known_to = Arc::strong_count(first);
        mock.release();
        readings.iter().for_each(|reading| reading.wait().unwrap());
        assert_eq!(bytes, [1; 2000]);
        assert!(known_to < 20, "{known_to}");
    }
}
