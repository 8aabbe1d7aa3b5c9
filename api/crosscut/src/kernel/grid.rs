//! Buffers of two and three dimensions as arguments.
//!
//! The first slot has the memory and the first extent, each further slot one extent more.

use core::marker::PhantomData;
use core::ops::{Index, IndexMut};

use crosscut_device::{DeviceData, hooks};
use crosscut_runtime::{Access, Slot};

use super::argument::{KernelArg, Once, PerItem, Shape, Written};
use super::bindings::Bindings;
use crate::{Buffer, DeviceSliceMut as _, Result};

/// A buffer of two or three dimensions in a kernel, to be read: `grid[[y, x]]`.
///
/// ```
/// use crosscut::prelude::*;
/// use crosscut::Grid;
///
/// fn around(grid: Grid<'_, f32, 2>, [y, x]: [usize; 2]) -> f32 {
///     let [height, width] = grid.extents();
///     let (up, down) = (y.saturating_sub(1), (y + 1).min(height - 1));
///     let (left, right) = (x.saturating_sub(1), (x + 1).min(width - 1));
///     (grid[[up, x]] + grid[[down, x]] + grid[[y, left]] + grid[[y, right]]) / 4.0
/// }
///
/// let queue = Queue::new()?;
/// let old = queue.upload(&[0.0f32, 4.0, 8.0, 0.0])?.shaped([2, 2])?;
/// let mut new = queue.zeroed::<f32>(4)?.shaped([2, 2])?;
/// queue.for_each(&mut new, &old, |at, new, old| *new = around(old, at))?;
/// assert_eq!(queue.download(&new)?, [3.0, 2.0, 4.0, 3.0]);
/// # Ok::<(), crosscut::Error>(())
/// ```
#[derive(Debug)]
pub struct Grid<'k, T, const D: usize> {
    elements: *const T,
    extents: [usize; D],
    lent: PhantomData<&'k [T]>,
}

/// A buffer of two or three dimensions in a single task, to be written: `grid[[y, x]] = value`.
///
/// ```
/// use crosscut::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut table = queue.zeroed::<u32>(6)?.shaped([2, 3])?;
/// queue.single_task(&mut table, |mut table| {
///     table[[1, 0]] = 7;
///     table[[1, 2]] = table[[1, 0]] + 1;
/// })?;
/// assert_eq!(queue.download(&table)?, [0, 0, 0, 7, 0, 8]);
/// # Ok::<(), crosscut::Error>(())
/// ```
#[derive(Debug)]
pub struct GridMut<'k, T, const D: usize> {
    elements: *mut T,
    extents: [usize; D],
    lent: PhantomData<&'k mut [T]>,
}

impl<T, const D: usize> Clone for Grid<'_, T, D> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, const D: usize> Copy for Grid<'_, T, D> {}

/// The place of an element; `None` if there is none.
#[inline(always)]
fn place<const D: usize>(extents: [usize; D], at: [usize; D]) -> Option<usize> {
    let mut place = 0usize;
    let mut dimension = 0;
    while dimension < D {
        if at[dimension] >= extents[dimension] {
            return None;
        }
        // Less than the number of elements, which is a `usize`, as long as every index is inside.
        place = place.wrapping_mul(extents[dimension]).wrapping_add(at[dimension]);
        dimension += 1;
    }
    Some(place)
}

#[cold]
#[track_caller]
pub(super) fn outside() -> ! {
    panic!("index out of bounds of a grid")
}

impl<'k, T, const D: usize> Grid<'k, T, D> {
    /// How many elements there are in each dimension, the last one fastest.
    #[inline(always)]
    #[must_use]
    pub fn extents(&self) -> [usize; D] {
        self.extents
    }

    /// An element, if it is inside.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let image = queue.upload(&[1u32, 2, 3, 4, 5, 6])?.shaped([2, 3])?;
    /// let mut sums = queue.zeroed::<u32>(2)?;
    /// queue.for_each(&mut sums, &image, |y, sum, image| {
    ///     let [_, width] = image.extents();
    ///     let below = image.get([y + 1, 0]).copied().unwrap_or(100); // no row below the last one
    ///     *sum = below + image.as_slice()[y * width..][..width].iter().sum::<u32>();
    /// })?;
    /// assert_eq!(queue.download(&sums)?, [10, 115]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn get(&self, at: [usize; D]) -> Option<&'k T> {
        let place = place(self.extents, at)?;
        // SAFETY: the place is inside.
        let element = unsafe { self.elements.add(place) };
        // SAFETY: the elements are lent for `'k`.
        Some(unsafe { &*element })
    }

    /// All elements, row after row.
    #[inline(always)]
    #[must_use]
    pub fn as_slice(&self) -> &'k [T] {
        let length = self.extents.iter().product();
        // SAFETY: there are as many elements, lent for `'k`.
        unsafe { core::slice::from_raw_parts(self.elements, length) }
    }
}

impl<T, const D: usize> GridMut<'_, T, D> {
    /// How many elements there are in each dimension, the last one fastest.
    #[inline(always)]
    #[must_use]
    pub fn extents(&self) -> [usize; D] {
        self.extents
    }

    /// An element, if it is inside.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut table = queue.zeroed::<u32>(6)?.shaped([2, 3])?;
    /// queue.single_task(&mut table, |mut table| {
    ///     table.as_mut_slice().fill(1);
    ///     let [height, width] = table.extents();
    ///     if let Some(last) = table.get_mut([height - 1, width - 1]) {
    ///         *last = 9;
    ///     }
    /// })?;
    /// assert_eq!(queue.download(&table)?, [1, 1, 1, 1, 1, 9]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn get_mut(&mut self, at: [usize; D]) -> Option<&mut T> {
        let place = place(self.extents, at)?;
        // SAFETY: the place is inside.
        let element = unsafe { self.elements.add(place) };
        // SAFETY: the elements are this task's alone.
        Some(unsafe { &mut *element })
    }

    /// All elements, row after row.
    #[inline(always)]
    #[must_use]
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        let length = self.extents.iter().product();
        // SAFETY: there are as many elements, this task's alone.
        unsafe { core::slice::from_raw_parts_mut(self.elements, length) }
    }
}

impl<T, const D: usize> Index<[usize; D]> for Grid<'_, T, D> {
    type Output = T;

    #[inline(always)]
    #[track_caller]
    fn index(&self, at: [usize; D]) -> &T {
        match self.get(at) {
            Some(element) => element,
            None => outside(),
        }
    }
}

impl<T, const D: usize> Index<[usize; D]> for GridMut<'_, T, D> {
    type Output = T;

    #[inline(always)]
    #[track_caller]
    fn index(&self, at: [usize; D]) -> &T {
        let Some(place) = place(self.extents, at) else { outside() };
        // SAFETY: the place is inside.
        let element = unsafe { self.elements.add(place) };
        // SAFETY: the elements are this task's alone.
        unsafe { &*element }
    }
}

impl<T, const D: usize> IndexMut<[usize; D]> for GridMut<'_, T, D> {
    #[inline(always)]
    #[track_caller]
    fn index_mut(&mut self, at: [usize; D]) -> &mut T {
        match self.get_mut(at) {
            Some(element) => element,
            None => outside(),
        }
    }
}

/// The extents that the slots from `slot` on tell, on a device.
#[inline(always)]
fn extents_on_device<const D: usize>(slot: u32) -> [usize; D] {
    let mut extents = [0; D];
    let mut dimension = 0;
    while dimension < D {
        let slot = slot.wrapping_add(dimension as u32);
        extents[dimension] = hooks::__crosscut_argument_length(slot) as usize;
        dimension += 1;
    }
    extents
}

#[inline(always)]
fn native_extents<const D: usize>(slots: &[Slot]) -> [usize; D] {
    let mut extents = [0; D];
    for (extent, slot) in extents.iter_mut().zip(slots) {
        *extent = slot.length;
    }
    extents
}

/// The shape of `&Buffer<T, D>`.
#[doc(hidden)]
pub struct Shaped<T, const D: usize>(PhantomData<fn() -> T>);

// SAFETY: as many slots as extents, the first one with the memory; the view only reads, except
// through atomics, which are bound for writing.
unsafe impl<K, T: DeviceData, const D: usize> Shape<K> for Shaped<T, D> {
    type View<'k> = Grid<'k, T, D>;
    type Native = (*const T, [usize; D]);
    const SLOTS: u32 = D as u32;

    #[inline(always)]
    unsafe fn on_device<'k>(slot: u32, _item: usize) -> Grid<'k, T, D> {
        let elements = if T::ATOMIC_WIDTH == 0 {
            hooks::__crosscut_read_argument_address(slot)
        } else {
            hooks::__crosscut_argument_address(slot).cast_const()
        };
        Grid { elements: elements.cast(), extents: extents_on_device(slot), lent: PhantomData }
    }

    #[inline(always)]
    unsafe fn native(slots: &[Slot]) -> (*const T, [usize; D]) {
        (slots[0].address.cast(), native_extents(slots))
    }

    #[inline(always)]
    unsafe fn view<'k>((elements, extents): Self::Native, _item: usize) -> Grid<'k, T, D> {
        Grid { elements, extents, lent: PhantomData }
    }
}

/// The shape of `&mut Buffer<T, D>` in a single task.
#[doc(hidden)]
pub struct ShapedMut<T, const D: usize>(PhantomData<fn() -> T>);

// SAFETY: as many slots as extents, the first one with the memory, bound for writing; a single task
// is alone with it.
unsafe impl<T: DeviceData, const D: usize> Shape<Once> for ShapedMut<T, D> {
    type View<'k> = GridMut<'k, T, D>;
    type Native = (*mut T, [usize; D]);
    const SLOTS: u32 = D as u32;

    #[inline(always)]
    unsafe fn on_device<'k>(slot: u32, _item: usize) -> GridMut<'k, T, D> {
        let elements = hooks::__crosscut_argument_address(slot).cast();
        GridMut { elements, extents: extents_on_device(slot), lent: PhantomData }
    }

    #[inline(always)]
    unsafe fn native(slots: &[Slot]) -> (*mut T, [usize; D]) {
        (slots[0].address.cast(), native_extents(slots))
    }

    #[inline(always)]
    unsafe fn view<'k>((elements, extents): Self::Native, _item: usize) -> GridMut<'k, T, D> {
        GridMut { elements, extents, lent: PhantomData }
    }
}

macro_rules! dimensions {
    ($($dimensions:literal)*) => {$(
        impl<K, T: DeviceData> KernelArg<K> for &Buffer<T, $dimensions> {
            type Shape = Shaped<T, $dimensions>;

            fn bind<'a>(self, bindings: &mut Bindings<'a>) -> Result<()>
            where
                Self: 'a,
            {
                // Through a shared reference only atomics are written.
                let access = if T::ATOMIC_WIDTH == 0 { Access::Read } else { Access::Write };
                bindings.part::<T>(self.whole().region().shared(), self.shape()[0], access);
                self.shape()[1..].iter().for_each(|extent| bindings.length(*extent));
                Ok(())
            }
        }

        impl<T: DeviceData> KernelArg<PerItem> for &mut Buffer<T, $dimensions> {
            type Shape = Written<T>;

            fn bind<'a>(self, bindings: &mut Bindings<'a>) -> Result<()>
            where
                Self: 'a,
            {
                bindings.same_shape(&self.shape())?;
                let part = self.as_slice_mut();
                bindings.part::<T>(part.region(), part.len(), Access::Write);
                Ok(())
            }
        }

        impl<T: DeviceData> KernelArg<Once> for &mut Buffer<T, $dimensions> {
            type Shape = ShapedMut<T, $dimensions>;

            fn bind<'a>(self, bindings: &mut Bindings<'a>) -> Result<()>
            where
                Self: 'a,
            {
                let shape = self.shape();
                bindings.part::<T>(self.as_slice_mut().region(), shape[0], Access::Write);
                shape[1..].iter().for_each(|extent| bindings.length(*extent));
                Ok(())
            }
        }
    )*};
}

dimensions! { 2 3 }
