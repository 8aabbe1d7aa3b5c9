//! The entry points of the Level Zero loader, found at run time.

use std::ffi::{c_char, c_void};
use std::sync::OnceLock;

use crosscut_adapter_api::{Absence, first_library};
use libloading::Library;

use crate::abi::*;

/// The names under which systems keep the loader, best first.
const LIBRARY_NAMES: &[&str] =
    if cfg!(windows) { &["ze_loader.dll"] } else { &["libze_loader.so.1", "libze_loader.so"] };

/// Makes a table of entry points, all of which are there or the table is not.
macro_rules! entry_points {
    ($(fn $name:ident($($argument:ty),* $(,)?);)*) => {
        /// The entry points of the loader. All of them return a status.
        #[allow(non_snake_case, reason = "the vendor's spelling, which errors repeat")]
        pub(crate) struct Api {
            $(pub(crate) $name: unsafe extern "system" fn($($argument),*) -> Status,)*
        }

        impl Api {
            /// Finds all entry points; the error is the first that is missing.
            ///
            /// # Safety
            /// `library` is a Level Zero loader and is never unloaded.
            unsafe fn find(library: &Library) -> Result<Self, &'static str> {
                Ok(Self {
                    $($name: {
                        // SAFETY: by this function's contract the symbol is Level Zero's function
                        // of that name, whose signature is the one written in the table.
                        let symbol = unsafe { library.get(stringify!($name)) };
                        *symbol.map_err(|_| stringify!($name))?
                    },)*
                })
            }
        }
    };
}

entry_points! {
    fn zeInit(u32);
    fn zeDriverGet(*mut u32, *mut Handle);
    fn zeDriverGetProperties(Handle, *mut ze_driver_properties_t);
    fn zeDriverGetApiVersion(Handle, *mut u32);
    fn zeDriverGetExtensionProperties(Handle, *mut u32, *mut ze_driver_extension_properties_t);
    fn zeDeviceGet(Handle, *mut u32, *mut Handle);
    fn zeDeviceGetProperties(Handle, *mut ze_device_properties_t);
    fn zeDeviceGetComputeProperties(Handle, *mut ze_device_compute_properties_t);
    fn zeDeviceGetModuleProperties(Handle, *mut ze_device_module_properties_t);
    fn zeDeviceGetCommandQueueGroupProperties(
        Handle, *mut u32, *mut ze_command_queue_group_properties_t,
    );
    fn zeDeviceGetMemoryProperties(Handle, *mut u32, *mut ze_device_memory_properties_t);
    fn zeDeviceGetMemoryAccessProperties(Handle, *mut ze_device_memory_access_properties_t);
    fn zeDeviceGetGlobalTimestamps(Handle, *mut u64, *mut u64);
    fn zeContextCreate(Handle, *const ze_context_desc_t, *mut Handle);
    fn zeContextDestroy(Handle);
    fn zeCommandListCreateImmediate(Handle, Handle, *const ze_command_queue_desc_t, *mut Handle);
    fn zeCommandListDestroy(Handle);
    fn zeCommandListAppendBarrier(Handle, Handle, u32, *const Handle);
    fn zeCommandListAppendMemoryCopy(
        Handle, *mut c_void, *const c_void, usize, Handle, u32, *const Handle,
    );
    fn zeCommandListAppendMemoryFill(
        Handle, *mut c_void, *const c_void, usize, usize, Handle, u32, *const Handle,
    );
    fn zeCommandListAppendLaunchKernel(
        Handle, Handle, *const ze_group_count_t, Handle, u32, *const Handle,
    );
    fn zeEventPoolCreate(
        Handle, *const ze_event_pool_desc_t, u32, *const Handle, *mut Handle,
    );
    fn zeEventPoolDestroy(Handle);
    fn zeEventCreate(Handle, *const ze_event_desc_t, *mut Handle);
    fn zeEventDestroy(Handle);
    fn zeEventHostSignal(Handle);
    fn zeEventHostSynchronize(Handle, u64);
    fn zeEventQueryStatus(Handle);
    fn zeEventHostReset(Handle);
    fn zeEventQueryKernelTimestamp(Handle, *mut ze_kernel_timestamp_result_t);
    fn zeMemAllocDevice(
        Handle, *const ze_device_mem_alloc_desc_t, usize, usize, Handle, *mut *mut c_void,
    );
    fn zeMemAllocHost(Handle, *const ze_host_mem_alloc_desc_t, usize, usize, *mut *mut c_void);
    fn zeMemAllocShared(
        Handle, *const ze_device_mem_alloc_desc_t, *const ze_host_mem_alloc_desc_t, usize, usize,
        Handle, *mut *mut c_void,
    );
    fn zeMemFree(Handle, *mut c_void);
    fn zeModuleCreate(Handle, Handle, *const ze_module_desc_t, *mut Handle, *mut Handle);
    fn zeModuleDestroy(Handle);
    fn zeModuleDynamicLink(u32, *const Handle, *mut Handle);
    fn zeModuleGetNativeBinary(Handle, *mut usize, *mut u8);
    fn zeModuleGetGlobalPointer(Handle, *const c_char, *mut usize, *mut *mut c_void);
    fn zeModuleGetProperties(Handle, *mut ze_module_properties_t);
    fn zeModuleBuildLogDestroy(Handle);
    fn zeModuleBuildLogGetString(Handle, *mut usize, *mut c_char);
    fn zeKernelCreate(Handle, *const ze_kernel_desc_t, *mut Handle);
    fn zeKernelDestroy(Handle);
    fn zeKernelSetGroupSize(Handle, u32, u32, u32);
    fn zeKernelSuggestGroupSize(Handle, u32, u32, u32, *mut u32, *mut u32, *mut u32);
    fn zeKernelSetArgumentValue(Handle, u32, usize, *const c_void);
    fn zeKernelSetIndirectAccess(Handle, u32);
    fn zeKernelGetProperties(Handle, *mut ze_kernel_properties_t);
}

/// The loader, loaded and initialised at the first call and then kept for as long as the process
/// lives: drivers behind it have threads of their own, which would run into unmapped code.
pub(crate) fn api() -> Result<&'static Api, Absence> {
    static API: OnceLock<Result<Api, Absence>> = OnceLock::new();
    API.get_or_init(|| load().and_then(initialise)).as_ref().map_err(Clone::clone)
}

fn load() -> Result<Api, Absence> {
    // SAFETY: the initialisers of Level Zero's loader have no requirements on the process.
    let open = |name| unsafe { Library::new(name) };
    let (name, library) = first_library(LIBRARY_NAMES, open).map_err(|refusals| Absence {
        reason: format!("no Level Zero loader: {refusals}"),
        help: "install the Level Zero loader (Debian: libze1) and your device's driver".to_owned(),
    })?;
    // SAFETY: systems keep Level Zero's loader under this name, and both ways on from here keep the library
    // loaded or have no pointer into it.
    let api = unsafe { Api::find(&library) }.map_err(|missing| Absence {
        reason: format!("the Level Zero loader {name} has no {missing}"),
        help: "update the Level Zero loader".to_owned(),
    })?;
    std::mem::forget(library);
    Ok(api)
}

fn initialise(api: Api) -> Result<Api, Absence> {
    // SAFETY: no flags: drivers of every kind of device.
    match unsafe { (api.zeInit)(0) } {
        ZE_RESULT_SUCCESS => Ok(api),
        ZE_RESULT_ERROR_UNINITIALIZED => Err(Absence {
            reason: "the Level Zero loader found no driver".to_owned(),
            help: "install your device's Level Zero driver, which its vendor has".to_owned(),
        }),
        code => Err(Absence {
            reason: format!("zeInit returned {}", name(code).unwrap_or("an unknown code")),
            help: "check the Level Zero driver of this machine".to_owned(),
        }),
    }
}
