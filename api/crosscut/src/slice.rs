//! Parts of buffers, and what all memory that can be copied has in common.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, Range, RangeBounds};

use crosscut_device::DeviceData;
use crosscut_runtime::Region;

use crate::{Buffer, Chunks, ChunksMut, Error, Result};

/// Elements in the memory of a device, to be read: a [`Buffer`], a part of one, or [`Usm`](crate::Usm).
pub trait DeviceSlice {
    /// What it is made of.
    type Element: DeviceData;

    /// All of it.
    fn as_slice(&self) -> BufferSlice<'_, Self::Element>;
}

/// Elements in the memory of a device, to be written: a [`Buffer`], a part of one, or
/// [`Usm`](crate::Usm).
pub trait DeviceSliceMut: DeviceSlice {
    /// The items of a kernel that runs [for each](crate::Queue::for_each) of its elements.
    type Items: crate::Range;

    /// All of it.
    fn as_slice_mut(&mut self) -> BufferSliceMut<'_, Self::Element>;

    /// One item per element.
    fn items(&self) -> Self::Items;
}

/// A part of a buffer, to be read: made by [`Buffer::slice`]. In a kernel it is a `&[T]`.
///
/// ```
/// use crosscut::prelude::*;
///
/// let queue = Queue::new()?;
/// let x = queue.upload(&[1u32, 2, 3, 4, 5])?;
/// let part = x.slice(1..)?;
/// let inner = part.slice(1..3)?; // counted from the part's own beginning
/// assert_eq!((part.len(), inner.len(), inner.is_empty()), (4, 2, false));
/// assert_eq!(queue.download(&inner)?, [3, 4]);
/// # Ok::<(), crosscut::Error>(())
/// ```
pub struct BufferSlice<'a, T> {
    region: Region<'a>,
    len: usize,
    elements: PhantomData<&'a [T]>,
}

/// A part of a buffer, to be written: made by [`Buffer::slice_mut`]. In a kernel it is this item's
/// own `&mut T`, in a single task a `&mut [T]`.
///
/// Passing it hands it over; `&mut slice` lends it.
///
/// ```
/// use crosscut::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut x = queue.upload(&[1u32, 2, 3, 4, 5])?;
/// let mut part = x.slice_mut(1..)?;
/// assert!(part.len() == 4 && !part.is_empty());
/// queue.fill(&mut part.slice_mut(..1)?, 9)?;
/// let (low, high) = part.split_at_mut(2)?;
/// queue.parallel_for(2, (low, high), |_, (low, high)| *low += *high)?;
/// assert_eq!(queue.download(&part.slice(..2)?)?, [13, 8]);
/// # Ok::<(), crosscut::Error>(())
/// ```
pub struct BufferSliceMut<'a, T> {
    region: Region<'a>,
    len: usize,
    elements: PhantomData<&'a mut [T]>,
}

impl<'a, T: DeviceData> BufferSlice<'a, T> {
    /// `region` has `len` elements.
    pub(crate) fn new(region: Region<'a>, len: usize) -> Self {
        Self { region, len, elements: PhantomData }
    }

    /// How many elements it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A part of it, counted in elements.
    ///
    /// # Errors
    /// It has not as many.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<BufferSlice<'a, T>> {
        let range = inside(range, self.len)?;
        let region =
            self.region.part(range.start * size_of::<T>(), range.len() * size_of::<T>())?;
        Ok(Self::new(region, range.len()))
    }

    /// Parts of `size` elements: see [`Buffer::chunks`].
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let x = queue.upload(&[0u32, 1, 2, 3, 4])?;
    /// let mut sums = queue.zeroed::<u32>(2)?;
    /// queue.for_each(&mut sums, x.slice(1..)?.chunks(2)?, |_, sum, pair| *sum = pair.iter().sum())?;
    /// assert_eq!(queue.download(&sums)?, [3, 7]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// The size is zero.
    pub fn chunks(&self, size: usize) -> Result<Chunks<'a, T>> {
        Chunks::of(*self, size)
    }

    pub(crate) fn region(&self) -> Region<'a> {
        self.region
    }
}

impl<'a, T: DeviceData> BufferSliceMut<'a, T> {
    /// # Safety
    /// `region` has `len` elements, and they are borrowed mutably.
    pub(crate) unsafe fn new(region: Region<'a>, len: usize) -> Self {
        Self { region, len, elements: PhantomData }
    }

    /// How many elements it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// A part of it, counted in elements, to be read.
    ///
    /// # Errors
    /// It has not as many.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<BufferSlice<'_, T>> {
        self.as_slice().slice(range)
    }

    /// A part of it, counted in elements, to be written.
    ///
    /// # Errors
    /// It has not as many.
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<BufferSliceMut<'_, T>> {
        self.as_slice_mut().into_slice(range)
    }

    /// Two parts of it, before and from `middle` on, to be written side by side.
    ///
    /// # Errors
    /// It has not as many elements.
    pub fn split_at_mut(
        &mut self,
        middle: usize,
    ) -> Result<(BufferSliceMut<'_, T>, BufferSliceMut<'_, T>)> {
        self.as_slice_mut().into_split_at(middle)
    }

    /// Parts of `size` elements, to be written: see [`Buffer::chunks_mut`].
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut x = queue.upload(&[0u32, 1, 2, 3, 4])?;
    /// let mut part = x.slice_mut(1..)?;
    /// queue.parallel_for(2, part.chunks_mut(2)?, |_, pair| pair.swap(0, 1))?;
    /// assert_eq!(queue.download(&x)?, [0, 2, 1, 4, 3]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// The size is zero.
    pub fn chunks_mut(&mut self, size: usize) -> Result<ChunksMut<'_, T>> {
        ChunksMut::of(self.as_slice_mut(), size)
    }

    pub(crate) fn into_slice(self, range: impl RangeBounds<usize>) -> Result<Self> {
        let range = inside(range, self.len)?;
        let region =
            self.region.part(range.start * size_of::<T>(), range.len() * size_of::<T>())?;
        // SAFETY: a part of what is borrowed mutably, which is given up.
        Ok(unsafe { Self::new(region, range.len()) })
    }

    pub(crate) fn into_split_at(self, middle: usize) -> Result<(Self, Self)> {
        let (low, high) = (inside(..middle, self.len)?, inside(middle.., self.len)?);
        let part = |range: Range<usize>| {
            self.region.part(range.start * size_of::<T>(), range.len() * size_of::<T>())
        };
        let (below, above) = (part(low.clone())?, part(high.clone())?);
        // SAFETY: a part of what is borrowed mutably, which is given up.
        let below = unsafe { Self::new(below, low.len()) };
        // SAFETY: as above, and the two parts have nothing in common.
        let above = unsafe { Self::new(above, high.len()) };
        Ok((below, above))
    }

    pub(crate) fn region(&self) -> Region<'a> {
        self.region
    }
}

/// The elements that a range means, which there are.
fn inside(range: impl RangeBounds<usize>, len: usize) -> Result<Range<usize>> {
    bounds(range, len).map_err(|(start, end)| {
        Error::invalid(
            format!("elements {start}..{end} of a buffer that has {len}"),
            way_out(start, end, len),
        )
    })
}

/// What to do about a range that [`bounds`] refuses.
pub(crate) fn way_out(start: usize, end: usize, len: usize) -> &'static str {
    if end < start && start <= len {
        "begin with the smaller index"
    } else {
        "stay inside the buffer"
    }
}

/// The indices that a range means, all below `len`; its two ends if some are not.
pub(crate) fn bounds(
    range: impl RangeBounds<usize>,
    len: usize,
) -> std::result::Result<Range<usize>, (usize, usize)> {
    let start = match range.start_bound() {
        Bound::Included(start) => Some(*start),
        Bound::Excluded(start) => start.checked_add(1),
        Bound::Unbounded => Some(0),
    };
    let end = match range.end_bound() {
        Bound::Included(end) => end.checked_add(1),
        Bound::Excluded(end) => Some(*end),
        Bound::Unbounded => Some(len),
    };
    match (start, end) {
        (Some(start), Some(end)) if start <= end && end <= len => Ok(start..end),
        _ => Err((start.unwrap_or(usize::MAX), end.unwrap_or(usize::MAX))),
    }
}

impl<T: DeviceData> DeviceSlice for BufferSlice<'_, T> {
    type Element = T;

    fn as_slice(&self) -> BufferSlice<'_, T> {
        *self
    }
}

impl<T: DeviceData> DeviceSlice for BufferSliceMut<'_, T> {
    type Element = T;

    fn as_slice(&self) -> BufferSlice<'_, T> {
        BufferSlice::new(self.region, self.len)
    }
}

impl<T: DeviceData> DeviceSliceMut for BufferSliceMut<'_, T> {
    type Items = usize;

    fn as_slice_mut(&mut self) -> BufferSliceMut<'_, T> {
        // SAFETY: what is borrowed mutably is lent on, for as long as this is.
        unsafe { BufferSliceMut::new(self.region, self.len) }
    }

    fn items(&self) -> usize {
        self.len
    }
}

impl<T: DeviceData, const D: usize> DeviceSlice for Buffer<T, D> {
    type Element = T;

    fn as_slice(&self) -> BufferSlice<'_, T> {
        self.whole()
    }
}

impl<T: DeviceData> DeviceSliceMut for Buffer<T> {
    type Items = usize;

    fn as_slice_mut(&mut self) -> BufferSliceMut<'_, T> {
        self.whole_mut()
    }

    fn items(&self) -> usize {
        self.len()
    }
}

macro_rules! shaped {
    ($($dimensions:literal)*) => {$(
        impl<T: DeviceData> DeviceSliceMut for Buffer<T, $dimensions> {
            type Items = [usize; $dimensions];

            fn as_slice_mut(&mut self) -> BufferSliceMut<'_, T> {
                self.whole_mut()
            }

            fn items(&self) -> [usize; $dimensions] {
                self.shape()
            }
        }
    )*};
}

shaped! { 2 3 }

impl<T> Clone for BufferSlice<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for BufferSlice<'_, T> {}

impl<T> fmt::Debug for BufferSlice<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufferSlice").field("len", &self.len).finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for BufferSliceMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BufferSliceMut").field("len", &self.len).finish_non_exhaustive()
    }
}
