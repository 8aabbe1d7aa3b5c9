//! The entry points of the CUDA driver, found at run time.

use std::ffi::{c_char, c_void};
use std::sync::OnceLock;

use crosscut_adapter_api::{Absence, first_library};
use libloading::Library;

use crate::abi::*;

/// The names under which systems keep the driver's library, best first.
const LIBRARY_NAMES: &[&str] =
    if cfg!(windows) { &["nvcuda.dll"] } else { &["libcuda.so.1", "libcuda.so"] };

/// Makes a table of entry points, all of which are there or the table is not.
macro_rules! entry_points {
    ($(fn $name:ident($($argument:ty),* $(,)?);)*) => {
        /// The entry points of the driver. All of them return a status.
        #[allow(non_snake_case, reason = "the vendor's spelling, which errors repeat")]
        pub(crate) struct Api {
            $(pub(crate) $name: unsafe extern "system" fn($($argument),*) -> Status,)*
        }

        impl Api {
            /// Finds all entry points; the error is the first that is missing.
            ///
            /// # Safety
            /// `library` is the CUDA driver's and is never unloaded.
            unsafe fn find(library: &Library) -> Result<Self, &'static str> {
                Ok(Self {
                    $($name: {
                        // SAFETY: by this function's contract the symbol is CUDA's function of that
                        // name, whose signature is the one written in the table.
                        let symbol = unsafe { library.get(stringify!($name)) };
                        *symbol.map_err(|_| stringify!($name))?
                    },)*
                })
            }
        }
    };
}

entry_points! {
    fn cuInit(u32);
    fn cuDriverGetVersion(*mut i32);
    fn cuGetErrorName(Status, *mut *const c_char);
    fn cuGetErrorString(Status, *mut *const c_char);
    fn cuDeviceGetCount(*mut i32);
    fn cuDeviceGet(*mut DeviceNumber, i32);
    fn cuDeviceGetName(*mut c_char, i32, DeviceNumber);
    fn cuDeviceTotalMem_v2(*mut usize, DeviceNumber);
    fn cuDeviceGetAttribute(*mut i32, Attribute, DeviceNumber);
    fn cuDevicePrimaryCtxRetain(*mut Handle, DeviceNumber);
    fn cuDevicePrimaryCtxRelease_v2(DeviceNumber);
    fn cuCtxPushCurrent_v2(Handle);
    fn cuCtxPopCurrent_v2(*mut Handle);
    fn cuMemAlloc_v2(*mut DevicePointer, usize);
    fn cuMemFree_v2(DevicePointer);
    fn cuMemHostAlloc(*mut *mut c_void, usize, u32);
    fn cuMemFreeHost(*mut c_void);
    fn cuMemAllocManaged(*mut DevicePointer, usize, u32);
    fn cuMemcpyHtoDAsync_v2(DevicePointer, *const c_void, usize, Handle);
    fn cuMemcpyDtoHAsync_v2(*mut c_void, DevicePointer, usize, Handle);
    fn cuMemcpyDtoDAsync_v2(DevicePointer, DevicePointer, usize, Handle);
    fn cuMemsetD8Async(DevicePointer, u8, usize, Handle);
    fn cuMemsetD16Async(DevicePointer, u16, usize, Handle);
    fn cuMemsetD32Async(DevicePointer, u32, usize, Handle);
    fn cuStreamCreate(*mut Handle, u32);
    fn cuStreamDestroy_v2(Handle);
    fn cuStreamWaitEvent(Handle, Handle, u32);
    fn cuEventCreate(*mut Handle, u32);
    fn cuEventDestroy_v2(Handle);
    fn cuEventRecord(Handle, Handle);
    fn cuEventQuery(Handle);
    fn cuEventSynchronize(Handle);
    fn cuEventElapsedTime(*mut f32, Handle, Handle);
    fn cuModuleLoadDataEx(*mut Handle, *const c_void, u32, *mut JitOption, *mut *mut c_void);
    fn cuModuleUnload(Handle);
    fn cuModuleGetFunction(*mut Handle, Handle, *const c_char);
    fn cuModuleGetGlobal_v2(*mut DevicePointer, *mut usize, Handle, *const c_char);
    fn cuLinkCreate_v2(u32, *mut JitOption, *mut *mut c_void, *mut Handle);
    fn cuLinkAddData_v2(
        Handle, u32, *mut c_void, usize, *const c_char, u32, *mut JitOption, *mut *mut c_void,
    );
    fn cuLinkComplete(Handle, *mut *mut c_void, *mut usize);
    fn cuLinkDestroy(Handle);
    fn cuFuncGetAttribute(*mut i32, i32, Handle);
    fn cuLaunchKernel(
        Handle, u32, u32, u32, u32, u32, u32, u32, Handle, *mut *mut c_void, *mut *mut c_void,
    );
}

/// The driver, loaded and initialised at the first call and then kept for as long as the process
/// lives: it has threads of its own, which would run into unmapped code.
pub(crate) fn api() -> Result<&'static Api, Absence> {
    static API: OnceLock<Result<Api, Absence>> = OnceLock::new();
    API.get_or_init(|| load().and_then(initialise)).as_ref().map_err(Clone::clone)
}

fn load() -> Result<Api, Absence> {
    // SAFETY: the initialisers of CUDA's driver have no requirements on the process.
    let open = |name| unsafe { Library::new(name) };
    let (name, library) = first_library(LIBRARY_NAMES, open).map_err(|refusals| Absence {
        reason: format!("no CUDA driver: {refusals}"),
        help: "install NVIDIA's driver, if the machine has a device of theirs".to_owned(),
    })?;
    // SAFETY: systems keep CUDA's driver under this name, and both ways on from here keep the library
    // loaded or have no pointer into it.
    let api = unsafe { Api::find(&library) }.map_err(|missing| Absence {
        reason: format!("the CUDA driver {name} has no {missing}"),
        help: "update NVIDIA's driver".to_owned(),
    })?;
    std::mem::forget(library);
    Ok(api)
}

fn initialise(api: Api) -> Result<Api, Absence> {
    // SAFETY: CUDA knows no flags.
    match unsafe { (api.cuInit)(0) } {
        CUDA_SUCCESS => Ok(api),
        CUDA_ERROR_NO_DEVICE => Err(Absence {
            reason: "the CUDA driver found no device".to_owned(),
            help: "check that a device is there and that this user may open it".to_owned(),
        }),
        code => Err(Absence {
            reason: match api.words(code) {
                Some(words) => format!("cuInit returned {code}, {words}"),
                None => format!("cuInit returned {code}"),
            },
            help: "check NVIDIA's driver, for example by `nvidia-smi`".to_owned(),
        }),
    }
}
