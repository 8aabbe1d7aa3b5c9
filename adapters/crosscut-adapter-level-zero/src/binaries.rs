//! Built programs as the driver's own bytes, and back.

use crosscut_adapter_api::{DriverError, Program, ProgramBinaries, exit};

use crate::abi;
use crate::context::ZeContext;
use crate::error::check;
use crate::program::ZeProgram;

impl ProgramBinaries for ZeContext {
    fn build_identity(&self) -> String {
        self.0.build_flags.to_string_lossy().into_owned()
    }

    fn binary(&self, program: &dyn Program) -> Result<Vec<u8>, DriverError> {
        const CALL: &str = "zeModuleGetNativeBinary";
        let Some(program) = program.as_any().downcast_ref::<ZeProgram>() else {
            panic!("the runtime hands over only programs of the same context");
        };
        let (_alive, module) = (exit::enter(CALL)?, &program.0);
        let (get, mut size) = (module.context.api.zeModuleGetNativeBinary, 0);
        // SAFETY: the module is alive; asking for the size alone.
        check(CALL, unsafe { get(module.raw, &raw mut size, std::ptr::null_mut()) })?;
        let mut binary = vec![0; size];
        if !binary.is_empty() {
            // SAFETY: the module is alive, and there is room for as many bytes as are announced.
            check(CALL, unsafe { get(module.raw, &raw mut size, binary.as_mut_ptr()) })?;
        }
        Ok(binary)
    }

    fn build_binary(&self, binary: &[u8]) -> Result<Box<dyn Program>, DriverError> {
        Ok(Box::new(ZeProgram::create(&self.0, abi::ZE_MODULE_FORMAT_NATIVE, binary)?))
    }
}
