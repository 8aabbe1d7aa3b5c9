//! Unified shared memory: owned, typed allocations of three kinds.

mod access;
mod pointer;

use std::fmt;
use std::marker::PhantomData;
use std::ops::RangeBounds;

use crosscut_device::DeviceData;
use crosscut_runtime::Region;
pub use crosscut_runtime::{UsmKind, UsmPointer};

pub use access::{UsmRead, UsmWrite};
pub use pointer::UsmPtr;

use crate::buffer::size_of_elements;
use crate::{
    BufferSlice, BufferSliceMut, Chunks, ChunksMut, Context, DeviceSlice, DeviceSliceMut, Queue,
    Result,
};

/// The kind of memory on the device, which the host does not reach.
#[derive(Clone, Copy, Debug)]
pub enum OnDevice {}

/// The kind of memory on the host, where the device reaches it.
#[derive(Clone, Copy, Debug)]
pub enum OnHost {}

/// The kind of memory that moves to where it is used.
#[derive(Clone, Copy, Debug)]
pub enum Shared {}

mod sealed {
    pub trait Sealed: 'static {
        const KIND: super::UsmKind;
    }
}

/// A kind of unified shared memory: [`OnDevice`], [`OnHost`] or [`Shared`].
pub trait Kind: sealed::Sealed {}

/// A kind that the host reaches: [`OnHost`] or [`Shared`].
pub trait HostReachable: Kind {}

impl sealed::Sealed for OnDevice {
    const KIND: UsmKind = UsmKind::Device;
}
impl sealed::Sealed for OnHost {
    const KIND: UsmKind = UsmKind::Host;
}
impl sealed::Sealed for Shared {
    const KIND: UsmKind = UsmKind::Shared;
}
impl Kind for OnDevice {}
impl Kind for OnHost {}
impl Kind for Shared {}
impl HostReachable for OnHost {}
impl HostReachable for Shared {}

/// `len` elements of unified shared memory, made by a queue: memory with an address.
///
/// As a kernel's argument and in copies it is like a [`Buffer`](crate::Buffer). What the host reaches
/// it reads and writes in place, by guards that wait for the device.
///
/// ```
/// use crosscut::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut x = queue.alloc_shared::<u32>(4)?;
/// x.write()?.copy_from_slice(&[1, 2, 3, 4]);
/// queue.for_each(&mut x, (), |_, x, ()| *x *= 10)?;
/// assert_eq!(x.read()?[..], [10, 20, 30, 40]);
/// # Ok::<(), crosscut::Error>(())
/// ```
///
/// Dropping it waits for the commands that it was an argument of. Where a kernel has it by
/// [`device_ptr`](Self::device_ptr), nobody knows: wait for that kernel first.
pub struct Usm<T: DeviceData, K: Kind = Shared> {
    memory: crosscut_runtime::Buffer,
    len: usize,
    elements: PhantomData<(T, fn() -> K)>,
}

impl Queue {
    /// `len` zeros in the device's memory.
    ///
    /// # Errors
    /// The device has no unified shared memory of this kind
    /// ([`ErrorKind::FeatureNotSupported`](crate::ErrorKind)), or not enough of it.
    pub fn alloc_device<T: DeviceData>(&self, len: usize) -> Result<Usm<T, OnDevice>> {
        Usm::zeroed(self, len)
    }

    /// `len` zeros in the host's memory, where the device reaches them.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut parameters = queue.alloc_host::<f32>(2)?;
    /// parameters.write()?[1] = 0.5;
    /// let mut x = queue.alloc_device::<f32>(3)?;
    /// queue.for_each(&mut x, &parameters, |i, x, parameters| *x = i as f32 * parameters[1])?;
    /// assert_eq!(queue.download(&x)?, [0.0, 0.5, 1.0]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`alloc_device`](Self::alloc_device).
    pub fn alloc_host<T: DeviceData>(&self, len: usize) -> Result<Usm<T, OnHost>> {
        Usm::zeroed(self, len)
    }

    /// `len` zeros in memory that moves to where it is used.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut x = queue.alloc_shared::<u32>(2)?;
    /// x.write()?[0] = 7;
    /// queue.for_each(&mut x, (), |i, x, ()| *x += i as u32)?;
    /// assert_eq!(x.read()?[..], [7, 1]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`alloc_device`](Self::alloc_device).
    pub fn alloc_shared<T: DeviceData>(&self, len: usize) -> Result<Usm<T, Shared>> {
        Usm::zeroed(self, len)
    }
}

impl<T: DeviceData, K: Kind> Usm<T, K> {
    fn zeroed(queue: &Queue, len: usize) -> Result<Self> {
        queue.outside_kernels()?;
        let size = size_of_elements::<T>(len)?;
        let (context, align) = (queue.context(), align_of::<T>());
        let memory = crosscut_runtime::Buffer::allocate_usm(context, K::KIND, size, align)?;
        // SAFETY: nobody else knows the memory yet, and zeros are valid for all device data.
        unsafe { queue.runtime().fill(Region::whole(&memory), &[0], &[]) }?;
        Ok(Self { memory, len, elements: PhantomData })
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

    /// Its kind.
    #[must_use]
    pub fn kind(&self) -> UsmKind {
        K::KIND
    }

    /// The context it belongs to.
    #[must_use]
    pub fn context(&self) -> &Context {
        self.memory.context()
    }

    /// A part of it, counted in elements.
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

    /// Parts of `size` elements: see [`Buffer::chunks`](crate::Buffer::chunks).
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut x = queue.alloc_shared::<u32>(4)?;
    /// queue.parallel_for(2, x.chunks_mut(2)?, |i, pair| pair.fill(i as u32))?;
    /// let mut sums = queue.zeroed::<u32>(2)?;
    /// queue.for_each(&mut sums, x.chunks(2)?, |_, sum, pair| *sum = pair.iter().sum())?;
    /// assert_eq!(queue.download(&sums)?, [0, 2]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// The size is zero.
    pub fn chunks(&self, size: usize) -> Result<Chunks<'_, T>> {
        Chunks::of(self.as_slice(), size)
    }

    /// Parts of `size` elements, to be written: see [`Buffer::chunks_mut`](crate::Buffer::chunks_mut).
    ///
    /// # Errors
    /// The size is zero.
    pub fn chunks_mut(&mut self, size: usize) -> Result<ChunksMut<'_, T>> {
        ChunksMut::of(self.as_slice_mut(), size)
    }

    /// Its address, the same on the host and on the device; aligned and dangling if it is empty.
    ///
    /// The host may follow it where it reaches the memory and no kernel writes it.
    ///
    /// ```
    /// use crosscut::prelude::*;
    /// use crosscut::usm::UsmKind;
    ///
    /// let queue = Queue::new()?;
    /// let mut list = queue.alloc_shared::<u32>(4)?;
    /// assert!(list.len() == 4 && !list.is_empty() && list.kind() == UsmKind::Shared);
    /// assert_eq!(list.context(), queue.context());
    /// queue.fill(&mut list.slice_mut(2..)?, 7)?;
    /// assert_eq!(queue.download(&list.slice(1..3)?)?, [0, 7]);
    /// assert_eq!(list.as_ptr(), list.device_ptr().get());
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    #[must_use]
    pub fn as_ptr(&self) -> *const T {
        let address = self.memory.host_address().map(|address| address.cast::<T>());
        address.unwrap_or_else(|| self.device_ptr().get()).cast_const()
    }

    /// Its address, to be captured by kernels that are given no argument: see [`UsmPtr`].
    #[must_use]
    pub fn device_ptr(&self) -> UsmPtr<T> {
        let address = self.memory.device_address().unwrap_or(align_of::<T>() as u64);
        UsmPtr::to(address)
    }
}

impl<T: DeviceData, K: Kind> DeviceSlice for Usm<T, K> {
    type Element = T;

    fn as_slice(&self) -> BufferSlice<'_, T> {
        BufferSlice::new(Region::whole(&self.memory), self.len)
    }
}

impl<T: DeviceData, K: Kind> DeviceSliceMut for Usm<T, K> {
    type Items = usize;

    fn as_slice_mut(&mut self) -> BufferSliceMut<'_, T> {
        // SAFETY: borrowed mutably for as long as the slice lives.
        unsafe { BufferSliceMut::new(Region::whole(&self.memory), self.len) }
    }

    fn items(&self) -> usize {
        self.len
    }
}

impl<T: DeviceData, K: Kind> fmt::Debug for Usm<T, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Usm")
            .field("kind", &K::KIND)
            .field("len", &self.len)
            .finish_non_exhaustive()
    }
}
