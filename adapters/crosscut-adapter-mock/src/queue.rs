//! Submitting commands.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use crosscut_adapter_api::{Argument, DriverError, Event, Extent, Kernel, Location, Memory, Queue};

use crate::engine::{Command, Engine};
use crate::event::{Completion, MockEvent};
use crate::log::{Call, Operation, RecordedArgument};
use crate::memory::HostMemory;
use crate::program::{Launch, MockKernel, Resolved};

pub(crate) struct MockQueue {
    engine: Arc<Engine>,
    number: u64,
    /// The commands that may not have completed.
    submitted: Mutex<Vec<Arc<Completion>>>,
}

/// A pointer of the caller's that a command carries.
struct HostPointer<T>(T);

// SAFETY: the contract of the queue's methods lets the pointer be used from any thread until the
// command's event completes, and the command is the only one to use it.
unsafe impl<T> Send for HostPointer<T> {}

impl<T: Copy> HostPointer<T> {
    /// By a method, so that a closure captures this type and not the bare pointer inside.
    fn get(&self) -> T {
        self.0
    }
}

fn own(memory: &dyn Memory) -> &HostMemory {
    match memory.as_any().downcast_ref() {
        Some(memory) => memory,
        None => panic!("the runtime hands over only memory of the same context"),
    }
}

fn numbers(after: &[&dyn Event]) -> Vec<u64> {
    let number = |event: &&dyn Event| match event.as_any().downcast_ref::<MockEvent>() {
        Some(event) => event.number,
        None => panic!("the runtime hands over only events of the same context"),
    };
    after.iter().map(number).collect()
}

impl MockQueue {
    pub(crate) fn new(engine: &Arc<Engine>, number: u64) -> Self {
        Self { engine: Arc::clone(engine), number, submitted: Mutex::default() }
    }

    fn submit(&self, event: u64, uses: Vec<u64>, run: Box<dyn FnOnce() + Send>) -> Box<dyn Event> {
        let completion = Arc::new(Completion::default());
        let mut submitted = self.submitted.lock().unwrap_or_else(PoisonError::into_inner);
        submitted.retain(|command| command.get().is_none());
        submitted.push(Arc::clone(&completion));
        drop(submitted);
        self.engine.submit(Command { uses, run, completion: Arc::clone(&completion) });
        Box::new(MockEvent { engine: Arc::clone(&self.engine), number: event, completion })
    }
}

impl Queue for MockQueue {
    unsafe fn launch(
        &self,
        kernel: &dyn Kernel,
        extent: Extent,
        arguments: &[Argument<'_>],
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        let Some(kernel) = kernel.as_any().downcast_ref::<MockKernel>() else {
            panic!("the runtime hands over only kernels of the same context");
        };
        let (mut recorded, mut resolved, mut uses) = (Vec::new(), Vec::new(), Vec::new());
        for argument in arguments {
            match *argument {
                Argument::Value(bytes) => {
                    recorded.push(RecordedArgument::Value(bytes.to_vec()));
                    resolved.push(Resolved::Value(bytes.to_vec()));
                }
                Argument::Memory { memory, offset } => {
                    assert!(
                        offset.is_multiple_of(self.engine.argument_alignment()),
                        "the runtime gives offsets that are multiples of the argument alignment"
                    );
                    let memory = own(memory);
                    let Some(view) = memory.view().from(offset) else {
                        panic!("the runtime gives offsets less than the size");
                    };
                    let number = memory.number;
                    recorded.push(RecordedArgument::Memory { memory: number, offset });
                    resolved.push(Resolved::Memory(view));
                    uses.push(number);
                }
            }
        }
        let (queue, event) = (self.number, self.engine.number());
        self.engine.record(Operation::Launch, || Call::Launch {
            queue,
            event,
            kernel: kernel.name.clone(),
            extent,
            arguments: recorded,
            after: numbers(after),
        })?;
        let (body, engine) = (Arc::clone(&kernel.body), Arc::clone(&self.engine));
        let run = move || body(&Launch { extent, arguments: &resolved, engine: &engine });
        Ok(self.submit(event, uses, Box::new(run)))
    }

    unsafe fn write(
        &self,
        target: &dyn Memory,
        offset: usize,
        source: *const u8,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        let target = own(target);
        let (queue, event, memory) = (self.number, self.engine.number(), target.number);
        let after = numbers(after);
        let call = || Call::Write { queue, event, memory, offset, size, after };
        self.engine.record(Operation::Write, call)?;
        let (view, source) = (target.view(), HostPointer(source));
        let run = move || {
            // SAFETY: the runtime gives ranges inside the allocation; the caller keeps `source`
            // until the event completes; memory that is freed early withdraws the command.
            unsafe { view.copy_from(offset, source.get(), size.get()) };
        };
        Ok(self.submit(event, vec![memory], Box::new(run)))
    }

    unsafe fn read(
        &self,
        source: &dyn Memory,
        offset: usize,
        target: *mut u8,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        let source = own(source);
        let (queue, event, memory) = (self.number, self.engine.number(), source.number);
        let after = numbers(after);
        let call = || Call::Read { queue, event, memory, offset, size, after };
        self.engine.record(Operation::Read, call)?;
        let (view, target) = (source.view(), HostPointer(target));
        let run = move || {
            // SAFETY: as for a write, with the caller keeping `target`.
            unsafe { view.copy_to(offset, target.get(), size.get()) };
        };
        Ok(self.submit(event, vec![memory], Box::new(run)))
    }

    unsafe fn fill(
        &self,
        target: &dyn Memory,
        offset: usize,
        pattern: &[u8],
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        let length = pattern.len();
        assert!(length.is_power_of_two() && length <= 128, "a pattern of {length} bytes");
        let whole = offset.is_multiple_of(length) && size.get().is_multiple_of(length);
        assert!(whole, "the runtime fills whole patterns at multiples of their length");
        let target = own(target);
        let (queue, event, memory) = (self.number, self.engine.number(), target.number);
        let (after, pattern) = (numbers(after), pattern.to_vec());
        let call = || {
            let pattern = pattern.clone();
            Call::Fill { queue, event, memory, offset, pattern, size, after }
        };
        self.engine.record(Operation::Fill, call)?;
        let view = target.view();
        let run = move || view.write(offset, &pattern.repeat(size.get() / pattern.len()));
        Ok(self.submit(event, vec![memory], Box::new(run)))
    }

    unsafe fn copy(
        &self,
        target: Location<'_>,
        source: Location<'_>,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        let (to, from) = (own(target.memory), own(source.memory));
        let apart = target.offset.abs_diff(source.offset) >= size.get();
        assert!(to.number != from.number || apart, "the runtime copies between apart places");
        let (queue, event, after) = (self.number, self.engine.number(), numbers(after));
        let call = || Call::Copy {
            queue,
            event,
            target: (to.number, target.offset),
            source: (from.number, source.offset),
            size,
            after,
        };
        self.engine.record(Operation::Copy, call)?;
        let uses = vec![to.number, from.number];
        let (to, from, target, source) = (to.view(), from.view(), target.offset, source.offset);
        let run = move || {
            let mut bytes = vec![0; size.get()];
            from.read(source, &mut bytes);
            to.write(target, &bytes);
        };
        Ok(self.submit(event, uses, Box::new(run)))
    }

    fn wait(&self) -> Result<(), DriverError> {
        let queue = self.number;
        self.engine.record(Operation::QueueWait, || Call::QueueWait { queue })?;
        let submitted = self.submitted.lock().unwrap_or_else(PoisonError::into_inner).clone();
        submitted.iter().try_for_each(|command| command.wait())
    }
}
