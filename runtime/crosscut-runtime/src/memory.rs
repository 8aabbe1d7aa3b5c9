//! Device memory: allocations and buffers.

use std::fmt;
use std::mem::ManuallyDrop;
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::{Arc, PoisonError};

use crosscut_adapter_api::{self as adapter, DriverError, DriverErrorKind, MemoryKind};

use crate::context::Context;
use crate::device::Device;
use crate::sync::{Mutex, MutexGuard};
use crate::uses::{Access, Uses};
use crate::{Error, ErrorKind, host_task, worker};

/// An allocation that knows who uses it. Dropping it waits for them, but not inside a host task.
pub(crate) struct Allocation {
    memory: ManuallyDrop<Box<dyn adapter::Memory>>,
    uses: Mutex<Uses>,
}

impl Allocation {
    pub(crate) fn new(memory: Box<dyn adapter::Memory>) -> Arc<Self> {
        Arc::new(Self { memory: ManuallyDrop::new(memory), uses: Mutex::default() })
    }

    pub(crate) fn memory(&self) -> &dyn adapter::Memory {
        &**self.memory
    }

    /// Calls `visit` with where the host has it, and keeps the driver from going meanwhile. False where
    /// the host has it not.
    ///
    /// # Errors
    /// The process is ending, and the memory may be gone.
    pub(crate) fn visit_on_host(
        &self,
        visit: &mut dyn FnMut(NonNull<u8>),
    ) -> Result<bool, DriverError> {
        if self.memory.host_address().is_none() || self.memory.visit_on_host(visit) {
            return Ok(self.memory.host_address().is_some());
        }
        Err(DriverError {
            kind: DriverErrorKind::DeviceLost,
            call: "reading shared memory",
            code: -1,
            log: Some("the process is ending".to_owned()),
        })
    }

    pub(crate) fn uses(&self) -> MutexGuard<'_, Uses> {
        self.uses.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Allocation {
    fn drop(&mut self) {
        // SAFETY: nobody uses `memory` after this: taking it is the last thing that happens to it here.
        let memory = unsafe { ManuallyDrop::take(&mut self.memory) };
        let uses = std::mem::take(self.uses.get_mut().unwrap_or_else(PoisonError::into_inner));
        if host_task::inside_any() && uses.unfinished(Access::Write).is_some() {
            // The command may be behind the task that is running here: it is waited for elsewhere.
            let free = worker::run(Box::new(move || free(memory, &uses)));
            // Without a thread that could wait, nobody frees it.
            let _ = free.map_err(std::mem::forget);
            return;
        }
        free(memory, &uses);
    }
}

/// Frees memory once no command uses it any more.
fn free(memory: Box<dyn adapter::Memory>, uses: &Uses) {
    if !uses.wait() {
        // A command failed, perhaps because one that it waited for did, and others that it waited
        // for may still run. Memory that somebody may touch is not freed.
        std::mem::forget(memory);
    }
}

/// Memory of one context, as bytes. An empty one has no allocation.
pub struct Buffer {
    context: Context,
    allocation: Option<Arc<Allocation>>,
}

impl Buffer {
    /// Allocates uninitialised memory.
    ///
    /// # Errors
    /// There is not enough of it.
    pub fn allocate(context: &Context, size: usize, align: usize) -> Result<Self, Error> {
        let allocation = match NonZeroUsize::new(size) {
            None => None,
            Some(size) => Some(allocate(context, MemoryKind::Device, size, align)?),
        };
        Ok(Self { context: context.clone(), allocation })
    }

    /// Memory that somebody else allocated in this context.
    pub(crate) fn over(context: &Context, allocation: Option<Arc<Allocation>>) -> Self {
        Self { context: context.clone(), allocation }
    }

    /// The context it belongs to.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    pub(crate) fn allocation(&self) -> Option<&Arc<Allocation>> {
        self.allocation.as_ref()
    }

    /// Its size in bytes.
    #[must_use]
    pub fn size(&self) -> usize {
        self.allocation.as_ref().map_or(0, |allocation| allocation.memory().size().get())
    }
}

impl fmt::Debug for Buffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Buffer").field("size", &self.size()).finish_non_exhaustive()
    }
}

/// Allocates, after checking what the device can ever give.
pub(crate) fn allocate(
    context: &Context,
    kind: MemoryKind,
    size: NonZeroUsize,
    align: usize,
) -> Result<Arc<Allocation>, Error> {
    // All devices of the context are to reach it.
    let mut limits = context.devices().iter().map(Device::info);
    if let Some(info) = limits.find(|info| size.get() as u64 > info.largest_allocation) {
        return Err(Error::new(
            ErrorKind::OutOfMemory,
            format!(
                "{size} bytes in one piece, and `{}` gives at most {}",
                info.name, info.largest_allocation
            ),
        )
        .with_help("use several smaller buffers"));
    }
    context.inner().adapter.allocate(kind, size, align).map(Allocation::new).map_err(|error| {
        Error::driver(format!("allocating {size} bytes on `{}`", context.device().name()), error)
    })
}
