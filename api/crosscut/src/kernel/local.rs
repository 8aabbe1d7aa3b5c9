//! Memory of a work-group as an argument.

use core::fmt;
use core::marker::PhantomData;

use crosscut_device::{DeviceData, Tile, hooks};
use crosscut_runtime::Slot;

use super::argument::{KernelArg, PerItem, Shape};
use super::bindings::Bindings;
use crate::Result;

/// Memory that each work-group has for itself, for as long as it runs: an argument of kernels over an
/// [`NdRange`](crate::NdRange), where it arrives as a [`Tile`].
///
/// ```
/// use crosscut::prelude::*;
///
/// let queue = Queue::new()?;
/// let x = queue.upload(&[1, 2, 3, 4, 5, 6, 7, 8])?;
/// let mut y = queue.zeroed::<i32>(8)?;
/// // Turns every group of four around.
/// queue.parallel_for(NdRange::new(8, 4), (&x, &mut y, Local::new(4)), |item, (x, y, mut tile)| {
///     let tile = tile.share(&item, x[item.global()]);
///     *y = tile[3 - item.local()];
/// })?;
/// assert_eq!(queue.download(&y)?, [4, 3, 2, 1, 8, 7, 6, 5]);
/// # Ok::<(), crosscut::Error>(())
/// ```
pub struct Local<T> {
    length: usize,
    elements: PhantomData<fn() -> T>,
}

impl<T: DeviceData> Local<T> {
    /// Memory for `length` elements.
    #[must_use]
    pub const fn new(length: usize) -> Self {
        Self { length, elements: PhantomData }
    }

    pub(crate) fn length(&self) -> usize {
        self.length
    }
}

impl<T> Clone for Local<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Local<T> {}

impl<T> fmt::Debug for Local<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Local").field("length", &self.length).finish()
    }
}

/// The shape of `Local<T>`.
#[doc(hidden)]
pub struct Shared<T>(PhantomData<fn() -> T>);

// SAFETY: one slot and one binding; the tile keeps writers and readers of the group's memory apart.
unsafe impl<T: DeviceData> Shape<PerItem> for Shared<T> {
    type View<'k> = Tile<'k, T>;
    /// The offset in the group's memory.
    type Native = (*mut T, usize);
    const SLOTS: u32 = 1;

    #[inline(always)]
    unsafe fn on_device<'k>(slot: u32, _item: usize) -> Tile<'k, T> {
        let address = hooks::__crosscut_local_address(slot).cast();
        let length = hooks::__crosscut_argument_length(slot) as usize;
        // SAFETY: the runtime gives every group that many elements for this slot.
        unsafe { Tile::new(address, length) }
    }

    #[inline(always)]
    unsafe fn native(slots: &[Slot]) -> (*mut T, usize) {
        (slots[0].address.cast(), slots[0].length)
    }

    #[inline(always)]
    unsafe fn view<'k>((offset, length): (*mut T, usize), _item: usize) -> Tile<'k, T> {
        // SAFETY: the runtime has reserved that many elements from that offset on.
        unsafe { Tile::new(offset, length) }
    }
}

impl<T: DeviceData> KernelArg<PerItem> for Local<T> {
    type Shape = Shared<T>;

    fn bind<'a>(self, bindings: &mut Bindings<'a>) -> Result<()>
    where
        Self: 'a,
    {
        bindings.local::<T>(self.length);
        Ok(())
    }
}
