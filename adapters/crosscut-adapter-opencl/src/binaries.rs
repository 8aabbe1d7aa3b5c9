//! Built programs as the driver's own bytes, and back.

use std::ptr::null_mut;
use std::sync::Arc;

use crosscut_adapter_api::{DeviceKind, DriverError, Program, ProgramBinaries};

use crate::context::ClContext;
use crate::error::check;
use crate::exit;
use crate::program::{ClProgram, ProgramHandle};
use crate::sys;

impl ProgramBinaries for ClContext {
    fn build_identity(&self) -> String {
        let options = self.0.build_options.to_string_lossy();
        match self.0.info.kind {
            DeviceKind::Cpu => format!("{options}; {}", processor()),
            _ => options.into_owned(),
        }
    }

    fn binary(&self, program: &dyn Program) -> Result<Vec<u8>, DriverError> {
        const CALL: &str = "clGetProgramInfo";
        let Some(program) = program.as_any().downcast_ref::<ClProgram>() else {
            panic!("the runtime hands over only programs of the same context");
        };
        let (get, raw) = (self.0.api.clGetProgramInfo, program.0.raw);
        let _alive = exit::enter(CALL)?;
        // Both properties are arrays with one element for each device of the program: its context
        // has one.
        let mut size = 0_usize;
        // SAFETY: the program is alive, and one `size_t` is writable.
        let status = unsafe {
            let room = size_of::<usize>();
            get(raw, sys::CL_PROGRAM_BINARY_SIZES, room, (&raw mut size).cast(), null_mut())
        };
        check(CALL, status)?;
        let mut binary = vec![0_u8; size];
        if binary.is_empty() {
            return Ok(binary);
        }
        let mut target = binary.as_mut_ptr();
        // SAFETY: the program is alive, and the one pointer handed over is writable for as many
        // bytes as the driver said the binary has.
        let status = unsafe {
            let room = size_of::<*mut u8>();
            get(raw, sys::CL_PROGRAM_BINARIES, room, (&raw mut target).cast(), null_mut())
        };
        check(CALL, status)?;
        Ok(binary)
    }

    fn build_binary(&self, binary: &[u8]) -> Result<Box<dyn Program>, DriverError> {
        const CALL: &str = "clCreateProgramWithBinary";
        let context = &self.0;
        let _alive = exit::enter(CALL)?;
        let (mut status, mut of_the_binary) = (0, 0);
        let (length, start) = (binary.len(), binary.as_ptr());
        // SAFETY: the context is alive and the device its own; there is one length and one address,
        // readable for that length; both places for a status are writable.
        let raw = unsafe {
            (context.api.clCreateProgramWithBinary)(
                context.raw,
                1,
                &raw const context.id,
                &raw const length,
                &raw const start,
                &raw mut of_the_binary,
                &raw mut status,
            )
        };
        check(CALL, status)?;
        let program = ProgramHandle { context: Arc::clone(context), raw };
        check(CALL, of_the_binary)?;
        Ok(Box::new(ClProgram::finish(program)?))
    }
}

/// Which instructions the processor of this machine has.
///
/// Code for a CPU device uses all of them, and neither its name nor the driver's version tells them:
/// virtual machines hide some, and machines that share a home directory share what is kept there.
#[cfg(target_arch = "x86_64")]
fn processor() -> String {
    use std::arch::x86_64::{__cpuid, __cpuid_count};
    // Of leaf 1 without `ebx`, which tells the core that asks.
    let (basic, extended) = (__cpuid(1), __cpuid_count(7, 0));
    format!(
        "cpu {:x} {:x} {:x} {:x} {:x} {:x}",
        basic.eax, basic.ecx, basic.edx, extended.ebx, extended.ecx, extended.edx
    )
}

#[cfg(not(target_arch = "x86_64"))]
fn processor() -> String {
    String::new()
}
