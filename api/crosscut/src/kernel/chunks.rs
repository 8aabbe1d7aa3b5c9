//! Chunks of buffers as arguments: every item gets its own part.
//!
//! The first slot has the memory and the number of elements, the second one the size of a chunk.

use core::marker::PhantomData;

use crosscut_device::{DeviceData, hooks};
use crosscut_runtime::{Access, Slot};

use super::argument::{KernelArg, PerItem, Shape};
use super::bindings::Bindings;
use crate::{Chunks, ChunksMut, Result};

/// Where an item's chunk begins, and how many elements it has; `item` is below the number of chunks.
#[inline(always)]
fn chunk(item: usize, length: usize, size: usize) -> (usize, usize) {
    // Below `length`, because this chunk has an element.
    let start = item.wrapping_mul(size);
    let left = length.wrapping_sub(start);
    (start, if left < size { left } else { size })
}

/// The shape of `buffer.chunks(k)?`.
#[doc(hidden)]
pub struct Parted<T>(PhantomData<fn() -> T>);

// SAFETY: two slots, the first one with the memory; the view only reads, except through atomics,
// which are bound for writing. `bind` has checked that there are as many chunks as items.
unsafe impl<T: DeviceData> Shape<PerItem> for Parted<T> {
    type View<'k> = &'k [T];
    type Native = (*const T, usize, usize);
    const SLOTS: u32 = 2;

    #[inline(always)]
    unsafe fn on_device<'k>(slot: u32, item: usize) -> &'k [T] {
        let address = if T::ATOMIC_WIDTH == 0 {
            hooks::__crosscut_read_argument_address(slot)
        } else {
            hooks::__crosscut_argument_address(slot).cast_const()
        };
        let length = hooks::__crosscut_argument_length(slot) as usize;
        let size = hooks::__crosscut_argument_length(slot.wrapping_add(1)) as usize;
        // SAFETY: the runtime binds the slot to that many elements, and this item has a chunk of them.
        unsafe { Self::view((address.cast(), length, size), item) }
    }

    #[inline(always)]
    unsafe fn native(slots: &[Slot]) -> Self::Native {
        (slots[0].address.cast(), slots[0].length, slots[1].length)
    }

    #[inline(always)]
    unsafe fn view<'k>((address, length, size): Self::Native, item: usize) -> &'k [T] {
        let (start, length) = chunk(item, length, size);
        // SAFETY: there are as many chunks as items, so that this one begins inside.
        let first = unsafe { address.add(start) };
        // SAFETY: the chunk ends inside, and its elements live and are not written otherwise while
        // the launch runs.
        unsafe { core::slice::from_raw_parts(first, length) }
    }
}

impl<T: DeviceData> KernelArg<PerItem> for Chunks<'_, T> {
    type Shape = Parted<T>;

    fn bind<'a>(self, bindings: &mut Bindings<'a>) -> Result<()>
    where
        Self: 'a,
    {
        bindings.one_chunk_each(self.len())?;
        let (rest, size) = self.into_parts();
        // Through a shared reference only atomics are written.
        let access = if T::ATOMIC_WIDTH == 0 { Access::Read } else { Access::Write };
        bindings.part::<T>(rest.region().shared(), rest.len(), access);
        bindings.length(size);
        Ok(())
    }
}

/// The shape of `buffer.chunks_mut(k)?`.
#[doc(hidden)]
pub struct PartedMut<T>(PhantomData<fn() -> T>);

// SAFETY: two slots, the first one with the memory, bound for writing; each item gets its own chunk,
// and `bind` has checked that there are as many.
unsafe impl<T: DeviceData> Shape<PerItem> for PartedMut<T> {
    type View<'k> = &'k mut [T];
    type Native = (*mut T, usize, usize);
    const SLOTS: u32 = 2;

    #[inline(always)]
    unsafe fn on_device<'k>(slot: u32, item: usize) -> &'k mut [T] {
        let address = hooks::__crosscut_argument_address(slot).cast();
        let length = hooks::__crosscut_argument_length(slot) as usize;
        let size = hooks::__crosscut_argument_length(slot.wrapping_add(1)) as usize;
        // SAFETY: the runtime binds the slot to that many elements, and this item has a chunk of
        // them, of which this is the only view.
        unsafe { Self::view((address, length, size), item) }
    }

    #[inline(always)]
    unsafe fn native(slots: &[Slot]) -> Self::Native {
        (slots[0].address.cast(), slots[0].length, slots[1].length)
    }

    #[inline(always)]
    unsafe fn view<'k>((address, length, size): Self::Native, item: usize) -> &'k mut [T] {
        let (start, length) = chunk(item, length, size);
        // SAFETY: there are as many chunks as items, so that this one begins inside.
        let first = unsafe { address.add(start) };
        // SAFETY: the chunk ends inside, and this item's chunk is nobody else's.
        unsafe { core::slice::from_raw_parts_mut(first, length) }
    }
}

impl<T: DeviceData> KernelArg<PerItem> for ChunksMut<'_, T> {
    type Shape = PartedMut<T>;

    fn bind<'a>(self, bindings: &mut Bindings<'a>) -> Result<()>
    where
        Self: 'a,
    {
        bindings.one_chunk_each(self.len())?;
        let (rest, size) = self.into_parts();
        match rest {
            Some(rest) => bindings.part::<T>(rest.region(), rest.len(), Access::Write),
            // The range has no items: nobody looks at the slot.
            None => bindings.length(0),
        }
        bindings.length(size);
        Ok(())
    }
}
