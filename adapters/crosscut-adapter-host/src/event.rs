//! Events: complete from the start, but for those of promises and of what waits for them.

use std::any::Any;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Instant;

use crosscut_adapter_api::{
    Completed, DriverError, Event, EventState, EventTimes, Latch, Promise, promise_dropped,
};

/// Nanoseconds since this was first asked.
pub(crate) fn now() -> u64 {
    static START: OnceLock<Instant> = OnceLock::new();
    u64::try_from(START.get_or_init(Instant::now).elapsed().as_nanos()).unwrap_or(u64::MAX)
}

/// A command that completed before its event was made.
pub(crate) struct Done;

impl Event for Done {
    fn state(&self) -> Result<EventState, DriverError> {
        Ok(EventState::Complete)
    }

    fn wait(&self) -> Result<(), DriverError> {
        Ok(())
    }

    fn on_complete(&self, call: Completed) -> Result<(), DriverError> {
        call(Ok(()));
        Ok(())
    }

    fn times(&self) -> Result<Option<EventTimes>, DriverError> {
        Ok(None)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// The same, on a queue with profiling.
pub(crate) struct DoneAt(pub(crate) EventTimes);

impl Event for DoneAt {
    fn state(&self) -> Result<EventState, DriverError> {
        Done.state()
    }

    fn wait(&self) -> Result<(), DriverError> {
        Done.wait()
    }

    fn on_complete(&self, call: Completed) -> Result<(), DriverError> {
        Done.on_complete(call)
    }

    fn times(&self) -> Result<Option<EventTimes>, DriverError> {
        Ok(Some(self.0))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// What completes later.
pub(crate) struct Later {
    pub(crate) latch: Latch,
    /// When it was submitted, on a queue with profiling.
    submitted: Option<u64>,
    ended: AtomicU64,
}

impl Later {
    pub(crate) fn new(submitted: Option<u64>) -> Arc<Self> {
        Arc::new(Self { latch: Latch::default(), submitted, ended: AtomicU64::new(0) })
    }

    pub(crate) fn end(&self, outcome: Result<(), DriverError>) {
        if self.submitted.is_some() {
            self.ended.store(now(), Ordering::Relaxed);
        }
        self.latch.set(outcome);
    }
}

pub(crate) struct LaterEvent(pub(crate) Arc<Later>);

impl Event for LaterEvent {
    fn state(&self) -> Result<EventState, DriverError> {
        match self.0.latch.get() {
            None => Ok(EventState::Submitted),
            Some(outcome) => outcome.map(|()| EventState::Complete),
        }
    }

    fn wait(&self) -> Result<(), DriverError> {
        self.0.latch.wait()
    }

    fn on_complete(&self, call: Completed) -> Result<(), DriverError> {
        self.0.latch.on_set(call);
        Ok(())
    }

    fn times(&self) -> Result<Option<EventTimes>, DriverError> {
        Ok(self.0.submitted.map(|submitted| {
            // What only waits starts and ends at once.
            let ended = self.0.ended.load(Ordering::Relaxed).max(submitted);
            EventTimes { submitted, started: ended, ended }
        }))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

pub(crate) struct HostPromise(pub(crate) Arc<Later>);

impl Promise for HostPromise {
    fn keep(self: Box<Self>, outcome: Result<(), DriverError>) {
        self.0.end(outcome);
    }
}

impl Drop for HostPromise {
    fn drop(&mut self) {
        // Where it was kept, that outcome stays.
        self.0.latch.set(Err(promise_dropped()));
    }
}
