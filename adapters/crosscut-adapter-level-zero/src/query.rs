//! Asking the driver: what it does not answer is not there.

use crosscut_adapter_api::{Feature, Features, Limits};

use crate::abi::{self, Handle, Status, Typed};
use crate::sys::Api;

/// No driver has more of anything that is listed.
const MOST: u32 = 4096;

/// One structure of properties of `object`.
pub(crate) fn one<T: Typed>(
    object: Handle,
    get: unsafe extern "system" fn(Handle, *mut T) -> Status,
) -> Option<T> {
    let mut properties = T::new();
    // SAFETY: the callers' functions fill a structure of this type, which says its type, of an object
    // that lives.
    let status = unsafe { get(object, &raw mut properties) };
    (status == abi::ZE_RESULT_SUCCESS).then_some(properties)
}

/// All structures of properties of `object`.
pub(crate) fn several<T: Typed + Copy>(
    object: Handle,
    get: unsafe extern "system" fn(Handle, *mut u32, *mut T) -> Status,
) -> Vec<T> {
    list(T::new(), |count, properties| {
        // SAFETY: the callers' functions fill as many structures of this type, which say their type,
        // as are announced, of an object that lives.
        unsafe { get(object, count, properties) }
    })
}

/// What a function lists that is asked twice: for the number, and for as many.
fn list<T: Clone>(empty: T, get: impl Fn(*mut u32, *mut T) -> Status) -> Vec<T> {
    let mut count = 0;
    let status = get(&raw mut count, std::ptr::null_mut());
    if status != abi::ZE_RESULT_SUCCESS || count == 0 || count > MOST {
        return Vec::new();
    }
    let mut found = vec![empty; count as usize];
    if get(&raw mut count, found.as_mut_ptr()) != abi::ZE_RESULT_SUCCESS {
        return Vec::new();
    }
    found.truncate(count as usize);
    found
}

pub(crate) fn drivers(api: &Api) -> Vec<Handle> {
    // SAFETY: the loader is initialised, and there is room for as many as are announced.
    list(std::ptr::null_mut(), |count, found| unsafe { (api.zeDriverGet)(count, found) })
}

pub(crate) fn devices(api: &Api, driver: Handle) -> Vec<Handle> {
    // SAFETY: the driver is the loader's own, and there is room for as many as are announced.
    list(std::ptr::null_mut(), |count, found| unsafe { (api.zeDeviceGet)(driver, count, found) })
}

/// The names of the driver's extensions.
pub(crate) fn extensions(api: &Api, driver: Handle) -> Vec<String> {
    let empty = abi::ze_driver_extension_properties_t { name: [0; 256], version: 0 };
    // SAFETY: the driver is the loader's own, and there is room for as many as are announced.
    let found = list(empty, |count, found| unsafe {
        (api.zeDriverGetExtensionProperties)(driver, count, found)
    });
    found.iter().map(|extension| text(&extension.name)).collect()
}

/// The version of Level Zero that a driver has.
pub(crate) fn version(api: &Api, driver: Handle) -> String {
    let mut version = 0;
    // SAFETY: the driver is the loader's own, and the version is writable.
    let status = unsafe { (api.zeDriverGetApiVersion)(driver, &raw mut version) };
    if status != abi::ZE_RESULT_SUCCESS {
        return String::new();
    }
    format!("{}.{}", version >> 16, version & 0xffff)
}

/// The version of the driver itself: one number, of which everybody has a reading of their own.
pub(crate) fn driver_version(api: &Api, driver: Handle) -> String {
    let properties = one(driver, api.zeDriverGetProperties);
    properties.map_or_else(String::new, |properties| properties.driverVersion.to_string())
}

/// Text that ends with a zero byte or with its room.
pub(crate) fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).trim().to_owned()
}

/// Who has this number at the PCI's registry.
pub(crate) fn vendor(id: u32) -> String {
    match id {
        0x8086 => "Intel(R) Corporation".to_owned(),
        other => format!("PCI vendor {other:#06x}"),
    }
}

/// The sizes that sub-groups may have, ascending, each once.
pub(crate) fn sub_group_sizes(compute: &abi::ze_device_compute_properties_t) -> Vec<usize> {
    let said = (compute.numSubGroupSizes as usize).min(compute.subGroupSizes.len());
    let mut sizes: Vec<usize> = compute.subGroupSizes[..said]
        .iter()
        .filter(|size| **size > 0)
        .map(|size| *size as usize)
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    sizes
}

/// The largest launches.
pub(crate) fn limits(
    compute: &abi::ze_device_compute_properties_t,
    module: &abi::ze_device_module_properties_t,
    sub_group_sizes: &[usize],
) -> Limits {
    // Every device runs groups of one item.
    let size = |most: u32| (most as usize).max(1);
    let work_group_size = size(compute.maxTotalGroupSize);
    Limits {
        work_group_size,
        work_item_sizes: [
            size(compute.maxGroupSizeX),
            size(compute.maxGroupSizeY),
            size(compute.maxGroupSizeZ),
        ],
        local_memory: compute.maxSharedLocalMemory.into(),
        sub_groups: sub_group_sizes
            .first()
            .map_or(0, |smallest| work_group_size.div_ceil(*smallest)),
        argument_bytes: size(module.maxArgumentsSize).max(1024),
        // Level Zero's sub-devices are parts of the hardware: nobody cuts them.
        sub_devices: 0,
    }
}

/// What the device can do, as far as these structures tell.
pub(crate) fn features(
    module: &abi::ze_device_module_properties_t,
    atomics: &abi::ze_float_atomic_ext_properties_t,
    access: &abi::ze_device_memory_access_properties_t,
) -> Features {
    let takes = |flag| module.flags & flag != 0;
    let (add, min_max) = (
        abi::ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_ADD,
        abi::ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_MIN_MAX,
    );
    let doubles = takes(abi::ZE_DEVICE_MODULE_FLAG_FP64);
    let reaches = |capabilities: u32| capabilities & abi::ZE_MEMORY_ACCESS_CAP_FLAG_RW != 0;
    [
        (takes(abi::ZE_DEVICE_MODULE_FLAG_FP16), Feature::Fp16),
        (doubles, Feature::Fp64),
        (takes(abi::ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS), Feature::Atomic64),
        (atomics.fp32Flags & add != 0, Feature::AtomicFp32Add),
        (atomics.fp32Flags & min_max != 0, Feature::AtomicFp32MinMax),
        (doubles && atomics.fp64Flags & add != 0, Feature::AtomicFp64Add),
        (doubles && atomics.fp64Flags & min_max != 0, Feature::AtomicFp64MinMax),
        // There is no other memory: a device always has its own.
        (true, Feature::UsmDevice),
        (reaches(access.hostAllocCapabilities), Feature::UsmHost),
        (reaches(access.sharedSingleDeviceAllocCapabilities), Feature::UsmShared),
        (reaches(access.sharedSystemAllocCapabilities), Feature::UsmSystem),
    ]
    .into_iter()
    .fold(Features::NONE, |set, (there, feature)| set.with_if(there, feature))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_driver_that_knows_nothing_promises_nothing() {
        let (compute, module) = (Typed::new(), Typed::new());
        let limits = limits(&compute, &module, &sub_group_sizes(&compute));
        assert_eq!((limits.work_group_size, limits.work_item_sizes), (1, [1; 3]));
        assert_eq!((limits.local_memory, limits.sub_groups, limits.argument_bytes), (0, 0, 1024));
        let features = features(&module, &Typed::new(), &Typed::new());
        assert!(features.has(Feature::UsmDevice) && !features.has(Feature::UsmHost));
    }

    #[test]
    fn a_list_longer_than_its_room_is_read_as_far_as_that_goes() {
        let mut compute = abi::ze_device_compute_properties_t::new();
        (compute.numSubGroupSizes, compute.subGroupSizes) = (99, [32, 16, 8, 8, 0, 0, 0, 0]);
        assert_eq!(sub_group_sizes(&compute), [8, 16, 32]);
    }

    #[test]
    fn text_ends_where_the_driver_ended_it() {
        assert_eq!(text(b" a b \0rubbish\0"), "a b");
    }
}
