//! Opened devices.

use std::num::NonZeroUsize;
use std::ops::Deref;
use std::sync::{Arc, Once};

use crosscut_adapter_api::{
    CodeForm, Context, DeviceKind, DriverError, Feature, Memory, MemoryKind, Program,
    ProgramBinaries, Promised, Queue, QueueOptions,
};

use crate::callback;
use crate::device::ClDevice;
use crate::error::check;
use crate::exit;
use crate::memory::ClMemory;
use crate::program::ClProgram;
use crate::queue::ClQueue;
use crate::reach::Reach;
use crate::sys::Handle;
use crate::variable;

/// A `cl_context`. The last of its devices' contexts releases it.
struct Shared {
    raw: Handle,
    /// Sub-devices are released after it.
    devices: Vec<Arc<ClDevice>>,
}

/// A `cl_context` on one of its devices. Memory, programs and queues share it.
pub(crate) struct ContextHandle {
    pub(crate) raw: Handle,
    /// The memory that all devices reach: this counts, not what the one device has.
    pub(crate) reach: Reach,
    pub(crate) device: Arc<ClDevice>,
    /// Where `raw` comes from.
    _shared: Arc<Shared>,
}

// SAFETY: the raw pointer is a `cl_context`, and OpenCL 3.0, appendix A.2, says: "All OpenCL API
// calls are thread-safe except those that modify the state of cl_kernel objects".
unsafe impl Send for Shared {}
// SAFETY: as for `Send`.
unsafe impl Sync for Shared {}
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

impl Drop for Shared {
    fn drop(&mut self) {
        if let (Some(_alive), Some(device)) = (exit::driver(), self.devices.first()) {
            // SAFETY: this is the one reference that `clCreateContext` gave.
            unsafe { (device.api.clReleaseContext)(self.raw) };
        }
    }
}

/// A context as the contract has it.
pub(crate) struct ClContext(pub(crate) Arc<ContextHandle>);

impl ClContext {
    /// Opens one device.
    pub(crate) fn create(device: &Arc<ClDevice>) -> Result<Self, DriverError> {
        let shared = Shared::create(vec![Arc::clone(device)])?;
        Ok(Self::on(device, &shared, Reach::of_one(device)))
    }

    /// Opens several devices together, each in its place.
    pub(crate) fn create_several(
        first: &Arc<ClDevice>,
        others: Vec<Arc<ClDevice>>,
    ) -> Result<Vec<Self>, DriverError> {
        let reach = Reach::of_several(first, others.iter().map(|device| &**device));
        let devices = std::iter::once(Arc::clone(first)).chain(others).collect();
        let shared = Shared::create(devices)?;
        Ok(shared.devices.iter().map(|device| Self::on(device, &shared, reach)).collect())
    }

    fn on(device: &Arc<ClDevice>, shared: &Arc<Shared>, reach: Reach) -> Self {
        let (device, _shared) = (Arc::clone(device), Arc::clone(shared));
        Self(Arc::new(ContextHandle { raw: shared.raw, reach, device, _shared }))
    }
}

impl Shared {
    /// One `cl_context` for devices of one platform, of which there is at least one.
    fn create(devices: Vec<Arc<ClDevice>>) -> Result<Arc<Self>, DriverError> {
        static FIRST_CONTEXT: Once = Once::new();
        const CALL: &str = "clCreateContext";
        let _alive = exit::enter(CALL)?;
        let ids: Vec<Handle> = devices.iter().map(|device| device.id).collect();
        let mut status = 0;
        // SAFETY: no properties and no callback; as many devices as are said, which live as long as
        // what is made here; `status` is writable.
        let raw = unsafe {
            (devices[0].api.clCreateContext)(
                std::ptr::null(),
                ids.len() as u32,
                ids.as_ptr(),
                std::ptr::null(),
                std::ptr::null_mut(),
                &raw mut status,
            )
        };
        check(CALL, status)?;
        exit::watch(&FIRST_CONTEXT);
        Ok(Arc::new(Self { raw, devices }))
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

    fn reorders_loops(&self) -> bool {
        // Intel's runtime for CPUs (2026.22) vectorises loops of an item as if no turn depended on another.
        let info = &self.0.info;
        info.kind == DeviceKind::Cpu && info.platform_vendor.starts_with("Intel")
    }

    fn argument_alignment(&self) -> usize {
        if self.0.reach.usm.is_some() { 1 } else { self.0.reach.base_alignment }
    }

    fn lacks(&self, feature: Feature) -> bool {
        self.0.reach.lacks(feature)
    }

    fn as_caching(&self) -> Option<&dyn ProgramBinaries> {
        Some(self)
    }
}
