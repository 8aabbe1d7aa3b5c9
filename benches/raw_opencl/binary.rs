//! Programs as the driver's own binaries: the quickest way to a kernel that OpenCL has.

use std::ffi::CStr;
use std::ptr::null_mut;

use super::{Kernel, Raw, check};
use crate::Result;

const CL_PROGRAM_BINARY_SIZES: u32 = 0x1165;
const CL_PROGRAM_BINARIES: u32 = 0x1166;

impl Raw {
    /// What the driver made of a kernel's program.
    pub(crate) fn binary(&self, kernel: &Kernel) -> Result<Vec<u8>> {
        let mut length = 0usize;
        // SAFETY: the program has one device, so there is one size, for which there is room.
        let code = unsafe {
            (self.api.clGetProgramInfo)(
                kernel.program,
                CL_PROGRAM_BINARY_SIZES,
                size_of::<usize>(),
                (&raw mut length).cast(),
                null_mut(),
            )
        };
        check("clGetProgramInfo", code)?;
        let mut bytes = vec![0u8; length];
        let mut place = bytes.as_mut_ptr();
        // SAFETY: one device, one place, which has room for the size that the driver told.
        let code = unsafe {
            (self.api.clGetProgramInfo)(
                kernel.program,
                CL_PROGRAM_BINARIES,
                size_of::<*mut u8>(),
                (&raw mut place).cast(),
                null_mut(),
            )
        };
        check("clGetProgramInfo", code)?;
        Ok(bytes)
    }

    /// A kernel of a program that [`binary`](Self::binary) gave.
    pub(crate) fn kernel_of_binary(&self, bytes: &[u8], name: &CStr) -> Result<Kernel> {
        let (place, length, mut code) = (bytes.as_ptr(), bytes.len(), 0);
        // SAFETY: one device and one binary are announced and given, with its length.
        let program = unsafe {
            (self.api.clCreateProgramWithBinary)(
                self.context,
                1,
                &raw const self.device,
                &raw const length,
                &raw const place,
                null_mut(),
                &raw mut code,
            )
        };
        check("clCreateProgramWithBinary", code)?;
        self.build(program, name, c"")
    }
}
