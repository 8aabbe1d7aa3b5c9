//! Rectangles and boxes of buffers as arguments.
//!
//! The slots: the memory from the first element to the last with the first extent, the other extents,
//! and how many elements the next row, and before it the next plane, is away. A view of a whole buffer
//! has no such distances, and costs no more than before.

use core::fmt;
use core::marker::PhantomData;
use core::ops::{Index, IndexMut};

use crosscut_device::{DeviceData, hooks};
use crosscut_runtime::{Access, Slot};

use super::argument::{KernelArg, Once, PerItem, Shape};
use super::bindings::Bindings;
use super::grid::outside;
use crate::{BufferPart, BufferPartMut, Result};

/// A rectangle or box of a buffer in a kernel, to be read: `part[[y, x]]`, counted from its own corner.
///
/// ```
/// use crosscut::prelude::*;
///
/// let queue = Queue::new()?;
/// let image = queue.upload(&[1u32, 2, 3, 4, 5, 6, 7, 8, 9])?.shaped([3, 3])?;
/// let mut tile = queue.zeroed::<u32>(4)?.shaped([2, 2])?;
/// queue.for_each(&mut tile, image.part([1..3, 1..3])?, |[y, x], tile, image| {
///     let [height, _] = image.extents();
///     let below = image.get([y + 1, x]).copied().unwrap_or(0); // nothing is below the last row
///     *tile = 100 * height as u32 + 10 * image[[y, x]] + below;
/// })?;
/// assert_eq!(queue.download(&tile)?, [258, 269, 280, 290]);
/// # Ok::<(), crosscut::Error>(())
/// ```
///
/// Two parts of atomics whose rows lie between one another, such as the left and the right half of a
/// buffer, cannot both be arguments of one command: pass the whole buffer.
pub struct GridPart<'k, T, const D: usize> {
    elements: *const T,
    layout: Layout<D>,
    lent: PhantomData<&'k [T]>,
}

/// A rectangle or box of a buffer in a single task or host task, to be written: `part[[y, x]] = value`.
///
/// ```
/// use crosscut::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut image = queue.zeroed::<u32>(9)?.shaped([3, 3])?;
/// queue.single_task(image.part_mut([1..3, 1..3])?, |mut part| {
///     part[[0, 0]] = 1;
///     part[[1, 1]] = part[[0, 0]] + 1;
///     assert!(part.extents() == [2, 2] && part.get_mut([2, 0]).is_none());
/// })?;
/// assert_eq!(queue.download(&image)?, [0, 0, 0, 0, 1, 0, 0, 0, 2]);
/// # Ok::<(), crosscut::Error>(())
/// ```
pub struct GridPartMut<'k, T, const D: usize> {
    elements: *mut T,
    layout: Layout<D>,
    lent: PhantomData<&'k mut [T]>,
}

/// Where the elements of a part are, counted from the first one.
#[doc(hidden)]
#[derive(Clone, Copy)]
pub struct Layout<const D: usize> {
    extents: [usize; D],
    /// From an element to the next one in each dimension; 1 in the last.
    pitches: [usize; D],
}

impl<const D: usize> Layout<D> {
    /// As the slots from the first one of the argument on tell it.
    #[inline(always)]
    fn of(length: impl Fn(usize) -> usize) -> Self {
        let (mut extents, mut pitches) = ([0; D], [1; D]);
        let mut dimension = 0;
        while dimension < D {
            extents[dimension] = length(dimension);
            if dimension + 1 < D {
                pitches[dimension] = length(D + dimension);
            }
            dimension += 1;
        }
        Self { extents, pitches }
    }

    #[inline(always)]
    fn on_device(slot: u32) -> Self {
        Self::of(|at| hooks::__crosscut_argument_length(slot.wrapping_add(at as u32)) as usize)
    }

    /// The place of an element that is inside.
    #[inline(always)]
    fn place_inside(self, at: [usize; D]) -> usize {
        let mut place = 0usize;
        let mut dimension = 0;
        while dimension < D {
            // Not beyond the last element of the buffer, whose number is a `usize`.
            place = place.wrapping_add(at[dimension].wrapping_mul(self.pitches[dimension]));
            dimension += 1;
        }
        place
    }

    /// The place of an element; `None` if there is none.
    #[inline(always)]
    fn place(self, at: [usize; D]) -> Option<usize> {
        let mut dimension = 0;
        while dimension < D {
            if at[dimension] >= self.extents[dimension] {
                return None;
            }
            dimension += 1;
        }
        Some(self.place_inside(at))
    }

    /// The place of the element with this number, counted row after row; there is one.
    #[inline(always)]
    fn numbered(self, mut number: usize) -> usize {
        let mut at = [0; D];
        let mut dimension = D;
        while dimension > 1 {
            dimension -= 1;
            let extent = self.extents[dimension];
            at[dimension] = number % extent;
            number /= extent;
        }
        at[0] = number;
        self.place_inside(at)
    }
}

impl<T, const D: usize> Clone for GridPart<'_, T, D> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, const D: usize> Copy for GridPart<'_, T, D> {}

impl<'k, T, const D: usize> GridPart<'k, T, D> {
    /// How many elements it has in each dimension, the last one fastest.
    #[inline(always)]
    #[must_use]
    pub fn extents(&self) -> [usize; D] {
        self.layout.extents
    }

    /// An element, if it is inside.
    #[inline(always)]
    #[must_use]
    pub fn get(&self, at: [usize; D]) -> Option<&'k T> {
        let place = self.layout.place(at)?;
        // SAFETY: the place is inside.
        let element = unsafe { self.elements.add(place) };
        // SAFETY: the elements are lent for `'k`.
        Some(unsafe { &*element })
    }
}

impl<T, const D: usize> GridPartMut<'_, T, D> {
    /// How many elements it has in each dimension, the last one fastest.
    #[inline(always)]
    #[must_use]
    pub fn extents(&self) -> [usize; D] {
        self.layout.extents
    }

    /// An element, if it is inside.
    #[inline(always)]
    #[must_use]
    pub fn get_mut(&mut self, at: [usize; D]) -> Option<&mut T> {
        let place = self.layout.place(at)?;
        // SAFETY: the place is inside.
        let element = unsafe { self.elements.add(place) };
        // SAFETY: the elements are this task's alone.
        Some(unsafe { &mut *element })
    }
}

impl<T, const D: usize> Index<[usize; D]> for GridPart<'_, T, D> {
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

impl<T, const D: usize> Index<[usize; D]> for GridPartMut<'_, T, D> {
    type Output = T;

    #[inline(always)]
    #[track_caller]
    fn index(&self, at: [usize; D]) -> &T {
        let Some(place) = self.layout.place(at) else { outside() };
        // SAFETY: the place is inside.
        let element = unsafe { self.elements.add(place) };
        // SAFETY: the elements are this task's alone.
        unsafe { &*element }
    }
}

impl<T, const D: usize> IndexMut<[usize; D]> for GridPartMut<'_, T, D> {
    #[inline(always)]
    #[track_caller]
    fn index_mut(&mut self, at: [usize; D]) -> &mut T {
        match self.get_mut(at) {
            Some(element) => element,
            None => outside(),
        }
    }
}

/// The shape of `buffer.part(..)?`.
#[doc(hidden)]
pub struct Rectangle<T, const D: usize>(PhantomData<fn() -> T>);

// SAFETY: as many slots as extents and distances, the first one with the memory; the view only reads,
// except through atomics, which are bound for writing.
unsafe impl<K, T: DeviceData, const D: usize> Shape<K> for Rectangle<T, D> {
    type View<'k> = GridPart<'k, T, D>;
    type Native = (*const T, Layout<D>);
    const SLOTS: u32 = 2 * D as u32 - 1;

    #[inline(always)]
    unsafe fn on_device<'k>(slot: u32, _item: usize) -> GridPart<'k, T, D> {
        let elements = if T::ATOMIC_WIDTH == 0 {
            hooks::__crosscut_read_argument_address(slot)
        } else {
            hooks::__crosscut_argument_address(slot).cast_const()
        };
        GridPart { elements: elements.cast(), layout: Layout::on_device(slot), lent: PhantomData }
    }

    #[inline(always)]
    unsafe fn native(slots: &[Slot]) -> Self::Native {
        (slots[0].address.cast(), Layout::of(|at| slots[at].length))
    }

    #[inline(always)]
    unsafe fn view<'k>((elements, layout): Self::Native, _item: usize) -> GridPart<'k, T, D> {
        GridPart { elements, layout, lent: PhantomData }
    }
}

/// The shape of `buffer.part_mut(..)?`.
#[doc(hidden)]
pub struct RectangleMut<T, const D: usize>(PhantomData<fn() -> T>);

// SAFETY: slots as for reading, bound for writing; each item gets its own element: `bind` has checked that
// the range has the extents of the part, and rows of a part do not overlap.
unsafe impl<T: DeviceData, const D: usize> Shape<PerItem> for RectangleMut<T, D> {
    type View<'k> = &'k mut T;
    type Native = (*mut T, Layout<D>);
    const SLOTS: u32 = 2 * D as u32 - 1;

    #[inline(always)]
    unsafe fn on_device<'k>(slot: u32, _item: usize) -> &'k mut T {
        let elements = hooks::__crosscut_argument_address(slot).cast::<T>();
        let mut at = [0; D];
        let mut dimension = 0;
        while dimension < D {
            // As many dimensions as the range has, and an item is inside each.
            at[dimension] = hooks::__crosscut_global_id(dimension as u32) as usize;
            dimension += 1;
        }
        // SAFETY: the place is inside.
        let element = unsafe { elements.add(Layout::on_device(slot).place_inside(at)) };
        // SAFETY: this item's element is nobody else's.
        unsafe { &mut *element }
    }

    #[inline(always)]
    unsafe fn native(slots: &[Slot]) -> Self::Native {
        (slots[0].address.cast(), Layout::of(|at| slots[at].length))
    }

    #[inline(always)]
    unsafe fn view<'k>((elements, layout): Self::Native, item: usize) -> &'k mut T {
        // SAFETY: there are as many elements as items.
        let element = unsafe { elements.add(layout.numbered(item)) };
        // SAFETY: this item's element is nobody else's.
        unsafe { &mut *element }
    }
}

// SAFETY: slots as above, bound for writing; a single task is alone with them.
unsafe impl<T: DeviceData, const D: usize> Shape<Once> for RectangleMut<T, D> {
    type View<'k> = GridPartMut<'k, T, D>;
    type Native = (*mut T, Layout<D>);
    const SLOTS: u32 = 2 * D as u32 - 1;

    #[inline(always)]
    unsafe fn on_device<'k>(slot: u32, _item: usize) -> GridPartMut<'k, T, D> {
        let elements = hooks::__crosscut_argument_address(slot).cast();
        GridPartMut { elements, layout: Layout::on_device(slot), lent: PhantomData }
    }

    #[inline(always)]
    unsafe fn native(slots: &[Slot]) -> Self::Native {
        (slots[0].address.cast(), Layout::of(|at| slots[at].length))
    }

    #[inline(always)]
    unsafe fn view<'k>((elements, layout): Self::Native, _item: usize) -> GridPartMut<'k, T, D> {
        GridPartMut { elements, layout, lent: PhantomData }
    }
}

macro_rules! read {
    ($([$($generics:tt)*] $argument:ty, $dimensions:literal;)*) => {$(
        impl<K, $($generics)*> KernelArg<K> for $argument {
            type Shape = Rectangle<T, $dimensions>;

            fn bind<'a>(self, bindings: &mut Bindings<'a>) -> Result<()>
            where
                Self: 'a,
            {
                // Through a shared reference only atomics are written.
                let access = if T::ATOMIC_WIDTH == 0 { Access::Read } else { Access::Write };
                let extents = self.extents();
                bindings.part::<T>(self.span().shared(), extents[0], access);
                extents[1..].iter().for_each(|extent| bindings.length(*extent));
                self.pitches().iter().for_each(|pitch| bindings.length(*pitch));
                Ok(())
            }
        }
    )*};
}

macro_rules! written {
    ($([$($generics:tt)*] $argument:ty, $kind:ty, $dimensions:literal;)*) => {$(
        impl<$($generics)*> KernelArg<$kind> for $argument {
            type Shape = RectangleMut<T, $dimensions>;

            fn bind<'a>(self, bindings: &mut Bindings<'a>) -> Result<()>
            where
                Self: 'a,
            {
                let extents = self.extents();
                bindings.same_shape(&extents)?;
                bindings.part::<T>(self.span(), extents[0], Access::Write);
                extents[1..].iter().for_each(|extent| bindings.length(*extent));
                self.pitches().iter().for_each(|pitch| bindings.length(*pitch));
                Ok(())
            }
        }
    )*};
}

macro_rules! dimensions {
    ($($dimensions:literal)*) => {$(
        read! {
            [T: DeviceData] BufferPart<'_, T, $dimensions>, $dimensions;
            [T: DeviceData] &BufferPart<'_, T, $dimensions>, $dimensions;
            [T: DeviceData] &BufferPartMut<'_, T, $dimensions>, $dimensions;
        }
        written! {
            [T: DeviceData] BufferPartMut<'_, T, $dimensions>, PerItem, $dimensions;
            [T: DeviceData] BufferPartMut<'_, T, $dimensions>, Once, $dimensions;
            [T: DeviceData] &mut BufferPartMut<'_, T, $dimensions>, PerItem, $dimensions;
            [T: DeviceData] &mut BufferPartMut<'_, T, $dimensions>, Once, $dimensions;
        }
    )*};
}

dimensions! { 2 3 }

impl<T, const D: usize> fmt::Debug for GridPart<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GridPart").field("extents", &self.layout.extents).finish_non_exhaustive()
    }
}

impl<T, const D: usize> fmt::Debug for GridPartMut<'_, T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GridPartMut").field("extents", &self.layout.extents).finish_non_exhaustive()
    }
}
