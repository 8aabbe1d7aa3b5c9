//! Submitting commands.

use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crosscut_adapter_api::{
    Argument, DriverError, Event, Extent, Kernel, Location, Memory, Queue, QueueOptions,
    QueueOrder, VariableQueue,
};

use crate::engine::{Command, Engine};
use crate::event::{Completion, MockEvent};
use crate::log::{Call, Operation, RecordedArgument};
use crate::memory::HostMemory;
use crate::program::{Launch, MockKernel, Resolved};

pub(crate) struct MockQueue {
    pub(crate) engine: Arc<Engine>,
    pub(crate) number: u64,
    options: QueueOptions,
    line: Mutex<Line>,
}

/// The commands of a queue, as far as later ones may have to wait for them.
#[derive(Default)]
struct Line {
    /// Those that may not have completed.
    submitted: Vec<Arc<Completion>>,
    /// The last barrier.
    barrier: Option<Arc<Completion>>,
}

/// What a command has to wait for.
pub(crate) struct Waits(Vec<Arc<Completion>>);

/// A pointer of the caller's that a command carries.
pub(crate) struct HostPointer<T>(pub(crate) T);

// SAFETY: the contract of the queue's methods lets the pointer be used from any thread until the
// command's event completes, and the command is the only one to use it.
unsafe impl<T> Send for HostPointer<T> {}

impl<T: Copy> HostPointer<T> {
    /// By a method, so that a closure captures this type and not the bare pointer inside.
    pub(crate) fn get(&self) -> T {
        self.0
    }
}

fn own(memory: &dyn Memory) -> &HostMemory {
    match memory.as_any().downcast_ref() {
        Some(memory) => memory,
        None => panic!("the runtime hands over only memory of the same context"),
    }
}

pub(crate) fn numbers(after: &[&dyn Event]) -> Vec<u64> {
    let number = |event: &&dyn Event| match event.as_any().downcast_ref::<MockEvent>() {
        Some(event) => event.number,
        None => panic!("the runtime hands over only events of the same context"),
    };
    after.iter().map(number).collect()
}

/// The commands behind the events.
pub(crate) fn waits(after: &[&dyn Event]) -> Waits {
    let completion = |event: &&dyn Event| {
        let event = event.as_any().downcast_ref::<MockEvent>();
        event.map(|event| Arc::clone(&event.completion))
    };
    Waits(after.iter().filter_map(completion).collect())
}

impl MockQueue {
    pub(crate) fn new(engine: &Arc<Engine>, number: u64, options: QueueOptions) -> Self {
        Self { engine: Arc::clone(engine), number, options, line: Mutex::default() }
    }

    fn line(&self) -> MutexGuard<'_, Line> {
        self.line.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(crate) fn submit(
        &self,
        event: u64,
        uses: Vec<u64>,
        Waits(after): Waits,
        run: Box<dyn FnOnce() + Send>,
    ) -> Box<dyn Event> {
        let completion = Arc::new(Completion::default());
        let mut line = self.line();
        line.submitted.retain(|command| command.latch.get().is_none());
        let order = match self.options.order {
            QueueOrder::InOrder => line.submitted.last().cloned(),
            QueueOrder::OutOfOrder => line.barrier.clone(),
        };
        line.submitted.push(Arc::clone(&completion));
        drop(line);
        self.start(event, uses, order.into_iter().collect(), after, completion, run)
    }

    fn start(
        &self,
        number: u64,
        uses: Vec<u64>,
        order: Vec<Arc<Completion>>,
        after: Vec<Arc<Completion>>,
        completion: Arc<Completion>,
        run: Box<dyn FnOnce() + Send>,
    ) -> Box<dyn Event> {
        let engine = Arc::clone(&self.engine);
        let event = MockEvent {
            engine,
            number,
            completion: Arc::clone(&completion),
            profiling: self.options.profiling,
        };
        self.engine.submit(Command { uses, order, after, run, completion });
        Box::new(event)
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
                Argument::Local(size) => {
                    recorded.push(RecordedArgument::Local(size.get()));
                    resolved.push(Resolved::Local(size.get()));
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
        let waits = waits(after);
        let (body, engine) = (Arc::clone(&kernel.body), Arc::clone(&self.engine));
        let run = move || body(&Launch { extent, arguments: &resolved, engine: &engine });
        Ok(self.submit(event, uses, waits, Box::new(run)))
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
        let (waits, after) = (waits(after), numbers(after));
        let call = || Call::Write { queue, event, memory, offset, size, after };
        self.engine.record(Operation::Write, call)?;
        let (view, source) = (target.view(), HostPointer(source));
        let run = move || {
            // SAFETY: the runtime gives ranges inside the allocation; the caller keeps `source`
            // until the event completes; memory that is freed early withdraws the command.
            unsafe { view.copy_from(offset, source.get(), size.get()) };
        };
        Ok(self.submit(event, vec![memory], waits, Box::new(run)))
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
        let (waits, after) = (waits(after), numbers(after));
        let call = || Call::Read { queue, event, memory, offset, size, after };
        self.engine.record(Operation::Read, call)?;
        let (view, target) = (source.view(), HostPointer(target));
        let run = move || {
            // SAFETY: as for a write, with the caller keeping `target`.
            unsafe { view.copy_to(offset, target.get(), size.get()) };
        };
        Ok(self.submit(event, vec![memory], waits, Box::new(run)))
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
        let aligned = target.device_address().is_none_or(|it| it.is_multiple_of(length as u64));
        assert!(aligned, "memory aligned to less than a pattern of {length} bytes");
        let (queue, event, memory) = (self.number, self.engine.number(), target.number);
        let (waits, after, pattern) = (waits(after), numbers(after), pattern.to_vec());
        let call = || {
            let pattern = pattern.clone();
            Call::Fill { queue, event, memory, offset, pattern, size, after }
        };
        self.engine.record(Operation::Fill, call)?;
        let view = target.view();
        let run = move || view.write(offset, &pattern.repeat(size.get() / pattern.len()));
        Ok(self.submit(event, vec![memory], waits, Box::new(run)))
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
        let (queue, event) = (self.number, self.engine.number());
        let (waits, after) = (waits(after), numbers(after));
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
        Ok(self.submit(event, uses, waits, Box::new(run)))
    }

    fn as_variables(&self) -> Option<&dyn VariableQueue> {
        self.engine.has_variables().then_some(self)
    }

    fn barrier(&self, after: &[&dyn Event]) -> Result<Box<dyn Event>, DriverError> {
        let (queue, event) = (self.number, self.engine.number());
        let (Waits(waits), after) = (waits(after), numbers(after));
        let for_all = after.is_empty();
        self.engine.record(Operation::Barrier, || Call::Barrier { queue, event, after })?;
        let completion = Arc::new(Completion::default());
        let mut line = self.line();
        line.submitted.retain(|command| command.latch.get().is_none());
        let mut order: Vec<_> = line.barrier.iter().cloned().collect();
        if for_all || self.options.order == QueueOrder::InOrder {
            order.extend(line.submitted.iter().cloned());
        }
        line.submitted.push(Arc::clone(&completion));
        line.barrier = Some(Arc::clone(&completion));
        drop(line);
        Ok(self.start(event, Vec::new(), order, waits, completion, Box::new(|| ())))
    }

    fn wait(&self) -> Result<(), DriverError> {
        let queue = self.number;
        self.engine.record(Operation::QueueWait, || Call::QueueWait { queue })?;
        let submitted = self.line().submitted.clone();
        // A failure is told once: what has ended is forgotten.
        let outcomes: Vec<_> = submitted.iter().map(|command| command.latch.wait()).collect();
        self.line().submitted.retain(|command| command.latch.get().is_none());
        outcomes.into_iter().collect()
    }
}
