//! The hooks: functions and one static that mean something else on a device.
//!
//! `crosscut-device` defines each under this name for the host, where a call is a bug; the
//! toolchain gives each its meaning in device code. Signatures are in C's notation.

/// `void (uint64_t key, uint32_t dimensions, uint64_t captures_size)`: the function that calls it is
/// a kernel's entry. All three are constants once optimised. `dimensions` is 0 for a single task,
/// `captures_size` the bytes of the closure.
pub const KERNEL: &str = "__crosscut_kernel";

/// `const void *(void)`: the closure's captures, aligned to 16 bytes.
pub const CAPTURES: &str = "__crosscut_captures";

/// `void *(uint32_t slot)`: the address of an argument; not null.
pub const ARGUMENT_ADDRESS: &str = "__crosscut_argument_address";

/// `const void *(uint32_t slot)`: the same for an argument that the kernel only reads.
pub const READ_ARGUMENT_ADDRESS: &str = "__crosscut_read_argument_address";

/// `uint64_t (uint32_t slot)`: how many elements an argument has.
pub const ARGUMENT_LENGTH: &str = "__crosscut_argument_length";

/// `uint64_t (uint32_t dimension)`: this item's index, dimension 0 being the slowest.
pub const GLOBAL_ID: &str = "__crosscut_global_id";

/// `uint64_t (uint32_t dimension)`: the items of one dimension.
pub const GLOBAL_SIZE: &str = "__crosscut_global_size";

/// `uint64_t (uint32_t dimension)`: this item's index within its work-group.
pub const LOCAL_ID: &str = "__crosscut_local_id";

/// `uint64_t (uint32_t dimension)`: the items of a work-group in one dimension.
pub const LOCAL_SIZE: &str = "__crosscut_local_size";

/// `uint64_t (uint32_t dimension)`: the index of this item's work-group.
pub const GROUP_ID: &str = "__crosscut_group_id";

/// `uint64_t (uint32_t dimension)`: the work-groups of one dimension.
pub const GROUP_COUNT: &str = "__crosscut_group_count";

/// `void *(uint32_t slot)`: the work-group's own memory for an argument; not null. Its elements are
/// counted by the length hook.
pub const LOCAL_ADDRESS: &str = "__crosscut_local_address";

/// `void *(uint32_t bytes)`: so many bytes of the work-group's memory for each of its items, for what the
/// items compute together; not null. All calls of a kernel share them.
pub const GROUP_SCRATCH: &str = "__crosscut_group_scratch";

/// `const void *(const void *global, uint64_t size, uint64_t align, uint64_t properties)`: the storage
/// of a device global, given the address of its static. `properties` are bits of
/// [`global_properties`](crate::global_properties).
pub const GLOBAL_ADDRESS: &str = "__crosscut_global_address";

/// `uint64_t (const void *constant, uint64_t offset, uint32_t width, uint64_t preset)`: `width` bytes of
/// the value of a specialization constant from byte `offset`, given the address of its static; `preset`
/// is what they are where nobody sets it. All four are constants once optimised.
pub const SPEC_CONSTANT: &str = "__crosscut_spec_constant";

/// `void (uint32_t scope)`: atomics from here on have this scope: 1 work-group, 2 device, 3 system. A scope
/// that is not a constant once optimised counts as 3.
pub const SCOPE_BEGIN: &str = "__crosscut_scope_begin";

/// `void (void)`: the scope that was begun last ends.
pub const SCOPE_END: &str = "__crosscut_scope_end";

/// `void (void)`: every item of the work-group waits for the others here.
pub const BARRIER: &str = "__crosscut_barrier";

/// `uint32_t (void)`: this item's index within its sub-group.
pub const SUB_GROUP_LOCAL_ID: &str = "__crosscut_sub_group_local_id";

/// `uint32_t (void)`: how many items this item's sub-group has; the last of a work-group may have fewer.
pub const SUB_GROUP_SIZE: &str = "__crosscut_sub_group_size";

/// `uint32_t (void)`: the most items that a sub-group of this kernel has.
pub const SUB_GROUP_MAX_SIZE: &str = "__crosscut_sub_group_max_size";

/// `uint32_t (void)`: the index of this item's sub-group in its work-group.
pub const SUB_GROUP_ID: &str = "__crosscut_sub_group_id";

/// `uint32_t (void)`: the sub-groups of a work-group.
pub const SUB_GROUP_COUNT: &str = "__crosscut_sub_group_count";

/// `uint32_t (uint32_t value, uint32_t from)`: the value that the item of the sub-group with the index
/// `from` calls this with. All items of the sub-group call it together.
pub const SUB_GROUP_SHUFFLE: &str = "__crosscut_sub_group_shuffle";

/// `void (void)`: every item of the sub-group waits for the others here.
pub const SUB_GROUP_BARRIER: &str = "__crosscut_sub_group_barrier";

/// `void *(void)`: the kernel's memory for lines that it prints (see
/// [`registration`](crate::registration)); not null.
pub const LINES: &str = "__crosscut_lines";

/// `bool`, a static: whether this code runs on a device. False in the host program, folded to true
/// in device code.
pub const ON_DEVICE: &str = "__CROSSCUT_ON_DEVICE";

/// All functions among the hooks.
pub const FUNCTIONS: &[&str] = &[
    KERNEL,
    CAPTURES,
    ARGUMENT_ADDRESS,
    READ_ARGUMENT_ADDRESS,
    ARGUMENT_LENGTH,
    GLOBAL_ID,
    GLOBAL_SIZE,
    LOCAL_ID,
    LOCAL_SIZE,
    GROUP_ID,
    GROUP_COUNT,
    LOCAL_ADDRESS,
    GROUP_SCRATCH,
    GLOBAL_ADDRESS,
    SPEC_CONSTANT,
    SCOPE_BEGIN,
    SCOPE_END,
    BARRIER,
    SUB_GROUP_LOCAL_ID,
    SUB_GROUP_SIZE,
    SUB_GROUP_MAX_SIZE,
    SUB_GROUP_ID,
    SUB_GROUP_COUNT,
    SUB_GROUP_SHUFFLE,
    SUB_GROUP_BARRIER,
    LINES,
];
