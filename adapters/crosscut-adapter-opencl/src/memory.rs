//! Allocations: unified shared memory, or memory objects.

use std::any::Any;
use std::collections::HashMap;
use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crosscut_adapter_api::{DriverError, DriverErrorKind, Memory, MemoryKind, whole_words};

use crate::context::ContextHandle;
use crate::error::{check, error};
use crate::exit;
use crate::sys::{self, BufferRegion, Handle, Usm};

/// The largest alignment that every driver with unified shared memory grants: that of the largest
/// type of OpenCL C.
const LARGEST_USM_ALIGNMENT: usize = 128;

/// What is asked for at least: whole cache lines, so that no vector load of a kernel needs two.
const LEAST_USM_ALIGNMENT: usize = 64;

/// An allocation of one context.
pub(crate) struct ClMemory {
    context: Arc<ContextHandle>,
    /// A number that no other allocation ever has.
    number: u64,
    size: NonZeroUsize,
    place: Place,
}

/// Where an allocation is.
pub(crate) enum Place {
    /// An address.
    Usm {
        usm: Usm,
        /// The first byte, aligned as asked for.
        address: NonNull<u8>,
        /// What the driver gave: the same, or somewhat before it.
        allocation: NonNull<c_void>,
        /// Whether the host may use the address too.
        on_host: bool,
    },
    /// A memory object.
    Object {
        raw: Handle,
        /// The parts of it that have been kernel arguments, by offset: each reaches to its end.
        parts: Mutex<HashMap<usize, Handle>>,
    },
}

// SAFETY: the raw pointers are a `cl_mem` with its parts, or an address that is only handed out and
// back to the driver; OpenCL 3.0, appendix A.2, says: "All OpenCL API calls are thread-safe except
// those that modify the state of cl_kernel objects".
unsafe impl Send for ClMemory {}
// SAFETY: as for `Send`.
unsafe impl Sync for ClMemory {}

impl ClMemory {
    pub(crate) fn allocate(
        context: &Arc<ContextHandle>,
        kind: MemoryKind,
        size: NonZeroUsize,
        align: usize,
    ) -> Result<Self, DriverError> {
        let _alive = exit::enter("clCreateBuffer")?;
        let place = match context.reach.usm {
            Some(usm) => allocate_usm(context, usm, kind, size, align)?,
            None => allocate_object(context, kind, size, align)?,
        };
        Ok(Self::at(context, size, place))
    }

    /// A memory object whatever the device has. Drivers keep it for as long as a command uses it: see `lib.rs`.
    pub(crate) fn object(
        context: &Arc<ContextHandle>,
        size: NonZeroUsize,
    ) -> Result<Self, DriverError> {
        let _alive = exit::enter("clCreateBuffer")?;
        let place = allocate_object(context, MemoryKind::Device, size, 1)?;
        Ok(Self::at(context, size, place))
    }

    fn at(context: &Arc<ContextHandle>, size: NonZeroUsize, place: Place) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Self { context: Arc::clone(context), number, size, place }
    }

    /// The adapter's own type behind `memory`.
    pub(crate) fn of(memory: &dyn Memory) -> &Self {
        match memory.as_any().downcast_ref() {
            Some(memory) => memory,
            None => panic!("the runtime hands over only memory of the same context"),
        }
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// The memory object that begins `offset` bytes into `raw`, this allocation's own.
    pub(crate) fn part(
        &self,
        raw: Handle,
        parts: &Mutex<HashMap<usize, Handle>>,
        offset: usize,
    ) -> Result<Handle, DriverError> {
        const CALL: &str = "clCreateSubBuffer";
        if offset == 0 {
            return Ok(raw);
        }
        let mut parts = parts.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(part) = parts.get(&offset) {
            return Ok(*part);
        }
        let all = whole_words(self.size).unwrap_or(self.size.get());
        let region = BufferRegion { origin: offset, size: all - offset };
        let mut status = 0;
        // SAFETY: `raw` is alive while `self` is, the region lies inside it because the runtime
        // gives offsets less than the size, and `region` is what this kind of part is made from.
        let part = unsafe {
            (self.context.api.clCreateSubBuffer)(
                raw,
                sys::CL_MEM_READ_WRITE,
                sys::CL_BUFFER_CREATE_TYPE_REGION,
                (&raw const region).cast(),
                &raw mut status,
            )
        };
        check(CALL, status)?;
        parts.insert(offset, part);
        Ok(part)
    }
}

fn allocate_usm(
    context: &ContextHandle,
    usm: Usm,
    kind: MemoryKind,
    size: NonZeroUsize,
    align: usize,
) -> Result<Place, DriverError> {
    let kind = match kind {
        MemoryKind::HostVisible if context.reach.on_host => MemoryKind::Host,
        MemoryKind::HostVisible => MemoryKind::Device,
        kind => kind,
    };
    // Whatever it really is: the host keeps away from what stands for memory of a device.
    let on_host = kind != MemoryKind::Device;
    let kind = if on_host { kind } else { context.reach.for_device };
    let call = match kind {
        MemoryKind::Host => "clHostMemAllocINTEL",
        MemoryKind::Shared => "clSharedMemAllocINTEL",
        _ => "clDeviceMemAllocINTEL",
    };
    // Beyond what drivers grant, ask for more bytes and begin at the first that is aligned.
    let slack = if align > LARGEST_USM_ALIGNMENT { align } else { 0 };
    let Some(bytes) = whole_words(size).and_then(|size| size.checked_add(slack)) else {
        return Err(error(call, sys::CL_INVALID_BUFFER_SIZE));
    };
    let driver_align = align.clamp(LEAST_USM_ALIGNMENT, LARGEST_USM_ALIGNMENT) as u32;
    let mut status = 0;
    let none = std::ptr::null();
    let allocation = if kind == MemoryKind::Host {
        // SAFETY: the context is alive, there are no properties, `status` is writable.
        unsafe { (usm.host_mem_alloc)(context.raw, none, bytes, driver_align, &raw mut status) }
    } else {
        let allocate = match kind {
            MemoryKind::Shared => usm.shared_mem_alloc,
            _ => usm.device_mem_alloc,
        };
        // Without a device, shared memory is that of all devices of the context.
        let device = if context.reach.of_one_device { context.id } else { std::ptr::null_mut() };
        // SAFETY: the same, and the device is the context's.
        unsafe { allocate(context.raw, device, none, bytes, driver_align, &raw mut status) }
    };
    check(call, status)?;
    let Some(allocation) = NonNull::new(allocation) else {
        return Err(error(call, sys::CL_MEM_OBJECT_ALLOCATION_FAILURE));
    };
    let shift = allocation.as_ptr().addr().next_multiple_of(align) - allocation.as_ptr().addr();
    // SAFETY: `shift` is less than `align`, and is 0 unless `align` bytes were added to the size;
    // so the result lies inside the allocation.
    let address = unsafe { allocation.cast::<u8>().add(shift) };
    Ok(Place::Usm { usm, address, allocation, on_host })
}

fn allocate_object(
    context: &ContextHandle,
    kind: MemoryKind,
    size: NonZeroUsize,
    align: usize,
) -> Result<Place, DriverError> {
    const CALL: &str = "clCreateBuffer";
    let granted = context.reach.base_alignment;
    if align > granted {
        return Err(DriverError {
            kind: DriverErrorKind::Other,
            call: CALL,
            code: sys::CL_MISALIGNED_SUB_BUFFER_OFFSET,
            log: Some(format!(
                "this device aligns memory to {granted} bytes, not to {align}: use a smaller \
                 alignment, or a device with unified shared memory",
            )),
        });
    }
    let flags = match kind {
        MemoryKind::Device => sys::CL_MEM_READ_WRITE,
        MemoryKind::HostVisible => sys::CL_MEM_READ_WRITE | sys::CL_MEM_ALLOC_HOST_PTR,
        MemoryKind::Host | MemoryKind::Shared => {
            unreachable!("the runtime asks for unified shared memory where there is some")
        }
    };
    let Some(bytes) = whole_words(size) else {
        return Err(error(CALL, sys::CL_INVALID_BUFFER_SIZE));
    };
    let mut status = 0;
    // SAFETY: the context is alive, no host pointer is given, `status` is writable.
    let raw = unsafe {
        (context.api.clCreateBuffer)(
            context.raw,
            flags,
            bytes,
            std::ptr::null_mut(),
            &raw mut status,
        )
    };
    check(CALL, status)?;
    Ok(Place::Object { raw, parts: Mutex::default() })
}

impl Memory for ClMemory {
    fn size(&self) -> NonZeroUsize {
        self.size
    }

    fn host_address(&self) -> Option<NonNull<u8>> {
        match self.place {
            Place::Usm { address, on_host: true, .. } => Some(address),
            _ => None,
        }
    }

    fn visit_on_host(&self, visit: &mut dyn FnMut(NonNull<u8>)) -> bool {
        let alive = exit::driver();
        self.host_address().filter(|_| alive.is_some()).map(visit).is_some()
    }

    fn device_address(&self) -> Option<u64> {
        match self.place {
            Place::Usm { address, .. } => Some(address.as_ptr().expose_provenance() as u64),
            Place::Object { .. } => None,
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for ClMemory {
    fn drop(&mut self) {
        let Some(_alive) = exit::driver() else { return };
        match &mut self.place {
            Place::Usm { usm, allocation, .. } => {
                // SAFETY: the driver gave this address for this context, and nobody else frees it.
                unsafe { (usm.mem_blocking_free)(self.context.raw, allocation.as_ptr()) };
            }
            Place::Object { raw, parts } => {
                let parts = parts.get_mut().unwrap_or_else(PoisonError::into_inner);
                for part in parts.values() {
                    // SAFETY: this is the one reference that `clCreateSubBuffer` gave.
                    unsafe { (self.context.api.clReleaseMemObject)(*part) };
                }
                // SAFETY: this is the one reference that `clCreateBuffer` gave.
                unsafe { (self.context.api.clReleaseMemObject)(*raw) };
            }
        }
    }
}
