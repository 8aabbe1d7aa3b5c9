//! Opened devices.

use std::num::NonZeroUsize;
use std::ops::Deref;
use std::sync::{Arc, Once};

use crosscut_adapter_api::{
    CodeForm, Context, DriverError, Memory, MemoryKind, Program, ProgramBinaries, Promised, Queue,
    QueueOptions,
};

use crate::callback;
use crate::device::ClDevice;
use crate::error::check;
use crate::exit;
use crate::memory::ClMemory;
use crate::program::ClProgram;
use crate::queue::ClQueue;
use crate::sys::Handle;
use crate::variable;

/// A `cl_context` of one device. Memory, programs and queues share it; the last one releases it.
pub(crate) struct ContextHandle {
    pub(crate) device: Arc<ClDevice>,
    pub(crate) raw: Handle,
}

// SAFETY: the raw pointer is a `cl_context`, and OpenCL 3.0, appendix A.2, says: "All OpenCL API
// calls are thread-safe except those that modify the state of cl_kernel objects".
unsafe impl Send for ContextHandle {}
// SAFETY: as for `Send`.
unsafe impl Sync for ContextHandle {}

impl Deref for ContextHandle {
    type Target = ClDevice;

    fn deref(&self) -> &ClDevice {
        &self.device
    }
}

impl Drop for ContextHandle {
    fn drop(&mut self) {
        if let Some(_alive) = exit::driver() {
            // SAFETY: this is the one reference that `clCreateContext` gave.
            unsafe { (self.api.clReleaseContext)(self.raw) };
        }
    }
}

/// A context as the contract has it.
pub(crate) struct ClContext(pub(crate) Arc<ContextHandle>);

impl ClContext {
    pub(crate) fn create(device: &Arc<ClDevice>) -> Result<Self, DriverError> {
        static FIRST_CONTEXT: Once = Once::new();
        const CALL: &str = "clCreateContext";
        let _alive = exit::enter(CALL)?;
        let mut status = 0;
        // SAFETY: no properties and no callback; one device, which lives for ever; `status` is
        // writable.
        let raw = unsafe {
            (device.api.clCreateContext)(
                std::ptr::null(),
                1,
                &raw const device.id,
                std::ptr::null(),
                std::ptr::null_mut(),
                &raw mut status,
            )
        };
        check(CALL, status)?;
        exit::watch(&FIRST_CONTEXT);
        Ok(Self(Arc::new(ContextHandle { device: Arc::clone(device), raw })))
    }
}

impl Context for ClContext {
    fn allocate(
        &self,
        kind: MemoryKind,
        size: NonZeroUsize,
        align: usize,
    ) -> Result<Box<dyn Memory>, DriverError> {
        Ok(Box::new(ClMemory::allocate(&self.0, kind, size, align)?))
    }

    fn create_queue(&self, options: &QueueOptions) -> Result<Box<dyn Queue>, DriverError> {
        Ok(Box::new(ClQueue::create(&self.0, options)?))
    }

    fn promise(&self) -> Result<Promised, DriverError> {
        callback::promise(&self.0)
    }

    fn build(&self, form: CodeForm, code: &[u8]) -> Result<Box<dyn Program>, DriverError> {
        assert_eq!(form, CodeForm::Spirv64, "the runtime builds only forms that a device lists");
        Ok(Box::new(ClProgram::build(&self.0, code)?))
    }

    fn takes_annotation(&self, capability: u32) -> bool {
        capability == variable::HOST_ACCESS && self.0.variables.is_some()
    }

    fn argument_alignment(&self) -> usize {
        if self.0.usm.is_some() { 1 } else { self.0.base_alignment }
    }

    fn as_caching(&self) -> Option<&dyn ProgramBinaries> {
        Some(self)
    }
}
