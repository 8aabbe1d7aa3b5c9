//! An outcome that is set once: what adapters without a driver's events build theirs from.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use crate::{Completed, DriverError, DriverErrorKind, turns};

/// Whether something has ended, and how. Open until it is set; the first outcome stays.
#[derive(Default)]
pub struct Latch {
    state: Mutex<State>,
    changed: Condvar,
}

enum State {
    /// With those to be called.
    Open(Vec<Completed>),
    Set(Result<(), DriverError>),
}

impl Default for State {
    fn default() -> Self {
        Self::Open(Vec::new())
    }
}

impl Latch {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the outcome, unless there is one, and calls those who asked for it.
    pub fn set(&self, outcome: Result<(), DriverError>) {
        let mut state = self.state();
        let State::Open(calls) = &mut *state else { return };
        let calls = std::mem::take(calls);
        *state = State::Set(outcome.clone());
        drop(state);
        self.changed.notify_all();
        for call in calls {
            let outcome = outcome.clone();
            // Whoever is called may set the next one, and so on for thousands.
            turns::take(move || call(outcome));
        }
    }

    /// The outcome, if there is one.
    pub fn get(&self) -> Option<Result<(), DriverError>> {
        match &*self.state() {
            State::Open(_) => None,
            State::Set(outcome) => Some(outcome.clone()),
        }
    }

    /// Blocks until there is an outcome.
    ///
    /// # Errors
    /// The outcome's.
    pub fn wait(&self) -> Result<(), DriverError> {
        let mut state = self.state();
        loop {
            if let State::Set(outcome) = &*state {
                return outcome.clone();
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Calls `call` with the outcome: now if there is one, else when it is set, by whoever sets it.
    pub fn on_set(&self, call: Completed) {
        let mut state = self.state();
        let outcome = match &mut *state {
            State::Open(calls) => return calls.push(call),
            State::Set(outcome) => outcome.clone(),
        };
        drop(state);
        call(outcome);
    }
}

/// What the event of a promise fails with that was dropped without being kept.
#[must_use]
pub fn promise_dropped() -> DriverError {
    DriverError {
        kind: DriverErrorKind::Other,
        call: "promise",
        code: 0,
        log: Some("the work behind this event was given up".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    use std::sync::{Arc, Barrier};

    use super::*;

    #[test]
    fn the_first_outcome_stays_and_everybody_is_called_once() {
        let latch = Latch::default();
        let calls = Arc::new(AtomicU32::new(0));
        let count = || -> Completed {
            let calls = Arc::clone(&calls);
            Box::new(move |outcome| {
                assert!(outcome.is_ok());
                calls.fetch_add(1, Relaxed);
            })
        };
        latch.on_set(count());
        latch.on_set(count());
        assert!(latch.get().is_none());
        latch.set(Ok(()));
        latch.set(Err(promise_dropped()));
        latch.on_set(count());
        assert_eq!((latch.wait(), calls.load(Relaxed)), (Ok(()), 3));
    }

    #[test]
    fn a_call_that_comes_while_the_outcome_does_is_called() {
        for _ in 0..200 {
            let (latch, start) = (Latch::default(), Barrier::new(2));
            let called = Arc::new(AtomicU32::new(0));
            std::thread::scope(|scope| {
                scope.spawn(|| {
                    start.wait();
                    latch.set(Ok(()));
                });
                start.wait();
                let seen = Arc::clone(&called);
                latch.on_set(Box::new(move |_| {
                    seen.fetch_add(1, Relaxed);
                }));
            });
            assert_eq!(called.load(Relaxed), 1);
        }
    }
}
