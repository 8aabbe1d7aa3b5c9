//! Events: complete from the start.

use std::any::Any;

use crosscut_adapter_api::{DriverError, Event};

pub(crate) struct Completed;

impl Event for Completed {
    fn is_complete(&self) -> Result<bool, DriverError> {
        Ok(true)
    }

    fn wait(&self) -> Result<(), DriverError> {
        Ok(())
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}
