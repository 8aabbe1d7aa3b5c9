//! Commands that are not the driver's yet, because they wait for a promise.
//!
//! A command that the driver has runs once the events it waits for are signalled: it could not be told
//! that a promise has failed. So commands that wait for an open promise, by themselves or by way of
//! other commands, are handed over when it is kept, and fail when it is not.

use std::sync::Arc;

use crosscut_adapter_api::turns;

use crate::command::Command;
use crate::event::EventHandle;
use crate::queue::QueueHandle;

/// A command with all that it takes to hand it over.
pub(crate) struct Deferred {
    pub(crate) queue: Arc<QueueHandle>,
    pub(crate) command: Command,
    pub(crate) event: Arc<EventHandle>,
    /// What it waits for, and fails with.
    pub(crate) after: Vec<Arc<EventHandle>>,
}

impl Deferred {
    /// Goes on when all of `open` are settled.
    pub(crate) fn until_settled(self, open: &[Arc<EventHandle>]) {
        let fates = open.iter().map(|event| &event.fate);
        turns::take_when_all_are_set(fates, move || self.go_on());
    }

    /// Hands the command over, or has it fail.
    fn go_on(self) {
        let failure = self.after.iter().find_map(|event| event.failure());
        let outcome = match failure {
            Some(failure) => Err(failure),
            None => self.queue.append_deferred(self.command, &self.event, self.after),
        };
        if let Err(failure) = outcome {
            self.event.fail(failure);
        }
    }
}
