//! Buffers in parts of equal size: one after the other on the host, one for each item in a kernel.

use std::fmt;

use crosscut_device::DeviceData;

use crate::slice::{BufferSlice, BufferSliceMut};
use crate::{Error, Result};

/// Parts of a buffer, to be read: made by [`Buffer::chunks`](crate::Buffer::chunks). In a kernel it is
/// this item's own `&[T]`.
///
/// As an iterator it gives [`BufferSlice`]s. What it has given is no longer part of it.
pub struct Chunks<'a, T> {
    rest: BufferSlice<'a, T>,
    /// Never zero.
    size: usize,
}

/// Parts of a buffer, to be written: made by [`Buffer::chunks_mut`](crate::Buffer::chunks_mut). In a
/// kernel it is this item's own `&mut [T]`.
///
/// As an iterator it gives [`BufferSliceMut`]s. What it has given is no longer part of it.
pub struct ChunksMut<'a, T> {
    /// `None` once there is nothing left.
    rest: Option<BufferSliceMut<'a, T>>,
    /// Never zero.
    size: usize,
}

fn not_zero(size: usize) -> Result<()> {
    if size == 0 {
        return Err(Error::invalid("chunks of no elements", "give them one element at least"));
    }
    Ok(())
}

impl<'a, T: DeviceData> Chunks<'a, T> {
    pub(crate) fn of(whole: BufferSlice<'a, T>, size: usize) -> Result<Self> {
        not_zero(size)?;
        Ok(Self { rest: whole, size })
    }

    /// What is left, and the size of a chunk.
    pub(crate) fn into_parts(self) -> (BufferSlice<'a, T>, usize) {
        (self.rest, self.size)
    }
}

impl<'a, T: DeviceData> ChunksMut<'a, T> {
    pub(crate) fn of(whole: BufferSliceMut<'a, T>, size: usize) -> Result<Self> {
        not_zero(size)?;
        Ok(Self { rest: Some(whole), size })
    }

    /// What is left, and the size of a chunk.
    pub(crate) fn into_parts(self) -> (Option<BufferSliceMut<'a, T>>, usize) {
        (self.rest, self.size)
    }
}

impl<'a, T: DeviceData> Iterator for Chunks<'a, T> {
    type Item = BufferSlice<'a, T>;

    fn next(&mut self) -> Option<BufferSlice<'a, T>> {
        let middle = self.size.min(self.rest.len());
        if middle == 0 {
            return None;
        }
        let chunk = self.rest.slice(..middle).ok()?;
        self.rest = self.rest.slice(middle..).ok()?;
        Some(chunk)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.rest.len().div_ceil(self.size);
        (left, Some(left))
    }
}

impl<'a, T: DeviceData> Iterator for ChunksMut<'a, T> {
    type Item = BufferSliceMut<'a, T>;

    fn next(&mut self) -> Option<BufferSliceMut<'a, T>> {
        let rest = self.rest.take().filter(|rest| !rest.is_empty())?;
        let middle = self.size.min(rest.len());
        let (chunk, rest) = rest.into_split_at(middle).ok()?;
        self.rest = Some(rest);
        Some(chunk)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let left = self.rest.as_ref().map_or(0, |rest| rest.len().div_ceil(self.size));
        (left, Some(left))
    }
}

impl<T: DeviceData> ExactSizeIterator for Chunks<'_, T> {}
impl<T: DeviceData> ExactSizeIterator for ChunksMut<'_, T> {}

impl<T> Clone for Chunks<'_, T> {
    fn clone(&self) -> Self {
        Self { rest: self.rest, size: self.size }
    }
}

impl<T> fmt::Debug for Chunks<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Chunks").field("size", &self.size).finish_non_exhaustive()
    }
}

impl<T> fmt::Debug for ChunksMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChunksMut").field("size", &self.size).finish_non_exhaustive()
    }
}
