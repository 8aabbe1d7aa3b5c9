//! Variables of programs: the driver tells where they are, and they are copied as memory is.

use std::any::Any;
use std::ffi::CString;
use std::num::NonZeroUsize;
use std::sync::Arc;

use crosscut_adapter_api::{DriverError, Event, Variable, VariableQueue, exit};

use crate::abi;
use crate::command::Command;
use crate::program::ModuleHandle;
use crate::queue::ZeQueue;

/// SPIR-V's capability `GlobalVariableHostAccessINTEL`, which gives variables names for the host.
pub(crate) const HOST_ACCESS: u32 = 6187;

/// A variable that the host may name.
pub(crate) struct ZeVariable {
    /// It is a part of this.
    _module: Arc<ModuleHandle>,
    size: NonZeroUsize,
    address: *mut u8,
}

// SAFETY: the raw pointer is an address that is only handed to the driver.
unsafe impl Send for ZeVariable {}
// SAFETY: as for `Send`.
unsafe impl Sync for ZeVariable {}

impl ZeVariable {
    /// The variable of this name; `None` if the driver knows none.
    pub(crate) fn find(module: &Arc<ModuleHandle>, name: &str) -> Option<Self> {
        let (_alive, name) = (exit::driver()?, CString::new(name).ok()?);
        let (mut size, mut address) = (0, std::ptr::null_mut());
        // SAFETY: the module is alive and linked, the name is terminated, both results are writable.
        let status = unsafe {
            (module.context.api.zeModuleGetGlobalPointer)(
                module.raw,
                name.as_ptr(),
                &raw mut size,
                &raw mut address,
            )
        };
        let known = status == abi::ZE_RESULT_SUCCESS && !address.is_null();
        let size = NonZeroUsize::new(size).filter(|_| known)?;
        Some(Self { _module: Arc::clone(module), size, address: address.cast() })
    }

    fn address_in(variable: &dyn Variable, offset: usize) -> *mut u8 {
        match variable.as_any().downcast_ref::<Self>() {
            Some(variable) => variable.address.wrapping_add(offset),
            None => panic!("the runtime hands over only variables of the same context"),
        }
    }
}

impl Variable for ZeVariable {
    fn size(&self) -> NonZeroUsize {
        self.size
    }

    fn device_address(&self) -> Option<u64> {
        Some(self.address.expose_provenance() as u64)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl VariableQueue for ZeQueue {
    unsafe fn write_variable(
        &self,
        target: &dyn Variable,
        offset: usize,
        source: *const u8,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        let target = ZeVariable::address_in(target, offset);
        // SAFETY: the range lies inside the variable, and the caller vouches that it and `source`
        // stay valid until the event completes.
        let command = unsafe { Command::copy(target, source, size) };
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
        let source = ZeVariable::address_in(source, offset);
        // SAFETY: the range lies inside the variable, and the caller vouches that it and `target`
        // stay valid until the event completes.
        let command = unsafe { Command::copy(target, source, size) };
        self.0.submit(command, after)
    }
}
