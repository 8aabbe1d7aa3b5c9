//! A queue that writes what is submitted to it, and its events.

use std::any::Any;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use crosscut_adapter_api::{
    Argument, Completed, DriverError, Event, EventState, EventTimes, Extent, Kernel, Location,
    Memory, NativeEntry, NativeLaunch, NativeOutcome, NativeQueue, Queue, Variable, VariableQueue,
};

use super::current_name;
use super::execution::{Execution, Track};
use super::writer::{Time, quoted};

pub(super) struct TracedQueue {
    pub(super) inner: Box<dyn Queue>,
    pub(super) track: Arc<Track>,
    /// Whether its events tell when they ran to those who ask them.
    pub(super) tells_times: bool,
}

/// What is to be written about a command.
struct Command {
    category: &'static str,
    name: String,
    /// Members of an object of JSON, each after a comma.
    arguments: String,
}

impl Command {
    fn kernel(extent: &Extent) -> Self {
        let sizes = &extent.size[..usize::from(extent.dimensions).clamp(1, 3)];
        Self {
            category: "kernel",
            name: current_name().unwrap_or_else(|| "kernel".to_owned()),
            arguments: format!(",\"range\":{sizes:?}"),
        }
    }

    fn transfer(name: &str, size: NonZeroUsize) -> Self {
        Self {
            category: "transfer",
            name: format!("{name} {size} bytes"),
            arguments: format!(",\"bytes\":{size}"),
        }
    }
}

impl TracedQueue {
    /// Submits a command, and writes what becomes of it.
    fn submit(
        &self,
        command: Command,
        submit: impl FnOnce() -> Result<Box<dyn Event>, DriverError>,
    ) -> Result<Box<dyn Event>, DriverError> {
        let begin = self.track.writer.now();
        let submitted = submit();
        let end = self.track.writer.now();
        let event = self.submitted(command, begin, end, submitted)?;
        Ok(event)
    }

    fn submitted(
        &self,
        command: Command,
        begin: Time,
        end: Time,
        event: Result<Box<dyn Event>, DriverError>,
    ) -> Result<Box<dyn Event>, DriverError> {
        let writer = self.track.writer;
        let number = writer.commands.fetch_add(1, Ordering::Relaxed);
        let Command { category, name, arguments } = command;
        let refusal = match &event {
            Ok(_) => String::new(),
            Err(error) => format!(",\"refused\":{}", quoted(&error.to_string())),
        };
        let members =
            format!("\"command\":{number},\"queue\":{}{arguments}{refusal}", self.track.number);
        writer.on_this_thread("submit", &format!("submit {name}"), begin, end, &members);
        let event = event?;
        writer.arrow_from_this_thread(number, begin);
        let complete = matches!(event.is_complete(), Ok(true));
        let execution = Arc::new(Execution {
            number,
            name,
            category,
            arguments,
            submitted: begin,
            event,
            noted: AtomicBool::new(false),
        });
        if complete {
            self.track.settle();
            self.track.ran(&execution, end);
        } else {
            self.track.follow(&execution);
        }
        let (track, tells_times) = (Arc::clone(&self.track), self.tells_times);
        Ok(Box::new(TracedEvent { execution, track, tells_times }))
    }
}

impl Queue for TracedQueue {
    unsafe fn launch(
        &self,
        kernel: &dyn Kernel,
        extent: Extent,
        arguments: &[Argument<'_>],
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        self.submit(Command::kernel(&extent), || {
            // SAFETY: the caller's promise is passed on.
            unsafe { self.inner.launch(kernel, extent, arguments, after) }
        })
    }

    unsafe fn write(
        &self,
        target: &dyn Memory,
        offset: usize,
        source: *const u8,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        self.submit(Command::transfer("write", size), || {
            // SAFETY: the caller's promise is passed on.
            unsafe { self.inner.write(target, offset, source, size, after) }
        })
    }

    unsafe fn read(
        &self,
        source: &dyn Memory,
        offset: usize,
        target: *mut u8,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        self.submit(Command::transfer("read", size), || {
            // SAFETY: the caller's promise is passed on.
            unsafe { self.inner.read(source, offset, target, size, after) }
        })
    }

    unsafe fn fill(
        &self,
        target: &dyn Memory,
        offset: usize,
        pattern: &[u8],
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        self.submit(Command::transfer("fill", size), || {
            // SAFETY: the caller's promise is passed on.
            unsafe { self.inner.fill(target, offset, pattern, size, after) }
        })
    }

    unsafe fn copy(
        &self,
        target: Location<'_>,
        source: Location<'_>,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        self.submit(Command::transfer("copy", size), || {
            // SAFETY: the caller's promise is passed on.
            unsafe { self.inner.copy(target, source, size, after) }
        })
    }

    fn barrier(&self, after: &[&dyn Event]) -> Result<Box<dyn Event>, DriverError> {
        let (name, arguments) = ("barrier".to_owned(), String::new());
        let barrier = Command { category: "barrier", name, arguments };
        self.submit(barrier, || self.inner.barrier(after))
    }

    fn wait(&self) -> Result<(), DriverError> {
        waiting(&self.track, || self.inner.wait())
    }

    fn as_variables(&self) -> Option<&dyn VariableQueue> {
        self.inner.as_variables()?;
        Some(self)
    }

    fn as_native(&self) -> Option<&dyn NativeQueue> {
        self.inner.as_native()?;
        Some(self)
    }
}

impl TracedQueue {
    fn variables(&self) -> &dyn VariableQueue {
        match self.inner.as_variables() {
            Some(variables) => variables,
            None => unreachable!("`as_variables` gave this away only if there is one"),
        }
    }
}

impl VariableQueue for TracedQueue {
    unsafe fn write_variable(
        &self,
        target: &dyn Variable,
        offset: usize,
        source: *const u8,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        self.submit(Command::transfer("write", size), || {
            // SAFETY: the caller's promise is passed on.
            unsafe { self.variables().write_variable(target, offset, source, size, after) }
        })
    }

    unsafe fn read_variable(
        &self,
        source: &dyn Variable,
        offset: usize,
        target: *mut u8,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        self.submit(Command::transfer("read", size), || {
            // SAFETY: the caller's promise is passed on.
            unsafe { self.variables().read_variable(source, offset, target, size, after) }
        })
    }
}

impl NativeQueue for TracedQueue {
    unsafe fn launch_native(
        &self,
        entry: NativeEntry,
        launch: &NativeLaunch<'_>,
        after: &[&dyn Event],
    ) -> Result<NativeOutcome, DriverError> {
        let Some(native) = self.inner.as_native() else {
            unreachable!("`as_native` gave this away only if there is one")
        };
        let command = Command::kernel(&launch.extent);
        let begin = self.track.writer.now();
        // SAFETY: the caller's promise is passed on.
        let outcome = unsafe { native.launch_native(entry, launch, after) };
        let end = self.track.writer.now();
        let (event, outcome) = match outcome {
            Ok((event, outcome)) => (Ok(event), outcome),
            Err(error) => (Err(error), Ok(())),
        };
        Ok((self.submitted(command, begin, end, event)?, outcome))
    }
}

/// Waits, writes for how long, and notes what has completed by then.
fn waiting(
    track: &Track,
    wait: impl FnOnce() -> Result<(), DriverError>,
) -> Result<(), DriverError> {
    let begin = track.writer.now();
    let result = wait();
    let end = track.writer.now();
    track.settle();
    track.writer.on_this_thread("wait", "wait", begin, end, &format!("\"queue\":{}", track.number));
    result
}

/// The event of a command. To an adapter it is the adapter's own.
struct TracedEvent {
    execution: Arc<Execution>,
    track: Arc<Track>,
    tells_times: bool,
}

impl Event for TracedEvent {
    fn state(&self) -> Result<EventState, DriverError> {
        self.execution.event.state()
    }

    fn wait(&self) -> Result<(), DriverError> {
        if self.execution.noted.load(Ordering::Acquire) {
            return self.execution.event.wait();
        }
        waiting(&self.track, || self.execution.event.wait())
    }

    fn acquire(&self) -> Result<(), DriverError> {
        self.execution.event.acquire()
    }

    fn on_complete(&self, call: Completed) -> Result<(), DriverError> {
        self.execution.event.on_complete(call)
    }

    fn times(&self) -> Result<Option<EventTimes>, DriverError> {
        if self.tells_times { self.execution.event.times() } else { Ok(None) }
    }

    fn as_any(&self) -> &dyn Any {
        self.execution.event.as_any()
    }
}
