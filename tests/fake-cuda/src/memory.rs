//! Allocations, and what copies and fills do with them.

use std::alloc::{Layout, alloc, dealloc};
use std::collections::BTreeMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use crosscut_adapter_cuda::abi::{self, DevicePointer, Handle};

use crate::checked::{Answer, answer, misuse};
use crate::context::{Here, here};
use crate::driver::MEMORY;
use crate::stream::{Lent, Stream};

/// What CUDA promises; addresses are not aligned to more.
const ALIGNMENT: usize = 256;

/// What memory is full of at first.
const RUBBISH: u8 = 0xA5;

/// What the host knows an allocation for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Sort {
    Device,
    Host,
    Managed,
    /// Of a variable, which goes with its module.
    Variable,
}

/// One allocation.
pub(crate) struct Allocation {
    context: usize,
    sort: Sort,
    pub(crate) start: DevicePointer,
    pub(crate) size: usize,
    /// How many commands that are not over yet use it.
    uses: AtomicUsize,
}

static ALLOCATIONS: RwLock<BTreeMap<DevicePointer, Arc<Allocation>>> = RwLock::new(BTreeMap::new());

/// How often something was freed: what was looked up before then may be gone.
pub(crate) static FREES: AtomicUsize = AtomicUsize::new(0);

/// Holds an allocation for a command until that is over.
struct Use(Arc<Allocation>);

impl Use {
    fn of(allocation: Arc<Allocation>) -> Self {
        allocation.uses.fetch_add(1, Ordering::SeqCst);
        Self(allocation)
    }
}

impl Drop for Use {
    fn drop(&mut self) {
        self.0.uses.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The allocation that all of these bytes are in.
pub(crate) fn find(address: DevicePointer, size: usize) -> Option<Arc<Allocation>> {
    let all = ALLOCATIONS.read().unwrap_or_else(PoisonError::into_inner);
    let (_, allocation) = all.range(..=address).next_back()?;
    let end = address.checked_add(size as u64)?;
    (end <= allocation.start + allocation.size as u64).then(|| Arc::clone(allocation))
}

/// The use of a range by a command, which is checked.
fn used(call: &str, here: Here, address: DevicePointer, size: usize) -> Use {
    if size == 0 {
        misuse(call, "there are no bytes");
    }
    match find(address, size) {
        Some(allocation) if allocation.context == here.context => Use::of(allocation),
        Some(_) => misuse(call, "the memory is of another context"),
        None => misuse(call, &format!("{size} bytes at {address:#x} are in no allocation")),
    }
}

/// The host's address of a range, which is not that of device memory.
fn on_host(call: &str, address: *const c_void, size: usize) {
    if address.is_null() {
        misuse(call, "the host's address is null");
    }
    if find(address.addr() as u64, size.min(1))
        .is_some_and(|allocation| matches!(allocation.sort, Sort::Device | Sort::Variable))
    {
        misuse(call, "the host's address is one of the device");
    }
}

fn layout(size: usize) -> Layout {
    match Layout::from_size_align(size + 2 * ALIGNMENT, 2 * ALIGNMENT) {
        Ok(layout) => layout,
        Err(_) => misuse("an allocation", "its size was checked"),
    }
}

/// Allocates; `None` where there is not enough.
pub(crate) fn allocate(here: Here, sort: Sort, size: usize) -> Option<DevicePointer> {
    let mut all = ALLOCATIONS.write().unwrap_or_else(PoisonError::into_inner);
    let used: usize = all.values().map(|allocation| allocation.size).sum();
    if size > MEMORY - used.min(MEMORY) {
        return None;
    }
    // SAFETY: the size of the layout is not zero.
    let raw = unsafe { alloc(layout(size)) };
    if raw.is_null() {
        return None;
    }
    // SAFETY: there are so many bytes after the odd start.
    let first = unsafe { raw.add(ALIGNMENT) };
    // SAFETY: as above.
    unsafe { first.write_bytes(RUBBISH, size) };
    let start = first.expose_provenance() as u64;
    let uses = AtomicUsize::new(0);
    let context = here.context;
    all.insert(start, Arc::new(Allocation { context, sort, start, size, uses }));
    Some(start)
}

/// Frees what `allocate` gave.
pub(crate) fn free(call: &str, here: Here, start: DevicePointer, sorts: &[Sort]) {
    let mut all = ALLOCATIONS.write().unwrap_or_else(PoisonError::into_inner);
    let Some(allocation) = all.remove(&start) else {
        misuse(call, &format!("{start:#x} was not allocated, or is free already"));
    };
    if allocation.context != here.context || !sorts.contains(&allocation.sort) {
        misuse(call, "it was allocated by another context, or by another call");
    }
    if allocation.uses.load(Ordering::SeqCst) > 0 {
        misuse(call, "a command uses it that is not over");
    }
    FREES.fetch_add(1, Ordering::SeqCst);
    let first: *mut u8 = std::ptr::with_exposed_provenance_mut(start as usize);
    // SAFETY: `allocate` made it with this layout so many bytes before, and it was in the table once.
    unsafe { dealloc(first.wrapping_sub(ALIGNMENT), layout(allocation.size)) };
}

/// Ends the process if a context that is released has left memory.
pub(crate) fn none_of(call: &str, context: usize) {
    let all = ALLOCATIONS.read().unwrap_or_else(PoisonError::into_inner);
    if all.values().any(|allocation| allocation.context == context) {
        misuse(call, "there is memory that was not freed");
    }
}

/// Forgets all memory of a context that was lost.
pub(crate) fn forget(context: usize) {
    let mut all = ALLOCATIONS.write().unwrap_or_else(PoisonError::into_inner);
    all.retain(|_, allocation| allocation.context != context);
    FREES.fetch_add(1, Ordering::SeqCst);
}

fn given(call: &str, sort: Sort, size: usize) -> Result<DevicePointer, i32> {
    let here = here(call)?;
    if size == 0 {
        misuse(call, "there are no bytes");
    }
    if here.device() == 1 && sort == Sort::Managed {
        misuse(call, "the host could not touch it while kernels run");
    }
    allocate(here, sort, size).ok_or(abi::CUDA_ERROR_OUT_OF_MEMORY)
}

pub(crate) fn device(call: &str, place: *mut DevicePointer, size: usize) -> Answer {
    answer(call, place, given(call, Sort::Device, size)?)
}

pub(crate) fn managed(call: &str, place: *mut DevicePointer, size: usize, flags: u32) -> Answer {
    if flags != abi::CU_MEM_ATTACH_GLOBAL {
        misuse(call, "not all streams would reach it");
    }
    answer(call, place, given(call, Sort::Managed, size)?)
}

pub(crate) fn host(call: &str, place: *mut *mut c_void, size: usize, flags: u32) -> Answer {
    if flags != abi::CU_MEMHOSTALLOC_PORTABLE | abi::CU_MEMHOSTALLOC_DEVICEMAP {
        misuse(call, "not all devices would reach it");
    }
    let start = given(call, Sort::Host, size)?;
    answer(call, place, std::ptr::with_exposed_provenance_mut(start as usize))
}

pub(crate) fn free_device(call: &str, start: DevicePointer) -> Answer {
    free(call, here(call)?, start, &[Sort::Device, Sort::Managed]);
    Ok(())
}

pub(crate) fn free_host(call: &str, start: *mut c_void) -> Answer {
    free(call, here(call)?, start.addr() as u64, &[Sort::Host]);
    Ok(())
}

fn lent(address: DevicePointer) -> Lent {
    Lent(std::ptr::with_exposed_provenance_mut(address as usize))
}

/// Puts a copy on a stream. Both sides are valid until it is over, by what the callers checked.
fn copy(stream: &Stream, target: Lent, source: Lent, size: usize, uses: Vec<Use>) {
    stream.push(move || {
        let (target, source) = (target.pointer(), source.pointer());
        // SAFETY: allocations are held by their use, and CUDA's rules have callers keep the host's side.
        unsafe { std::ptr::copy_nonoverlapping(source, target, size) };
        drop(uses);
    });
}

pub(crate) fn host_to_device(
    call: &str,
    target: DevicePointer,
    source: *const c_void,
    size: usize,
    stream: Handle,
) -> Answer {
    let here = here(call)?;
    on_host(call, source, size);
    let uses = vec![used(call, here, target, size)];
    let stream = Stream::get(call, here, stream);
    copy(&stream, lent(target), Lent(source.cast_mut()), size, uses);
    Ok(())
}

pub(crate) fn device_to_host(
    call: &str,
    target: *mut c_void,
    source: DevicePointer,
    size: usize,
    stream: Handle,
) -> Answer {
    let here = here(call)?;
    on_host(call, target, size);
    let uses = vec![used(call, here, source, size)];
    copy(&Stream::get(call, here, stream), Lent(target), lent(source), size, uses);
    Ok(())
}

pub(crate) fn device_to_device(
    call: &str,
    target: DevicePointer,
    source: DevicePointer,
    size: usize,
    stream: Handle,
) -> Answer {
    let here = here(call)?;
    let uses = vec![used(call, here, target, size), used(call, here, source, size)];
    if target.abs_diff(source) < size as u64 {
        misuse(call, "the ranges overlap");
    }
    copy(&Stream::get(call, here, stream), lent(target), lent(source), size, uses);
    Ok(())
}

/// Fills with the bytes of one value, `count` times.
pub(crate) fn set(
    call: &str,
    target: DevicePointer,
    value: &[u8],
    count: usize,
    stream: Handle,
) -> Answer {
    let here = here(call)?;
    if !target.is_multiple_of(value.len() as u64) {
        misuse(call, "the address is not aligned to the value");
    }
    let size = count * value.len();
    let hold = used(call, here, target, size);
    let (place, value) = (lent(target), value.to_vec());
    Stream::get(call, here, stream).push(move || {
        // SAFETY: the allocation is held by its use, and has so many values after the place; nobody else
        // has a reference to them.
        let bytes = unsafe { std::slice::from_raw_parts_mut(place.pointer(), size) };
        bytes.chunks_mut(value.len()).for_each(|part| part.copy_from_slice(&value));
        drop(hold);
    });
    Ok(())
}
