//! Buffers: memory of a device.

use std::fmt;
use std::marker::PhantomData;

use crosscut_device::DeviceData;

use crate::{Context, Error, Result};

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
pub struct Buffer<T: DeviceData> {
    memory: crosscut_runtime::Buffer,
    len: usize,
    elements: PhantomData<T>,
}

impl<T: DeviceData> Buffer<T> {
    /// The caller fills it before anybody can read it.
    pub(crate) fn uninitialised(context: &Context, len: usize) -> Result<Self> {
        let size = len.checked_mul(size_of::<T>()).ok_or_else(|| {
            Error::invalid(
                format!("{len} elements of {} bytes are more than memory has", size_of::<T>()),
                "make a smaller buffer",
            )
        })?;
        let memory = crosscut_runtime::Buffer::allocate(context, size, align_of::<T>())?;
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

    pub(crate) fn runtime(&self) -> &crosscut_runtime::Buffer {
        &self.memory
    }

    pub(crate) fn runtime_mut(&mut self) -> &mut crosscut_runtime::Buffer {
        &mut self.memory
    }
}

impl<T: DeviceData> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer").field("len", &self.len).finish_non_exhaustive()
    }
}
