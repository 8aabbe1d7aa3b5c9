//! The events a command is told to wait for, besides those of the memory it uses.
//!
//! A kernel that panicked has completed: what waits for it runs, and the panic is told where it is
//! asked for. A command that failed takes those that wait for it with it.

use std::sync::Arc;

use crate::Error;
use crate::command::{Command, Origin, Outcome, add};
use crate::event::Event;
use crate::queue::Queue;

impl Queue {
    /// What the driver is told to wait for.
    pub(crate) fn dependencies(&self, after: &[Event]) -> Result<Vec<Arc<Command>>, Error> {
        let mut list = Vec::new();
        for command in after.iter().flat_map(Event::unsettled) {
            if command.origin.context != self.origin.context {
                list.extend(self.bridge(command)?);
            } else if !self.origin.follows(command.origin) {
                add(&mut list, command);
            }
        }
        Ok(list)
    }

    /// A command of this context that ends as one of another context does, of which this driver
    /// knows nothing; none if that has completed.
    fn bridge(&self, there: &Arc<Command>) -> Result<Option<Arc<Command>>, Error> {
        let promised = self.context().inner().adapter.promise();
        let (event, promise) = promised
            .map_err(|error| Error::driver("preparing to wait for another context", error))?;
        if there.event.on_complete(Box::new(|outcome| promise.keep(outcome))).is_err() {
            // The promise is broken, and nobody has heard of it. A driver that does not call can
            // still be waited for.
            wait(there)?;
            return Ok(None);
        }
        let origin = Origin { line: None, ..self.origin };
        Ok(Some(Command::new(origin, event, Outcome::Settled)))
    }

    /// The event of a command that has nothing to do but to wait.
    pub(crate) fn nothing_after(&self, after: &[Event]) -> Result<Event, Error> {
        if after.is_empty() { Ok(Event::nothing()) } else { self.barrier(after) }
    }

    /// Blocks until it is the turn of a command that the host itself runs, or of one that has nothing
    /// to do.
    #[inline]
    pub(crate) fn take_turn(&self, after: &[Event]) -> Result<(), Error> {
        if after.is_empty() && !self.pending.has_had_tasks() {
            return Ok(());
        }
        if self.context().is_native() && self.pending.has_had_tasks() {
            // Only barriers are waited for here. One that failed is told by its own event.
            let _ = self.adapter.wait();
        }
        after.iter().flat_map(Event::unsettled).try_for_each(|command| wait(command))
    }
}

/// Blocks until it has completed, and tells of no panic: that is for whoever asks.
fn wait(command: &Command) -> Result<(), Error> {
    command.event.wait().map_err(|error| Error::driver("a command to be waited for failed", error))
}
