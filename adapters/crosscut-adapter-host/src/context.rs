//! A context: the right to allocate, and to use the device's threads.

use std::num::NonZeroUsize;
use std::sync::Arc;

use crosscut_adapter_api::{
    CodeForm, Context, DriverError, Memory, MemoryKind, Program, Promised, Queue, QueueOptions,
};

use crate::event::{HostPromise, Later, LaterEvent};
use crate::memory::HostMemory;
use crate::queue::HostQueue;
use crate::workers::Workers;

pub(crate) struct HostContext {
    pub(crate) workers: Arc<Workers>,
}

impl Context for HostContext {
    fn allocate(
        &self,
        _kind: MemoryKind,
        size: NonZeroUsize,
        align: usize,
    ) -> Result<Box<dyn Memory>, DriverError> {
        Ok(Box::new(HostMemory::allocate(size, align)?))
    }

    fn create_queue(&self, options: &QueueOptions) -> Result<Box<dyn Queue>, DriverError> {
        Ok(Box::new(HostQueue::new(options, &self.workers)))
    }

    fn promise(&self) -> Result<Promised, DriverError> {
        let later = Later::new(None);
        Ok((Box::new(LaterEvent(Arc::clone(&later))), Box::new(HostPromise(later))))
    }

    fn build(&self, form: CodeForm, _code: &[u8]) -> Result<Box<dyn Program>, DriverError> {
        unreachable!("the host CPU takes native code only, and was given {form:?}")
    }
}
