//! Variables of programs, which are the test's bytes.

use std::any::Any;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use crosscut_adapter_api::{DriverError, Event, Variable, VariableQueue};

use crate::log::{Call, Operation};
use crate::queue::{HostPointer, MockQueue, numbers, waits};

/// The bytes of a variable; all programs share them.
pub(crate) type Bytes = Arc<Mutex<Vec<u8>>>;

pub(crate) struct MockVariable {
    name: String,
    size: NonZeroUsize,
    bytes: Bytes,
}

impl MockVariable {
    /// `None` for a variable without bytes.
    pub(crate) fn new(name: &str, bytes: Bytes) -> Option<Self> {
        let size = bytes.lock().unwrap_or_else(PoisonError::into_inner).len();
        Some(Self { name: name.to_owned(), size: NonZeroUsize::new(size)?, bytes })
    }

    fn of(variable: &dyn Variable) -> &Self {
        match variable.as_any().downcast_ref() {
            Some(variable) => variable,
            None => panic!("the runtime hands over only variables of the same context"),
        }
    }
}

impl Variable for MockVariable {
    fn size(&self) -> NonZeroUsize {
        self.size
    }

    fn device_address(&self) -> Option<u64> {
        None
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl VariableQueue for MockQueue {
    unsafe fn write_variable(
        &self,
        target: &dyn Variable,
        offset: usize,
        source: *const u8,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        let target = MockVariable::of(target);
        let (queue, event, name) = (self.number, self.engine.number(), target.name.clone());
        let (waits, after) = (waits(after), numbers(after));
        let call = || Call::WriteVariable { queue, event, name, offset, size, after };
        self.engine.record(Operation::WriteVariable, call)?;
        let (bytes, source) = (Arc::clone(&target.bytes), HostPointer(source));
        let run = move || {
            let mut bytes = bytes.lock().unwrap_or_else(PoisonError::into_inner);
            // SAFETY: the caller keeps `source` readable until the event completes.
            let source = unsafe { std::slice::from_raw_parts(source.get(), size.get()) };
            bytes[offset..offset + size.get()].copy_from_slice(source);
        };
        Ok(self.submit(event, Vec::new(), waits, Box::new(run)))
    }

    unsafe fn read_variable(
        &self,
        source: &dyn Variable,
        offset: usize,
        target: *mut u8,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        let source = MockVariable::of(source);
        let (queue, event, name) = (self.number, self.engine.number(), source.name.clone());
        let (waits, after) = (waits(after), numbers(after));
        let call = || Call::ReadVariable { queue, event, name, offset, size, after };
        self.engine.record(Operation::ReadVariable, call)?;
        let (bytes, target) = (Arc::clone(&source.bytes), HostPointer(target));
        let run = move || {
            let bytes = bytes.lock().unwrap_or_else(PoisonError::into_inner);
            let part = &bytes[offset..offset + size.get()];
            // SAFETY: the caller keeps `target` writable, and for this command alone, until the event
            // completes; the part has as many bytes.
            unsafe { std::ptr::copy(part.as_ptr(), target.get(), size.get()) };
        };
        Ok(self.submit(event, Vec::new(), waits, Box::new(run)))
    }
}
