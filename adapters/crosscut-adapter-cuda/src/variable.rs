//! Variables of programs: the driver tells where they are, and they are copied as memory is.

use std::any::Any;
use std::ffi::CString;
use std::num::NonZeroUsize;
use std::sync::Arc;

use crosscut_adapter_api::{DriverError, Event, Variable, VariableQueue};

use crate::abi::{self, DevicePointer};
use crate::command::Command;
use crate::program::ModuleHandle;
use crate::queue::CuQueue;

/// A variable that the host may name.
pub(crate) struct CuVariable {
    /// It is a part of this.
    _module: Arc<ModuleHandle>,
    size: NonZeroUsize,
    address: DevicePointer,
}

impl CuVariable {
    /// The variable of this name; `None` if the driver knows none.
    pub(crate) fn find(module: &Arc<ModuleHandle>, name: &str) -> Option<Self> {
        let (name, context) = (CString::new(name).ok()?, &module.context);
        let _entered = context.enter_if_alive()?;
        let (mut size, mut address) = (0, 0);
        // SAFETY: the module is alive and of the context that is current, the name is terminated, both
        // results are writable.
        let status = unsafe {
            (context.api.cuModuleGetGlobal_v2)(
                &raw mut address,
                &raw mut size,
                module.raw,
                name.as_ptr(),
            )
        };
        let known = status == abi::CUDA_SUCCESS && address != 0;
        let size = NonZeroUsize::new(size).filter(|_| known)?;
        Some(Self { _module: Arc::clone(module), size, address })
    }

    fn address_in(variable: &dyn Variable, offset: usize) -> DevicePointer {
        match variable.as_any().downcast_ref::<Self>() {
            Some(variable) => variable.address + offset as u64,
            None => panic!("the runtime hands over only variables of the same context"),
        }
    }
}

impl Variable for CuVariable {
    fn size(&self) -> NonZeroUsize {
        self.size
    }

    fn device_address(&self) -> Option<u64> {
        Some(self.address)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl VariableQueue for CuQueue {
    unsafe fn write_variable(
        &self,
        target: &dyn Variable,
        offset: usize,
        source: *const u8,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        let target = CuVariable::address_in(target, offset);
        // SAFETY: the range lies inside the variable, and the caller vouches that it and `source`
        // stay valid until the event completes.
        let command = unsafe { Command::write(target, source, size) };
        self.0.submit(command, after)
    }

    unsafe fn read_variable(
        &self,
        source: &dyn Variable,
        offset: usize,
        target: *mut u8,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        let source = CuVariable::address_in(source, offset);
        // SAFETY: the range lies inside the variable, and the caller vouches that it and `target`
        // stay valid until the event completes.
        let command = unsafe { Command::read(target, source, size) };
        self.0.submit(command, after)
    }
}
