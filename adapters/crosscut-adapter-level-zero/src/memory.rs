//! Allocations: of the device, of the host, or shared by both.

use std::any::Any;
use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::Arc;

use crosscut_adapter_api::{DriverError, Memory, MemoryKind, exit, whole_words};

use crate::abi::{self, Typed};
use crate::context::ContextHandle;
use crate::error::{check, error};

/// The largest alignment that is asked of a driver: less than a page, which all of them grant.
const LARGEST_ALIGNMENT: usize = 2048;

/// What is asked for at least: whole cache lines, so that no vector load of a kernel needs two.
const LEAST_ALIGNMENT: usize = 64;

/// An allocation of one context.
pub(crate) struct ZeMemory {
    context: Arc<ContextHandle>,
    size: NonZeroUsize,
    /// The first byte, aligned as asked for.
    address: NonNull<u8>,
    /// What the driver gave: the same, or somewhat before it.
    allocation: NonNull<c_void>,
    /// Whether the host may use the address too.
    on_host: bool,
}

// SAFETY: the raw pointers are an address that is only handed out and back to the driver, and of the
// functions that take it Level Zero's specification says: "The application may call this function
// from simultaneous threads"; the one that frees it is called once.
unsafe impl Send for ZeMemory {}
// SAFETY: as for `Send`.
unsafe impl Sync for ZeMemory {}

impl ZeMemory {
    pub(crate) fn allocate(
        context: &Arc<ContextHandle>,
        kind: MemoryKind,
        size: NonZeroUsize,
        align: usize,
    ) -> Result<Self, DriverError> {
        let kind = match kind {
            MemoryKind::HostVisible if context.on_host => MemoryKind::Host,
            MemoryKind::HostVisible => MemoryKind::Device,
            kind => kind,
        };
        let call = match kind {
            MemoryKind::Host => "zeMemAllocHost",
            MemoryKind::Shared => "zeMemAllocShared",
            _ => "zeMemAllocDevice",
        };
        let _alive = exit::enter(call)?;
        // Beyond what drivers grant, ask for more bytes and begin at the first that is aligned.
        let slack = if align > LARGEST_ALIGNMENT { align } else { 0 };
        let Some(bytes) = whole_words(size).and_then(|size| size.checked_add(slack)) else {
            return Err(error(call, abi::ZE_RESULT_ERROR_UNSUPPORTED_SIZE));
        };
        let driver_align = align.clamp(LEAST_ALIGNMENT, LARGEST_ALIGNMENT);
        let of_device = abi::ze_device_mem_alloc_desc_t::new();
        let of_host = abi::ze_host_mem_alloc_desc_t::new();
        let (api, raw, device) = (context.api, context.raw, context.id);
        let (of_device, of_host) = (&raw const of_device, &raw const of_host);
        let mut allocation = std::ptr::null_mut();
        let place = &raw mut allocation;
        // SAFETY (all of these): context and device are alive and belong together, the descriptions
        // say their types, the place for the address is writable.
        let status = match kind {
            // SAFETY: see above.
            MemoryKind::Host => unsafe {
                (api.zeMemAllocHost)(raw, of_host, bytes, driver_align, place)
            },
            // SAFETY: see above.
            MemoryKind::Shared => unsafe {
                (api.zeMemAllocShared)(raw, of_device, of_host, bytes, driver_align, device, place)
            },
            // SAFETY: see above.
            _ => unsafe {
                (api.zeMemAllocDevice)(raw, of_device, bytes, driver_align, device, place)
            },
        };
        check(call, status)?;
        let Some(allocation) = NonNull::new(allocation) else {
            return Err(error(call, abi::ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY));
        };
        let start = allocation.as_ptr().addr();
        let shift = start.next_multiple_of(align) - start;
        // SAFETY: `shift` is less than `align`, and is 0 unless `align` bytes were added to the size;
        // so the result lies inside the allocation.
        let address = unsafe { allocation.cast::<u8>().add(shift) };
        let on_host = kind != MemoryKind::Device;
        Ok(Self { context: Arc::clone(context), size, address, allocation, on_host })
    }

    /// The address of the byte at `offset` of this context's memory.
    pub(crate) fn address_in(memory: &dyn Memory, offset: usize) -> *mut u8 {
        match memory.as_any().downcast_ref::<Self>() {
            Some(memory) => memory.address.as_ptr().wrapping_add(offset),
            None => panic!("the runtime hands over only memory of the same context"),
        }
    }
}

impl Memory for ZeMemory {
    fn size(&self) -> NonZeroUsize {
        self.size
    }

    fn host_address(&self) -> Option<NonNull<u8>> {
        self.on_host.then_some(self.address)
    }

    fn visit_on_host(&self, visit: &mut dyn FnMut(NonNull<u8>)) -> bool {
        let alive = exit::driver();
        self.host_address().filter(|_| alive.is_some()).map(visit).is_some()
    }

    fn device_address(&self) -> Option<u64> {
        Some(self.address.as_ptr().expose_provenance() as u64)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for ZeMemory {
    fn drop(&mut self) {
        if let Some(_alive) = exit::driver() {
            // SAFETY: the driver gave this address for this context, nobody else frees it, and the
            // runtime has waited for every command that uses it.
            unsafe { (self.context.api.zeMemFree)(self.context.raw, self.allocation.as_ptr()) };
        }
    }
}
