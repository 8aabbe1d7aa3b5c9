//! The raw OpenCL C API, as a careful C programmer would use it: the peer.
//!
//! Memory and events are released, because a run makes many of them. The rest is not: the process
//! ends soon, and the driver frees it then.

mod binary;
pub(crate) mod globals;

use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};

use libloading::Library;

use crate::Result;

type Handle = *mut c_void;

const CL_DEVICE_NAME: u32 = 0x102B;
const CL_DEVICE_TYPE_ALL: u64 = 0xFFFF_FFFF;
const CL_MEM_READ_WRITE: u64 = 1;
const CL_TRUE: u32 = 1;

/// Declares the table, and loads it by name.
macro_rules! api {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?,)*) => {
        /// The entry points, under the vendor's names.
        #[allow(non_snake_case, reason = "the names are the vendor's")]
        struct Api {
            $($name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)*
        }

        impl Api {
            fn load(library: &'static Library) -> Result<Self> {
                Ok(Self {
                    $(
                        // SAFETY: the type is the one that the OpenCL headers give this name.
                        $name: *unsafe { library.get(stringify!($name).as_bytes()) }?,
                    )*
                })
            }
        }
    };
}

api! {
    clGetPlatformIDs: fn(u32, *mut Handle, *mut u32) -> i32,
    clGetDeviceIDs: fn(Handle, u64, u32, *mut Handle, *mut u32) -> i32,
    clGetDeviceInfo: fn(Handle, u32, usize, *mut c_void, *mut usize) -> i32,
    clCreateContext: fn(*const isize, u32, *const Handle, *const c_void, Handle, *mut i32) -> Handle,
    clCreateCommandQueue: fn(Handle, Handle, u64, *mut i32) -> Handle,
    clCreateBuffer: fn(Handle, u64, usize, *mut c_void, *mut i32) -> Handle,
    clCreateProgramWithSource: fn(Handle, u32, *const *const c_char, *const usize, *mut i32) -> Handle,
    clCreateProgramWithBinary: fn(Handle, u32, *const Handle, *const usize, *const *const u8, *mut i32, *mut i32) -> Handle,
    clGetProgramInfo: fn(Handle, u32, usize, *mut c_void, *mut usize) -> i32,
    clBuildProgram: fn(Handle, u32, *const Handle, *const c_char, *const c_void, Handle) -> i32,
    clCreateKernel: fn(Handle, *const c_char, *mut i32) -> Handle,
    clSetKernelArg: fn(Handle, u32, usize, *const c_void) -> i32,
    clEnqueueWriteBuffer: fn(Handle, Handle, u32, usize, usize, *const c_void, u32, *const Handle, *mut Handle) -> i32,
    clEnqueueReadBuffer: fn(Handle, Handle, u32, usize, usize, *mut c_void, u32, *const Handle, *mut Handle) -> i32,
    clEnqueueNDRangeKernel: fn(Handle, Handle, u32, *const usize, *const usize, *const usize, u32, *const Handle, *mut Handle) -> i32,
    clFinish: fn(Handle) -> i32,
    clGetExtensionFunctionAddressForPlatform: fn(Handle, *const c_char) -> Handle,
    clWaitForEvents: fn(u32, *const Handle) -> i32,
    clReleaseEvent: fn(Handle) -> i32,
    clReleaseMemObject: fn(Handle) -> i32,
}

fn check(call: &str, code: i32) -> Result<()> {
    if code == 0 { Ok(()) } else { Err(format!("{call} returned {code}").into()) }
}

/// A device opened, with a queue in order.
pub(crate) struct Raw {
    api: Api,
    device: Handle,
    context: Handle,
    queue: Handle,
}

/// A `cl_kernel` and its `cl_program`.
pub(crate) struct Kernel {
    handle: Handle,
    program: Handle,
}

/// A `cl_mem`. No command uses it any more when it goes: [`Raw::run`] waits.
pub(crate) struct Memory<'a> {
    raw: &'a Raw,
    handle: Handle,
}

impl Drop for Memory<'_> {
    fn drop(&mut self) {
        // SAFETY: this is the reference that creating it gave.
        unsafe { (self.raw.api.clReleaseMemObject)(self.handle) };
    }
}

impl Raw {
    /// Opens the device of this name.
    pub(crate) fn open(name: &str) -> Result<Self> {
        // SAFETY: the loader's initialisers ask nothing of whoever loads it.
        let library = unsafe { Library::new("libOpenCL.so.1") }.or_else(|_| {
            // SAFETY: as above.
            unsafe { Library::new(libloading::library_filename("OpenCL")) }
        })?;
        let api = Api::load(Box::leak(Box::new(library)))?;
        let device = find(&api, name)?;
        let mut code = 0;
        // SAFETY: one device is announced and given; no properties, no callback.
        let context = unsafe {
            (api.clCreateContext)(null(), 1, &raw const device, null(), null_mut(), &raw mut code)
        };
        check("clCreateContext", code)?;
        // SAFETY: the device is the context's.
        let queue = unsafe { (api.clCreateCommandQueue)(context, device, 0, &raw mut code) };
        check("clCreateCommandQueue", code)?;
        Ok(Self { api, device, context, queue })
    }

    /// Builds a kernel from OpenCL C.
    pub(crate) fn kernel(&self, source: &str, name: &CStr) -> Result<Kernel> {
        self.kernel_with(source, name, c"")
    }

    /// The same, with options for the compiler.
    pub(crate) fn kernel_with(&self, source: &str, name: &CStr, options: &CStr) -> Result<Kernel> {
        let (text, length, mut code) = (source.as_ptr().cast(), source.len(), 0);
        // SAFETY: one text is announced and given, with its length.
        let program = unsafe {
            (self.api.clCreateProgramWithSource)(
                self.context,
                1,
                &raw const text,
                &raw const length,
                &raw mut code,
            )
        };
        check("clCreateProgramWithSource", code)?;
        self.build(program, name, options)
    }

    /// Builds a program, and takes one of its kernels.
    fn build(&self, program: Handle, name: &CStr, options: &CStr) -> Result<Kernel> {
        // SAFETY: program and device belong to one context; no callback.
        let code = unsafe {
            (self.api.clBuildProgram)(
                program,
                1,
                &raw const self.device,
                options.as_ptr(),
                null(),
                null_mut(),
            )
        };
        check("clBuildProgram", code)?;
        let mut code = 0;
        // SAFETY: the program is built, and the name ends with a zero.
        let handle = unsafe { (self.api.clCreateKernel)(program, name.as_ptr(), &raw mut code) };
        check("clCreateKernel", code)?;
        Ok(Kernel { handle, program })
    }

    /// A buffer with a copy of `data`.
    pub(crate) fn upload(&self, data: &[f32]) -> Result<Memory<'_>> {
        let mut code = 0;
        // SAFETY: the context is alive; no host memory is handed over.
        let handle = unsafe {
            (self.api.clCreateBuffer)(
                self.context,
                CL_MEM_READ_WRITE,
                size_of_val(data),
                null_mut(),
                &raw mut code,
            )
        };
        check("clCreateBuffer", code)?;
        let memory = Memory { raw: self, handle };
        // SAFETY: the buffer is as large as `data`, and the call blocks until it is copied.
        let code = unsafe {
            (self.api.clEnqueueWriteBuffer)(
                self.queue,
                handle,
                CL_TRUE,
                0,
                size_of_val(data),
                data.as_ptr().cast(),
                0,
                null(),
                null_mut(),
            )
        };
        check("clEnqueueWriteBuffer", code)?;
        Ok(memory)
    }

    /// The first `length` floats of a buffer, which has as many.
    pub(crate) fn download(&self, memory: &Memory<'_>, length: usize) -> Result<Vec<f32>> {
        let mut data = vec![0f32; length];
        // SAFETY: the driver checks the size against the buffer; the call blocks until it is copied.
        let code = unsafe {
            (self.api.clEnqueueReadBuffer)(
                self.queue,
                memory.handle,
                CL_TRUE,
                0,
                size_of_val(&data[..]),
                data.as_mut_ptr().cast(),
                0,
                null(),
                null_mut(),
            )
        };
        check("clEnqueueReadBuffer", code)?;
        Ok(data)
    }

    pub(crate) fn set_memory(
        &self,
        kernel: &Kernel,
        index: u32,
        memory: &Memory<'_>,
    ) -> Result<()> {
        let value = (&raw const memory.handle).cast();
        // SAFETY: the value is a `cl_mem`; the driver refuses it where no buffer is expected.
        let code =
            unsafe { (self.api.clSetKernelArg)(kernel.handle, index, size_of::<Handle>(), value) };
        check("clSetKernelArg", code)
    }

    pub(crate) fn set_float(&self, kernel: &Kernel, index: u32, value: f32) -> Result<()> {
        let value = (&raw const value).cast();
        // SAFETY: the value is readable for the size, which the driver checks.
        let code =
            unsafe { (self.api.clSetKernelArg)(kernel.handle, index, size_of::<f32>(), value) };
        check("clSetKernelArg", code)
    }

    /// Launches a kernel whose arguments are set.
    pub(crate) fn launch(&self, kernel: &Kernel, items: usize) -> Result<()> {
        // SAFETY: one extent is announced and given; arguments stay set and alive.
        let code = unsafe {
            (self.api.clEnqueueNDRangeKernel)(
                self.queue,
                kernel.handle,
                1,
                null(),
                &raw const items,
                null(),
                0,
                null(),
                null_mut(),
            )
        };
        check("clEnqueueNDRangeKernel", code)
    }

    /// Waits for everything.
    pub(crate) fn finish(&self) -> Result<()> {
        // SAFETY: the queue is alive.
        check("clFinish", unsafe { (self.api.clFinish)(self.queue) })
    }

    /// Launches a kernel whose arguments are set, and waits for it.
    pub(crate) fn run(&self, kernel: &Kernel, items: usize) -> Result<()> {
        let mut event = null_mut();
        // SAFETY: one extent is announced and given; arguments stay set and alive.
        let code = unsafe {
            (self.api.clEnqueueNDRangeKernel)(
                self.queue,
                kernel.handle,
                1,
                null(),
                &raw const items,
                null(),
                0,
                null(),
                &raw mut event,
            )
        };
        check("clEnqueueNDRangeKernel", code)?;
        // SAFETY: one event is announced and given.
        check("clWaitForEvents", unsafe { (self.api.clWaitForEvents)(1, &raw const event) })?;
        // SAFETY: this is the reference that enqueueing gave.
        check("clReleaseEvent", unsafe { (self.api.clReleaseEvent)(event) })
    }
}

/// The device of this name, on any platform.
fn find(api: &Api, name: &str) -> Result<Handle> {
    let mut platforms = [null_mut(); 16];
    let mut count = 0;
    // SAFETY: there is room for 16.
    let code = unsafe { (api.clGetPlatformIDs)(16, platforms.as_mut_ptr(), &raw mut count) };
    check("clGetPlatformIDs", code)?;
    for &platform in platforms.iter().take(count as usize) {
        let mut devices = [null_mut(); 16];
        let mut count = 0;
        // SAFETY: there is room for 16.
        let code = unsafe {
            (api.clGetDeviceIDs)(
                platform,
                CL_DEVICE_TYPE_ALL,
                16,
                devices.as_mut_ptr(),
                &raw mut count,
            )
        };
        // A platform without devices says so by a code.
        let found = if code == 0 { count as usize } else { 0 };
        for &device in devices.iter().take(found) {
            if device_name(api, device)? == name {
                return Ok(device);
            }
        }
    }
    Err(format!("the OpenCL library has no device `{name}`").into())
}

fn device_name(api: &Api, device: Handle) -> Result<String> {
    let mut name = [0u8; 1024];
    // SAFETY: there is room for 1024 bytes.
    let code = unsafe {
        (api.clGetDeviceInfo)(
            device,
            CL_DEVICE_NAME,
            name.len(),
            name.as_mut_ptr().cast(),
            null_mut(),
        )
    };
    check("clGetDeviceInfo", code)?;
    Ok(CStr::from_bytes_until_nul(&name)?.to_string_lossy().trim().to_owned())
}
