//! What runs below: one CPU device of an OpenCL driver, which takes SPIR-V and has unified shared memory.

use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;

use libloading::Library;

pub(crate) type Cl = *mut c_void;

/// Makes a table of functions of the library, and one of the platform's extensions.
macro_rules! functions {
    (
        core { $(fn $name:ident($($argument:ty),* $(,)?) -> $result:ty;)* }
        extensions { $(fn $more:ident($($more_argument:ty),* $(,)?) -> $more_result:ty;)* }
    ) => {
        #[allow(non_snake_case, reason = "the vendor's spelling")]
        pub(crate) struct Core {
            $(pub(crate) $name: unsafe extern "system" fn($($argument),*) -> $result,)*
        }

        #[allow(non_snake_case, reason = "the vendor's spelling")]
        pub(crate) struct Extensions {
            $(pub(crate) $more: unsafe extern "system" fn($($more_argument),*) -> $more_result,)*
        }

        impl Core {
            fn find(library: &Library) -> Option<Self> {
                Some(Self {
                    $($name: {
                        // SAFETY: the symbol is OpenCL's function of that name and this signature.
                        *unsafe { library.get(stringify!($name)) }.ok()?
                    },)*
                })
            }
        }

        impl Extensions {
            fn find(core: &Core, platform: Cl) -> Option<Self> {
                Some(Self {
                    $($more: {
                        let name = concat!(stringify!($more), "\0").as_ptr().cast();
                        // SAFETY: the platform is OpenCL's own, and the name is terminated.
                        let found = unsafe {
                            (core.clGetExtensionFunctionAddressForPlatform)(platform, name)
                        };
                        if found.is_null() {
                            return None;
                        }
                        // SAFETY: it is the extension's function of that name and this signature.
                        unsafe {
                            std::mem::transmute::<
                                *mut c_void,
                                unsafe extern "system" fn($($more_argument),*) -> $more_result,
                            >(found)
                        }
                    },)*
                })
            }
        }
    };
}

functions! {
    core {
        fn clGetPlatformIDs(u32, *mut Cl, *mut u32) -> i32;
        fn clGetExtensionFunctionAddressForPlatform(Cl, *const c_char) -> *mut c_void;
        fn clGetDeviceIDs(Cl, u64, u32, *mut Cl, *mut u32) -> i32;
        fn clGetDeviceInfo(Cl, u32, usize, *mut c_void, *mut usize) -> i32;
        fn clCreateContext(*const isize, u32, *const Cl, *const c_void, *mut c_void, *mut i32) -> Cl;
        fn clReleaseContext(Cl) -> i32;
        fn clCreateCommandQueue(Cl, Cl, u64, *mut i32) -> Cl;
        fn clReleaseCommandQueue(Cl) -> i32;
        fn clFinish(Cl) -> i32;
        fn clCreateProgramWithIL(Cl, *const c_void, usize, *mut i32) -> Cl;
        fn clCreateProgramWithBinary(
            Cl, u32, *const Cl, *const usize, *const *const u8, *mut i32, *mut i32,
        ) -> Cl;
        fn clBuildProgram(Cl, u32, *const Cl, *const c_char, *const c_void, *mut c_void) -> i32;
        fn clGetProgramInfo(Cl, u32, usize, *mut c_void, *mut usize) -> i32;
        fn clGetProgramBuildInfo(Cl, Cl, u32, usize, *mut c_void, *mut usize) -> i32;
        fn clReleaseProgram(Cl) -> i32;
        fn clCreateKernel(Cl, *const c_char, *mut i32) -> Cl;
        fn clReleaseKernel(Cl) -> i32;
        fn clGetKernelWorkGroupInfo(Cl, Cl, u32, usize, *mut c_void, *mut usize) -> i32;
        fn clSetKernelArg(Cl, u32, usize, *const c_void) -> i32;
        fn clSetKernelExecInfo(Cl, u32, usize, *const c_void) -> i32;
        fn clEnqueueNDRangeKernel(
            Cl, Cl, u32, *const usize, *const usize, *const usize, u32, *const Cl, *mut Cl,
        ) -> i32;
    }
    extensions {
        fn clHostMemAllocINTEL(Cl, *const u64, usize, u32, *mut i32) -> *mut c_void;
        fn clDeviceMemAllocINTEL(Cl, Cl, *const u64, usize, u32, *mut i32) -> *mut c_void;
        fn clSharedMemAllocINTEL(Cl, Cl, *const u64, usize, u32, *mut i32) -> *mut c_void;
        fn clMemBlockingFreeINTEL(Cl, *mut c_void) -> i32;
        fn clSetKernelArgMemPointerINTEL(Cl, u32, *const c_void) -> i32;
        fn clGetDeviceGlobalVariablePointerINTEL(
            Cl, Cl, *const c_char, *mut usize, *mut *mut c_void,
        ) -> i32;
    }
}

/// The device.
pub(crate) struct Below {
    pub(crate) core: Core,
    pub(crate) more: Extensions,
    pub(crate) device: Cl,
}

// SAFETY: the raw pointer is a root `cl_device_id`, which lives for ever, and OpenCL's functions may be
// called from several threads.
unsafe impl Send for Below {}
// SAFETY: as for `Send`.
unsafe impl Sync for Below {}

const CPU: u64 = 1 << 1;
const EXTENSIONS: u32 = 0x1030;

/// The device, if there is one.
pub(crate) fn below() -> Option<&'static Below> {
    static BELOW: OnceLock<Option<Below>> = OnceLock::new();
    BELOW.get_or_init(Below::find).as_ref()
}

impl Below {
    fn find() -> Option<Self> {
        // SAFETY: the initialisers of an OpenCL loader have no requirements on the process.
        let library = unsafe { Library::new("libOpenCL.so.1") }.ok()?;
        let mut core = Core::find(&library)?;
        std::mem::forget(library);
        let mut platforms = [std::ptr::null_mut(); 16];
        let mut count = 0;
        // SAFETY: there is room for as many platforms as are said.
        unsafe { (core.clGetPlatformIDs)(16, platforms.as_mut_ptr(), &raw mut count) };
        for platform in platforms.into_iter().take(count.min(16) as usize) {
            let (mut device, mut found) = (std::ptr::null_mut(), 0);
            // SAFETY: the platform is OpenCL's own, and there is room for one device.
            let status =
                unsafe { (core.clGetDeviceIDs)(platform, CPU, 1, &raw mut device, &raw mut found) };
            if status != 0 || found == 0 {
                continue;
            }
            if let Some(more) = Extensions::find(&core, platform) {
                let below = Self { core, more, device };
                if below.has("cl_intel_unified_shared_memory") {
                    return Some(below);
                }
                core = below.core;
            }
        }
        None
    }

    /// The bytes of a property.
    pub(crate) fn ask(&self, property: u32) -> Vec<u8> {
        let mut value = vec![0_u8; 1 << 14];
        let mut size = 0;
        // SAFETY: the device lives for ever, and there is room for as many bytes as are said.
        let status = unsafe {
            let place = value.as_mut_ptr().cast();
            (self.core.clGetDeviceInfo)(self.device, property, value.len(), place, &raw mut size)
        };
        value.truncate(if status == 0 { size } else { 0 });
        value
    }

    /// A property that is a number.
    pub(crate) fn number(&self, property: u32) -> u64 {
        let value = self.ask(property);
        let mut bytes = [0; 8];
        let length = value.len().min(8);
        bytes[..length].copy_from_slice(&value[..length]);
        u64::from_le_bytes(bytes)
    }

    pub(crate) fn has(&self, extension: &str) -> bool {
        let known = String::from_utf8_lossy(&self.ask(EXTENSIONS)).into_owned();
        known.trim_end_matches('\0').split_whitespace().any(|known| known == extension)
    }

    /// What the compiler wrote about a program.
    pub(crate) fn build_log(&self, program: Cl) -> String {
        const LOG: u32 = 0x1183;
        let (mut log, mut size) = (vec![0_u8; 1 << 14], 0);
        // SAFETY: the program is alive and of the device, and there is room for as much as is said.
        let status = unsafe {
            let place = log.as_mut_ptr().cast();
            let get = self.core.clGetProgramBuildInfo;
            get(program, self.device, LOG, log.len(), place, &raw mut size)
        };
        log.truncate(if status == 0 { size } else { 0 });
        let end = log.iter().position(|byte| *byte == 0).unwrap_or(log.len());
        String::from_utf8_lossy(&log[..end]).into_owned()
    }

    /// The driver's bytes of a program.
    pub(crate) fn binary(&self, program: Cl) -> Vec<u8> {
        const SIZES: u32 = 0x1165;
        const BINARIES: u32 = 0x1166;
        let (get, mut size) = (self.core.clGetProgramInfo, 0_usize);
        let none = std::ptr::null_mut();
        // SAFETY: the program is alive and of one device: its sizes are one.
        let status = unsafe { get(program, SIZES, 8, (&raw mut size).cast(), none) };
        let mut binary = vec![0_u8; if status == 0 { size } else { 0 }];
        let mut place = binary.as_mut_ptr();
        // SAFETY: as above, and the one place has room for as many bytes.
        let status = unsafe { get(program, BINARIES, 8, (&raw mut place).cast(), none) };
        if status == 0 { binary } else { Vec::new() }
    }

    /// Builds a program for the device.
    pub(crate) fn build(&self, program: Cl, options: &CStr) -> i32 {
        let (none, data) = (std::ptr::null(), std::ptr::null_mut());
        // SAFETY: the program is alive and of the device, and the options are terminated.
        unsafe {
            let build = self.core.clBuildProgram;
            build(program, 1, &raw const self.device, options.as_ptr(), none, data)
        }
    }
}
