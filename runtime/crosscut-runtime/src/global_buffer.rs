//! Copies between device globals and buffers.

use std::num::NonZeroUsize;
use std::sync::Arc;

use crosscut_adapter_api::Location;

use crate::Error;
use crate::bytes;
use crate::command::{Command, Outcome};
use crate::event::Event;
use crate::global_copy::{Reach, check};
use crate::home::GlobalIn;
use crate::image_global::Direction;
use crate::memory::{Allocation, Buffer};
use crate::queue::Queue;
use crate::region::Bytes;
use crate::uses::Access;

impl Queue {
    /// Copies the first `size` bytes of a buffer to a global from byte `offset` on, after `after`.
    ///
    /// # Errors
    /// As [`copy_to_global`](Self::copy_to_global); the buffer is too short or of another context.
    ///
    /// # Safety
    /// `atomic_width` is 0, or the buffer is made of atomics of that many bytes.
    pub unsafe fn copy_buffer_to_global<'g>(
        &self,
        global: impl Into<GlobalIn<'g>>,
        offset: usize,
        (buffer, atomic_width): (&Buffer, usize),
        size: usize,
        after: &[Event],
    ) -> Result<Event, Error> {
        let global = global.into();
        check(&global, offset, size)?;
        let Some(source) = self.part_of(buffer, size)? else { return self.nothing_after(after) };
        match self.reach(global)? {
            Reach::Nowhere => self.nothing_after(after),
            Reach::Host(_) => {
                let address = source.memory().host_address().ok_or_else(no_host_memory)?;
                if atomic_width == 0 {
                    // SAFETY: the buffer has as many bytes, and is borrowed: nobody writes it.
                    return unsafe {
                        self.copy_to_global(global, offset, address.as_ptr(), size, after)
                    };
                }
                self.take_turn(after)?;
                let mut stage = vec![0u8; size];
                // SAFETY: both have as many bytes, whole atomics by the checks of both sides; kernels on
                // other devices of the context may use the buffer meanwhile, as such atomics.
                unsafe {
                    bytes::load(address.as_ptr(), stage.as_mut_ptr(), size, atomic_width);
                }
                // SAFETY: the stage has as many bytes, and nobody else has it.
                unsafe { self.copy_to_global(global, offset, stage.as_ptr(), size, after) }
            }
            Reach::Device(target) => {
                let target = (&target, offset);
                self.copy_inside(target, (&source, 0), size, self.dependencies(after)?)
            }
            Reach::Image(variable) => {
                let after = self.dependencies(after)?;
                let _together = self.together();
                self.copy_inside((&variable.staging, offset), (&source, 0), size, after)?;
                let Some(size) = NonZeroUsize::new(size) else { return Ok(Event::nothing()) };
                let moved = self.move_staged(&variable, Direction::Set, offset, size, &[])?;
                Ok(Event::of(moved))
            }
        }
    }

    /// Copies `size` bytes of a global from byte `offset` on to the beginning of a buffer, after
    /// `after`.
    ///
    /// # Errors
    /// As [`copy_from_global`](Self::copy_from_global); the buffer is too short or of another
    /// context.
    pub fn copy_global_to_buffer<'g>(
        &self,
        global: impl Into<GlobalIn<'g>>,
        offset: usize,
        buffer: &mut Buffer,
        size: usize,
        after: &[Event],
    ) -> Result<Event, Error> {
        let global = global.into();
        check(&global, offset, size)?;
        let Some(target) = self.part_of(buffer, size)? else { return self.nothing_after(after) };
        match self.reach(global)? {
            Reach::Nowhere => self.nothing_after(after),
            Reach::Host(_) => {
                let address = target.memory().host_address().ok_or_else(no_host_memory)?;
                self.timed(|| {
                    // SAFETY: the buffer has as many bytes and is borrowed mutably.
                    unsafe { self.copy_from_global(global, offset, address.as_ptr(), size, after) }
                })
            }
            Reach::Device(source) => {
                let after = self.dependencies(after)?;
                self.copy_inside((&target, 0), (&source, offset), size, after)
            }
            Reach::Image(variable) => {
                let after = self.dependencies(after)?;
                let _together = self.together();
                if let Some(size) = NonZeroUsize::new(size) {
                    self.move_staged(&variable, Direction::Get, offset, size, &after)?;
                }
                self.copy_inside((&target, 0), (&variable.staging, offset), size, Vec::new())
            }
        }
    }

    /// The memory of a buffer of this context with at least `size` bytes; `None` for no bytes.
    fn part_of(&self, buffer: &Buffer, size: usize) -> Result<Option<Arc<Allocation>>, Error> {
        self.context().owns(buffer.context(), "the buffer")?;
        if size > buffer.size() {
            return Err(Error::invalid(
                format!("{size} bytes between a device global and a buffer of {}", buffer.size()),
                "copy less, or make a larger buffer",
            ));
        }
        Ok(buffer.allocation().filter(|_| size > 0).cloned())
    }

    fn copy_inside(
        &self,
        target: (&Arc<Allocation>, usize),
        source: (&Arc<Allocation>, usize),
        size: usize,
        after: Vec<Arc<Command>>,
    ) -> Result<Event, Error> {
        // Whoever has nothing to copy has no memory either, and does not come here.
        let Some(size) = NonZeroUsize::new(size) else { return Ok(Event::nothing()) };
        let uses = [(source.0, Access::Read), (target.0, Access::Write)];
        let command = self.submit(&uses, after, Outcome::Settled, |after| {
            let to = Location { memory: target.0.memory(), offset: target.1 };
            let from = Location { memory: source.0.memory(), offset: source.1 };
            // SAFETY: both ranges were checked, and lie in different allocations; dropping either
            // waits for this command.
            unsafe { self.adapter.copy(to, from, size, after) }
        });
        let target = Bytes { allocation: target.0, offset: target.1, size };
        let command = command.inspect(|it| self.note_replaced(target, it));
        command.map(Event::of).map_err(|error| Error::driver("copying a device global", error))
    }
}

fn no_host_memory() -> Error {
    Error::invalid(
        "native code on a device without host memory",
        "report this as a bug of Crosscut",
    )
}
