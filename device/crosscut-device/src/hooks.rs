//! The hooks: what only a device can answer.
//!
//! The toolchain replaces each of these functions in device code. The bodies below are the host's:
//! no host code calls them, because everything that does is behind [`on_device`](crate::on_device)
//! or in a kernel's device entry, so reaching one is a bug and ends the process.

/// Ends the process, saying which hook was called on the host.
#[cold]
fn only_on_a_device(hook: &str) -> ! {
    use std::io::Write as _;
    // The process ends either way: a closed standard error changes nothing.
    let _ = writeln!(std::io::stderr(), "crosscut: `{hook}` was called on the host");
    std::process::abort()
}

/// Marks the function that calls it as the device entry of a kernel. `captures` is the closure's size, and
/// from bit 32 on the power of two that it is aligned to.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn __crosscut_kernel(_key: u64, _dimensions: u32, _captures: u64) {
    only_on_a_device("__crosscut_kernel")
}

/// The closure's captures.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn __crosscut_captures() -> *const u8 {
    only_on_a_device("__crosscut_captures")
}

/// The address of an argument.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn __crosscut_argument_address(_slot: u32) -> *mut u8 {
    only_on_a_device("__crosscut_argument_address")
}

/// The address of an argument that the kernel only reads.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn __crosscut_read_argument_address(_slot: u32) -> *const u8 {
    only_on_a_device("__crosscut_read_argument_address")
}

/// How many elements an argument has.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn __crosscut_argument_length(_slot: u32) -> u64 {
    only_on_a_device("__crosscut_argument_length")
}

/// This item's index in one dimension, dimension 0 being the slowest.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn __crosscut_global_id(_dimension: u32) -> u64 {
    only_on_a_device("__crosscut_global_id")
}

/// The items of one dimension.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn __crosscut_global_size(_dimension: u32) -> u64 {
    only_on_a_device("__crosscut_global_size")
}

/// This item's index within its work-group, in one dimension.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn __crosscut_local_id(_dimension: u32) -> u64 {
    only_on_a_device("__crosscut_local_id")
}

/// The items of a work-group in one dimension.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn __crosscut_local_size(_dimension: u32) -> u64 {
    only_on_a_device("__crosscut_local_size")
}

/// The index of this item's work-group in one dimension.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn __crosscut_group_id(_dimension: u32) -> u64 {
    only_on_a_device("__crosscut_group_id")
}

/// The work-groups of one dimension.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn __crosscut_group_count(_dimension: u32) -> u64 {
    only_on_a_device("__crosscut_group_count")
}

/// The work-group's own memory for an argument.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn __crosscut_local_address(_slot: u32) -> *mut u8 {
    only_on_a_device("__crosscut_local_address")
}

/// Bytes of the work-group's memory for each of its items.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn __crosscut_group_scratch(_bytes: u32) -> *mut u8 {
    only_on_a_device("__crosscut_group_scratch")
}

/// The storage of a device global, given the address of its static and what its type says.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn __crosscut_global_address(
    _global: *const u8,
    _size: u64,
    _align: u64,
    _properties: u64,
) -> *const u8 {
    only_on_a_device("__crosscut_global_address")
}

/// Some bytes of the value of a specialization constant, given the address of its static.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn __crosscut_spec_constant(
    _constant: *const u8,
    _offset: u64,
    _width: u32,
    _preset: u64,
) -> u64 {
    only_on_a_device("__crosscut_spec_constant")
}

/// Begins the atomics of a scope: 1 work-group, 2 device, 3 system.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn __crosscut_scope_begin(_scope: u32) {
    only_on_a_device("__crosscut_scope_begin")
}

/// Ends the atomics of the scope that was begun last.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn __crosscut_scope_end() {
    only_on_a_device("__crosscut_scope_end")
}

/// Every item of the work-group waits for the others here.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn __crosscut_barrier() {
    only_on_a_device("__crosscut_barrier")
}

/// This item's index within its sub-group.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn __crosscut_sub_group_local_id() -> u32 {
    only_on_a_device("__crosscut_sub_group_local_id")
}

/// How many items this item's sub-group has.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn __crosscut_sub_group_size() -> u32 {
    only_on_a_device("__crosscut_sub_group_size")
}

/// The most items that a sub-group of this kernel has.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn __crosscut_sub_group_max_size() -> u32 {
    only_on_a_device("__crosscut_sub_group_max_size")
}

/// The index of this item's sub-group in its work-group.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn __crosscut_sub_group_id() -> u32 {
    only_on_a_device("__crosscut_sub_group_id")
}

/// The sub-groups of a work-group.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn __crosscut_sub_group_count() -> u32 {
    only_on_a_device("__crosscut_sub_group_count")
}

/// The value of another item of the sub-group.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn __crosscut_sub_group_shuffle(_value: u32, _from: u32) -> u32 {
    only_on_a_device("__crosscut_sub_group_shuffle")
}

/// Every item of the sub-group waits for the others here.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn __crosscut_sub_group_barrier() {
    only_on_a_device("__crosscut_sub_group_barrier")
}

/// Memory for lines that the kernel prints.
#[unsafe(no_mangle)]
#[inline(never)]
pub extern "C" fn __crosscut_lines() -> *mut u8 {
    only_on_a_device("__crosscut_lines")
}
