//! Variables of a program, by the vendor's own calls: the fastest small copies that OpenCL has.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::{null, null_mut};

use super::{CL_TRUE, Handle, Kernel, Raw, check};
use crate::Result;

const CL_DEVICE_PLATFORM: u32 = 0x1031;

type Write = unsafe extern "C" fn(
    Handle,
    Handle,
    *const c_char,
    u32,
    usize,
    usize,
    *const c_void,
    u32,
    *const Handle,
    *mut Handle,
) -> i32;
type Read = unsafe extern "C" fn(
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

/// A variable of a program, and a kernel that uses it.
pub(crate) struct Variable<'a> {
    raw: &'a Raw,
    name: &'static CStr,
    kernel: Kernel,
    write: Write,
    read: Read,
}

impl<'a> Variable<'a> {
    /// Builds a program with this variable and this kernel; `None` where the driver has no calls for
    /// variables.
    pub(crate) fn new(
        raw: &'a Raw,
        source: &str,
        name: &'static CStr,
        kernel: &CStr,
    ) -> Result<Option<Self>> {
        let mut platform: Handle = null_mut();
        // SAFETY: a platform is a handle, for which there is room.
        let code = unsafe {
            (raw.api.clGetDeviceInfo)(
                raw.device,
                CL_DEVICE_PLATFORM,
                size_of::<Handle>(),
                (&raw mut platform).cast(),
                null_mut(),
            )
        };
        check("clGetDeviceInfo", code)?;
        let find = |name: &CStr| {
            // SAFETY: the platform is the device's, and the name ends with a zero.
            unsafe { (raw.api.clGetExtensionFunctionAddressForPlatform)(platform, name.as_ptr()) }
        };
        let write = find(c"clEnqueueWriteGlobalVariableINTEL");
        let read = find(c"clEnqueueReadGlobalVariableINTEL");
        if write.is_null() || read.is_null() {
            return Ok(None);
        }
        Ok(Some(Self {
            raw,
            name,
            kernel: raw.kernel_with(source, kernel, c"-cl-std=CL3.0")?,
            // SAFETY: the type is the one that the extension gives this name.
            write: unsafe { std::mem::transmute::<Handle, Write>(write) },
            // SAFETY: as above.
            read: unsafe { std::mem::transmute::<Handle, Read>(read) },
        }))
    }

    /// Sets its first elements, and waits.
    pub(crate) fn set(&self, values: &[u32]) -> Result<()> {
        // SAFETY: queue and program are of one context, and the driver checks the size against the
        // variable's; the call blocks until the values are copied.
        let code = unsafe {
            (self.write)(
                self.raw.queue,
                self.kernel.program,
                self.name.as_ptr(),
                CL_TRUE,
                size_of_val(values),
                0,
                values.as_ptr().cast(),
                0,
                null(),
                null_mut(),
            )
        };
        check("clEnqueueWriteGlobalVariableINTEL", code)
    }

    /// Gets its first elements, and waits.
    pub(crate) fn get(&self, values: &mut [u32]) -> Result<()> {
        // SAFETY: as above; there is room for the values.
        let code = unsafe {
            (self.read)(
                self.raw.queue,
                self.kernel.program,
                self.name.as_ptr(),
                CL_TRUE,
                size_of_val(values),
                0,
                values.as_mut_ptr().cast(),
                0,
                null(),
                null_mut(),
            )
        };
        check("clEnqueueReadGlobalVariableINTEL", code)
    }

    /// Launches its kernel for one item.
    pub(crate) fn step(&self) -> Result<()> {
        self.raw.launch(&self.kernel, 1)
    }
}
