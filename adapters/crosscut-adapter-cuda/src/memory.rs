//! Allocations: of the device, of the host, or shared by both.

use std::any::Any;
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::Arc;

use crosscut_adapter_api::{DriverError, Memory, MemoryKind, exit, whole_words};

use crate::abi::{self, DevicePointer};
use crate::context::ContextHandle;

/// What all of the driver's allocations are aligned to at least.
const ALWAYS_ALIGNED: usize = 256;

/// An allocation of one context.
pub(crate) struct CuMemory {
    context: Arc<ContextHandle>,
    size: NonZeroUsize,
    /// The first byte, aligned as asked for.
    address: NonZeroUsize,
    /// What the driver gave: the same, or somewhat before it.
    allocation: DevicePointer,
    kind: MemoryKind,
}

impl CuMemory {
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
            MemoryKind::Host => "cuMemHostAlloc",
            MemoryKind::Shared => "cuMemAllocManaged",
            _ => "cuMemAlloc_v2",
        };
        let (api, _entered) = (context.api, context.enter(call)?);
        // Beyond what the driver grants, ask for more bytes and begin at the first that is aligned.
        let slack = if align > ALWAYS_ALIGNED { align } else { 0 };
        let Some(bytes) = whole_words(size).and_then(|size| size.checked_add(slack)) else {
            return Err(api.error(call, abi::CUDA_ERROR_OUT_OF_MEMORY));
        };
        let mut allocation: DevicePointer = 0;
        let place = &raw mut allocation;
        // SAFETY (all of these): the context is current, and the place for the address is writable.
        let status = match kind {
            MemoryKind::Host => {
                let flags = abi::CU_MEMHOSTALLOC_PORTABLE | abi::CU_MEMHOSTALLOC_DEVICEMAP;
                let mut address = std::ptr::null_mut();
                // SAFETY: see above.
                let status = unsafe { (api.cuMemHostAlloc)(&raw mut address, bytes, flags) };
                allocation = address.expose_provenance() as u64;
                status
            }
            // SAFETY: see above.
            MemoryKind::Shared => unsafe {
                (api.cuMemAllocManaged)(place, bytes, abi::CU_MEM_ATTACH_GLOBAL)
            },
            // SAFETY: see above.
            _ => unsafe { (api.cuMemAlloc_v2)(place, bytes) },
        };
        api.check(call, status)?;
        // What there is an address of fits into one.
        let address = (allocation as usize).next_multiple_of(align.max(1));
        match NonZeroUsize::new(address) {
            Some(address) => {
                Ok(Self { context: Arc::clone(context), size, address, allocation, kind })
            }
            None => Err(api.error(call, abi::CUDA_ERROR_OUT_OF_MEMORY)),
        }
    }

    /// The address of a byte of `memory`.
    pub(crate) fn address_in(memory: &dyn Memory, offset: usize) -> DevicePointer {
        match memory.as_any().downcast_ref::<Self>() {
            Some(memory) => (memory.address.get() + offset) as u64,
            None => panic!("the runtime hands over only memory of the same context"),
        }
    }
}

impl Memory for CuMemory {
    fn size(&self) -> NonZeroUsize {
        self.size
    }

    fn host_address(&self) -> Option<NonNull<u8>> {
        let on_host = matches!(self.kind, MemoryKind::Host | MemoryKind::Shared);
        on_host.then(|| NonNull::with_exposed_provenance(self.address))
    }

    fn visit_on_host(&self, visit: &mut dyn FnMut(NonNull<u8>)) -> bool {
        let alive = exit::driver();
        self.host_address().filter(|_| alive.is_some()).map(visit).is_some()
    }

    fn device_address(&self) -> Option<u64> {
        Some(self.address.get() as u64)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for CuMemory {
    fn drop(&mut self) {
        let Some(_entered) = self.context.enter_if_alive() else { return };
        let api = self.context.api;
        if self.kind == MemoryKind::Host {
            let address = std::ptr::with_exposed_provenance_mut(self.allocation as usize);
            // SAFETY: `cuMemHostAlloc` gave this address, nobody else frees it, and the runtime has
            // waited for every command that uses it.
            unsafe { (api.cuMemFreeHost)(address) };
        } else {
            // SAFETY: the driver gave this address for the context, which is current, nobody else
            // frees it, and the runtime has waited for every command that uses it.
            unsafe { (api.cuMemFree_v2)(self.allocation) };
        }
    }
}
