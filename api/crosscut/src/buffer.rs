//! Buffers: memory of a device.

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use crosscut_device::DeviceData;
use crosscut_runtime::Region;

use crate::slice::{BufferSlice, BufferSliceMut};
use crate::{Chunks, ChunksMut, Context, Error, Result};

/// `len` elements in the memory of a device, made by a queue.
///
/// Kernels get it as an argument: `&buffer` arrives as `&[T]`, `&mut buffer` as this item's own
/// `&mut T`. Dropping it waits for the kernels that still use it.
///
/// ```
/// use crosscut::prelude::*;
///
/// let queue = Queue::new()?;
/// let buffer = queue.upload(&[1.5f32, 2.5])?;
/// assert_eq!(buffer.len(), 2);
/// assert_eq!(queue.download(&buffer)?, [1.5, 2.5]);
/// # Ok::<(), crosscut::Error>(())
/// ```
///
/// Parts of it can be passed and copied like the whole: [`slice`](Self::slice),
/// [`slice_mut`](Self::slice_mut), [`split_at_mut`](Self::split_at_mut),
/// [`chunks`](Self::chunks), [`chunks_mut`](Self::chunks_mut).
///
/// # Two and three dimensions
///
/// [`shaped`](Self::shaped) gives a buffer up to three dimensions, the last one fastest. `&buffer`
/// then arrives as a [`Grid`](crate::Grid), and a range must have the shape of every `&mut buffer`.
///
/// ```
/// use crosscut::prelude::*;
///
/// let queue = Queue::new()?;
/// let image = queue.upload(&[1u32, 2, 3, 4, 5, 6])?.shaped([2, 3])?;
/// let mut turned = queue.zeroed::<u32>(6)?.shaped([3, 2])?;
/// queue.parallel_for([3, 2], (&image, &mut turned), |[y, x], (image, pixel)| {
///     *pixel = image[[x, y]];
/// })?;
/// assert_eq!(queue.download(&turned)?, [1, 4, 2, 5, 3, 6]);
/// # Ok::<(), crosscut::Error>(())
/// ```
pub struct Buffer<T: DeviceData, const D: usize = 1> {
    memory: crosscut_runtime::Buffer,
    shape: [usize; D],
    elements: PhantomData<T>,
}

/// How many bytes so many elements have.
pub(crate) fn size_of_elements<T>(len: usize) -> Result<usize> {
    len.checked_mul(size_of::<T>()).ok_or_else(|| {
        Error::invalid(
            format!("{len} elements of {} bytes are more than memory has", size_of::<T>()),
            "make a smaller buffer",
        )
    })
}

impl<T: DeviceData> Buffer<T> {
    /// The caller fills it before anybody can read it.
    pub(crate) fn uninitialised(context: &Context, len: usize) -> Result<Self> {
        let size = size_of_elements::<T>(len)?;
        let memory = crosscut_runtime::Buffer::allocate(context, size, align_of::<T>())?;
        Ok(Self { memory, shape: [len], elements: PhantomData })
    }
}

impl<T: DeviceData, const D: usize> Buffer<T, D> {
    /// How many elements it has, in all dimensions together.
    #[must_use]
    pub fn len(&self) -> usize {
        // Their product is the length that it was made with.
        self.shape.iter().product()
    }

    /// Whether it has none.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// assert!(queue.upload::<u8>(&[])?.is_empty());
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Its extents, the last one fastest.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let cube = Queue::new()?.zeroed::<f32>(24)?.shaped([2, 3, 4])?;
    /// assert_eq!(cube.shape(), [2, 3, 4]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    #[must_use]
    pub fn shape(&self) -> [usize; D] {
        self.shape
    }

    /// The same elements in another shape: 1, 2 or 3 extents, the last one fastest.
    ///
    /// # Errors
    /// The shape has another number of elements, or of extents.
    pub fn shaped<const E: usize>(self, shape: [usize; E]) -> Result<Buffer<T, E>> {
        let count = shape.iter().try_fold(1usize, |count, extent| count.checked_mul(*extent));
        if !(1..=3).contains(&E) || count != Some(self.len()) {
            return Err(Error::invalid(
                format!("a buffer of {} elements cannot have the shape {shape:?}", self.len()),
                "give it 1, 2 or 3 extents whose product is its length",
            ));
        }
        Ok(Buffer { memory: self.memory, shape, elements: PhantomData })
    }

    /// The context it belongs to.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// assert_eq!(queue.zeroed::<u8>(4)?.context(), queue.context());
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    #[must_use]
    pub fn context(&self) -> &Context {
        self.memory.context()
    }

    /// A part of it, counted in elements, for kernels and copies.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let x = queue.upload(&[1u32, 2, 3, 4])?;
    /// let mut y = queue.zeroed::<u32>(2)?;
    /// queue.for_each(&mut y, x.slice(1..3)?, |i, y, x| *y = 10 * x[i])?;
    /// assert_eq!(queue.download(&y)?, [20, 30]);
    /// assert_eq!(queue.download(&x.slice(2..)?)?, [3, 4]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// It has not as many elements.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<BufferSlice<'_, T>> {
        self.whole().slice(range)
    }

    /// A part of it, counted in elements, to be written.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut x = queue.upload(&[1u32, 2, 3, 4])?;
    /// queue.for_each(&mut x.slice_mut(..2)?, (), |_, x, ()| *x += 10)?;
    /// queue.fill(&mut x.slice_mut(3..)?, 0)?;
    /// assert_eq!(queue.download(&x)?, [11, 12, 3, 0]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// It has not as many elements.
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<BufferSliceMut<'_, T>> {
        self.whole_mut().into_slice(range)
    }

    /// Two parts of it, before and from `middle` on, to be written side by side.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut x = queue.upload(&[1u32, 2, 3, 4])?;
    /// let (low, high) = x.split_at_mut(2)?;
    /// queue.parallel_for(2, (low, high), |_, (low, high)| core::mem::swap(low, high))?;
    /// assert_eq!(queue.download(&x)?, [3, 4, 1, 2]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// It has not as many elements.
    pub fn split_at_mut(
        &mut self,
        middle: usize,
    ) -> Result<(BufferSliceMut<'_, T>, BufferSliceMut<'_, T>)> {
        self.whole_mut().into_split_at(middle)
    }

    /// Parts of `size` elements, to be read; the last one may be shorter. In a kernel each item gets
    /// its own, on the host they come one after the other.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let x = queue.upload(&[1u32, 2, 3, 4, 5])?;
    /// let mut sums = queue.zeroed::<u32>(3)?;
    /// queue.for_each(&mut sums, x.chunks(2)?, |_, sum, pair| *sum = pair.iter().sum())?;
    /// assert_eq!(queue.download(&sums)?, [3, 7, 5]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// The size is zero.
    pub fn chunks(&self, size: usize) -> Result<Chunks<'_, T>> {
        Chunks::of(self.whole(), size)
    }

    /// Parts of `size` elements, to be written; the last one may be shorter. In a kernel each item gets
    /// its own.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut rows = queue.upload(&[3u32, 1, 2, 6, 5, 4, 8, 7])?;
    /// let rows_of_three = rows.chunks_mut(3)?;
    /// queue.parallel_for(rows_of_three.len(), rows_of_three, |i, row| {
    ///     row.reverse();
    ///     row[0] += 10 * i as u32;
    /// })?;
    /// assert_eq!(queue.download(&rows)?, [2, 1, 3, 14, 5, 6, 27, 8]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// On the host they come one after the other, as parts of the buffer.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut x = queue.zeroed::<u32>(5)?;
    /// for (number, mut chunk) in x.chunks_mut(2)?.enumerate() {
    ///     queue.fill(&mut chunk, number as u32)?;
    /// }
    /// assert_eq!(queue.download(&x)?, [0, 0, 1, 1, 2]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// The size is zero.
    pub fn chunks_mut(&mut self, size: usize) -> Result<ChunksMut<'_, T>> {
        ChunksMut::of(self.whole_mut(), size)
    }

    pub(crate) fn runtime(&self) -> &crosscut_runtime::Buffer {
        &self.memory
    }

    pub(crate) fn runtime_mut(&mut self) -> &mut crosscut_runtime::Buffer {
        &mut self.memory
    }

    pub(crate) fn whole(&self) -> BufferSlice<'_, T> {
        BufferSlice::new(Region::whole(&self.memory), self.len())
    }

    pub(crate) fn whole_mut(&mut self) -> BufferSliceMut<'_, T> {
        let len = self.len();
        // SAFETY: borrowed mutably for as long as the slice lives.
        unsafe { BufferSliceMut::new(Region::whole(&self.memory), len) }
    }
}

impl<T: DeviceData, const D: usize> fmt::Debug for Buffer<T, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer").field("shape", &self.shape).finish_non_exhaustive()
    }
}
