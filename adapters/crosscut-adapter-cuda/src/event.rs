//! Completion of commands.
//!
//! An event of CUDA's that was never recorded counts as reached, and knows no failure of its own. So what
//! becomes of a command before the driver has it is kept here, beside the driver's event.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use crosscut_adapter_api::watch::{self, Watched};
use crosscut_adapter_api::{
    Completed, DriverError, Event, EventState, EventTimes, Latch, exit, turns,
};

use crate::abi::{self, Handle};
use crate::clock::Stamp;
use crate::context::{ContextHandle, Current};

const SYNCHRONIZE: &str = "cuEventSynchronize";
const QUERY: &str = "cuEventQuery";

/// What we know about a command, or about a promise.
pub(crate) struct EventHandle {
    pub(crate) context: Arc<ContextHandle>,
    /// Which queue the command is on.
    pub(crate) queue: Option<u64>,
    /// Open while the command is not the driver's yet; an error if it never will be.
    pub(crate) fate: Latch,
    /// The driver's events, from when the command is its; none of a promise.
    recorded: OnceLock<Recorded>,
}

/// The driver's events of one command.
pub(crate) struct Recorded {
    /// Reached when the command has ended.
    pub(crate) end: Handle,
    /// On a queue with profiling: reached before the command starts, and when it was handed over.
    pub(crate) begin: Option<(Handle, Stamp)>,
}

// SAFETY: the raw pointers are `CUevent`s, which any thread may use; they are recorded before this is
// shared.
unsafe impl Send for Recorded {}
// SAFETY: as for `Send`.
unsafe impl Sync for Recorded {}

impl EventHandle {
    /// An event for a command that is about to be submitted, or for a promise.
    pub(crate) fn new(context: &Arc<ContextHandle>, queue: Option<u64>) -> Arc<Self> {
        let context = Arc::clone(context);
        Arc::new(Self { context, queue, fate: Latch::default(), recorded: OnceLock::new() })
    }

    /// Whether the driver has the command, or never will.
    pub(crate) fn is_settled(&self) -> bool {
        self.fate.get().is_some()
    }

    /// What the command failed with before the driver had it.
    pub(crate) fn failure(&self) -> Option<DriverError> {
        self.fate.get()?.err()
    }

    /// Has the event fail: the driver never had its command.
    pub(crate) fn fail(self: &Arc<Self>, failure: DriverError) {
        let event = Arc::clone(self);
        turns::take(move || event.fate.set(Err(failure)));
    }

    /// The driver has the command: the event is to be settled next.
    pub(crate) fn record(&self, recorded: Recorded) {
        if self.recorded.set(recorded).is_err() {
            unreachable!("a command is handed over once");
        }
    }

    /// The driver's event that is reached when the command has ended; none of what is settled without one.
    /// Whoever asks has found the event settled: before that, having none says nothing.
    pub(crate) fn end(&self) -> Option<Handle> {
        self.recorded.get().map(|recorded| recorded.end)
    }

    /// Whether the command has ended, or the driver does not know any more.
    pub(crate) fn is_over(&self, _current: &Current) -> bool {
        if !self.is_settled() {
            return false;
        }
        let Some(end) = self.end() else { return true };
        // SAFETY: the event is alive, and of the context that is current.
        let status = unsafe { (self.context.api.cuEventQuery)(end) };
        // Without memory to answer, the driver has not said that the command is over.
        !matches!(status, abi::CUDA_ERROR_NOT_READY | abi::CUDA_ERROR_OUT_OF_MEMORY)
    }

    /// Blocks until the command has ended, whether or not it ever was the driver's.
    pub(crate) fn wait_until_over(&self) -> Result<(), DriverError> {
        let _waiting = exit::wait(SYNCHRONIZE)?;
        // What it failed with is for those who ask the event itself.
        let _ = self.fate.wait();
        let Some(end) = self.end() else { return Ok(()) };
        let (api, _current) = (self.context.api, self.context.make_current(SYNCHRONIZE)?);
        // SAFETY: the event is alive, and of the context that is current.
        api.check(SYNCHRONIZE, unsafe { (api.cuEventSynchronize)(end) })
    }

    /// How far the command has come.
    fn state(&self, _current: &Current) -> Result<EventState, DriverError> {
        match self.fate.get() {
            None => return Ok(EventState::Submitted),
            Some(outcome) => outcome?,
        }
        let Some(end) = self.end() else { return Ok(EventState::Complete) };
        // SAFETY: the event is alive, and of the context that is current.
        match unsafe { (self.context.api.cuEventQuery)(end) } {
            abi::CUDA_SUCCESS => Ok(EventState::Complete),
            // Whether a command has started is not told.
            abi::CUDA_ERROR_NOT_READY => Ok(EventState::Submitted),
            code => Err(self.context.api.error(QUERY, code)),
        }
    }
}

impl Drop for EventHandle {
    fn drop(&mut self) {
        let Some(Recorded { end, begin }) = self.recorded.take() else { return };
        let events = &self.context.events;
        events.give_back(end, begin.is_some());
        if let Some((begin, stamp)) = begin {
            events.give_back(begin, true);
            stamp.give_back(&self.context);
        }
    }
}

/// An event as the contract has it.
pub(crate) struct CuEvent(pub(crate) Arc<EventHandle>);

impl CuEvent {
    /// The adapter's own type behind `event`.
    pub(crate) fn handle(event: &dyn Event) -> &Arc<EventHandle> {
        match event.as_any().downcast_ref::<Self>() {
            Some(event) => &event.0,
            None => panic!("the runtime hands over only events of the same context"),
        }
    }
}

impl Event for CuEvent {
    fn state(&self) -> Result<EventState, DriverError> {
        self.0.state(&self.0.context.enter(QUERY)?.current)
    }

    fn wait(&self) -> Result<(), DriverError> {
        self.0.wait_until_over()?;
        self.0.failure().map_or(Ok(()), Err)
    }

    /// Done already: to CUDA, having asked whether an event is complete is as good as having waited for it.
    fn acquire(&self) -> Result<(), DriverError> {
        Ok(())
    }

    fn on_complete(&self, call: Completed) -> Result<(), DriverError> {
        let entered = self.0.context.enter(QUERY)?;
        let calling = Box::new(Calling { event: Arc::clone(&self.0), call });
        let is_over = calling.event.is_over(&entered.current);
        drop(entered);
        if is_over {
            calling.end();
            return Ok(());
        }
        watch::over(calling).map_err(|_| DriverError {
            log: Some("the system gives no thread that would call".to_owned()),
            ..self.0.context.api.error(QUERY, abi::CUDA_ERROR_OUT_OF_MEMORY)
        })
    }

    fn times(&self) -> Result<Option<EventTimes>, DriverError> {
        let Some(Recorded { end, begin: Some((begin, stamp)) }) = self.0.recorded.get() else {
            return Ok(None);
        };
        let (api, entered) = (self.0.context.api, self.0.context.enter("cuEventElapsedTime")?);
        let started = stamp.time_of(&entered.current, api, *begin)?;
        let ended = stamp.time_of(&entered.current, api, *end)?.max(started);
        // The clocks of host and device are only nearly one.
        let submitted = stamp.submitted.min(started);
        Ok(Some(EventTimes { submitted, started, ended }))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// Somebody who wants to be called.
struct Calling {
    event: Arc<EventHandle>,
    call: Completed,
}

impl Watched for Calling {
    fn is_over(&mut self) -> bool {
        // What cannot be asked about any more is over.
        let current = self.event.context.make_current(QUERY);
        current.map_or(true, |current| self.event.is_over(&current))
    }

    fn end(self: Box<Self>) {
        let Self { event, call } = *self;
        let outcome = match event.context.enter(QUERY) {
            Ok(entered) => event.state(&entered.current).map(|_| ()),
            Err(refusal) => Err(refusal),
        };
        call(outcome);
    }
}
