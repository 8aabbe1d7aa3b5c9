//! Parts of buffers.

use std::num::NonZeroUsize;
use std::ops::Range;
use std::sync::Arc;

use crate::Error;
use crate::memory::{Allocation, Buffer};

/// Some bytes of a buffer; all of them, as often as not.
#[derive(Clone, Copy, Debug)]
pub struct Region<'a> {
    buffer: &'a Buffer,
    offset: usize,
    size: usize,
    shared: bool,
}

/// The memory behind a region that is not empty.
#[derive(Clone, Copy)]
pub(crate) struct Bytes<'a> {
    pub(crate) allocation: &'a Arc<Allocation>,
    pub(crate) offset: usize,
    pub(crate) size: NonZeroUsize,
}

impl<'a> Region<'a> {
    /// All of a buffer.
    #[must_use]
    pub fn whole(buffer: &'a Buffer) -> Self {
        Self { buffer, offset: 0, size: buffer.size(), shared: false }
    }

    /// These bytes of a buffer.
    ///
    /// # Errors
    /// It has not as many.
    pub fn new(buffer: &'a Buffer, bytes: Range<usize>) -> Result<Self, Error> {
        let Range { start, end } = bytes;
        if start > end || end > buffer.size() {
            return Err(Error::invalid(
                format!("bytes {start} to {end} of a buffer that has {}", buffer.size()),
                "stay inside the buffer",
            ));
        }
        Ok(Self { buffer, offset: start, size: end - start, shared: false })
    }

    /// The same, for a kernel that has it beside others: what it writes are atomics.
    #[must_use]
    pub fn shared(self) -> Self {
        Self { shared: true, ..self }
    }

    /// Whether a kernel has it beside others.
    #[must_use]
    pub fn is_shared(&self) -> bool {
        self.shared
    }

    /// `size` bytes of it, from its byte `start` on.
    ///
    /// # Errors
    /// It has not as many.
    pub fn part(&self, start: usize, size: usize) -> Result<Self, Error> {
        match start.checked_add(size) {
            Some(end) if end <= self.size => {
                Ok(Self { offset: self.offset + start, size, ..*self })
            }
            _ => Err(Error::invalid(
                format!("{size} bytes from {start} on, of {}", self.size),
                "stay inside the buffer",
            )),
        }
    }

    /// The buffer it is a part of.
    #[must_use]
    pub fn buffer(&self) -> &'a Buffer {
        self.buffer
    }

    /// How many bytes it has.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    /// Where it is; `None` if it is empty.
    pub(crate) fn bytes(&self) -> Option<Bytes<'a>> {
        let size = NonZeroUsize::new(self.size)?;
        Some(Bytes { allocation: self.buffer.allocation()?, offset: self.offset, size })
    }

    /// Whether both have a byte in common.
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        match (self.bytes(), other.bytes()) {
            (Some(one), Some(two)) => {
                Arc::ptr_eq(one.allocation, two.allocation)
                    && one.offset < two.offset + two.size.get()
                    && two.offset < one.offset + one.size.get()
            }
            _ => false,
        }
    }
}

impl Bytes<'_> {
    /// Where native code and the host find them.
    pub(crate) fn host_address(&self) -> Option<*mut u8> {
        let start = self.allocation.memory().host_address()?;
        Some(start.as_ptr().wrapping_add(self.offset))
    }
}

impl<'a> From<&'a Buffer> for Region<'a> {
    fn from(buffer: &'a Buffer) -> Self {
        Self::whole(buffer)
    }
}
