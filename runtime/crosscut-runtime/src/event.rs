//! Events: what a user waits for.

use std::fmt;
use std::sync::Arc;

use crate::Error;
use crate::command::Command;

/// The completion of one command. Dropping it does not cancel anything. The default one is that of
/// a command that had nothing to do.
#[derive(Clone, Default)]
pub struct Event {
    /// `None` for a command that had nothing to do.
    command: Option<Arc<Command>>,
}

impl Event {
    pub(crate) fn of(command: Arc<Command>) -> Self {
        Self { command: Some(command) }
    }

    pub(crate) fn nothing() -> Self {
        Self { command: None }
    }

    /// The command, unless it is known to have completed.
    pub(crate) fn unsettled(&self) -> Option<&Arc<Command>> {
        self.command.as_ref().filter(|command| !command.is_settled())
    }

    /// Blocks until the command has completed.
    ///
    /// # Errors
    /// The command failed, or the kernel panicked; the event tells of a panic once, also if a queue
    /// has told of it before.
    pub fn wait(&self) -> Result<(), Error> {
        self.command.as_ref().map_or(Ok(()), |command| command.wait())
    }

    /// Whether the command has completed. A kernel that panicked has: waiting tells of it.
    ///
    /// # Errors
    /// The driver's refusal to answer.
    pub fn is_complete(&self) -> Result<bool, Error> {
        self.command.as_ref().map_or(Ok(true), |command| command.is_complete())
    }
}

/// One event, where any number of them is asked for.
impl<'a> IntoIterator for &'a Event {
    type Item = &'a Event;
    type IntoIter = std::iter::Once<&'a Event>;

    fn into_iter(self) -> Self::IntoIter {
        std::iter::once(self)
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Event").finish_non_exhaustive()
    }
}
