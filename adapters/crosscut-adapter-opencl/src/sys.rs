//! The driver's types, constants and entry points, as OpenCL 3.0 and its extensions define them.
//!
//! Only what the adapter uses is here. Names are the vendor's.

use std::ffi::{c_char, c_void};
use std::sync::OnceLock;

use crosscut_adapter_api::{Absence, first_library};
use libloading::Library;

/// An object of the driver. One opaque pointer type serves for all: what each is, its field says.
pub(crate) type Handle = *mut c_void;

pub(crate) const CL_SUCCESS: i32 = 0;
pub(crate) const CL_DEVICE_NOT_AVAILABLE: i32 = -2;
pub(crate) const CL_MEM_OBJECT_ALLOCATION_FAILURE: i32 = -4;
pub(crate) const CL_OUT_OF_RESOURCES: i32 = -5;
pub(crate) const CL_OUT_OF_HOST_MEMORY: i32 = -6;
pub(crate) const CL_BUILD_PROGRAM_FAILURE: i32 = -11;
pub(crate) const CL_MISALIGNED_SUB_BUFFER_OFFSET: i32 = -13;
pub(crate) const CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST: i32 = -14;
pub(crate) const CL_COMPILE_PROGRAM_FAILURE: i32 = -15;
pub(crate) const CL_LINK_PROGRAM_FAILURE: i32 = -17;
pub(crate) const CL_INVALID_VALUE: i32 = -30;
pub(crate) const CL_INVALID_DEVICE: i32 = -33;
pub(crate) const CL_INVALID_BINARY: i32 = -42;
pub(crate) const CL_INVALID_PROGRAM: i32 = -44;
pub(crate) const CL_INVALID_PROGRAM_EXECUTABLE: i32 = -45;
pub(crate) const CL_INVALID_KERNEL_NAME: i32 = -46;
pub(crate) const CL_INVALID_BUFFER_SIZE: i32 = -61;

pub(crate) const CL_PLATFORM_VERSION: u32 = 0x0901;
pub(crate) const CL_PLATFORM_NAME: u32 = 0x0902;
pub(crate) const CL_PLATFORM_VENDOR: u32 = 0x0903;

pub(crate) const CL_DEVICE_TYPE_ALL: u64 = 0xFFFF_FFFF;
pub(crate) const CL_DEVICE_TYPE_CPU: u64 = 1 << 1;
pub(crate) const CL_DEVICE_TYPE_GPU: u64 = 1 << 2;
pub(crate) const CL_DEVICE_TYPE: u32 = 0x1000;
pub(crate) const CL_DEVICE_MAX_COMPUTE_UNITS: u32 = 0x1002;
pub(crate) const CL_DEVICE_MAX_WORK_GROUP_SIZE: u32 = 0x1004;
pub(crate) const CL_DEVICE_MAX_WORK_ITEM_SIZES: u32 = 0x1005;
pub(crate) const CL_DEVICE_ADDRESS_BITS: u32 = 0x100D;
pub(crate) const CL_DEVICE_MAX_MEM_ALLOC_SIZE: u32 = 0x1010;
pub(crate) const CL_DEVICE_MAX_PARAMETER_SIZE: u32 = 0x1017;
pub(crate) const CL_DEVICE_MEM_BASE_ADDR_ALIGN: u32 = 0x1019;
pub(crate) const CL_DEVICE_SINGLE_FP_CONFIG: u32 = 0x101B;
pub(crate) const CL_DEVICE_GLOBAL_MEM_SIZE: u32 = 0x101F;
pub(crate) const CL_DEVICE_LOCAL_MEM_SIZE: u32 = 0x1023;
pub(crate) const CL_DEVICE_AVAILABLE: u32 = 0x1027;
pub(crate) const CL_DEVICE_QUEUE_PROPERTIES: u32 = 0x102A;
pub(crate) const CL_DEVICE_NAME: u32 = 0x102B;
pub(crate) const CL_DEVICE_VENDOR: u32 = 0x102C;
pub(crate) const CL_DRIVER_VERSION: u32 = 0x102D;
pub(crate) const CL_DEVICE_VERSION: u32 = 0x102F;
pub(crate) const CL_DEVICE_EXTENSIONS: u32 = 0x1030;
pub(crate) const CL_DEVICE_DOUBLE_FP_CONFIG: u32 = 0x1032;
pub(crate) const CL_DEVICE_PARTITION_MAX_SUB_DEVICES: u32 = 0x1043;
pub(crate) const CL_DEVICE_PARTITION_PROPERTIES: u32 = 0x1044;
pub(crate) const CL_DEVICE_IL_VERSION: u32 = 0x105B;
pub(crate) const CL_DEVICE_MAX_NUM_SUB_GROUPS: u32 = 0x105C;
pub(crate) const CL_DEVICE_ILS_WITH_VERSION: u32 = 0x1061;
pub(crate) const CL_DEVICE_ATOMIC_MEMORY_CAPABILITIES: u32 = 0x1063;
pub(crate) const CL_DEVICE_ATOMIC_FENCE_CAPABILITIES: u32 = 0x1064;
pub(crate) const CL_DEVICE_SUB_GROUP_SIZES_INTEL: u32 = 0x4108;
pub(crate) const CL_DEVICE_HOST_MEM_CAPABILITIES_INTEL: u32 = 0x4190;
pub(crate) const CL_DEVICE_DEVICE_MEM_CAPABILITIES_INTEL: u32 = 0x4191;
pub(crate) const CL_DEVICE_SINGLE_DEVICE_SHARED_MEM_CAPABILITIES_INTEL: u32 = 0x4192;
pub(crate) const CL_DEVICE_CROSS_DEVICE_SHARED_MEM_CAPABILITIES_INTEL: u32 = 0x4193;
pub(crate) const CL_DEVICE_SHARED_SYSTEM_MEM_CAPABILITIES_INTEL: u32 = 0x4194;
pub(crate) const CL_DEVICE_SINGLE_FP_ATOMIC_CAPABILITIES_EXT: u32 = 0x4231;
pub(crate) const CL_DEVICE_DOUBLE_FP_ATOMIC_CAPABILITIES_EXT: u32 = 0x4232;
pub(crate) const CL_DEVICE_GLOBAL_FP_ATOMIC_ADD_EXT: u64 = 1 << 1;
pub(crate) const CL_DEVICE_GLOBAL_FP_ATOMIC_MIN_MAX_EXT: u64 = 1 << 2;
/// `CL_DEVICE_PARTITION_BY_COUNTS_LIST_END`, and the end of every list of properties.
pub(crate) const LIST_END: isize = 0;
pub(crate) const CL_DEVICE_PARTITION_EQUALLY: u64 = 0x1086;
pub(crate) const CL_DEVICE_PARTITION_BY_COUNTS: u64 = 0x1087;
pub(crate) const CL_UNIFIED_SHARED_MEMORY_ACCESS_INTEL: u64 = 1;
pub(crate) const CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT: u64 = 1 << 7;

pub(crate) const CL_QUEUE_PROPERTIES: u64 = 0x1093;
pub(crate) const CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE: u64 = 1;
pub(crate) const CL_QUEUE_PROFILING_ENABLE: u64 = 1 << 1;

pub(crate) const CL_MEM_READ_WRITE: u64 = 1;
pub(crate) const CL_MEM_ALLOC_HOST_PTR: u64 = 1 << 4;
pub(crate) const CL_BUFFER_CREATE_TYPE_REGION: u32 = 0x1220;

pub(crate) const CL_PROGRAM_DEVICES: u32 = 0x1163;
pub(crate) const CL_PROGRAM_BINARY_SIZES: u32 = 0x1165;
pub(crate) const CL_PROGRAM_BINARIES: u32 = 0x1166;
pub(crate) const CL_PROGRAM_IL: u32 = 0x1169;
pub(crate) const CL_PROGRAM_BUILD_LOG: u32 = 0x1183;
pub(crate) const CL_KERNEL_WORK_GROUP_SIZE: u32 = 0x11B0;
pub(crate) const CL_KERNEL_COMPILE_WORK_GROUP_SIZE: u32 = 0x11B1;
pub(crate) const CL_KERNEL_EXEC_INFO_INDIRECT_HOST_ACCESS_INTEL: u32 = 0x4200;
pub(crate) const CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL: u32 = 0x4201;
pub(crate) const CL_KERNEL_EXEC_INFO_INDIRECT_SHARED_ACCESS_INTEL: u32 = 0x4202;

pub(crate) const CL_EVENT_COMMAND_EXECUTION_STATUS: u32 = 0x11D3;
pub(crate) const CL_COMPLETE: i32 = 0;
pub(crate) const CL_RUNNING: i32 = 1;
pub(crate) const CL_PROFILING_COMMAND_SUBMIT: u32 = 0x1281;
pub(crate) const CL_PROFILING_COMMAND_START: u32 = 0x1282;
pub(crate) const CL_PROFILING_COMMAND_END: u32 = 0x1283;

/// What the driver calls when a command's status has changed.
pub(crate) type EventCallback = extern "system" fn(Handle, i32, *mut c_void);

/// `cl_buffer_region`.
#[repr(C)]
pub(crate) struct BufferRegion {
    pub(crate) origin: usize,
    pub(crate) size: usize,
}

/// The names under which systems keep the OpenCL library, best first.
const LIBRARY_NAMES: &[&str] = if cfg!(target_os = "macos") {
    &["/System/Library/Frameworks/OpenCL.framework/OpenCL"]
} else if cfg!(windows) {
    &["OpenCL.dll"]
} else {
    &["libOpenCL.so.1", "libOpenCL.so"]
};

/// Makes a table of entry points: those of `required` are there or the table is not, those of
/// `optional` came with later versions of OpenCL.
macro_rules! entry_points {
    (
        required { $(fn $name:ident($($argument:ty),* $(,)?) -> $result:ty;)* }
        optional { $(fn $late:ident($($late_argument:ty),* $(,)?) -> $late_result:ty;)* }
    ) => {
        /// The entry points of the OpenCL library.
        #[allow(non_snake_case, reason = "the vendor's spelling, which errors repeat")]
        pub(crate) struct Api {
            $(pub(crate) $name: unsafe extern "system" fn($($argument),*) -> $result,)*
            $(pub(crate) $late:
                Option<unsafe extern "system" fn($($late_argument),*) -> $late_result>,)*
        }

        impl Api {
            /// Finds all entry points; the error is the first that is missing.
            ///
            /// # Safety
            /// `library` is an OpenCL library and is never unloaded.
            unsafe fn find(library: &Library) -> Result<Self, &'static str> {
                Ok(Self {
                    $($name: {
                        // SAFETY: by this function's contract the symbol is OpenCL's function of
                        // that name, whose signature is the one written in the table.
                        let symbol = unsafe { library.get(stringify!($name)) };
                        *symbol.map_err(|_| stringify!($name))?
                    },)*
                    $($late: {
                        // SAFETY: as above.
                        let symbol = unsafe { library.get(stringify!($late)) };
                        symbol.ok().map(|symbol| *symbol)
                    },)*
                })
            }
        }
    };
}

entry_points! {
    required {
        fn clGetPlatformIDs(u32, *mut Handle, *mut u32) -> i32;
        fn clGetPlatformInfo(Handle, u32, usize, *mut c_void, *mut usize) -> i32;
        fn clGetExtensionFunctionAddressForPlatform(Handle, *const c_char) -> *mut c_void;
        fn clGetDeviceIDs(Handle, u64, u32, *mut Handle, *mut u32) -> i32;
        fn clGetDeviceInfo(Handle, u32, usize, *mut c_void, *mut usize) -> i32;
        fn clCreateSubDevices(Handle, *const isize, u32, *mut Handle, *mut u32) -> i32;
        fn clReleaseDevice(Handle) -> i32;
        fn clCreateContext(
            *const isize, u32, *const Handle, *const c_void, *mut c_void, *mut i32,
        ) -> Handle;
        fn clReleaseContext(Handle) -> i32;
        fn clCreateCommandQueue(Handle, Handle, u64, *mut i32) -> Handle;
        fn clReleaseCommandQueue(Handle) -> i32;
        fn clFlush(Handle) -> i32;
        fn clFinish(Handle) -> i32;
        fn clCreateBuffer(Handle, u64, usize, *mut c_void, *mut i32) -> Handle;
        fn clCreateSubBuffer(Handle, u64, u32, *const c_void, *mut i32) -> Handle;
        fn clReleaseMemObject(Handle) -> i32;
        fn clCreateProgramWithBinary(
            Handle, u32, *const Handle, *const usize, *const *const u8, *mut i32, *mut i32,
        ) -> Handle;
        fn clBuildProgram(
            Handle, u32, *const Handle, *const c_char, *const c_void, *mut c_void,
        ) -> i32;
        fn clGetProgramInfo(Handle, u32, usize, *mut c_void, *mut usize) -> i32;
        fn clGetProgramBuildInfo(Handle, Handle, u32, usize, *mut c_void, *mut usize) -> i32;
        fn clReleaseProgram(Handle) -> i32;
        fn clCreateKernel(Handle, *const c_char, *mut i32) -> Handle;
        fn clGetKernelWorkGroupInfo(Handle, Handle, u32, usize, *mut c_void, *mut usize) -> i32;
        fn clReleaseKernel(Handle) -> i32;
        fn clSetKernelArg(Handle, u32, usize, *const c_void) -> i32;
        fn clEnqueueNDRangeKernel(
            Handle, Handle, u32, *const usize, *const usize, *const usize,
            u32, *const Handle, *mut Handle,
        ) -> i32;
        fn clEnqueueReadBuffer(
            Handle, Handle, u32, usize, usize, *mut c_void, u32, *const Handle, *mut Handle,
        ) -> i32;
        fn clEnqueueWriteBuffer(
            Handle, Handle, u32, usize, usize, *const c_void, u32, *const Handle, *mut Handle,
        ) -> i32;
        fn clEnqueueFillBuffer(
            Handle, Handle, *const c_void, usize, usize, usize, u32, *const Handle, *mut Handle,
        ) -> i32;
        fn clEnqueueCopyBuffer(
            Handle, Handle, Handle, usize, usize, usize, u32, *const Handle, *mut Handle,
        ) -> i32;
        fn clEnqueueBarrierWithWaitList(Handle, u32, *const Handle, *mut Handle) -> i32;
        fn clCreateUserEvent(Handle, *mut i32) -> Handle;
        fn clSetUserEventStatus(Handle, i32) -> i32;
        fn clSetEventCallback(Handle, i32, EventCallback, *mut c_void) -> i32;
        fn clGetEventProfilingInfo(Handle, u32, usize, *mut c_void, *mut usize) -> i32;
        fn clRetainEvent(Handle) -> i32;
        fn clWaitForEvents(u32, *const Handle) -> i32;
        fn clGetEventInfo(Handle, u32, usize, *mut c_void, *mut usize) -> i32;
        fn clReleaseEvent(Handle) -> i32;
    }
    optional {
        fn clCreateCommandQueueWithProperties(Handle, Handle, *const u64, *mut i32) -> Handle;
        fn clCreateProgramWithIL(Handle, *const c_void, usize, *mut i32) -> Handle;
        fn clSetKernelExecInfo(Handle, u32, usize, *const c_void) -> i32;
    }
}

/// `clCreateProgramWithIL`, or the extension's function of the same signature.
pub(crate) type CreateProgramWithIl =
    unsafe extern "system" fn(Handle, *const c_void, usize, *mut i32) -> Handle;

type MemAlloc = unsafe extern "system" fn(Handle, *const u64, usize, u32, *mut i32) -> *mut c_void;
type DeviceMemAlloc =
    unsafe extern "system" fn(Handle, Handle, *const u64, usize, u32, *mut i32) -> *mut c_void;
type MemFree = unsafe extern "system" fn(Handle, *mut c_void) -> i32;
type SetKernelArgMemPointer = unsafe extern "system" fn(Handle, u32, *const c_void) -> i32;
type EnqueueMemFill = unsafe extern "system" fn(
    Handle,
    *mut c_void,
    *const c_void,
    usize,
    usize,
    u32,
    *const Handle,
    *mut Handle,
) -> i32;
type EnqueueMemcpy = unsafe extern "system" fn(
    Handle,
    u32,
    *mut c_void,
    *const c_void,
    usize,
    u32,
    *const Handle,
    *mut Handle,
) -> i32;

/// The entry points of `cl_intel_unified_shared_memory`, of one platform.
#[derive(Clone, Copy)]
pub(crate) struct Usm {
    pub(crate) host_mem_alloc: MemAlloc,
    pub(crate) device_mem_alloc: DeviceMemAlloc,
    pub(crate) shared_mem_alloc: DeviceMemAlloc,
    pub(crate) mem_blocking_free: MemFree,
    pub(crate) set_kernel_arg_mem_pointer: SetKernelArgMemPointer,
    pub(crate) enqueue_mem_fill: EnqueueMemFill,
    pub(crate) enqueue_memcpy: EnqueueMemcpy,
}

/// `clEnqueueReadGlobalVariableINTEL` and its twin, which takes the host's address as constant.
pub(crate) type EnqueueVariable = unsafe extern "system" fn(
    Handle,
    Handle,
    *const c_char,
    u32,
    usize,
    usize,
    *mut c_void,
    u32,
    *const Handle,
    *mut Handle,
) -> i32;
type GetVariablePointer =
    unsafe extern "system" fn(Handle, Handle, *const c_char, *mut usize, *mut *mut c_void) -> i32;

/// The entry points of `cl_intel_global_variable_access`, of one platform.
#[derive(Clone, Copy)]
pub(crate) struct Variables {
    pub(crate) enqueue_write: EnqueueVariable,
    pub(crate) enqueue_read: EnqueueVariable,
    pub(crate) get_pointer: GetVariablePointer,
}

impl Variables {
    /// Finds the functions of the extension; `None` if one is missing.
    ///
    /// # Safety
    /// `platform` came from `clGetPlatformIDs`.
    pub(crate) unsafe fn find(api: &Api, platform: Handle) -> Option<Self> {
        // SAFETY (all of these): as for `Usm::find`.
        Some(Self {
            // SAFETY: see above.
            enqueue_write: unsafe {
                extension(api, platform, c"clEnqueueWriteGlobalVariableINTEL")
            }?,
            // SAFETY: see above.
            enqueue_read: unsafe { extension(api, platform, c"clEnqueueReadGlobalVariableINTEL") }?,
            // SAFETY: see above.
            get_pointer: unsafe {
                extension(api, platform, c"clGetDeviceGlobalVariablePointerINTEL")
            }?,
        })
    }
}

/// One extension function of a platform, as the function pointer type `F`.
///
/// # Safety
/// `platform` came from `clGetPlatformIDs`, and `F` is an `extern "system"` function pointer type
/// with the signature that the extension gives `name`.
unsafe fn extension<F: Copy>(api: &Api, platform: Handle, name: &std::ffi::CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: the caller vouches for the platform, and a `CStr` is terminated.
    let address =
        unsafe { (api.clGetExtensionFunctionAddressForPlatform)(platform, name.as_ptr()) };
    if address.is_null() {
        return None;
    }
    // SAFETY: the address is the extension's function, `F` is its pointer type by the caller's
    // promise, and both have the size of a pointer.
    Some(unsafe { std::mem::transmute_copy::<*mut c_void, F>(&address) })
}

impl Usm {
    /// Finds the functions of the extension; `None` if one is missing.
    ///
    /// # Safety
    /// `platform` came from `clGetPlatformIDs`.
    pub(crate) unsafe fn find(api: &Api, platform: Handle) -> Option<Self> {
        // SAFETY (all of these): the platform is the caller's promise; each field's type is written
        // after the extension's own declaration of the function named.
        Some(Self {
            // SAFETY: see above.
            host_mem_alloc: unsafe { extension(api, platform, c"clHostMemAllocINTEL") }?,
            // SAFETY: see above.
            device_mem_alloc: unsafe { extension(api, platform, c"clDeviceMemAllocINTEL") }?,
            // SAFETY: see above.
            shared_mem_alloc: unsafe { extension(api, platform, c"clSharedMemAllocINTEL") }?,
            // SAFETY: see above.
            mem_blocking_free: unsafe { extension(api, platform, c"clMemBlockingFreeINTEL") }?,
            // SAFETY: see above.
            set_kernel_arg_mem_pointer: unsafe {
                extension(api, platform, c"clSetKernelArgMemPointerINTEL")
            }?,
            // SAFETY: see above.
            enqueue_mem_fill: unsafe { extension(api, platform, c"clEnqueueMemFillINTEL") }?,
            // SAFETY: see above.
            enqueue_memcpy: unsafe { extension(api, platform, c"clEnqueueMemcpyINTEL") }?,
        })
    }
}

/// The function that takes SPIR-V: the core one, or that of `cl_khr_il_program`.
///
/// # Safety
/// `platform` came from `clGetPlatformIDs`.
pub(crate) unsafe fn create_program_with_il(
    api: &Api,
    platform: Handle,
) -> Option<CreateProgramWithIl> {
    api.clCreateProgramWithIL.or_else(|| {
        // SAFETY: the caller vouches for the platform, and the extension gives this function the
        // signature of the core one.
        unsafe { extension(api, platform, c"clCreateProgramWithILKHR") }
    })
}

/// The OpenCL library, loaded at the first call and then kept for as long as the process lives:
/// drivers behind it have threads of their own, which would run into unmapped code.
pub(crate) fn api() -> Result<&'static Api, Absence> {
    static API: OnceLock<Result<Api, Absence>> = OnceLock::new();
    API.get_or_init(load).as_ref().map_err(Clone::clone)
}

fn load() -> Result<Api, Absence> {
    // SAFETY: the initialisers of an OpenCL loader have no requirements on the process.
    let open = |name| unsafe { Library::new(name) };
    let (name, library) = first_library(LIBRARY_NAMES, open).map_err(|refusals| Absence {
        reason: format!("no OpenCL library: {refusals}"),
        help: "install an OpenCL loader (Debian: ocl-icd-libopencl1) and your device's driver"
            .to_owned(),
    })?;
    // SAFETY: systems keep OpenCL's loader under this name, and both ways on from here keep the library
    // loaded or have no pointer into it.
    let api = unsafe { Api::find(&library) }.map_err(|missing| Absence {
        reason: format!("the OpenCL library {name} has no {missing}"),
        help: "update the OpenCL loader to one for OpenCL 1.2 or later".to_owned(),
    })?;
    std::mem::forget(library);
    Ok(api)
}
