//! Memory from the global allocator.

use std::alloc::{Layout, alloc, dealloc};
use std::any::Any;
use std::num::NonZeroUsize;
use std::ptr::NonNull;

use crosscut_adapter_api::{DriverError, DriverErrorKind, Memory};

/// Vector loads of whole cache lines stay aligned.
const LEAST_ALIGN: usize = 64;

pub(crate) struct HostMemory {
    address: NonNull<u8>,
    size: NonZeroUsize,
    layout: Layout,
}

// SAFETY: it owns its bytes; the runtime decides who touches them when, as for any other device.
unsafe impl Send for HostMemory {}
// SAFETY: as above; a shared reference gives out nothing but the address.
unsafe impl Sync for HostMemory {}

impl HostMemory {
    pub(crate) fn allocate(size: NonZeroUsize, align: usize) -> Result<Self, DriverError> {
        let refused = || DriverError {
            kind: DriverErrorKind::OutOfMemory,
            call: "alloc",
            code: 0,
            log: None,
        };
        let layout =
            Layout::from_size_align(size.get(), align.max(LEAST_ALIGN)).map_err(|_| refused())?;
        // SAFETY: the size is not zero.
        let address = NonNull::new(unsafe { alloc(layout) }).ok_or_else(refused)?;
        Ok(Self { address, size, layout })
    }
}

impl Drop for HostMemory {
    fn drop(&mut self) {
        // SAFETY: `address` came from `alloc` with this very layout and is freed only here.
        unsafe { dealloc(self.address.as_ptr(), self.layout) }
    }
}

impl Memory for HostMemory {
    fn size(&self) -> NonZeroUsize {
        self.size
    }

    fn host_address(&self) -> Option<NonNull<u8>> {
        Some(self.address)
    }

    fn device_address(&self) -> Option<u64> {
        Some(self.address.as_ptr() as u64)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
