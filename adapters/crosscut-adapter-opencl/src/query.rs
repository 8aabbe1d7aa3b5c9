//! Asking the driver, and believing no more of an answer than it says.
//!
//! A driver that does not know a property, or answers with another number of bytes than the property
//! has, has not answered: such a number is 0, such a list is empty, such an ability is not there.

use std::ffi::c_void;

use crosscut_adapter_api::{Feature, Features, Limits};

use crate::sys::{self, Handle};

/// The signature that all of OpenCL's `clGet...Info` share.
type GetInfo = unsafe extern "system" fn(Handle, u32, usize, *mut c_void, *mut usize) -> i32;

/// No property that Crosscut asks for is longer, extension lists included.
const LONGEST: usize = 1 << 20;

/// The bytes of one property; empty where the driver does not know it.
///
/// # Safety
/// `object` is what `get` asks about.
pub(crate) unsafe fn bytes(get: GetInfo, object: Handle, property: u32) -> Vec<u8> {
    let mut size = 0;
    // SAFETY: the caller vouches for the object; asking for the size alone.
    let status = unsafe { get(object, property, 0, std::ptr::null_mut(), &raw mut size) };
    if status != sys::CL_SUCCESS || size == 0 || size > LONGEST {
        return Vec::new();
    }
    let mut value = vec![0_u8; size];
    // SAFETY: the caller vouches for the object, and `value` has room for `size` bytes.
    let status =
        unsafe { get(object, property, size, value.as_mut_ptr().cast(), std::ptr::null_mut()) };
    if status == sys::CL_SUCCESS { value } else { Vec::new() }
}

/// A property that is text, without its end and what may follow it.
pub(crate) fn text(value: &[u8]) -> String {
    let end = value.iter().position(|&byte| byte == 0).unwrap_or(value.len());
    String::from_utf8_lossy(&value[..end]).trim().to_owned()
}

/// A property that is a number of 4 or 8 bytes; 0 where there is no such answer.
pub(crate) fn number(value: &[u8]) -> u64 {
    // Properties have the byte order of this machine.
    if let Ok(wide) = <[u8; 8]>::try_from(value) {
        return u64::from_ne_bytes(wide);
    }
    <[u8; 4]>::try_from(value).map_or(0, |narrow| u32::from_ne_bytes(narrow).into())
}

/// A property that is a list of `size_t` or of other numbers of 8 bytes.
pub(crate) fn numbers(value: &[u8]) -> Vec<u64> {
    let (words, rest) = value.as_chunks::<8>();
    if rest.is_empty() {
        words.iter().map(|word| u64::from_ne_bytes(*word)).collect()
    } else {
        Vec::new()
    }
}

fn size(value: u64) -> usize {
    usize::try_from(value).unwrap_or(usize::MAX)
}

/// The largest launches, by what `ask` answers about each property.
pub(crate) fn limits(ask: impl Fn(u32) -> Vec<u8>) -> Limits {
    let count = |property| size(number(&ask(property)));
    // Every device runs groups of one item.
    let work_group_size = count(sys::CL_DEVICE_MAX_WORK_GROUP_SIZE).max(1);
    let sizes = numbers(&ask(sys::CL_DEVICE_MAX_WORK_ITEM_SIZES));
    let item_size = |dimension: usize| sizes.get(dimension).map_or(1, |&most| size(most).max(1));
    Limits {
        work_group_size,
        work_item_sizes: [item_size(0), item_size(1), item_size(2)],
        local_memory: number(&ask(sys::CL_DEVICE_LOCAL_MEM_SIZE)),
        sub_groups: count(sys::CL_DEVICE_MAX_NUM_SUB_GROUPS),
        // OpenCL promises no less to anybody.
        argument_bytes: count(sys::CL_DEVICE_MAX_PARAMETER_SIZE).max(1024),
        sub_devices: count(sys::CL_DEVICE_PARTITION_MAX_SUB_DEVICES),
    }
}

/// What the device can do, by its extensions and what `ask` answers about each property. Whether it has
/// unified shared memory is for the caller to find out: that takes functions, too.
pub(crate) fn features(has: impl Fn(&str) -> bool, ask: impl Fn(u32) -> Vec<u8>) -> Features {
    let bit = |property, bit: u64| number(&ask(property)) & bit != 0;
    let queue = |wanted| bit(sys::CL_DEVICE_QUEUE_PROPERTIES, wanted);
    let partition = |way| numbers(&ask(sys::CL_DEVICE_PARTITION_PROPERTIES)).contains(&way);
    let parts = number(&ask(sys::CL_DEVICE_PARTITION_MAX_SUB_DEVICES)) > 1;
    let doubles = has("cl_khr_fp64") || number(&ask(sys::CL_DEVICE_DOUBLE_FP_CONFIG)) != 0;
    let atomics = has("cl_ext_float_atomics");
    let single = |wanted| atomics && bit(sys::CL_DEVICE_SINGLE_FP_ATOMIC_CAPABILITIES_EXT, wanted);
    let double = |wanted| {
        atomics && doubles && bit(sys::CL_DEVICE_DOUBLE_FP_ATOMIC_CAPABILITIES_EXT, wanted)
    };
    let (add, min_max) =
        (sys::CL_DEVICE_GLOBAL_FP_ATOMIC_ADD_EXT, sys::CL_DEVICE_GLOBAL_FP_ATOMIC_MIN_MAX_EXT);
    let sub_groups =
        has("cl_khr_subgroups") || number(&ask(sys::CL_DEVICE_MAX_NUM_SUB_GROUPS)) != 0;
    [
        (has("cl_khr_fp16"), Feature::Fp16),
        (doubles, Feature::Fp64),
        (
            has("cl_khr_int64_base_atomics") && has("cl_khr_int64_extended_atomics"),
            Feature::Atomic64,
        ),
        (single(add), Feature::AtomicFp32Add),
        (single(min_max), Feature::AtomicFp32MinMax),
        (double(add), Feature::AtomicFp64Add),
        (double(min_max), Feature::AtomicFp64MinMax),
        (sub_groups, Feature::SubGroups),
        (sub_groups && has("cl_khr_subgroup_shuffle"), Feature::SubGroupShuffle),
        (queue(sys::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE), Feature::OutOfOrderQueue),
        (queue(sys::CL_QUEUE_PROFILING_ENABLE), Feature::QueueProfiling),
        (parts && partition(sys::CL_DEVICE_PARTITION_EQUALLY), Feature::PartitionEqually),
        (parts && partition(sys::CL_DEVICE_PARTITION_BY_COUNTS), Feature::PartitionByCounts),
    ]
    .into_iter()
    .fold(Features::NONE, |set, (there, feature)| set.with_if(there, feature))
}

/// The sizes that sub-groups may have, ascending, each once.
pub(crate) fn sub_group_sizes(
    has: impl Fn(&str) -> bool,
    ask: impl Fn(u32) -> Vec<u8>,
) -> Vec<usize> {
    if !has("cl_intel_required_subgroup_size") {
        return Vec::new();
    }
    let sizes = numbers(&ask(sys::CL_DEVICE_SUB_GROUP_SIZES_INTEL));
    let mut sizes: Vec<usize> = sizes.into_iter().filter(|&size| size > 0).map(size).collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// The sizes of sub-groups that a CPU of this vendor's platform can be asked for.
///
/// Intel's compiler (2026.22) ends the process where sub-groups of four items on a processor with AVX-512 take a value of
/// 64 bits from the one item that all of them name, also in OpenCL C. Nobody is given such sub-groups there.
pub(crate) fn sizes_that_compile(
    mut sizes: Vec<usize>,
    platform_vendor: &str,
    has_avx512: bool,
) -> Vec<usize> {
    if has_avx512 && platform_vendor.starts_with("Intel") {
        sizes.retain(|&size| size != 4);
    }
    sizes
}

/// Whether this processor has AVX-512 as compilers use it for short vectors.
pub(crate) fn has_avx512() -> bool {
    #[cfg(target_arch = "x86_64")]
    return std::arch::is_x86_feature_detected!("avx512vl");
    #[cfg(not(target_arch = "x86_64"))]
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sub_groups_that_a_compiler_does_not_survive_are_not_offered() {
        let of = |vendor, has_avx512| sizes_that_compile(vec![4, 8, 64], vendor, has_avx512);
        assert_eq!(of("Intel(R) Corporation", true), [8, 64]);
        assert_eq!(of("Intel(R) Corporation", false), [4, 8, 64]);
        assert_eq!(of("The pocl project", true), [4, 8, 64]);
    }

    #[test]
    fn an_answer_of_another_width_is_no_answer() {
        assert_eq!(number(&7_u32.to_ne_bytes()), 7);
        assert_eq!(number(&u64::MAX.to_ne_bytes()), u64::MAX);
        assert_eq!(number(&[]), 0);
        assert_eq!(number(&[1, 2, 3]), 0);
        assert_eq!(number(&[1; 16]), 0);
        assert_eq!(numbers(&[1; 12]), [0; 0]);
    }

    #[test]
    fn text_ends_where_the_driver_ended_it() {
        assert_eq!(text(b" a b \0rubbish\0"), "a b");
        assert_eq!(text(b"open"), "open");
        assert_eq!(text(b""), "");
    }

    #[test]
    fn a_driver_that_knows_nothing_promises_nothing() {
        let limits = limits(|_| Vec::new());
        assert_eq!((limits.work_group_size, limits.work_item_sizes), (1, [1; 3]));
        assert_eq!((limits.local_memory, limits.sub_devices), (0, 0));
        assert_eq!(limits.argument_bytes, 1024);
        assert!(features(|_| false, |_| Vec::new()).is_empty());
        assert!(sub_group_sizes(|_| true, |_| vec![0; 8]).is_empty());
    }

    #[test]
    fn capabilities_of_atomics_count_with_their_extension_only() {
        let all = |_| u64::MAX.to_ne_bytes().to_vec();
        assert!(features(|_| true, all).has(Feature::AtomicFp64MinMax));
        let without = features(|name| name != "cl_ext_float_atomics", all);
        assert!(!without.has(Feature::AtomicFp32Add) && without.has(Feature::Fp64));
    }
}
