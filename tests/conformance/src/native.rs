//! The kernels as native code: what a device runs that takes no SPIR-V.
//!
//! Each is the kernel of its name in `kernels/kernels.spvasm`: its memory is in the slots, in order,
//! and its value, if it takes one, is what the captures are.

use std::ops::Range;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crosscut_adapter_api::{NativeEntry, NativeLaunch, NativePanic};

type Done = Result<(), NativePanic>;

/// The kernel of this name.
pub(crate) fn entry(name: &str) -> Option<NativeEntry> {
    Some(match name {
        "copy" => copy,
        "add" => add,
        "store_value" => store_value,
        "store_indices" => store_indices,
        "follow_address" => follow_address,
        "count" => count,
        "spin" => spin,
        "turn_around" => turn_around,
        "nothing" => nothing,
        _ => return None,
    })
}

/// The index in each dimension of the items in a range: of items, or of whole groups.
fn items<'a>(
    launch: &'a NativeLaunch<'_>,
    range: Range<u64>,
) -> impl Iterator<Item = [usize; 3]> + 'a {
    let group = launch.extent.group.unwrap_or([1; 3]);
    let (groups, members) = (launch.extent.groups(), group.iter().product::<usize>());
    range.flat_map(move |linear| {
        let first = split(linear as usize, groups);
        (0..members).map(move |member| {
            let inside = split(member, group);
            std::array::from_fn(|at| first[at] * group[at] + inside[at])
        })
    })
}

/// The index in each dimension of a linear index, the last one being the fastest.
fn split(linear: usize, size: [usize; 3]) -> [usize; 3] {
    [linear / (size[1] * size[2]), linear / size[2] % size[1], linear % size[2]]
}

fn linear(launch: &NativeLaunch<'_>, item: [usize; 3]) -> usize {
    let size = launch.extent.size;
    (item[0] * size[1] + item[1]) * size[2] + item[2]
}

/// # Safety
/// The memory in the slot has an element of this type there, and nobody writes it.
unsafe fn load<T: Copy>(launch: &NativeLaunch<'_>, slot: usize, index: usize) -> T {
    // SAFETY: by the contract above.
    unsafe { launch.slots[slot].address.cast::<T>().wrapping_add(index).read_unaligned() }
}

/// # Safety
/// The memory in the slot has an element of this type there, and nobody else touches it.
unsafe fn store<T: Copy>(launch: &NativeLaunch<'_>, slot: usize, index: usize, value: T) {
    // SAFETY: by the contract above.
    unsafe { launch.slots[slot].address.cast::<T>().wrapping_add(index).write_unaligned(value) }
}

/// # Safety
/// The captures are a long word.
unsafe fn captured(launch: &NativeLaunch<'_>) -> u64 {
    // SAFETY: by the contract above.
    unsafe { launch.captures.cast::<u64>().read_unaligned() }
}

/// # Safety
/// The memory in the first slot has an aligned word, which all use as an atomic.
unsafe fn counter<'a>(launch: &NativeLaunch<'a>) -> &'a AtomicU32 {
    // SAFETY: by the contract above.
    unsafe { AtomicU32::from_ptr(launch.slots[0].address.cast()) }
}

/// # Safety
/// As every [`NativeEntry`]; so are the others.
pub(crate) unsafe fn copy(launch: &NativeLaunch<'_>, range: Range<u64>) -> Done {
    for index in items(launch, range).map(|item| linear(launch, item)) {
        // SAFETY: both slots have a word for each item.
        let word: u32 = unsafe { load(launch, 1, index) };
        // SAFETY: as above, and each item has its own.
        unsafe { store(launch, 0, index, word) };
    }
    Ok(())
}

unsafe fn add(launch: &NativeLaunch<'_>, range: Range<u64>) -> Done {
    // SAFETY: the captures are the number.
    let number = unsafe { captured(launch) } as u32;
    for index in items(launch, range).map(|item| linear(launch, item)) {
        // SAFETY: both slots have a word for each item.
        let word: u32 = unsafe { load(launch, 1, index) };
        // SAFETY: as above, and each item has its own.
        unsafe { store(launch, 0, index, word.wrapping_add(number)) };
    }
    Ok(())
}

/// # Safety
/// As [`copy`].
pub(crate) unsafe fn store_value(launch: &NativeLaunch<'_>, range: Range<u64>) -> Done {
    // SAFETY: the captures are the value.
    let value = unsafe { captured(launch) };
    for index in items(launch, range).map(|item| linear(launch, item)) {
        // SAFETY: the slot has a long word for each item.
        unsafe { store(launch, 0, index, value) };
    }
    Ok(())
}

/// # Safety
/// As [`copy`].
pub(crate) unsafe fn store_indices(launch: &NativeLaunch<'_>, range: Range<u64>) -> Done {
    let used = usize::from(launch.extent.dimensions);
    for item in items(launch, range) {
        // The fastest dimension is the last of those that count.
        let at = |from_last: usize| match used.checked_sub(1 + from_last) {
            Some(dimension) => item[dimension],
            None => 0,
        };
        let value = (at(2) * 10_000 + at(1) * 100 + at(0)) as u64;
        // SAFETY: the slot has a long word for each item.
        unsafe { store(launch, 0, linear(launch, item), value) };
    }
    Ok(())
}

unsafe fn follow_address(launch: &NativeLaunch<'_>, _: Range<u64>) -> Done {
    // SAFETY: the cell has an address.
    let address: u64 = unsafe { load(launch, 1, 0) };
    let pointee = std::ptr::with_exposed_provenance::<u32>(address as usize);
    // SAFETY: the behaviour has put the address of a live word there.
    let word = unsafe { pointee.read() };
    // SAFETY: the target has a word.
    unsafe { store(launch, 0, 0, word) };
    Ok(())
}

/// # Safety
/// As [`copy`].
pub(crate) unsafe fn count(launch: &NativeLaunch<'_>, range: Range<u64>) -> Done {
    let found = items(launch, range).count();
    // SAFETY: all items use the word as an atomic.
    unsafe { counter(launch) }.fetch_add(found as u32, Relaxed);
    Ok(())
}

/// # Safety
/// As [`copy`].
pub(crate) unsafe fn spin(launch: &NativeLaunch<'_>, range: Range<u64>) -> Done {
    // SAFETY: the captures are the number of times.
    let times = unsafe { captured(launch) };
    // SAFETY: all items use the word as an atomic.
    let counter = unsafe { counter(launch) };
    for _ in items(launch, range) {
        for _ in 0..times {
            counter.fetch_add(1, Relaxed);
        }
    }
    Ok(())
}

/// # Safety
/// As [`copy`].
pub(crate) unsafe fn turn_around(launch: &NativeLaunch<'_>, range: Range<u64>) -> Done {
    for item in items(launch, range) {
        let [group, ..] = launch.extent.group.unwrap_or([1; 3]);
        let first = item[0] / group * group;
        let other = first + (group - 1 - item[0] % group);
        // SAFETY: the slot has a word for each item.
        unsafe { store(launch, 0, item[0], other as u32) };
    }
    Ok(())
}

/// # Safety
/// As [`copy`].
pub(crate) unsafe fn nothing(_: &NativeLaunch<'_>, _: Range<u64>) -> Done {
    Ok(())
}
