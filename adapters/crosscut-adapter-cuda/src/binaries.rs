//! Built programs as the device's own code, and back.

use crosscut_adapter_api::{DriverError, Program, ProgramBinaries};

use crate::context::CuContext;
use crate::program::CuProgram;

impl ProgramBinaries for CuContext {
    fn build_identity(&self) -> String {
        self.0.architecture.clone()
    }

    fn binary(&self, program: &dyn Program) -> Result<Vec<u8>, DriverError> {
        match program.as_any().downcast_ref::<CuProgram>() {
            Some(program) => Ok(program.0.code.clone()),
            None => panic!("the runtime hands over only programs of the same context"),
        }
    }

    fn build_binary(&self, binary: &[u8]) -> Result<Box<dyn Program>, DriverError> {
        let entered = self.0.enter("cuModuleLoadDataEx")?;
        Ok(Box::new(CuProgram::load(&self.0, &entered.current, binary.to_vec())?))
    }
}
