//! An event of a driver's, for tests: it ends when a test says so.

use std::any::Any;
use std::sync::Arc;

use crosscut_adapter_api::{Completed, DriverError, Event, EventState, EventTimes, Latch};

/// One such event; its clones are the same one. Of a command that failed its state says that it is complete, as that of
/// some drivers does where the command did not run.
#[derive(Clone, Default)]
pub(crate) struct Happening(Arc<Latch>);

impl Happening {
    pub(crate) fn end(&self, outcome: Result<(), DriverError>) {
        self.0.set(outcome);
    }
}

impl Event for Happening {
    fn state(&self) -> Result<EventState, DriverError> {
        Ok(self.0.get().map_or(EventState::Submitted, |_| EventState::Complete))
    }

    fn wait(&self) -> Result<(), DriverError> {
        self.0.wait()
    }

    fn on_complete(&self, call: Completed) -> Result<(), DriverError> {
        self.0.on_set(call);
        Ok(())
    }

    fn times(&self) -> Result<Option<EventTimes>, DriverError> {
        Ok(None)
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
