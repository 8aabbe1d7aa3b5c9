//! Reductions as an argument: each item combines values of its own.

use core::fmt;
use core::marker::PhantomData;

use crosscut_device::{DeviceCopy, hooks};
use crosscut_runtime::{Access, Slot};

use super::argument::{KernelArg, Shape};
use super::bindings::Bindings;
use crate::Result;
use crate::reduction::{Operator, Reduction};

/// A [`Reduction`] as a kernel sees it: what it [combines](Self::combine) is part of the answer.
///
/// ```
/// use crosscut::prelude::*;
///
/// let queue = Queue::new()?;
/// let x = queue.upload(&[3u32, 8, 5, 2])?;
/// let mut largest = Reduction::max(&queue)?;
/// queue.parallel_for(2, (&x, &mut largest), |i, (x, largest)| {
///     largest.combine(x[2 * i]); // an item may combine several values, or none
///     largest.combine(x[2 * i + 1]);
/// })?;
/// assert_eq!(largest.get()?, 8);
/// # Ok::<(), crosscut::Error>(())
/// ```
pub struct Reducer<'k, T, F> {
    /// This item's own value.
    value: *mut T,
    operator: F,
    kernel: PhantomData<&'k mut T>,
}

impl<T: DeviceCopy, F: Operator<T>> Reducer<'_, T, F> {
    /// Adds `value` to what this item contributes, by the operator of the reduction. An item may do so
    /// any number of times, or never.
    #[inline(always)]
    pub fn combine(&self, value: T) {
        // SAFETY: the element of this item, which nobody else has and nothing else in this item borrows.
        let before = unsafe { self.value.read() };
        let after = (self.operator)(before, value);
        // SAFETY: as above.
        unsafe { self.value.write(after) };
    }

    /// The reducer of an item whose own element is at `value`.
    ///
    /// # Safety
    /// That element is this item's alone for `'k`, and `F` is the operator of a reduction that exists.
    #[inline(always)]
    unsafe fn starting_at(value: *mut T, identity: *const T) -> Self {
        // SAFETY: the runtime has bound the identity here.
        let identity = unsafe { identity.read() };
        // SAFETY: the caller's promise.
        unsafe { value.write(identity) };
        const { assert!(size_of::<F>() == 0, "the operator of a reduction captures nothing") };
        // SAFETY: an operator without bytes, of which there is one in the reduction, and it is `Copy`.
        let operator = unsafe { core::ptr::dangling::<F>().read() };
        Self { value, operator, kernel: PhantomData }
    }
}

impl<T, F> fmt::Debug for Reducer<'_, T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reducer").finish_non_exhaustive()
    }
}

/// The shape of `&mut Reduction<T, F>`.
#[doc(hidden)]
pub struct Reduced<T, F>(PhantomData<fn() -> (T, F)>);

// SAFETY: two slots, the identity bound for reading and one element for each item bound for writing.
unsafe impl<K, T: DeviceCopy, F: Operator<T>> Shape<K> for Reduced<T, F> {
    type View<'k> = Reducer<'k, T, F>;
    type Native = (*const T, *mut T);
    const SLOTS: u32 = 2;

    #[inline(always)]
    unsafe fn on_device<'k>(slot: u32, item: usize) -> Reducer<'k, T, F> {
        let identity = hooks::__crosscut_read_argument_address(slot).cast::<T>();
        let values = hooks::__crosscut_argument_address(slot + 1).cast::<T>();
        // SAFETY: there are as many elements as items, and this item's is nobody else's.
        unsafe { Reducer::starting_at(values.wrapping_add(item), identity) }
    }

    #[inline(always)]
    unsafe fn native(slots: &[Slot]) -> (*const T, *mut T) {
        (slots[0].address.cast(), slots[1].address.cast())
    }

    #[inline(always)]
    unsafe fn view<'k>((identity, values): (*const T, *mut T), item: usize) -> Reducer<'k, T, F> {
        // SAFETY: as on a device.
        unsafe { Reducer::starting_at(values.wrapping_add(item), identity) }
    }
}

impl<K, T: DeviceCopy, F: Operator<T>> KernelArg<K> for &mut Reduction<'_, T, F> {
    type Shape = Reduced<T, F>;

    fn bind<'a>(self, bindings: &mut Bindings<'a>) -> Result<()>
    where
        Self: 'a,
    {
        let items = bindings.items().unwrap_or(1);
        let (identity, values, pending) = self.make_room(items)?;
        bindings.part::<T>(identity.region().shared(), identity.len(), Access::Read);
        bindings.part::<T>(values.region(), values.len(), Access::Write);
        bindings.once_launched(pending, items);
        Ok(())
    }
}
