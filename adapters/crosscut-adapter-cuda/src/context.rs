//! Opened devices.

use std::marker::PhantomData;
use std::num::NonZeroUsize;
use std::ops::Deref;
use std::sync::{Arc, Once};

use crosscut_adapter_api::{
    CodeForm, Context, DriverError, Memory, MemoryKind, Program, ProgramBinaries, Promised, Queue,
    QueueOptions, exit,
};

use crate::abi::{self, Handle};
use crate::clock::Clock;
use crate::device::CuDevice;
use crate::memory::CuMemory;
use crate::pool::EventPools;
use crate::program::CuProgram;
use crate::promise;
use crate::queue::CuQueue;
use crate::sys::Api;

/// The primary context of a device, retained. Memory, programs, queues and events share it.
pub(crate) struct ContextHandle {
    raw: Handle,
    pub(crate) device: Arc<CuDevice>,
    pub(crate) events: EventPools,
    pub(crate) clock: Clock,
}

// SAFETY: the raw pointer is a `CUcontext`, of which CUDA's documentation says that several threads may
// have it current at the same time; it is released once.
unsafe impl Send for ContextHandle {}
// SAFETY: as for `Send`.
unsafe impl Sync for ContextHandle {}

impl Deref for ContextHandle {
    type Target = CuDevice;

    fn deref(&self) -> &CuDevice {
        &self.device
    }
}

/// Shows that a context is current on this thread, and keeps it so until dropped.
pub(crate) struct Current {
    api: &'static Api,
    /// It belongs to this thread.
    _here: PhantomData<*mut ()>,
}

impl Drop for Current {
    fn drop(&mut self) {
        let mut popped = std::ptr::null_mut();
        // SAFETY: this thread has pushed a context, `popped` is writable. There is nobody to tell of a
        // refusal, and no reason for one.
        unsafe { (self.api.cuCtxPopCurrent_v2)(&raw mut popped) };
    }
}

/// Shows that the driver is there and that a context is current; the latter ends first.
pub(crate) struct Entered {
    pub(crate) current: Current,
    _alive: exit::Alive,
}

impl ContextHandle {
    /// Makes it current on this thread. The driver is alive.
    pub(crate) fn make_current(&self, call: &'static str) -> Result<Current, DriverError> {
        let api = self.device.api;
        // SAFETY: the context is retained for as long as this lives.
        api.check(call, unsafe { (api.cuCtxPushCurrent_v2)(self.raw) })?;
        Ok(Current { api, _here: PhantomData })
    }

    /// Begins `call`: the driver is there until the result is dropped, and the context current.
    pub(crate) fn enter(&self, call: &'static str) -> Result<Entered, DriverError> {
        let _alive = exit::enter(call)?;
        Ok(Entered { current: self.make_current(call)?, _alive })
    }

    /// The same for releases, which are not needed where it is `None`.
    pub(crate) fn enter_if_alive(&self) -> Option<Entered> {
        let _alive = exit::driver()?;
        Some(Entered { current: self.make_current("cuCtxPushCurrent_v2").ok()?, _alive })
    }
}

impl Drop for ContextHandle {
    fn drop(&mut self) {
        if let Some(_alive) = exit::driver() {
            if let Ok(current) = self.make_current("cuCtxPushCurrent_v2") {
                self.clock.destroy(&current, self.device.api);
                self.events.destroy(&current, self.device.api);
            }
            // SAFETY: it was retained, and nobody else releases it for us; everything that was made of
            // it holds it, so nothing is left but its events and its clock's stream, which are gone.
            unsafe { (self.device.api.cuDevicePrimaryCtxRelease_v2)(self.device.number) };
        }
    }
}

/// A context as the contract has it.
pub(crate) struct CuContext(pub(crate) Arc<ContextHandle>);

impl CuContext {
    pub(crate) fn create(device: &Arc<CuDevice>) -> Result<Self, DriverError> {
        static FIRST_CONTEXT: Once = Once::new();
        const CALL: &str = "cuDevicePrimaryCtxRetain";
        let _alive = exit::enter(CALL)?;
        let (api, mut raw) = (device.api, std::ptr::null_mut());
        // SAFETY: the device is the driver's own, `raw` is writable.
        let status = unsafe { (api.cuDevicePrimaryCtxRetain)(&raw mut raw, device.number) };
        api.check(CALL, status)?;
        exit::watch(&FIRST_CONTEXT);
        Ok(Self(Arc::new(ContextHandle {
            raw,
            device: Arc::clone(device),
            events: EventPools::default(),
            clock: Clock::default(),
        })))
    }
}

impl Context for CuContext {
    fn allocate(
        &self,
        kind: MemoryKind,
        size: NonZeroUsize,
        align: usize,
    ) -> Result<Box<dyn Memory>, DriverError> {
        Ok(Box::new(CuMemory::allocate(&self.0, kind, size, align)?))
    }

    fn create_queue(&self, options: &QueueOptions) -> Result<Box<dyn Queue>, DriverError> {
        Ok(Box::new(CuQueue::create(&self.0, options)?))
    }

    fn promise(&self) -> Result<Promised, DriverError> {
        promise::promise(&self.0)
    }

    fn build(&self, form: CodeForm, code: &[u8]) -> Result<Box<dyn Program>, DriverError> {
        assert_eq!(form, CodeForm::Ptx, "the runtime builds only forms that a device lists");
        Ok(Box::new(CuProgram::build(&self.0, code)?))
    }

    fn as_caching(&self) -> Option<&dyn ProgramBinaries> {
        Some(self)
    }
}

/// What is not CUDA's to say, in its words: a value that it would not take.
pub(crate) fn refused(api: &Api, call: &'static str, why: &str) -> DriverError {
    DriverError { log: Some(why.to_owned()), ..api.error(call, abi::CUDA_ERROR_INVALID_VALUE) }
}
