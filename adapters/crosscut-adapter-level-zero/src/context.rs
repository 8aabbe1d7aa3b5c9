//! Opened devices.

use std::num::NonZeroUsize;
use std::ops::Deref;
use std::sync::{Arc, Once};

use crosscut_adapter_api::{
    CodeForm, Context, DriverError, Memory, MemoryKind, Program, ProgramBinaries, Promised, Queue,
    QueueOptions, exit,
};

use crate::abi::{Handle, Typed, ze_context_desc_t};
use crate::device::ZeDevice;
use crate::error::check;
use crate::memory::ZeMemory;
use crate::pool::EventPools;
use crate::program::ZeProgram;
use crate::promise;
use crate::queue::ZeQueue;
use crate::variable;

/// A `ze_context_handle_t` on a device. Memory, programs, queues and events share it.
pub(crate) struct ContextHandle {
    pub(crate) raw: Handle,
    pub(crate) device: Arc<ZeDevice>,
    pub(crate) events: EventPools,
}

// SAFETY: the raw pointer is a `ze_context_handle_t`, and of the functions that take one Level Zero's
// specification says: "The application may call this function from simultaneous threads".
unsafe impl Send for ContextHandle {}
// SAFETY: as for `Send`.
unsafe impl Sync for ContextHandle {}

impl Deref for ContextHandle {
    type Target = ZeDevice;

    fn deref(&self) -> &ZeDevice {
        &self.device
    }
}

impl Drop for ContextHandle {
    fn drop(&mut self) {
        if let Some(_alive) = exit::driver() {
            self.events.destroy(self.device.api);
            // SAFETY: everything that was made of it holds it, so nothing is left but its events,
            // which are gone; nobody else destroys it.
            unsafe { (self.device.api.zeContextDestroy)(self.raw) };
        }
    }
}

/// A context as the contract has it.
pub(crate) struct ZeContext(pub(crate) Arc<ContextHandle>);

impl ZeContext {
    pub(crate) fn create(device: &Arc<ZeDevice>) -> Result<Self, DriverError> {
        static FIRST_CONTEXT: Once = Once::new();
        const CALL: &str = "zeContextCreate";
        let _alive = exit::enter(CALL)?;
        let (description, mut raw) = (ze_context_desc_t::new(), std::ptr::null_mut());
        // SAFETY: the driver is the loader's own, the description says its type, `raw` is writable.
        let status = unsafe {
            (device.api.zeContextCreate)(device.driver, &raw const description, &raw mut raw)
        };
        check(CALL, status)?;
        exit::watch(&FIRST_CONTEXT);
        let (device, events) = (Arc::clone(device), EventPools::default());
        Ok(Self(Arc::new(ContextHandle { raw, device, events })))
    }
}

impl Context for ZeContext {
    fn allocate(
        &self,
        kind: MemoryKind,
        size: NonZeroUsize,
        align: usize,
    ) -> Result<Box<dyn Memory>, DriverError> {
        Ok(Box::new(ZeMemory::allocate(&self.0, kind, size, align)?))
    }

    fn create_queue(&self, options: &QueueOptions) -> Result<Box<dyn Queue>, DriverError> {
        Ok(Box::new(ZeQueue::create(&self.0, options)?))
    }

    fn promise(&self) -> Result<Promised, DriverError> {
        promise::promise(&self.0)
    }

    fn build(&self, form: CodeForm, code: &[u8]) -> Result<Box<dyn Program>, DriverError> {
        assert_eq!(form, CodeForm::Spirv64, "the runtime builds only forms that a device lists");
        Ok(Box::new(ZeProgram::build(&self.0, code)?))
    }

    fn takes_annotation(&self, capability: u32) -> bool {
        capability == variable::HOST_ACCESS
    }

    fn as_caching(&self) -> Option<&dyn ProgramBinaries> {
        Some(self)
    }
}
