//! Built programs as the driver's own bytes, and back.

use std::ffi::OsString;
use std::ptr::null_mut;
use std::sync::Arc;

use crosscut_adapter_api::{DeviceKind, DriverError, Program, ProgramBinaries};

use crate::context::ClContext;
use crate::error::{check, error};
use crate::exit;
use crate::program::{ClProgram, ProgramHandle};
use crate::{query, sys};

impl ProgramBinaries for ClContext {
    fn build_identity(&self) -> String {
        let options = self.0.build_options.to_string_lossy();
        match self.0.info.kind {
            DeviceKind::Cpu => {
                format!("{options}; {}; {}", processor(), settings(std::env::vars_os()))
            }
            _ => options.into_owned(),
        }
    }

    fn binary(&self, program: &dyn Program) -> Result<Vec<u8>, DriverError> {
        let Some(program) = program.as_any().downcast_ref::<ClProgram>() else {
            panic!("the runtime hands over only programs of the same context");
        };
        let program = &program.0;
        program.binary().or_else(|refusal| {
            // Intel's CPU runtime (2026.22) gives no binary of a program that is built for some of its
            // devices only. One in a context of this device alone is the same.
            let code = program.code();
            if program.context.reach.of_one_device || code.is_empty() {
                return Err(refusal);
            }
            let alone = Self::create(&program.context.device)?;
            ClProgram::build(&alone.0, &code)?.0.binary()
        })
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

impl ProgramHandle {
    /// The driver's bytes of it for the device that it is built for.
    fn binary(&self) -> Result<Vec<u8>, DriverError> {
        const CALL: &str = "clGetProgramInfo";
        let (get, raw) = (self.context.api.clGetProgramInfo, self.raw);
        let _alive = exit::enter(CALL)?;
        // All three properties are arrays with one element for each device of the program: of each of
        // its context, unless it was made of a binary.
        // SAFETY: the program is alive.
        let ids = query::numbers(&unsafe { query::bytes(get, raw, sys::CL_PROGRAM_DEVICES) });
        // SAFETY: as above.
        let sizes =
            query::numbers(&unsafe { query::bytes(get, raw, sys::CL_PROGRAM_BINARY_SIZES) });
        let own = ids.iter().position(|id| *id == self.context.id.addr() as u64);
        let size = own.and_then(|own| sizes.get(own)).and_then(|size| usize::try_from(*size).ok());
        let (Some(own), Some(size)) = (own, size) else {
            return Err(error(CALL, sys::CL_INVALID_DEVICE));
        };
        let mut binary = vec![0_u8; size];
        if binary.is_empty() {
            return Ok(binary);
        }
        // What has no place to go is not written.
        let mut targets = vec![null_mut(); sizes.len()];
        targets[own] = binary.as_mut_ptr();
        // SAFETY: the program is alive, there are as many pointers as it has devices, and the one that
        // is not null is writable for as many bytes as the driver said the binary has.
        let status = unsafe {
            let room = size_of_val(&*targets);
            get(raw, sys::CL_PROGRAM_BINARIES, room, targets.as_mut_ptr().cast(), null_mut())
        };
        check(CALL, status)?;
        Ok(binary)
    }

    /// The SPIR-V it was made from; empty if it was not, or if the driver does not tell.
    fn code(&self) -> Vec<u8> {
        let Some(_alive) = exit::driver() else { return Vec::new() };
        // SAFETY: the program is alive.
        unsafe { query::bytes(self.context.api.clGetProgramInfo, self.raw, sys::CL_PROGRAM_IL) }
    }
}

/// What the environment tells Intel's CPU runtime about the code that it makes.
fn settings(variables: impl Iterator<Item = (OsString, OsString)>) -> String {
    let mut settings: Vec<String> = variables
        .filter(|(name, _)| name.as_encoded_bytes().starts_with(b"CL_CONFIG_"))
        .map(|(name, value)| format!("{}={}", name.to_string_lossy(), value.to_string_lossy()))
        .collect();
    settings.sort();
    settings.join(" ")
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_another_where_the_environment_asks_the_driver_for_other_code() {
        let of = |variables: &[(&str, &str)]| {
            settings(variables.iter().map(|(name, value)| (name.into(), value.into())))
        };
        let (vectorizer, options) =
            (("CL_CONFIG_USE_VECTORIZER", "0"), ("CL_CONFIG_LLVM_OPTIONS", "-x"));
        assert_eq!(of(&[("PATH", "/bin"), ("XCL_CONFIG_A", "1")]), "");
        assert_eq!(of(&[vectorizer, ("HOME", "/"), options]), of(&[options, vectorizer]));
        assert_ne!(of(&[options]), of(&[("CL_CONFIG_LLVM_OPTIONS", "-y")]));
    }
}
