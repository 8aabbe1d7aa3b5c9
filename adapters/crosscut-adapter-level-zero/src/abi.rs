//! Level Zero's own types: the structures and numbers that calls take, as its headers lay them out.
//!
//! Public for the driver that the tests have in place of a real one. `tests/layout.rs` compares every
//! size and offset with the headers, where those are installed.

#![allow(missing_docs, reason = "the vendor's names, which its specification explains")]
#![allow(non_camel_case_types, reason = "the vendor's spelling")]

use std::ffi::{c_char, c_void};

/// Any of Level Zero's handles.
pub type Handle = *mut c_void;

/// `ze_result_t`.
pub type Status = u32;

/// Success, and the codes that mean something to us. [`name`] knows the others.
pub const ZE_RESULT_SUCCESS: Status = 0;
pub const ZE_RESULT_NOT_READY: Status = 1;
pub const ZE_RESULT_ERROR_DEVICE_LOST: Status = 0x7000_0001;
pub const ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY: Status = 0x7000_0002;
pub const ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY: Status = 0x7000_0003;
pub const ZE_RESULT_ERROR_MODULE_BUILD_FAILURE: Status = 0x7000_0004;
pub const ZE_RESULT_ERROR_MODULE_LINK_FAILURE: Status = 0x7000_0005;
pub const ZE_RESULT_ERROR_UNINITIALIZED: Status = 0x7800_0001;
pub const ZE_RESULT_ERROR_UNSUPPORTED_VERSION: Status = 0x7800_0002;
pub const ZE_RESULT_ERROR_UNSUPPORTED_FEATURE: Status = 0x7800_0003;
pub const ZE_RESULT_ERROR_INVALID_ARGUMENT: Status = 0x7800_0004;
pub const ZE_RESULT_ERROR_UNSUPPORTED_SIZE: Status = 0x7800_0009;
pub const ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT: Status = 0x7800_000a;
pub const ZE_RESULT_ERROR_INVALID_NATIVE_BINARY: Status = 0x7800_000f;
pub const ZE_RESULT_ERROR_INVALID_GLOBAL_NAME: Status = 0x7800_0010;
pub const ZE_RESULT_ERROR_INVALID_KERNEL_NAME: Status = 0x7800_0011;
pub const ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED: Status = 0x7800_0018;
pub const ZE_RESULT_ERROR_UNKNOWN: Status = 0x7fff_fffe;

/// The vendor's name of a code.
#[must_use]
pub fn name(code: Status) -> Option<&'static str> {
    const NAMES: &[(Status, &str)] = &[
        (0, "ZE_RESULT_SUCCESS"),
        (1, "ZE_RESULT_NOT_READY"),
        (0x7000_0001, "ZE_RESULT_ERROR_DEVICE_LOST"),
        (0x7000_0002, "ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY"),
        (0x7000_0003, "ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY"),
        (0x7000_0004, "ZE_RESULT_ERROR_MODULE_BUILD_FAILURE"),
        (0x7000_0005, "ZE_RESULT_ERROR_MODULE_LINK_FAILURE"),
        (0x7000_0006, "ZE_RESULT_ERROR_DEVICE_REQUIRES_RESET"),
        (0x7000_0007, "ZE_RESULT_ERROR_DEVICE_IN_LOW_POWER_STATE"),
        (0x7001_0000, "ZE_RESULT_ERROR_INSUFFICIENT_PERMISSIONS"),
        (0x7001_0001, "ZE_RESULT_ERROR_NOT_AVAILABLE"),
        (0x7002_0000, "ZE_RESULT_ERROR_DEPENDENCY_UNAVAILABLE"),
        (0x7002_0001, "ZE_RESULT_WARNING_DROPPED_DATA"),
        (0x7800_0001, "ZE_RESULT_ERROR_UNINITIALIZED"),
        (0x7800_0002, "ZE_RESULT_ERROR_UNSUPPORTED_VERSION"),
        (0x7800_0003, "ZE_RESULT_ERROR_UNSUPPORTED_FEATURE"),
        (0x7800_0004, "ZE_RESULT_ERROR_INVALID_ARGUMENT"),
        (0x7800_0005, "ZE_RESULT_ERROR_INVALID_NULL_HANDLE"),
        (0x7800_0006, "ZE_RESULT_ERROR_HANDLE_OBJECT_IN_USE"),
        (0x7800_0007, "ZE_RESULT_ERROR_INVALID_NULL_POINTER"),
        (0x7800_0008, "ZE_RESULT_ERROR_INVALID_SIZE"),
        (0x7800_0009, "ZE_RESULT_ERROR_UNSUPPORTED_SIZE"),
        (0x7800_000a, "ZE_RESULT_ERROR_UNSUPPORTED_ALIGNMENT"),
        (0x7800_000b, "ZE_RESULT_ERROR_INVALID_SYNCHRONIZATION_OBJECT"),
        (0x7800_000c, "ZE_RESULT_ERROR_INVALID_ENUMERATION"),
        (0x7800_000d, "ZE_RESULT_ERROR_UNSUPPORTED_ENUMERATION"),
        (0x7800_000e, "ZE_RESULT_ERROR_UNSUPPORTED_IMAGE_FORMAT"),
        (0x7800_000f, "ZE_RESULT_ERROR_INVALID_NATIVE_BINARY"),
        (0x7800_0010, "ZE_RESULT_ERROR_INVALID_GLOBAL_NAME"),
        (0x7800_0011, "ZE_RESULT_ERROR_INVALID_KERNEL_NAME"),
        (0x7800_0012, "ZE_RESULT_ERROR_INVALID_FUNCTION_NAME"),
        (0x7800_0013, "ZE_RESULT_ERROR_INVALID_GROUP_SIZE_DIMENSION"),
        (0x7800_0014, "ZE_RESULT_ERROR_INVALID_GLOBAL_WIDTH_DIMENSION"),
        (0x7800_0015, "ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_INDEX"),
        (0x7800_0016, "ZE_RESULT_ERROR_INVALID_KERNEL_ARGUMENT_SIZE"),
        (0x7800_0017, "ZE_RESULT_ERROR_INVALID_KERNEL_ATTRIBUTE_VALUE"),
        (0x7800_0018, "ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED"),
        (0x7800_0019, "ZE_RESULT_ERROR_INVALID_COMMAND_LIST_TYPE"),
        (0x7800_001a, "ZE_RESULT_ERROR_OVERLAPPING_REGIONS"),
        (0x7800_001b, "ZE_RESULT_WARNING_ACTION_REQUIRED"),
        (0x7fff_fffe, "ZE_RESULT_ERROR_UNKNOWN"),
    ];
    NAMES.iter().find(|(known, _)| *known == code).map(|(_, name)| *name)
}

pub const ZE_DEVICE_TYPE_GPU: u32 = 1;
pub const ZE_DEVICE_TYPE_CPU: u32 = 2;
pub const ZE_DEVICE_MODULE_FLAG_FP16: u32 = 1;
pub const ZE_DEVICE_MODULE_FLAG_FP64: u32 = 1 << 1;
pub const ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS: u32 = 1 << 2;
pub const ZE_DEVICE_FP_FLAG_ROUNDED_DIVIDE_SQRT: u32 = 1 << 6;
pub const ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_ADD: u32 = 1 << 1;
pub const ZE_DEVICE_FP_ATOMIC_EXT_FLAG_GLOBAL_MIN_MAX: u32 = 1 << 2;
pub const ZE_MEMORY_ACCESS_CAP_FLAG_RW: u32 = 1;
pub const ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE: u32 = 1;
pub const ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY: u32 = 1 << 1;
pub const ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS: u32 = 2;
pub const ZE_EVENT_POOL_FLAG_HOST_VISIBLE: u32 = 1;
pub const ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP: u32 = 1 << 2;
pub const ZE_EVENT_SCOPE_FLAG_DEVICE: u32 = 1 << 1;
pub const ZE_EVENT_SCOPE_FLAG_HOST: u32 = 1 << 2;
pub const ZE_MODULE_FORMAT_IL_SPIRV: u32 = 0;
pub const ZE_MODULE_FORMAT_NATIVE: u32 = 1;
pub const ZE_MODULE_PROPERTY_FLAG_IMPORTS: u32 = 1;
pub const ZE_KERNEL_INDIRECT_ACCESS_FLAG_HOST: u32 = 1;
pub const ZE_KERNEL_INDIRECT_ACCESS_FLAG_DEVICE: u32 = 1 << 1;
pub const ZE_KERNEL_INDIRECT_ACCESS_FLAG_SHARED: u32 = 1 << 2;
pub const ZE_FLOAT_ATOMICS_EXT_NAME: &str = "ZE_extension_float_atomics";
pub const ZE_SUBGROUPS_EXT_NAME: &str = "ZE_extension_subgroups";

/// A structure that begins with its type and a pointer to the next of a chain.
///
/// # Safety
/// The first two fields are `stype` and `pNext`, and a structure of zeros but for these is valid.
pub unsafe trait Typed: Sized {
    /// What its `stype` is.
    const STYPE: u32;

    /// All zeros but for its type.
    #[must_use]
    fn new() -> Self {
        // SAFETY: by the trait's contract zeros are valid.
        let mut made: Self = unsafe { std::mem::zeroed() };
        // SAFETY: by the trait's contract the first field is `stype`, a `u32`.
        unsafe { (&raw mut made).cast::<u32>().write(Self::STYPE) };
        made
    }
}

/// Defines structures with a type, whose fields after the first two are listed.
macro_rules! typed {
    ($($name:ident = $stype:literal { $($field:ident: $kind:ty,)* })*) => {$(
        #[repr(C)]
        #[derive(Clone, Copy)]
        #[allow(non_snake_case, reason = "the vendor's spelling")]
        pub struct $name {
            pub stype: u32,
            pub pNext: *mut c_void,
            $(pub $field: $kind,)*
        }

        // SAFETY: the first two fields are above, and all fields are numbers, arrays of numbers and
        // raw pointers.
        unsafe impl Typed for $name {
            const STYPE: u32 = $stype;
        }
    )*};
}

typed! {
    ze_driver_properties_t = 0x1 { uuid: [u8; 16], driverVersion: u32, }
    ze_device_properties_t = 0x3 {
        r#type: u32, vendorId: u32, deviceId: u32, flags: u32, subdeviceId: u32, coreClockRate: u32,
        maxMemAllocSize: u64, maxHardwareContexts: u32, maxCommandQueuePriority: u32,
        numThreadsPerEU: u32, physicalEUSimdWidth: u32, numEUsPerSubslice: u32,
        numSubslicesPerSlice: u32, numSlices: u32, timerResolution: u64, timestampValidBits: u32,
        kernelTimestampValidBits: u32, uuid: [u8; 16], name: [u8; 256],
    }
    ze_device_compute_properties_t = 0x4 {
        maxTotalGroupSize: u32, maxGroupSizeX: u32, maxGroupSizeY: u32, maxGroupSizeZ: u32,
        maxGroupCountX: u32, maxGroupCountY: u32, maxGroupCountZ: u32, maxSharedLocalMemory: u32,
        numSubGroupSizes: u32, subGroupSizes: [u32; 8],
    }
    ze_device_module_properties_t = 0x5 {
        spirvVersionSupported: u32, flags: u32, fp16flags: u32, fp32flags: u32, fp64flags: u32,
        maxArgumentsSize: u32, printfBufferSize: u32, nativeKernelSupported: [u8; 16],
    }
    ze_command_queue_group_properties_t = 0x6 {
        flags: u32, maxMemoryFillPatternSize: usize, numQueues: u32,
    }
    ze_device_memory_properties_t = 0x7 {
        flags: u32, maxClockRate: u32, maxBusWidth: u32, totalSize: u64, name: [u8; 256],
    }
    ze_device_memory_access_properties_t = 0x8 {
        hostAllocCapabilities: u32, deviceAllocCapabilities: u32,
        sharedSingleDeviceAllocCapabilities: u32, sharedCrossDeviceAllocCapabilities: u32,
        sharedSystemAllocCapabilities: u32,
    }
    ze_context_desc_t = 0xd { flags: u32, }
    ze_command_queue_desc_t = 0xe { ordinal: u32, index: u32, flags: u32, mode: u32, priority: u32, }
    ze_event_pool_desc_t = 0x10 { flags: u32, count: u32, }
    ze_event_desc_t = 0x11 { index: u32, signal: u32, wait: u32, }
    ze_device_mem_alloc_desc_t = 0x15 { flags: u32, ordinal: u32, }
    ze_host_mem_alloc_desc_t = 0x16 { flags: u32, }
    ze_module_desc_t = 0x1b {
        format: u32, inputSize: usize, pInputModule: *const u8, pBuildFlags: *const c_char,
        pConstants: *const c_void,
    }
    ze_module_properties_t = 0x1c { flags: u32, }
    ze_kernel_desc_t = 0x1d { flags: u32, pKernelName: *const c_char, }
    ze_kernel_properties_t = 0x1e {
        numKernelArgs: u32, requiredGroupSizeX: u32, requiredGroupSizeY: u32,
        requiredGroupSizeZ: u32, requiredNumSubGroups: u32, requiredSubgroupSize: u32,
        maxSubgroupSize: u32, maxNumSubgroups: u32, localMemSize: u32, privateMemSize: u32,
        spillMemSize: u32, uuid: [u8; 32],
    }
    ze_float_atomic_ext_properties_t = 0x10003 { fp16Flags: u32, fp32Flags: u32, fp64Flags: u32, }
}

#[repr(C)]
#[derive(Clone, Copy)]
pub struct ze_driver_extension_properties_t {
    pub name: [u8; 256],
    pub version: u32,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
#[allow(non_snake_case, reason = "the vendor's spelling")]
pub struct ze_kernel_timestamp_data_t {
    pub kernelStart: u64,
    pub kernelEnd: u64,
}

#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub struct ze_kernel_timestamp_result_t {
    pub global: ze_kernel_timestamp_data_t,
    pub context: ze_kernel_timestamp_data_t,
}

#[repr(C)]
#[derive(Clone, Copy, Debug)]
#[allow(non_snake_case, reason = "the vendor's spelling")]
pub struct ze_group_count_t {
    pub groupCountX: u32,
    pub groupCountY: u32,
    pub groupCountZ: u32,
}
