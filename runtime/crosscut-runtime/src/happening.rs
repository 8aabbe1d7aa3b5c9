//! An event of a driver's, for tests: it ends when a test says so.

use std::any::Any;
use std::sync::Arc;

use crosscut_adapter_api::{Completed, DriverError, Event, EventState, EventTimes, Latch};

/// One such event; its clones are the same one.
#[derive(Clone, Default)]
pub(crate) struct Happening {
    end: Arc<Latch>,
    telling: Telling,
}

/// How the state of a command that failed tells of that.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) enum Telling {
    /// It fails.
    #[default]
    Failure,
    /// It says that the command is complete, as some drivers do where it did not run.
    Completion,
}

impl Telling {
    pub(crate) const ALL: [Self; 2] = [Self::Failure, Self::Completion];
}

impl Happening {
    pub(crate) fn new(telling: Telling) -> Self {
        Self { telling, ..Self::default() }
    }

    pub(crate) fn end(&self, outcome: Result<(), DriverError>) {
        self.end.set(outcome);
    }
}

impl Event for Happening {
    fn state(&self) -> Result<EventState, DriverError> {
        match (self.end.get(), self.telling) {
            (None, _) => Ok(EventState::Submitted),
            (Some(Err(failure)), Telling::Failure) => Err(failure),
            (Some(_), _) => Ok(EventState::Complete),
        }
    }

    fn wait(&self) -> Result<(), DriverError> {
        self.end.wait()
    }

    fn on_complete(&self, call: Completed) -> Result<(), DriverError> {
        self.end.on_set(call);
        Ok(())
    }

    fn times(&self) -> Result<Option<EventTimes>, DriverError> {
        Ok(None)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
