//! Copies to and from device globals.
//!
//! Every copy is checked against the global's size before anything else happens: one that does not
//! fit is `Invalid` and writes nothing.

use std::num::NonZeroUsize;
use std::sync::{Arc, PoisonError};

use crate::bytes;
use crate::command::{Command, Outcome};
use crate::event::Event;
use crate::global::{self, Beginning, GlobalHandle, Instance};
use crate::home::GlobalIn;
use crate::image_global::{Direction, ImageGlobal};
use crate::memory::Allocation;
use crate::queue::Queue;
use crate::region::Bytes;
use crate::uses::Access;
use crate::{Error, ErrorKind, trace};

/// At most so many bytes are repeated on the host before a fill goes to the device in pieces.
const FILL_PIECE: usize = 1 << 20;

/// Where the bytes of a global are, and how to get there.
pub(crate) enum Reach {
    /// There is nothing to copy.
    Nowhere,
    /// Native code has it here.
    Host(*mut u8),
    /// The device has it here.
    Device(Arc<Allocation>),
    /// It is a variable of an image.
    Image(Arc<ImageGlobal>),
}

impl Queue {
    /// Copies `size` bytes at `source` to a global, from byte `offset` on, after `after`. The bytes are
    /// taken at the call.
    ///
    /// # Errors
    /// They do not fit, or would cut an atomic in two; no memory for the instance; the driver's
    /// refusal. Nothing is written then.
    ///
    /// # Safety
    /// `size` bytes are readable at `source`, and any bytes are valid in the global.
    pub unsafe fn copy_to_global<'g>(
        &self,
        global: impl Into<GlobalIn<'g>>,
        offset: usize,
        source: *const u8,
        size: usize,
        after: &[Event],
    ) -> Result<Event, Error> {
        let global = global.into();
        check(&global, offset, size)?;
        let Some(size) = NonZeroUsize::new(size) else { return self.nothing_after(after) };
        match self.reach(global)? {
            Reach::Nowhere => self.nothing_after(after),
            Reach::Host(target) => {
                self.take_turn(after)?;
                self.alone(|| {
                    let target = target.wrapping_add(offset);
                    let _span = trace::span("transfer", || format!("write {size} bytes"));
                    // SAFETY: the range lies inside the instance, which was checked; the source has
                    // as many bytes. No kernel of this context runs; whoever kept a reference to
                    // the global uses atomics.
                    unsafe { bytes::store(source, target, size.get(), global.atomic_width()) };
                })
            }
            Reach::Device(allocation) => {
                let bytes = (size.get(), global.atomic_width());
                // SAFETY: the source has the bytes, and the range was checked.
                if unsafe { self.write_directly(&allocation, offset, source, bytes, after) } {
                    return Ok(Event::nothing());
                }
                let after = self.dependencies(after)?;
                let write = |source| {
                    // SAFETY: the source is there until the command has ended; the range was checked.
                    unsafe { self.write_to(&allocation, offset, source, size, after) }
                };
                // SAFETY: the caller's promise.
                unsafe { self.staged(source, size, write) }.map(Event::of)
            }
            Reach::Image(variable) => {
                let after = self.dependencies(after)?;
                let write = |source: *const u8| {
                    let host = source.cast_mut();
                    // SAFETY: the source is there until the command has ended, and only read; the
                    // range was checked.
                    let named = unsafe {
                        self.copy_named(&variable, Direction::Set, offset, host, size, &after)
                    };
                    if let Some(command) = named {
                        return command;
                    }
                    let together = self.together();
                    let staging = &variable.staging;
                    // SAFETY: as above; the block is as large as the global.
                    let written = unsafe { self.write_to(staging, offset, source, size, after) }?;
                    let after = [Arc::clone(&written)];
                    let moved = self.move_staged(&variable, Direction::Set, offset, size, &after);
                    drop(together);
                    moved.map_err(|error| {
                        // The source is let go of when this fails: not before the copy has ended.
                        let ended = self.wait_for_copy(&written);
                        error.with_may_run(ended.is_err_and(|failed| failed.may_run))
                    })
                };
                // SAFETY: the caller's promise.
                unsafe { self.staged(source, size, write) }.map(Event::of)
            }
        }
    }

    /// Copies `size` bytes at `source` to memory of a global, after `after`.
    ///
    /// # Safety
    /// `source` is readable for `size` bytes and unchanged until the command has ended, and the range
    /// lies inside `target`.
    unsafe fn write_to(
        &self,
        target: &Arc<Allocation>,
        offset: usize,
        source: *const u8,
        size: NonZeroUsize,
        after: Vec<Arc<Command>>,
    ) -> Result<Arc<Command>, Error> {
        let command = self.submit(&[(target, Access::Write)], after, Outcome::Settled, |after| {
            // SAFETY: the caller's promise; dropping the allocation waits for this command.
            unsafe { self.adapter.write(target.memory(), offset, source, size, after) }
        });
        let target = Bytes { allocation: target, offset, size };
        let command = command.inspect(|it| self.note_replaced(target, it));
        command.map_err(|error| Error::driver("copying to a device global", error))
    }

    /// Copies `size` bytes of a global, from byte `offset` on, to `target`, after `after`, and waits
    /// for it.
    ///
    /// # Errors
    /// The global has not as many, or an atomic would be cut in two; no memory for the instance; the
    /// driver's refusal; a kernel panicked.
    ///
    /// # Safety
    /// `size` bytes are writable at `target`; for ever, if that is more than [`SMALL_READ`](Self::SMALL_READ) and the
    /// error [may run](Error::may_run).
    pub unsafe fn copy_from_global<'g>(
        &self,
        global: impl Into<GlobalIn<'g>>,
        offset: usize,
        target: *mut u8,
        size: usize,
        after: &[Event],
    ) -> Result<(), Error> {
        let global = global.into();
        check(&global, offset, size)?;
        let Some(size) = NonZeroUsize::new(size) else {
            self.take_turn(after)?;
            return self.settle_pending();
        };
        match self.reach(global)? {
            Reach::Nowhere => self.take_turn(after)?,
            Reach::Host(source) => {
                self.take_turn(after)?;
                let lock = self.context().native_lock();
                let _kernels = lock.read().unwrap_or_else(PoisonError::into_inner);
                let source = source.wrapping_add(offset);
                let _span = trace::span("transfer", || format!("read {size} bytes"));
                // SAFETY: the range lies inside the instance, which was checked, and the target has
                // as many bytes. Whoever writes a plain global holds the lock for writing; atomics
                // are read as such.
                unsafe { bytes::load(source, target, size.get(), global.atomic_width()) };
            }
            Reach::Device(allocation) => {
                let writers = allocation.uses().writers();
                let bytes = (size.get(), global.atomic_width());
                // SAFETY: the target has room for the bytes, and the range was checked.
                if unsafe { self.read_directly(&allocation, offset, target, bytes, after) }? {
                    writers.tell()?;
                    return self.settle_pending();
                }
                let after = self.dependencies(after)?;
                let start = |room| {
                    // SAFETY: there is room until the read has ended; the range was checked.
                    unsafe { self.start_reading(&allocation, offset, room, size, after) }
                };
                // SAFETY: the target has room for the bytes.
                unsafe { self.read_back(target, size.get(), start) }?;
                // Whoever wrote it, on whichever queue, has completed: what it says comes first.
                writers.tell()?;
            }
            Reach::Image(variable) => {
                let after = self.dependencies(after)?;
                let writers = variable.staging.uses().writers();
                let start = |room| {
                    // SAFETY: there is room until the read has ended; the range was checked.
                    let named = unsafe {
                        self.copy_named(&variable, Direction::Get, offset, room, size, &after)
                    };
                    if let Some(command) = named {
                        return command;
                    }
                    let _together = self.together();
                    let moved =
                        self.move_staged(&variable, Direction::Get, offset, size, &after)?;
                    // SAFETY: as above; the block is as large as the global.
                    unsafe {
                        self.start_reading(&variable.staging, offset, room, size, vec![moved])
                    }
                };
                // SAFETY: the target has room for the bytes.
                unsafe { self.read_back(target, size.get(), start) }?;
                writers.tell()?;
            }
        }
        self.settle_pending()
    }

    /// Starts to copy `size` bytes from memory of a global to `room`, after `after`.
    ///
    /// # Safety
    /// `room` is writable for `size` bytes and nobody else uses it until the command has ended, and the range
    /// lies inside `source`.
    unsafe fn start_reading(
        &self,
        source: &Arc<Allocation>,
        offset: usize,
        room: *mut u8,
        size: NonZeroUsize,
        after: Vec<Arc<Command>>,
    ) -> Result<Arc<Command>, Error> {
        let command = self.submit(&[(source, Access::Read)], after, Outcome::Settled, |after| {
            // SAFETY: the caller's promise; dropping the allocation waits for this command.
            unsafe { self.adapter.read(source.memory(), offset, room, size, after) }
        });
        command.map_err(|error| Error::driver("copying from a device global", error))
    }

    /// Fills a global from byte `offset` on with `count` copies of `pattern`, after `after`.
    ///
    /// # Errors
    /// As [`copy_to_global`](Self::copy_to_global).
    pub fn fill_global<'g>(
        &self,
        global: impl Into<GlobalIn<'g>>,
        offset: usize,
        pattern: &[u8],
        count: usize,
        after: &[Event],
    ) -> Result<Event, Error> {
        let global = global.into();
        let size =
            pattern.len().checked_mul(count).ok_or_else(|| beyond(&global, offset, count))?;
        check(&global, offset, size)?;
        let Some(whole) = NonZeroUsize::new(size) else { return self.nothing_after(after) };
        let same = pattern.iter().all(|byte| *byte == pattern[0]);
        let pattern = if same { &pattern[..1] } else { pattern };
        if let Reach::Device(allocation) = self.reach(global)?
            && let target = (Bytes { allocation: &allocation, offset, size: whole })
            && target.takes_pattern(pattern.len())
        {
            let after = self.dependencies(after)?;
            let uses = [(&allocation, Access::Write)];
            let command = self.submit(&uses, after, Outcome::Settled, |after| {
                // SAFETY: the range was checked, and the allocation is aligned to the pattern; dropping
                // it waits for this command.
                unsafe { self.adapter.fill(allocation.memory(), offset, pattern, whole, after) }
            });
            let command = command.inspect(|it| self.note_replaced(target, it));
            let failed = |error| Error::driver("filling a device global", error);
            return command.map(Event::of).map_err(failed);
        }
        // Pieces of whole atomics, which are never wider than 8 bytes.
        let unit = if pattern.len() == 1 { &[pattern[0]; 8][..] } else { pattern };
        let piece = unit.repeat((FILL_PIECE / unit.len()).clamp(1, size.div_ceil(unit.len())));
        let (mut done, mut events) = (0, Vec::new());
        while done < size {
            let part = piece.len().min(size - done);
            // SAFETY: the piece has as many bytes; the caller's pattern is valid by its type.
            let copied =
                unsafe { self.copy_to_global(global, offset + done, piece.as_ptr(), part, after) };
            if copied.as_ref().is_err_and(Error::may_run) {
                std::mem::forget(piece);
                return copied;
            }
            events.push(copied?);
            done += part;
        }
        Ok(Event::all(&events))
    }

    /// Gives a global the value that it started with, after `after`.
    ///
    /// # Errors
    /// As [`copy_to_global`](Self::copy_to_global).
    pub fn reset_global<'g>(
        &self,
        global: impl Into<GlobalIn<'g>>,
        after: &[Event],
    ) -> Result<Event, Error> {
        let global = global.into();
        match (global.beginning(), self.reach(global)?) {
            (_, Reach::Nowhere) => self.nothing_after(after),
            (_, Reach::Host(target)) => {
                self.take_turn(after)?;
                self.alone(|| {
                    // SAFETY: the instance has the global's size; no kernel of this context runs,
                    // and whoever kept a reference uses atomics of that width.
                    unsafe { global::store_beginning(*global, target, global.atomic_width()) };
                })
            }
            (Beginning::Bytes(source), Reach::Device(_) | Reach::Image(_)) => {
                // SAFETY: the initial bytes are there, a value of the global's type.
                unsafe { self.copy_to_global(global, 0, source, global.size(), after) }
            }
            (Beginning::Zeros | Beginning::Anything, Reach::Device(_) | Reach::Image(_)) => {
                self.fill_global(global, 0, &[0], global.size(), after)
            }
        }
    }

    /// Where the device has a global, for those who hand the address to other software.
    ///
    /// # Errors
    /// No memory for the instance, or the driver does not tell addresses.
    pub fn global_address<'g>(&self, global: impl Into<GlobalIn<'g>>) -> Result<u64, Error> {
        let global = global.into();
        let address = match self.reach(global)? {
            Reach::Nowhere => Some(global.align() as u64),
            Reach::Host(address) => Some(address.expose_provenance() as u64),
            Reach::Device(allocation) => allocation.memory().device_address(),
            Reach::Image(variable) => variable.device_address(),
        };
        address.ok_or_else(|| {
            let device = &self.context().device().info().name;
            Error::new(
                ErrorKind::FeatureNotSupported,
                format!("the driver of `{device}` tells no addresses"),
            )
            .with_help("copy the global's value instead")
        })
    }

    pub(crate) fn reach(&self, global: GlobalIn<'_>) -> Result<Reach, Error> {
        let context = self.context();
        if global.has_image_scope() && !context.is_native() {
            return match global.size() {
                0 => Ok(Reach::Nowhere),
                _ => self.image_global(*global).map(Reach::Image),
            };
        }
        Ok(match global::instance(global.home(context)?, *global)? {
            Instance::Empty => Reach::Nowhere,
            Instance::Static => Reach::Host(global.address().cast_mut()),
            Instance::Allocated(allocation) => {
                match (context.is_native(), allocation.memory().host_address()) {
                    (true, Some(address)) => Reach::Host(address.as_ptr()),
                    _ => Reach::Device(allocation),
                }
            }
        })
    }

    /// Runs `copy` while no kernel of this native context does.
    fn alone(&self, copy: impl FnOnce()) -> Result<Event, Error> {
        self.timed(|| {
            let lock = self.context().native_lock();
            let _alone = lock.write().unwrap_or_else(PoisonError::into_inner);
            copy();
            Ok(())
        })
    }
}

/// Refuses a copy beyond the end, and one that cuts an atomic in two.
pub(crate) fn check(global: &GlobalHandle, offset: usize, size: usize) -> Result<(), Error> {
    if offset.checked_add(size).is_none_or(|end| end > global.size()) {
        return Err(beyond(global, offset, size));
    }
    let width = global.atomic_width();
    if width > 1 && !(offset.is_multiple_of(width) && size.is_multiple_of(width)) {
        return Err(Error::invalid(
            format!(
                "{size} bytes from byte {offset} of a device global cut an atomic of {width} bytes"
            ),
            "copy whole atomics",
        ));
    }
    Ok(())
}

fn beyond(global: &GlobalHandle, offset: usize, size: usize) -> Error {
    Error::invalid(
        format!(
            "{size} bytes from byte {offset} on go beyond the end of a device global of {} bytes",
            global.size()
        ),
        "copy less, or from further in front",
    )
}
