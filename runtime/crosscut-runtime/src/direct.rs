//! Small copies that the host makes itself, where it has the device's memory at hand.
//!
//! A driver takes microseconds to have a few bytes copied. Where host and device share their memory
//! the host needs only to have its turn: what the queue was given before has completed, and no command
//! uses the memory. Nobody submits another one meanwhile, because the context's submit lock is held.
//! Reading waits for the turn; writing, which returns at once, is the driver's where it has not come.

use std::sync::Arc;

use crosscut_adapter_api::{DeviceKind, MemoryKind};

use crate::command::Command;
use crate::context::Context;
use crate::event::Event;
use crate::lines::Delivery;
use crate::memory::Allocation;
use crate::queue::Queue;
use crate::sync::MutexGuard;
use crate::uses::Access;
use crate::{Error, bytes, trace};

/// Longer copies are the driver's: they would hold others up, and it has more threads.
const MOST_BYTES: usize = 64 << 10;
/// How often others may come first before the driver is left to find the order.
const MOST_TRIES: usize = 8;

/// What memory is asked for that the host often looks into: on a CPU, all memory is the host's.
pub(crate) fn kind_near_host(context: &Context) -> MemoryKind {
    match context.device().info().kind {
        DeviceKind::Cpu => MemoryKind::HostVisible,
        _ => MemoryKind::Device,
    }
}

impl Queue {
    /// Copies `size` bytes at `source` into an allocation, from byte `offset` on, if its turn has come.
    /// Waits for nobody. False if that is left to the driver; nothing is written then.
    ///
    /// # Safety
    /// `size` bytes are readable at `source`, and the allocation has as many from `offset` on.
    /// `atomic_width` is 0, or that part of it is made of atomics of so many bytes.
    pub(crate) unsafe fn write_directly(
        &self,
        allocation: &Arc<Allocation>,
        offset: usize,
        source: *const u8,
        (size, atomic_width): (usize, usize),
        after: &[Event],
    ) -> bool {
        let is_open = |event: &Event| event.unsettled().next().is_some();
        let _delivery = Delivery;
        // Only the driver takes times that compare with those of kernels.
        let is_timed = self.options().profiling;
        if is_timed || !is_at_hand(allocation, size) || after.iter().any(is_open) {
            return false;
        }
        let Turn::Now(order) = self.turn(allocation, Access::Write) else { return false };
        let _span = trace::span("transfer", || format!("write {size} bytes"));
        let written = allocation.memory().visit_on_host(&mut |start| {
            let target = start.as_ptr().wrapping_add(offset);
            // SAFETY: the caller's promise; no command uses the memory, and none comes while the lock
            // is held.
            unsafe { bytes::store(source, target, size, atomic_width) };
        });
        if !written {
            return false;
        }
        // They have completed: nobody waits for them. What they wrote may be gone.
        let everything = size == allocation.memory().size().get();
        let before = allocation.uses().written_over(everything);
        drop(order);
        drop(before);
        true
    }

    /// Copies `size` bytes of an allocation, from byte `offset` on, to `target`, after `after`. False if
    /// that is left to the driver; nothing is written then.
    ///
    /// # Errors
    /// What it waits for failed.
    ///
    /// # Safety
    /// As [`write_directly`](Self::write_directly), with `target` writable.
    pub(crate) unsafe fn read_directly(
        &self,
        allocation: &Arc<Allocation>,
        offset: usize,
        target: *mut u8,
        (size, atomic_width): (usize, usize),
        after: &[Event],
    ) -> Result<bool, Error> {
        if !is_at_hand(allocation, size) {
            return Ok(false);
        }
        let _delivery = Delivery;
        self.take_turn(after)?;
        let Some(_order) = self.wait_for_turn(allocation, Access::Read) else { return Ok(false) };
        let _span = trace::span("transfer", || format!("read {size} bytes"));
        Ok(allocation.memory().visit_on_host(&mut |start| {
            let source = start.as_ptr().wrapping_add(offset);
            // SAFETY: the caller's promise; no command writes the memory, and none that does comes
            // while the lock is held.
            unsafe { bytes::load(source, target, size, atomic_width) };
        }))
    }

    /// Blocks until it is the turn of a copy on this queue. Then nobody submits a command that uses
    /// memory until the result is dropped. `None` if only the driver knows when that is.
    pub(crate) fn wait_for_turn(
        &self,
        allocation: &Allocation,
        access: Access,
    ) -> Option<MutexGuard<'_, ()>> {
        for _ in 0..MOST_TRIES {
            match self.turn(allocation, access) {
                Turn::Now(order) => return Some(order),
                Turn::After(command) if command.finish() => {}
                Turn::After(_) | Turn::Unknown => return None,
            }
        }
        None
    }

    /// Whether it is the turn of a copy on this queue with this access.
    fn turn(&self, allocation: &Allocation, access: Access) -> Turn<'_> {
        if self.origin.line.is_none() && !self.pending.is_empty() {
            // Which of those hold up later commands, only the driver knows.
            return Turn::Unknown;
        }
        if let Some(before) = self.pending.unfinished() {
            return Turn::After(before);
        }
        let order = self.take_order();
        let in_the_way = allocation.uses().unfinished(access);
        in_the_way.map_or(Turn::Now(order), Turn::After)
    }
}

/// When a copy may be made.
enum Turn<'a> {
    /// Now, and nobody submits a command that uses memory until this is dropped.
    Now(MutexGuard<'a, ()>),
    /// Not before this has completed, and perhaps others.
    After(Arc<Command>),
    /// Only the driver knows.
    Unknown,
}

impl Command {
    /// Whether it has completed. Notes that, so that nobody need ask the driver again.
    pub(crate) fn has_ended(&self) -> bool {
        if self.is_settled() {
            return true;
        }
        let ended = matches!(self.is_complete(), Ok(true));
        if ended {
            self.is_clean();
        }
        ended
    }

    /// Blocks until it has ended. False if it failed.
    fn finish(&self) -> bool {
        if self.is_settled() {
            return true;
        }
        let ended = self.event.wait().is_ok();
        if ended {
            self.is_clean();
        }
        ended
    }
}

/// Whether the host may use it, and that is worth it.
fn is_at_hand(allocation: &Allocation, size: usize) -> bool {
    size <= MOST_BYTES && allocation.memory().host_address().is_some()
}
