//! Asking the driver: what it does not answer is not there.

use std::ffi::c_char;

use crosscut_adapter_api::{Feature, Features, Limits};

use crate::abi::{self, Attribute, DeviceNumber};
use crate::sys::Api;

/// No machine has more devices.
const MOST: i32 = 4096;

/// All devices, in the driver's order.
pub(crate) fn devices(api: &Api) -> Vec<DeviceNumber> {
    let mut count = 0;
    // SAFETY: the driver is initialised, and `count` is writable.
    let status = unsafe { (api.cuDeviceGetCount)(&raw mut count) };
    if status != abi::CUDA_SUCCESS {
        return Vec::new();
    }
    let device = |ordinal| {
        let mut device = 0;
        // SAFETY: the ordinal is below the count, and `device` is writable.
        let status = unsafe { (api.cuDeviceGet)(&raw mut device, ordinal) };
        (status == abi::CUDA_SUCCESS).then_some(device)
    };
    (0..count.min(MOST)).filter_map(device).collect()
}

/// The name of a device.
pub(crate) fn name(api: &Api, device: DeviceNumber) -> Option<String> {
    let mut name = [0_u8; 256];
    let (place, room) = (name.as_mut_ptr().cast::<c_char>(), name.len() as i32);
    // SAFETY: the device is the driver's own, and there is as much room as is said.
    let status = unsafe { (api.cuDeviceGetName)(place, room, device) };
    (status == abi::CUDA_SUCCESS).then(|| text(&name))
}

/// Text that ends with a zero byte, without the spaces around it.
pub(crate) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim().to_owned()
}

/// The bytes of a device's memory.
pub(crate) fn memory_size(api: &Api, device: DeviceNumber) -> Option<u64> {
    let mut size = 0;
    // SAFETY: the device is the driver's own, and `size` is writable.
    let status = unsafe { (api.cuDeviceTotalMem_v2)(&raw mut size, device) };
    (status == abi::CUDA_SUCCESS).then_some(size as u64)
}

/// An attribute of a device; 0 if the driver does not know it.
pub(crate) fn attribute(api: &Api, device: DeviceNumber, attribute: Attribute) -> u32 {
    let mut value = 0;
    // SAFETY: the device is the driver's own, and `value` is writable.
    let status = unsafe { (api.cuDeviceGetAttribute)(&raw mut value, attribute, device) };
    if status == abi::CUDA_SUCCESS { u32::try_from(value).unwrap_or(0) } else { 0 }
}

/// The version of CUDA that the driver has, as its documents write it.
pub(crate) fn version(api: &Api) -> Option<String> {
    let mut version = 0;
    // SAFETY: `version` is writable.
    let status = unsafe { (api.cuDriverGetVersion)(&raw mut version) };
    (status == abi::CUDA_SUCCESS).then(|| format!("{}.{}", version / 1000, version % 1000 / 10))
}

/// The largest launches.
pub(crate) fn limits(ask: impl Fn(Attribute) -> u32) -> Limits {
    // Every device runs groups of one item.
    let size = |attribute| (ask(attribute) as usize).max(1);
    let work_group_size = size(abi::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    Limits {
        work_group_size,
        work_item_sizes: [
            size(abi::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X),
            size(abi::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y),
            size(abi::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z),
        ],
        local_memory: ask(abi::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK).into(),
        sub_groups: work_group_size.div_ceil(size(abi::CU_DEVICE_ATTRIBUTE_WARP_SIZE)),
        // No call tells: all devices take this much, later ones with later PTX more.
        argument_bytes: 4096,
        sub_devices: 0,
    }
}

/// What the device can do: the driver tells of memory, the generation of the rest.
pub(crate) fn features(generation: (u32, u32), ask: impl Fn(Attribute) -> u32) -> Features {
    let says = |attribute| ask(attribute) != 0;
    // Where the host may not touch shared memory while any kernel runs, it is none of Crosscut's.
    let shared = says(abi::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY)
        && says(abi::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS);
    let always = [
        Feature::Fp64,
        Feature::Atomic64,
        Feature::AtomicFp32Add,
        Feature::SubGroups,
        Feature::SubGroupShuffle,
        Feature::UsmDevice,
        Feature::OutOfOrderQueue,
        Feature::QueueProfiling,
    ];
    let features = always
        .into_iter()
        .collect::<Features>()
        .with_if(generation >= (5, 3), Feature::Fp16)
        .with_if(generation >= (6, 0), Feature::AtomicFp64Add)
        .with_if(says(abi::CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING), Feature::UsmHost)
        .with_if(shared, Feature::UsmShared)
        .with_if(says(abi::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS), Feature::UsmSystem);
    // PTX's memory model begins with the generation that runs it.
    if generation >= (7, 0) { features.and(Features::WHOLE_MEMORY_MODEL) } else { features }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_that_knows_nothing_promises_nothing() {
        let limits = limits(|_| 0);
        assert_eq!((limits.work_group_size, limits.work_item_sizes), (1, [1; 3]));
        assert_eq!((limits.local_memory, limits.argument_bytes), (0, 4096));
        let features = features((5, 0), |_| 0);
        assert!(features.has(Feature::UsmDevice) && !features.has(Feature::UsmHost));
        assert!(!features.has(Feature::AtomicSeqCst) && !features.has(Feature::Fp16));
    }

    #[test]
    fn shared_memory_that_the_host_may_not_touch_while_kernels_run_is_none() {
        let managed = |attribute| u32::from(attribute == abi::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY);
        assert!(!features((6, 0), managed).has(Feature::UsmShared));
        assert!(features((6, 0), |_| 1).has(Feature::UsmShared));
    }

    #[test]
    fn text_ends_where_the_driver_ended_it() {
        assert_eq!(text(b" a b \0rubbish\0"), "a b");
    }
}
