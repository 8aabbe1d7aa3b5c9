//! Completion of commands.

use std::any::Any;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crosscut_adapter_api::{DriverError, Event};

use crate::engine::Engine;
use crate::log::{Call, Operation};

/// Whether a command has completed, and how.
#[derive(Default)]
pub(crate) struct Completion {
    outcome: Mutex<Option<Result<(), DriverError>>>,
    changed: Condvar,
}

impl Completion {
    pub(crate) fn set(&self, outcome: Result<(), DriverError>) {
        *self.outcome.lock().unwrap_or_else(PoisonError::into_inner) = Some(outcome);
        self.changed.notify_all();
    }

    pub(crate) fn get(&self) -> Option<Result<(), DriverError>> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Blocks until it is set: for held commands, until another thread releases them.
    pub(crate) fn wait(&self) -> Result<(), DriverError> {
        let mut outcome = self.outcome.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(outcome) = &*outcome {
                return outcome.clone();
            }
            outcome = self.changed.wait(outcome).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

pub(crate) struct MockEvent {
    pub(crate) engine: Arc<Engine>,
    pub(crate) number: u64,
    pub(crate) completion: Arc<Completion>,
}

impl Event for MockEvent {
    fn is_complete(&self) -> Result<bool, DriverError> {
        let event = self.number;
        self.engine.record(Operation::EventQuery, || Call::EventQuery { event })?;
        self.completion.get().map_or(Ok(false), |outcome| outcome.map(|()| true))
    }

    fn wait(&self) -> Result<(), DriverError> {
        let event = self.number;
        self.engine.record(Operation::EventWait, || Call::EventWait { event })?;
        self.completion.wait()
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
