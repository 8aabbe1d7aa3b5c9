//! Commands that are not the driver's yet, because they wait for a promise.
//!
//! A command that the driver has runs once the events it waits for are signalled: it could not be told
//! that a promise has failed. So commands that wait for an open promise, by themselves or by way of
//! other commands, are handed over when it is kept, and fail when it is not.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

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
    pub(crate) fn until_settled(self, open: Vec<Arc<EventHandle>>) {
        let count = AtomicUsize::new(open.len());
        let waiting = Arc::new(Waiting { count, deferred: Mutex::new(Some(self)) });
        for event in open {
            let waiting = Arc::clone(&waiting);
            event.fate.on_set(Box::new(move |_| waiting.one_less()));
        }
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

/// How many events a command still waits for.
struct Waiting {
    count: AtomicUsize,
    deferred: Mutex<Option<Deferred>>,
}

impl Waiting {
    fn one_less(&self) {
        if self.count.fetch_sub(1, Ordering::AcqRel) > 1 {
            return;
        }
        let deferred = self.deferred.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(deferred) = deferred {
            turns::take(move || deferred.go_on());
        }
    }
}
