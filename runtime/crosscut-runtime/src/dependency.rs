//! The events a command is told to wait for, besides those of the memory it uses.
//!
//! A kernel that panicked has completed: what waits for it runs, and the panic is told where it is
//! asked for. A command that failed takes those that wait for it with it.

use std::sync::Arc;

use crate::Error;
use crate::command::{Command, add};
use crate::event::Event;
use crate::queue::Queue;

impl Queue {
    /// What the driver is told to wait for. Commands of other contexts, of which it knows nothing,
    /// are waited for here.
    pub(crate) fn dependencies(&self, after: &[Event]) -> Result<Vec<Arc<Command>>, Error> {
        let mut list = Vec::new();
        for command in after.iter().filter_map(Event::unsettled) {
            if command.origin.context == self.origin.context {
                if !self.origin.follows(command.origin) {
                    add(&mut list, command);
                }
            } else {
                wait(command)?;
            }
        }
        Ok(list)
    }

    /// The event of a command that has nothing to do but to wait.
    pub(crate) fn nothing_after(&self, after: &[Event]) -> Result<Event, Error> {
        match after {
            [] => Ok(Event::nothing()),
            _ => {
                wait_all(after)?;
                Ok(Event::nothing())
            }
        }
    }
}

/// Blocks until all have completed, and tells of no panic: that is for whoever asks.
pub(crate) fn wait_all(after: &[Event]) -> Result<(), Error> {
    after.iter().filter_map(Event::unsettled).try_for_each(|command| wait(command))
}

fn wait(command: &Command) -> Result<(), Error> {
    command.event.wait().map_err(|error| Error::driver("a command to be waited for failed", error))
}
