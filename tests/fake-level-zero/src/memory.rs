//! Allocations: OpenCL's unified shared memory, all of which the host reaches.

use std::collections::BTreeMap;
use std::ffi::c_void;
use std::ops::Range;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crosscut_adapter_level_zero::abi::{self, Handle, Status, ZE_RESULT_SUCCESS};

use crate::checked::{answer, description, misuse};
use crate::driver::{CONTEXTS, Context, is_device};
use crate::list;

struct Allocation {
    context: usize,
    size: usize,
    /// Where OpenCL has it: it grants less alignment, so there may be something before it.
    below: usize,
}

/// All allocations, by their first byte.
static ALLOCATIONS: Mutex<BTreeMap<usize, Allocation>> = Mutex::new(BTreeMap::new());

fn allocations() -> MutexGuard<'static, BTreeMap<usize, Allocation>> {
    ALLOCATIONS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Ends the process if a context that is destroyed has left some.
pub(crate) fn none_of(call: &str, context: Handle) {
    let left = allocations().values().filter(|one| one.context == context.addr()).count();
    if left > 0 {
        misuse(call, &format!("{left} of its allocations are alive"));
    }
}

/// The allocation that an address is in.
pub(crate) fn around(address: usize) -> Option<Range<usize>> {
    let all = allocations();
    let (start, found) = all.range(..=address).next_back()?;
    (address < start + found.size).then(|| *start..start + found.size)
}

/// Ends the process if a copy begins in an allocation and leaves it. What is in none is the host's own.
pub(crate) fn stays_inside(call: &str, address: *const c_void, size: usize) {
    if address.is_null() {
        misuse(call, "an address is null");
    }
    if let Some(found) = around(address.addr())
        && address.addr() + size > found.end
    {
        misuse(call, &format!("{size} bytes at {address:?} leave the allocation {found:x?}"));
    }
}

/// The largest alignment that OpenCL grants.
const GRANTED: usize = 128;

/// Allocates by `by`, which is given the size, the alignment and a place for OpenCL's status.
fn allocate(
    call: &str,
    handle: Handle,
    size: usize,
    align: usize,
    place: *mut *mut c_void,
    by: impl FnOnce(&Context, usize, u32, *mut i32) -> *mut c_void,
) -> Status {
    let context = CONTEXTS.get(call, handle);
    if size == 0 {
        misuse(call, "the size is 0");
    }
    if !align.is_power_of_two() || align > 1 << 16 {
        misuse(call, &format!("the alignment is {align}"));
    }
    if size as u64 > context.below.number(0x1010) {
        return abi::ZE_RESULT_ERROR_UNSUPPORTED_SIZE;
    }
    let more = if align > GRANTED { align } else { 0 };
    let mut status = 0;
    let found = by(&context, size + more, align.min(GRANTED) as u32, &raw mut status);
    if status != 0 || found.is_null() {
        return abi::ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY;
    }
    let below = found.addr();
    let address = found.wrapping_byte_add(below.next_multiple_of(align) - below);
    allocations().insert(address.addr(), Allocation { context: handle.addr(), size, below });
    answer(call, place, address);
    ZE_RESULT_SUCCESS
}

pub(crate) extern "C" fn alloc_device(
    context: Handle,
    desc: *const abi::ze_device_mem_alloc_desc_t,
    size: usize,
    align: usize,
    device: Handle,
    place: *mut *mut c_void,
) -> Status {
    const CALL: &str = "zeMemAllocDevice";
    description(CALL, desc);
    is_device(CALL, device);
    allocate(CALL, context, size, align, place, |context, size, align, status| {
        let (below, none) = (context.below, std::ptr::null());
        // SAFETY: context and device are alive and belong together, and the status is writable.
        unsafe {
            let allocate = below.more.clDeviceMemAllocINTEL;
            allocate(context.raw, below.device, none, size, align, status)
        }
    })
}

pub(crate) extern "C" fn alloc_host(
    context: Handle,
    desc: *const abi::ze_host_mem_alloc_desc_t,
    size: usize,
    align: usize,
    place: *mut *mut c_void,
) -> Status {
    const CALL: &str = "zeMemAllocHost";
    description(CALL, desc);
    allocate(CALL, context, size, align, place, |context, size, align, status| {
        let none = std::ptr::null();
        // SAFETY: the context is alive, and the status is writable.
        unsafe { (context.below.more.clHostMemAllocINTEL)(context.raw, none, size, align, status) }
    })
}

pub(crate) extern "C" fn alloc_shared(
    context: Handle,
    device_desc: *const abi::ze_device_mem_alloc_desc_t,
    host_desc: *const abi::ze_host_mem_alloc_desc_t,
    size: usize,
    align: usize,
    device: Handle,
    place: *mut *mut c_void,
) -> Status {
    const CALL: &str = "zeMemAllocShared";
    description(CALL, device_desc);
    description(CALL, host_desc);
    is_device(CALL, device);
    allocate(CALL, context, size, align, place, |context, size, align, status| {
        let (below, none) = (context.below, std::ptr::null());
        // SAFETY: context and device are alive and belong together, and the status is writable.
        unsafe {
            let allocate = below.more.clSharedMemAllocINTEL;
            allocate(context.raw, below.device, none, size, align, status)
        }
    })
}

pub(crate) extern "C" fn free(handle: Handle, address: *mut c_void) -> Status {
    const CALL: &str = "zeMemFree";
    let context = CONTEXTS.get(CALL, handle);
    let found = allocations().remove(&address.addr());
    let Some(allocation) = found.filter(|found| found.context == handle.addr()) else {
        misuse(CALL, &format!("{address:?} is no allocation of the context"));
    };
    list::none_touches(CALL, address.addr()..address.addr() + allocation.size);
    let shift = address.addr() - allocation.below;
    let below = address.wrapping_byte_sub(shift);
    // SAFETY: it was allocated in this context, and is freed once.
    unsafe { (context.below.more.clMemBlockingFreeINTEL)(context.raw, below) };
    ZE_RESULT_SUCCESS
}
