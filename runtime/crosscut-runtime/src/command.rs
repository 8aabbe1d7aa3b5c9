//! Submitted commands, and who must wait for which.

use std::sync::{Arc, PoisonError};

use crosscut_adapter_api::{self as adapter, EventState, EventTimes};

use crate::host_task;
use crate::lines::Delivery;
use crate::notice::Notice;
use crate::record::Watch;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sync::{Mutex, MutexGuard};
use crate::{Error, ErrorKind};

/// Where a command was submitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The number of the context: only its own commands can its driver be told to wait for.
    pub(crate) context: u64,
    /// The number of the queue, if that runs its commands in order.
    pub(crate) line: Option<u64>,
}

impl Origin {
    /// Whether a command from there runs before one from here that was submitted later, whatever
    /// the two wait for.
    pub(crate) fn follows(self, there: Self) -> bool {
        self.line.is_some() && self.line == there.line
    }
}

/// A command that was submitted to a queue.
pub(crate) struct Command {
    pub(crate) origin: Origin,
    pub(crate) event: Box<dyn adapter::Event>,
    outcome: Mutex<Outcome>,
    is_task: bool,
    /// Whether its driver was told to have it wait for others: if one of them fails it may fail at once, while the rest
    /// still runs. Host tasks are not the driver's: [`may_leave_behind`](Self::may_leave_behind).
    pub(crate) waits: bool,
    /// Of a host task that failed: whether a copy for it may still run.
    may_run: AtomicBool,
    /// Whether somebody has been told that it failed.
    told: AtomicBool,
    pub(crate) notice: Notice,
    /// Whether it has completed and its event has been told: then no driver need be asked again.
    settled: AtomicBool,
    /// How many events of it there are, and [`ORPHANED`].
    events: AtomicUsize,
}

/// The queue of the command has gone: once the last event goes, nobody can ask about it any more.
const ORPHANED: usize = 1 << (usize::BITS - 1);

/// What is to be told about a command once it has completed.
pub(crate) enum Outcome {
    /// Nothing, or whoever has the event has been told.
    Settled,
    /// A queue has told this, and the event has not: whoever has it, another thread perhaps, must
    /// not take the command for a good one.
    Told(Error),
    /// This.
    Failed(Error),
    /// Whatever the kernel wrote into its panic record.
    Watched(Watch),
}

impl Command {
    pub(crate) fn new(
        origin: Origin,
        event: Box<dyn adapter::Event>,
        outcome: Outcome,
    ) -> Arc<Self> {
        Arc::new(Self::with(origin, event, outcome))
    }

    /// One that was told to wait for others.
    pub(crate) fn behind_others(
        origin: Origin,
        event: Box<dyn adapter::Event>,
        outcome: Outcome,
    ) -> Arc<Self> {
        let mut command = Self::with(origin, event, outcome);
        command.waits = true;
        Arc::new(command)
    }

    /// A host task, which may [fail](Self::fail) until its event completes.
    pub(crate) fn task(origin: Origin, event: Box<dyn adapter::Event>) -> Arc<Self> {
        let mut command = Self::with(origin, event, Outcome::Settled);
        command.is_task = true;
        Arc::new(command)
    }

    fn with(origin: Origin, event: Box<dyn adapter::Event>, outcome: Outcome) -> Self {
        Self {
            origin,
            event,
            outcome: Mutex::new(outcome),
            is_task: false,
            waits: false,
            may_run: AtomicBool::new(false),
            told: AtomicBool::new(false),
            notice: Notice::default(),
            settled: AtomicBool::new(false),
            events: AtomicUsize::new(0),
        }
    }

    /// For its event: blocks until it has completed, and tells of its panic, once.
    pub(crate) fn wait(&self) -> Result<(), Error> {
        // First: somebody else may have found it complete, and left its lines.
        let _delivery = Delivery;
        if self.is_settled() {
            return Ok(());
        }
        self.complete()?;
        let mut outcome = self.outcome();
        self.settled.store(true, Ordering::Release);
        match std::mem::replace(&mut *outcome, Outcome::Settled) {
            Outcome::Settled => Ok(()),
            Outcome::Failed(error) | Outcome::Told(error) => Err(error),
            Outcome::Watched(watch) => watch.take().map_or(Ok(()), Err),
        }
    }

    /// For whoever reads what it wrote: blocks until it has completed, and [tells](Self::tell).
    pub(crate) fn wait_and_tell(&self) -> Result<(), Error> {
        // First: somebody else may have found it complete, and left its lines.
        let _delivery = Delivery;
        if self.is_settled() {
            return Ok(());
        }
        self.complete()?;
        self.tell()
    }

    /// For the user, who may be inside a host task; the runtime's own waits ask the event.
    pub(crate) fn complete(&self) -> Result<(), Error> {
        host_task::may_wait_for(self)?;
        self.event.wait().map_err(|error| {
            let failure = self.failure(error);
            self.note_told();
            failure
        })
    }

    /// Somebody has been told that it failed: whoever uses its memory from now on knows.
    pub(crate) fn note_told(&self) {
        self.told.store(true, Ordering::Relaxed);
    }

    /// Whether somebody has been told that it failed.
    pub(crate) fn is_told(&self) -> bool {
        self.told.load(Ordering::Relaxed)
    }

    /// Whether its driver said that it failed, and perhaps only could not tell.
    pub(crate) fn may_be_lost(&self) -> bool {
        self.is_told() && !self.is_settled() && !self.has_failed_by_our_word()
    }

    /// Blocks until it has ended. False where its driver said that it failed, and perhaps only could not tell.
    pub(crate) fn see_end(&self) -> bool {
        self.is_settled() || self.event.wait().is_ok() || self.has_failed_by_our_word()
    }

    /// Whether it may end, by failing, while something that it was to come after still runs. A host task does where that
    /// has failed at once itself, or where its driver neither calls nor waits.
    pub(crate) fn may_leave_behind(&self) -> bool {
        self.waits || self.is_task
    }

    /// A host task whose event we had fail: it has ended itself, whatever drivers say. (What it has
    /// [left behind](Self::may_leave_behind) is still known to the memory.)
    fn has_failed_by_our_word(&self) -> bool {
        self.is_task && !self.may_run.load(Ordering::Relaxed) && self.has_failed()
    }

    /// For a host task that is to fail, and for which a copy may still run.
    pub(crate) fn note_may_run(&self) {
        self.may_run.store(true, Ordering::Relaxed);
    }

    /// Whether it did what it was to do, as far as is known without asking the driver: so what it waited for has ended.
    pub(crate) fn has_done_its_work(&self) -> bool {
        self.is_settled() && !self.is_told()
    }

    fn outcome(&self) -> MutexGuard<'_, Outcome> {
        self.outcome.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether it has completed and there is nothing to be told about it, as far as is known without
    /// asking the driver.
    pub(crate) fn is_settled(&self) -> bool {
        // Acquire: what the kernel wrote is there for this thread as for the one that waited.
        self.settled.load(Ordering::Acquire)
    }

    /// For whoever waited for its event himself, and has the outcome.
    pub(crate) fn settle(&self) {
        self.settled.store(true, Ordering::Release);
    }

    /// For a host task that panicked or did not run, before its event completes.
    pub(crate) fn fail(&self, error: Error) {
        *self.outcome() = Outcome::Failed(error);
    }

    /// The same for one whose event is to fail with this. Its panic stays, and is told first.
    pub(crate) fn fail_with(&self, error: adapter::DriverError) {
        if !self.has_failed() {
            self.fail(failed(error));
        }
    }

    /// Why its event failed: by what was [noted](Self::fail_with), as some drivers keep no more of it than a number; but
    /// by a panic only until somebody was told. Otherwise by the driver's word.
    fn failure(&self, error: adapter::DriverError) -> Error {
        match &*self.outcome() {
            Outcome::Failed(own) if own.kind() != ErrorKind::Panic || !self.is_told() => {
                own.clone()
            }
            _ => failed(error),
        }
    }

    /// How far it has come. If it has completed, the host can see what it wrote.
    pub(crate) fn state(&self) -> Result<EventState, Error> {
        if self.is_settled() {
            return Ok(EventState::Complete);
        }
        let state = self.event.state().and_then(|state| match state {
            EventState::Complete => self.event.acquire().map(|()| state),
            _ => Ok(state),
        });
        state.map_err(|error| self.failure(error))
    }

    /// When it ran, if that was written down. Waits for it.
    pub(crate) fn times(&self) -> Result<Option<EventTimes>, Error> {
        if !self.is_settled() {
            self.complete()?;
        }
        self.event.times().map_err(|error| Error::driver("asking when a command ran", error))
    }

    /// Whether it has completed. If so, the host can see what it wrote.
    pub(crate) fn is_complete(&self) -> Result<bool, Error> {
        Ok(self.state()? == EventState::Complete)
    }

    /// Whether it has completed, for queues that [tell](Self::tell) of it or forget it. `waited`: somebody has waited for
    /// it, so that the host can see what it wrote. Otherwise that is so only if there may be something to tell.
    pub(crate) fn is_over(&self, waited: bool) -> Result<bool, Error> {
        if self.is_settled() {
            return Ok(true);
        }
        // Of one that waited for others its state alone does not say that it has run.
        if self.waits || (!waited && self.may_tell()) {
            return self.is_complete();
        }
        self.event.is_complete().map_err(|error| self.failure(error))
    }

    /// For queues: tells of the panic of a command that has completed, unless anybody has been told.
    pub(crate) fn tell(&self) -> Result<(), Error> {
        let mut outcome = self.outcome();
        let error = match std::mem::replace(&mut *outcome, Outcome::Settled) {
            Outcome::Settled => None,
            Outcome::Failed(error) => Some(error),
            Outcome::Watched(watch) => watch.take(),
            told @ Outcome::Told(_) => {
                *outcome = told;
                return Ok(());
            }
        };
        let Some(error) = error else {
            self.settled.store(true, Ordering::Release);
            return Ok(());
        };
        *outcome = Outcome::Told(error.clone());
        Err(error)
    }

    /// The panic of a command that has completed, if nobody has been told. Whoever asks later is told
    /// nevertheless.
    pub(crate) fn untold(&self) -> Option<Error> {
        self.tell().err().inspect(|error| *self.outcome() = Outcome::Failed(error.clone()))
    }

    /// Whether a queue would tell something about it, as far as is known without asking the driver.
    pub(crate) fn may_tell(&self) -> bool {
        !self.is_settled()
            && match *self.outcome() {
                Outcome::Failed(_) | Outcome::Watched(_) => true,
                Outcome::Settled => self.is_task,
                Outcome::Told(_) => false,
            }
    }

    /// There is one more event of it.
    pub(crate) fn add_event(&self) {
        self.events.fetch_add(1, Ordering::Relaxed);
    }

    /// One of its events goes. Whether nobody can ask about it any more.
    #[must_use]
    pub(crate) fn remove_event(&self) -> bool {
        self.events.fetch_sub(1, Ordering::AcqRel) == ORPHANED + 1
    }

    /// Its queue goes. Whether nobody can ask about it any more; otherwise whoever has its last event learns that.
    #[must_use]
    pub(crate) fn orphan(&self) -> bool {
        // One step, so that an event that goes meanwhile is either counted here or finds this.
        self.events.fetch_or(ORPHANED, Ordering::AcqRel) == 0
    }

    /// Whether it is known to have failed, without asking the driver. Tells nothing.
    pub(crate) fn has_failed(&self) -> bool {
        matches!(*self.outcome(), Outcome::Failed(_) | Outcome::Told(_))
    }

    /// Whether there is nothing that a queue would tell: noted, so that nobody need ask the driver again. Tells
    /// nothing. It has completed, and the host can see what it wrote.
    pub(crate) fn is_clean(&self) -> bool {
        if self.is_settled() {
            return true;
        }
        // Before the lock, and so dropped after it: dropping a watch gives its record back.
        let _watch;
        let mut outcome = self.outcome();
        if let Outcome::Watched(watch) = &*outcome
            && watch.is_clean()
        {
            _watch = std::mem::replace(&mut *outcome, Outcome::Settled);
        }
        match *outcome {
            Outcome::Settled => {
                self.settled.store(true, Ordering::Release);
                true
            }
            Outcome::Told(_) => true,
            Outcome::Failed(_) | Outcome::Watched(_) => false,
        }
    }
}

fn failed(error: adapter::DriverError) -> Error {
    Error::driver("a command failed", error)
}

impl Drop for Command {
    fn drop(&mut self) {
        // Its record is used again as soon as it is given back: not while the kernel may write it.
        let outcome = self.outcome.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Outcome::Watched(_) = outcome
            && self.event.wait().is_err()
        {
            // It may still run: what it may write to is given to nobody any more.
            std::mem::forget(std::mem::replace(outcome, Outcome::Settled));
        }
    }
}

/// Adds a command to a list that has every command once.
pub(crate) fn add(list: &mut Vec<Arc<Command>>, command: &Arc<Command>) {
    if !list.iter().any(|known| Arc::ptr_eq(known, command)) {
        list.push(Arc::clone(command));
    }
}
