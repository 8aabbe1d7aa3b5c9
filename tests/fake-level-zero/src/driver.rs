//! The driver, its one device, and contexts.

use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crosscut_adapter_level_zero::abi::{self, Handle, Status, ZE_RESULT_SUCCESS};

use crate::checked::{answer, answer_list, description, misuse, properties};
use crate::live::Live;
use crate::opencl::{Below, Cl, below};
use crate::{event, kernel, list, memory, module};

const DRIVER: usize = 0x10;
const DEVICE: usize = 0x20;

/// Nanoseconds of one tick of the device's clock.
const TICK: u64 = 100;
/// How many bits its counter has, and the counts in events.
const BITS: (u32, u32) = (36, 32);
/// The first count: it and those of events begin again two seconds later.
const FIRST_COUNT: u64 = (1 << BITS.0) - 20_000_000;

pub(crate) fn is_driver(call: &str, handle: Handle) {
    if handle.addr() != DRIVER {
        misuse(call, &format!("{handle:?} is no driver"));
    }
}

pub(crate) fn is_device(call: &str, handle: Handle) {
    if handle.addr() != DEVICE {
        misuse(call, &format!("{handle:?} is no device"));
    }
}

/// The device below, which there is once the driver is initialised.
pub(crate) fn device(call: &str) -> &'static Below {
    below().unwrap_or_else(|| misuse(call, "the driver is not initialised"))
}

fn started() -> Instant {
    static STARTED: OnceLock<Instant> = OnceLock::new();
    *STARTED.get_or_init(Instant::now)
}

/// The device's count of ticks, all bits of it.
pub(crate) fn ticks() -> u64 {
    started().elapsed().as_nanos() as u64 / TICK + FIRST_COUNT
}

/// A count as events have it.
pub(crate) fn narrow(ticks: u64) -> u64 {
    ticks & ((1 << BITS.1) - 1)
}

pub(crate) extern "C" fn init(_flags: u32) -> Status {
    started();
    list::stop_at_exit();
    if below().is_some() { ZE_RESULT_SUCCESS } else { abi::ZE_RESULT_ERROR_UNINITIALIZED }
}

pub(crate) extern "C" fn driver_get(count: *mut u32, drivers: *mut Handle) -> Status {
    let driver = std::ptr::without_provenance_mut(DRIVER);
    answer_list("zeDriverGet", count, drivers, &[driver])
}

pub(crate) extern "C" fn driver_get_api_version(driver: Handle, version: *mut u32) -> Status {
    const CALL: &str = "zeDriverGetApiVersion";
    is_driver(CALL, driver);
    answer(CALL, version, crate::table::VERSION);
    ZE_RESULT_SUCCESS
}

pub(crate) extern "C" fn driver_get_properties(
    driver: Handle,
    place: *mut abi::ze_driver_properties_t,
) -> Status {
    const CALL: &str = "zeDriverGetProperties";
    is_driver(CALL, driver);
    let told = properties(CALL, place);
    (told.uuid, told.driverVersion) = (*b"crosscut fake ze", 1);
    ZE_RESULT_SUCCESS
}

pub(crate) extern "C" fn driver_get_extension_properties(
    driver: Handle,
    count: *mut u32,
    places: *mut abi::ze_driver_extension_properties_t,
) -> Status {
    const CALL: &str = "zeDriverGetExtensionProperties";
    is_driver(CALL, driver);
    let below = device(CALL);
    let known = [
        ("cl_ext_float_atomics", abi::ZE_FLOAT_ATOMICS_EXT_NAME),
        ("cl_khr_subgroup_shuffle", abi::ZE_SUBGROUPS_EXT_NAME),
    ];
    let extension = |name: &str| {
        let mut told = abi::ze_driver_extension_properties_t { name: [0; 256], version: 0x1_0000 };
        told.name[..name.len()].copy_from_slice(name.as_bytes());
        told
    };
    let names = known.iter().filter(|(below_name, _)| below.has(below_name));
    let all: Vec<_> = names.map(|(_, name)| extension(name)).collect();
    answer_list(CALL, count, places, &all)
}

pub(crate) extern "C" fn device_get(
    driver: Handle,
    count: *mut u32,
    devices: *mut Handle,
) -> Status {
    const CALL: &str = "zeDeviceGet";
    is_driver(CALL, driver);
    answer_list(CALL, count, devices, &[std::ptr::without_provenance_mut(DEVICE)])
}

pub(crate) extern "C" fn device_get_properties(
    handle: Handle,
    place: *mut abi::ze_device_properties_t,
) -> Status {
    const CALL: &str = "zeDeviceGetProperties";
    is_device(CALL, handle);
    let (below, told) = (device(CALL), properties(CALL, place));
    let name = b"Crosscut fake Level Zero device";
    told.name = [0; 256];
    told.name[..name.len()].copy_from_slice(name);
    (told.r#type, told.vendorId, told.deviceId) = (abi::ZE_DEVICE_TYPE_GPU, 0x8086, 0xfa4e);
    told.maxMemAllocSize = below.number(0x1010);
    (told.numThreadsPerEU, told.physicalEUSimdWidth) = (1, 16);
    (told.numSlices, told.numSubslicesPerSlice) = (1, 1);
    told.numEUsPerSubslice = below.number(0x1002) as u32;
    told.timerResolution = TICK;
    (told.timestampValidBits, told.kernelTimestampValidBits) = BITS;
    told.uuid = *b"crosscut device0";
    ZE_RESULT_SUCCESS
}

pub(crate) extern "C" fn device_get_compute_properties(
    handle: Handle,
    place: *mut abi::ze_device_compute_properties_t,
) -> Status {
    const CALL: &str = "zeDeviceGetComputeProperties";
    is_device(CALL, handle);
    let (below, told) = (device(CALL), properties(CALL, place));
    let most = below.number(0x1004) as u32;
    told.maxTotalGroupSize = most;
    (told.maxGroupSizeX, told.maxGroupSizeY, told.maxGroupSizeZ) = (most, most, most);
    let many = u32::MAX;
    (told.maxGroupCountX, told.maxGroupCountY, told.maxGroupCountZ) = (many, many, many);
    told.maxSharedLocalMemory = below.number(0x1023) as u32;
    let sizes = below.ask(0x4108);
    let sizes: Vec<u32> =
        sizes.as_chunks::<8>().0.iter().map(|size| u64::from_le_bytes(*size) as u32).collect();
    told.numSubGroupSizes = sizes.len().min(8) as u32;
    for (place, size) in told.subGroupSizes.iter_mut().zip(sizes) {
        *place = size;
    }
    ZE_RESULT_SUCCESS
}

pub(crate) extern "C" fn device_get_module_properties(
    handle: Handle,
    place: *mut abi::ze_device_module_properties_t,
) -> Status {
    const CALL: &str = "zeDeviceGetModuleProperties";
    is_device(CALL, handle);
    let (below, told) = (device(CALL), properties(CALL, place));
    told.spirvVersionSupported = 0x1_0004;
    let flag = |there: bool, flag: u32| if there { flag } else { 0 };
    let doubles = below.number(0x1032) != 0;
    told.flags = flag(below.has("cl_khr_fp16"), abi::ZE_DEVICE_MODULE_FLAG_FP16)
        | flag(doubles, abi::ZE_DEVICE_MODULE_FLAG_FP64)
        | flag(below.has("cl_khr_int64_base_atomics"), abi::ZE_DEVICE_MODULE_FLAG_INT64_ATOMICS);
    // The bits below: 7 is correctly rounded division, and the others are not asked about.
    let rounds = below.number(0x101B) & (1 << 7) != 0;
    told.fp32flags = flag(rounds, abi::ZE_DEVICE_FP_FLAG_ROUNDED_DIVIDE_SQRT);
    told.maxArgumentsSize = below.number(0x1017) as u32;
    if !told.pNext.is_null() {
        let next = told.pNext.cast::<abi::ze_float_atomic_ext_properties_t>();
        let atomics = properties(CALL, next);
        // The bits are the same in both interfaces.
        atomics.fp32Flags = below.number(0x4231) as u32;
        atomics.fp64Flags = below.number(0x4232) as u32;
    }
    ZE_RESULT_SUCCESS
}

pub(crate) extern "C" fn device_get_command_queue_group_properties(
    handle: Handle,
    count: *mut u32,
    places: *mut abi::ze_command_queue_group_properties_t,
) -> Status {
    const CALL: &str = "zeDeviceGetCommandQueueGroupProperties";
    is_device(CALL, handle);
    // First those for copies alone and for kernels alone, which are to be left alone.
    let group = |flags, pattern, queues| {
        let mut told: abi::ze_command_queue_group_properties_t = abi::Typed::new();
        (told.flags, told.numQueues) = (flags, queues);
        told.maxMemoryFillPatternSize = pattern;
        told
    };
    let copies = abi::ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COPY;
    let kernels = abi::ZE_COMMAND_QUEUE_GROUP_PROPERTY_FLAG_COMPUTE;
    let groups =
        [group(copies, 4, 1), group(kernels, 0, 1), group(kernels | copies, list::LONGEST, 4)];
    answer_list(CALL, count, places, &groups)
}

pub(crate) extern "C" fn device_get_memory_properties(
    handle: Handle,
    count: *mut u32,
    places: *mut abi::ze_device_memory_properties_t,
) -> Status {
    const CALL: &str = "zeDeviceGetMemoryProperties";
    is_device(CALL, handle);
    let mut told: abi::ze_device_memory_properties_t = abi::Typed::new();
    told.totalSize = device(CALL).number(0x101F);
    answer_list(CALL, count, places, &[told])
}

pub(crate) extern "C" fn device_get_memory_access_properties(
    handle: Handle,
    place: *mut abi::ze_device_memory_access_properties_t,
) -> Status {
    const CALL: &str = "zeDeviceGetMemoryAccessProperties";
    is_device(CALL, handle);
    let (below, told) = (device(CALL), properties(CALL, place));
    // The bits are the same in both interfaces.
    told.hostAllocCapabilities = below.number(0x4190) as u32;
    told.deviceAllocCapabilities = below.number(0x4191) as u32;
    told.sharedSingleDeviceAllocCapabilities = below.number(0x4192) as u32;
    told.sharedCrossDeviceAllocCapabilities = below.number(0x4193) as u32;
    told.sharedSystemAllocCapabilities = below.number(0x4194) as u32;
    ZE_RESULT_SUCCESS
}

pub(crate) extern "C" fn device_get_status(handle: Handle) -> Status {
    is_device("zeDeviceGetStatus", handle);
    ZE_RESULT_SUCCESS
}

pub(crate) extern "C" fn device_get_global_timestamps(
    handle: Handle,
    host: *mut u64,
    ticks_place: *mut u64,
) -> Status {
    const CALL: &str = "zeDeviceGetGlobalTimestamps";
    is_device(CALL, handle);
    answer(CALL, host, started().elapsed().as_nanos() as u64);
    answer(CALL, ticks_place, ticks() & ((1 << BITS.0) - 1));
    ZE_RESULT_SUCCESS
}

/// A context: one of OpenCL's.
pub(crate) struct Context {
    pub(crate) below: &'static Below,
    pub(crate) raw: Cl,
}

// SAFETY: the raw pointer is a `cl_context`, which threads may share.
unsafe impl Send for Context {}
// SAFETY: as for `Send`.
unsafe impl Sync for Context {}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: nobody else releases it.
        unsafe { (self.below.core.clReleaseContext)(self.raw) };
    }
}

pub(crate) static CONTEXTS: Live<Context> = Live::new("context");

pub(crate) extern "C" fn context_create(
    driver: Handle,
    desc: *const abi::ze_context_desc_t,
    place: *mut Handle,
) -> Status {
    const CALL: &str = "zeContextCreate";
    is_driver(CALL, driver);
    description(CALL, desc);
    let below = device(CALL);
    let mut status = 0;
    // SAFETY: no properties and no callback, one device, and the status is writable.
    let raw = unsafe {
        let (none, data) = (std::ptr::null(), std::ptr::null_mut());
        let create = below.core.clCreateContext;
        create(std::ptr::null(), 1, &raw const below.device, none, data, &raw mut status)
    };
    if status != 0 {
        return abi::ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    answer(CALL, place, CONTEXTS.add(Arc::new(Context { below, raw })));
    ZE_RESULT_SUCCESS
}

pub(crate) extern "C" fn context_destroy(handle: Handle) -> Status {
    const CALL: &str = "zeContextDestroy";
    CONTEXTS.get(CALL, handle);
    memory::none_of(CALL, handle);
    event::POOLS.none_of(CALL, handle);
    event::EVENTS.none_of(CALL, handle);
    module::MODULES.none_of(CALL, handle);
    kernel::KERNELS.none_of(CALL, handle);
    list::LISTS.none_of(CALL, handle);
    CONTEXTS.remove(CALL, handle);
    ZE_RESULT_SUCCESS
}
