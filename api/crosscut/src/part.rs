//! Rectangles and boxes of buffers of several dimensions, and what copies take.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Range, RangeBounds};

use crosscut_device::DeviceData;
use crosscut_runtime::{Block, Region};

use crate::slice::{bounds, way_out};
use crate::{Buffer, DeviceSlice, DeviceSliceMut, Error, Result};

/// What can be copied from a device: every [`DeviceSlice`], and a [`BufferPart`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not memory of a device",
    label = "not in the memory of a device",
    note = "a buffer, `buffer.slice(a..b)?`, `buffer.part([a..b, c..d])?` or `Usm` is"
)]
pub trait DeviceRows {
    /// What it is made of.
    type Element: DeviceData;

    /// All of it.
    fn rows(&self) -> Rows<'_, Self::Element>;
}

/// What can be copied to a device: every [`DeviceSliceMut`], and a [`BufferPartMut`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not memory of a device that can be written",
    label = "not in the memory of a device",
    note = "a buffer, `buffer.slice_mut(a..b)?`, `buffer.part_mut([a..b, c..d])?` or `Usm` is"
)]
pub trait DeviceRowsMut: DeviceRows {
    /// All of it.
    fn rows_mut(&mut self) -> RowsMut<'_, Self::Element>;
}

impl<S: DeviceSlice> DeviceRows for S {
    type Element = S::Element;

    fn rows(&self) -> Rows<'_, S::Element> {
        let slice = self.as_slice();
        Rows::flat(slice.region(), slice.len())
    }
}

impl<S: DeviceSliceMut> DeviceRowsMut for S {
    fn rows_mut(&mut self) -> RowsMut<'_, S::Element> {
        let slice = self.as_slice_mut();
        RowsMut(Rows::flat(slice.region(), slice.len()), PhantomData)
    }
}

/// Elements to be read, as copies see them: row after row.
pub struct Rows<'a, T> {
    block: Block<'a>,
    len: usize,
    /// With ones in front; `None` where one row is all there is.
    extents: Option<[usize; 3]>,
    elements: PhantomData<&'a [T]>,
}

/// Elements to be written, as copies see them: row after row.
pub struct RowsMut<'a, T>(Rows<'a, T>, PhantomData<&'a mut [T]>);

impl<'a, T: DeviceData> Rows<'a, T> {
    /// `region` has `len` elements.
    fn flat(region: Region<'a>, len: usize) -> Self {
        Self { block: Block::whole(region), len, extents: None, elements: PhantomData }
    }

    /// These elements of `region`, which has `shape`; both with ones in front.
    fn inside(region: Region<'a>, shape: [usize; 3], ranges: [Range<usize>; 3]) -> Result<Self> {
        let extents = ranges.each_ref().map(Range::len);
        let [planes, rows, columns] = extents;
        let [_, height, width] = shape;
        let size = size_of::<T>();
        if extents.contains(&0) {
            // It may begin behind the last element, and the shape's product need not fit.
            let block = Block::new(region.part(0, 0)?, 0, [0, 0], [0, 0])?;
            return Ok(Self { block, len: 0, extents: Some(extents), elements: PhantomData });
        }
        let [z, y, x] = ranges.map(|range| range.start);
        let start = ((z * height + y) * width + x) * size;
        let region = region.part(start, region.size().saturating_sub(start))?;
        let block = Block::new(
            region,
            columns * size,
            [rows, planes],
            [width, height * width].map(|it| it * size),
        )?;
        let len = planes * rows * columns;
        Ok(Self { block, len, extents: Some(extents), elements: PhantomData })
    }

    /// How many elements it has.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    pub(crate) fn block(&self) -> Block<'a> {
        self.block
    }

    /// Both have as many elements, and the same shape where both have one.
    pub(crate) fn matches<U: DeviceData>(&self, target: &RowsMut<'_, U>) -> Result<()> {
        let target = &target.0;
        match (self.extents, target.extents) {
            (Some(source), Some(target)) if source != target => Err(Error::invalid(
                format!("a part of {source:?} elements was to be copied to one of {target:?}"),
                "make both parts equally large in every dimension",
            )),
            _ => crate::copies::equal(self.len, target.len),
        }
    }
}

impl<'a, T: DeviceData> RowsMut<'a, T> {
    /// How many elements it has.
    pub(crate) fn len(&self) -> usize {
        self.0.len
    }

    pub(crate) fn block(&self) -> Block<'a> {
        self.0.block
    }
}

/// A rectangle or box of a buffer, to be read and copied: made by [`Buffer::part`]. In a kernel it is a
/// [`GridPart`](crate::GridPart).
///
/// ```
/// use crosscut::prelude::*;
///
/// let queue = Queue::new()?;
/// let cube = queue.upload(&[1u8, 2, 3, 4, 5, 6, 7, 8])?.shaped([2, 2, 2])?;
/// let side = cube.part([0..2, 1..2, 0..2])?;
/// assert_eq!((side.extents(), side.len(), side.is_empty()), ([2, 1, 2], 4, false));
/// assert_eq!(queue.download(&side)?, [3, 4, 7, 8]);
/// # Ok::<(), crosscut::Error>(())
/// ```
pub struct BufferPart<'a, T, const D: usize> {
    rows: Rows<'a, T>,
    extents: [usize; D],
    span: Span<'a>,
}

/// A rectangle or box of a buffer, to be written, copied to and filled: made by [`Buffer::part_mut`]. In a
/// kernel over a range of its extents it is this item's own `&mut T`, in a single task a
/// [`GridPartMut`](crate::GridPartMut).
///
/// ```
/// use crosscut::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut image = queue.zeroed::<u32>(12)?.shaped([3, 4])?;
/// queue.parallel_for([2, 2], image.part_mut([1..3, 1..3])?, |[y, x], pixel| {
///     *pixel = 10 * (y + 1) as u32 + x as u32;
/// })?;
/// assert_eq!(queue.download(&image)?, [0, 0, 0, 0, 0, 10, 11, 0, 0, 20, 21, 0]);
/// # Ok::<(), crosscut::Error>(())
/// ```
///
/// ```
/// use crosscut::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut image = queue.zeroed::<u8>(6)?.shaped([2, 3])?;
/// let mut column = image.part_mut([0..2, 1..2])?;
/// assert_eq!((column.extents(), column.len(), column.is_empty()), ([2, 1], 2, false));
/// queue.upload_into(&mut column, &[7, 8])?;
/// assert_eq!(queue.download(&column)?, [7, 8]);
/// assert_eq!(queue.download(&image)?, [0, 7, 0, 0, 8, 0]);
/// # Ok::<(), crosscut::Error>(())
/// ```
pub struct BufferPartMut<'a, T, const D: usize> {
    rows: RowsMut<'a, T>,
    extents: [usize; D],
    span: Span<'a>,
}

/// Where kernels find the elements of a part.
#[derive(Clone, Copy)]
struct Span<'a> {
    /// From the first one to the last, with those in between that are not of the part.
    region: Region<'a>,
    /// How many elements from a plane to the next one, and from a row to the next one.
    pitches: [usize; 2],
}

impl<'a> Span<'a> {
    /// These elements of `region`, which has `shape`; both with ones in front.
    fn inside<T>(
        region: Region<'a>,
        shape: [usize; 3],
        ranges: &[Range<usize>; 3],
    ) -> Result<Self> {
        if ranges.iter().any(Range::is_empty) {
            return Ok(Self { region: region.part(0, 0)?, pitches: [0, 0] });
        }
        // There are elements, so that the product of the shape fits.
        let pitches = [shape[1] * shape[2], shape[2]];
        let place = |[z, y, x]: [usize; 3]| z * pitches[0] + y * pitches[1] + x;
        let first = place(ranges.each_ref().map(|range| range.start));
        let behind_last = place(ranges.each_ref().map(|range| range.end - 1)) + 1;
        let size = size_of::<T>();
        let region = region.part(first * size, (behind_last - first) * size)?;
        Ok(Self { region, pitches })
    }
}

/// Ones in front of up to three extents.
fn padded<const D: usize, X>(values: [X; D], one: impl Fn() -> X) -> [X; 3] {
    let mut all = [one(), one(), one()];
    let front = 3usize.saturating_sub(D);
    for (place, value) in all.iter_mut().skip(front).zip(values) {
        *place = value;
    }
    all
}

impl<T: DeviceData, const D: usize> Buffer<T, D> {
    /// The elements inside these ranges, one for each dimension of the buffer: for kernels, and for
    /// [`download`](crate::Queue::download) and [`copy`](crate::Queue::copy), row after row.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let image = queue.upload(&[1u32, 2, 3, 4, 5, 6, 7, 8, 9])?.shaped([3, 3])?;
    /// let corner = image.part([1..3, 1..3])?;
    /// assert_eq!(corner.extents(), [2, 2]);
    /// assert_eq!(queue.download(&corner)?, [5, 6, 8, 9]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// A range is not inside.
    pub fn part<R: RangeBounds<usize>>(&self, ranges: [R; D]) -> Result<BufferPart<'_, T, D>> {
        let ranges = self.ranges(ranges)?;
        let extents = ranges.each_ref().map(Range::len);
        let (shape, ranges) = (padded(self.shape(), || 1), padded(ranges, || 0..1));
        let region = self.whole().region();
        let span = Span::inside::<T>(region, shape, &ranges)?;
        let rows = Rows::inside(region, shape, ranges)?;
        Ok(BufferPart { rows, extents, span })
    }

    /// The elements inside these ranges, one for each dimension of the buffer, to be written by kernels,
    /// [`upload_into`](crate::Queue::upload_into), [`copy`](crate::Queue::copy) and
    /// [`fill`](crate::Queue::fill).
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let tile = queue.upload(&[1u8, 2, 3, 4])?.shaped([2, 2])?;
    /// let mut image = queue.zeroed::<u8>(12)?.shaped([3, 4])?;
    /// queue.copy(&tile.part([0..2, 0..2])?, &mut image.part_mut([1..3, 2..4])?)?;
    /// queue.fill(&mut image.part_mut([0..3, 0..1])?, 9)?;
    /// assert_eq!(queue.download(&image)?, [9, 0, 0, 0, 9, 0, 1, 2, 9, 0, 3, 4]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// A range is not inside.
    pub fn part_mut<R: RangeBounds<usize>>(
        &mut self,
        ranges: [R; D],
    ) -> Result<BufferPartMut<'_, T, D>> {
        let BufferPart { rows, extents, span } = self.part(ranges)?;
        // The whole buffer is borrowed mutably for as long as the part lives.
        Ok(BufferPartMut { rows: RowsMut(rows, PhantomData), extents, span })
    }

    fn ranges<R: RangeBounds<usize>>(&self, ranges: [R; D]) -> Result<[Range<usize>; D]> {
        let shape = self.shape();
        let mut inside = [const { 0..0 }; D];
        for (dimension, range) in ranges.into_iter().enumerate() {
            inside[dimension] = bounds(range, shape[dimension]).map_err(|(start, end)| {
                Error::invalid(
                    format!(
                        "elements {start}..{end} in dimension {dimension} of a buffer of {shape:?} elements"
                    ),
                    way_out(start, end, shape[dimension]),
                )
            })?;
        }
        Ok(inside)
    }
}

macro_rules! parts {
    ($($part:ident)*) => {$(
        impl<'a, T: DeviceData, const D: usize> $part<'a, T, D> {
            /// From the first element to the last.
            pub(crate) fn span(&self) -> Region<'a> {
                self.span.region
            }

            /// How many elements from a plane to the next one, if there are planes, and from a row to
            /// the next one, if there are rows.
            pub(crate) fn pitches(&self) -> &[usize] {
                &self.span.pitches[3usize.saturating_sub(D).min(2)..]
            }

            /// How many elements it has in each dimension, the last one fastest.
            #[must_use]
            pub fn extents(&self) -> [usize; D] {
                self.extents
            }

            /// How many elements it has.
            #[must_use]
            pub fn len(&self) -> usize {
                self.rows.len()
            }

            /// Whether it has none.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }
        }

        impl<T, const D: usize> fmt::Debug for $part<'_, T, D> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_struct(stringify!($part)).field("extents", &self.extents).finish_non_exhaustive()
            }
        }
    )*};
}

parts! { BufferPart BufferPartMut }

impl<T: DeviceData, const D: usize> DeviceRows for BufferPart<'_, T, D> {
    type Element = T;

    fn rows(&self) -> Rows<'_, T> {
        self.rows
    }
}

impl<T: DeviceData, const D: usize> DeviceRows for BufferPartMut<'_, T, D> {
    type Element = T;

    fn rows(&self) -> Rows<'_, T> {
        self.rows.0
    }
}

impl<T: DeviceData, const D: usize> DeviceRowsMut for BufferPartMut<'_, T, D> {
    fn rows_mut(&mut self) -> RowsMut<'_, T> {
        RowsMut(self.rows.0, PhantomData)
    }
}

impl<T> Clone for Rows<'_, T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for Rows<'_, T> {}

impl<T> fmt::Debug for Rows<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rows").field("len", &self.len).finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for RowsMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RowsMut").field("len", &self.0.len).finish_non_exhaustive()
    }
}
