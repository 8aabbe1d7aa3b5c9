//! Completion of commands.

use std::any::Any;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crosscut_adapter_api::{
    Completed, DriverError, Event, EventState, EventTimes, Latch, Promise, promise_dropped,
};

use crate::engine::Engine;
use crate::log::{Call, Operation};

/// Whether a command has completed, how, and when: in ticks of the mock's own clock.
#[derive(Default)]
pub(crate) struct Completion {
    pub(crate) latch: Latch,
    pub(crate) submitted: AtomicU64,
    /// 0 until it starts.
    pub(crate) started: AtomicU64,
    pub(crate) ended: AtomicU64,
}

impl Completion {
    fn state(&self) -> Result<EventState, DriverError> {
        match self.latch.get() {
            Some(outcome) => outcome.map(|()| EventState::Complete),
            None if self.started.load(Ordering::Relaxed) == 0 => Ok(EventState::Submitted),
            None => Ok(EventState::Running),
        }
    }
}

pub(crate) struct MockEvent {
    pub(crate) engine: Arc<Engine>,
    pub(crate) number: u64,
    pub(crate) completion: Arc<Completion>,
    pub(crate) profiling: bool,
}

impl Event for MockEvent {
    fn state(&self) -> Result<EventState, DriverError> {
        let event = self.number;
        self.engine.record(Operation::EventQuery, || Call::EventQuery { event })?;
        self.completion.state()
    }

    fn wait(&self) -> Result<(), DriverError> {
        let event = self.number;
        self.engine.record(Operation::EventWait, || Call::EventWait { event })?;
        self.completion.latch.wait()
    }

    fn on_complete(&self, call: Completed) -> Result<(), DriverError> {
        let event = self.number;
        self.engine.record(Operation::OnComplete, || Call::OnComplete { event })?;
        self.completion.latch.on_set(call);
        Ok(())
    }

    fn times(&self) -> Result<Option<EventTimes>, DriverError> {
        if !self.profiling {
            return Ok(None);
        }
        let event = self.number;
        self.engine.record(Operation::EventTimes, || Call::EventTimes { event })?;
        let Completion { submitted, started, ended, .. } = &*self.completion;
        let [submitted, started, ended] =
            [submitted, started, ended].map(|time| time.load(Ordering::Relaxed));
        Ok(Some(EventTimes { submitted, started, ended }))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

pub(crate) struct MockPromise {
    pub(crate) engine: Arc<Engine>,
    pub(crate) completion: Arc<Completion>,
}

impl Promise for MockPromise {
    fn keep(self: Box<Self>, outcome: Result<(), DriverError>) {
        self.completion.latch.set(outcome);
        // Dropping it lets commands run that waited for it.
    }
}

impl Drop for MockPromise {
    fn drop(&mut self) {
        // Where it was kept, that outcome stays.
        self.completion.latch.set(Err(promise_dropped()));
        self.engine.run_ready();
    }
}
