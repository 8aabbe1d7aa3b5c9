//! Submitted commands, and who must wait for which.

use std::sync::{Arc, PoisonError};

use crosscut_adapter_api::{self as adapter, EventState, EventTimes};

use crate::Error;
use crate::host_task;
use crate::lines::Delivery;
use crate::notice::Notice;
use crate::record::Watch;
use crate::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use crate::sync::{Mutex, MutexGuard};

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
    pub(crate) notice: Notice,
    /// Whether it has completed and its event has been told: then no driver need be asked again.
    settled: AtomicBool,
    /// How many events of it there are.
    pub(crate) events: AtomicUsize,
}

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
        Arc::new(Self::with(origin, event, outcome, false))
    }

    /// A host task, which may [fail](Self::fail) until its event completes.
    pub(crate) fn task(origin: Origin, event: Box<dyn adapter::Event>) -> Arc<Self> {
        Arc::new(Self::with(origin, event, Outcome::Settled, true))
    }

    fn with(
        origin: Origin,
        event: Box<dyn adapter::Event>,
        outcome: Outcome,
        is_task: bool,
    ) -> Self {
        Self {
            origin,
            event,
            outcome: Mutex::new(outcome),
            is_task,
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
    fn complete(&self) -> Result<(), Error> {
        host_task::may_wait_for(self)?;
        self.event.wait().map_err(failed)
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

    /// For a host task that panicked, before its event completes.
    pub(crate) fn fail(&self, error: Error) {
        *self.outcome() = Outcome::Failed(error);
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
        state.map_err(failed)
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
        if !waited && self.may_tell() {
            return self.is_complete();
        }
        let is_complete = self.is_settled() || self.event.is_complete().map_err(failed)?;
        Ok(is_complete)
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

    /// Whether somebody has an event of it, and may ask.
    pub(crate) fn has_events(&self) -> bool {
        self.events.load(Ordering::Relaxed) != 0
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

/// What a command does with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads it, beside others.
    Read,
    /// Writes it, alone.
    Write,
}

/// Adds a command to a list that has every command once.
pub(crate) fn add(list: &mut Vec<Arc<Command>>, command: &Arc<Command>) {
    if !list.iter().any(|known| Arc::ptr_eq(known, command)) {
        list.push(Arc::clone(command));
    }
}

/// The commands that still matter to whoever uses some memory next.
#[derive(Default)]
pub(crate) struct Uses {
    write: Option<Arc<Command>>,
    /// Before that write, which did not replace all that they wrote: kernels and host tasks whose panic,
    /// if they panicked, nobody has been told of.
    earlier: Vec<Arc<Command>>,
    /// Since that write; of each queue that runs in order only the last.
    reads: Vec<Arc<Command>>,
    /// At how many reads those that have completed are looked for.
    sweep_at: usize,
    /// At how many earlier writes those that have nothing to tell are looked for.
    sweep_earlier_at: usize,
}

/// Those who wrote what is in some memory.
pub(crate) struct Writers {
    earlier: Vec<Arc<Command>>,
    last: Option<Arc<Command>>,
}

impl Writers {
    /// For whoever reads what they wrote: blocks until they have completed, and tells of a panic.
    pub(crate) fn tell(&self) -> Result<(), Error> {
        self.earlier.iter().chain(&self.last).try_for_each(|writer| writer.wait_and_tell())
    }
}

/// So many reads may gather before the finished ones are looked for.
const FIRST_SWEEP: usize = 32;

impl Uses {
    /// Adds to `after` what a new command from `origin` with this access must wait for.
    pub(crate) fn collect(&self, access: Access, origin: Origin, after: &mut Vec<Arc<Command>>) {
        let reads = if access == Access::Write { self.reads.as_slice() } else { &[] };
        for command in self.write.iter().chain(reads) {
            if !origin.follows(command.origin) {
                add(after, command);
            }
        }
    }

    /// Notes a new command, submitted after everything that [`collect`](Self::collect) gave.
    pub(crate) fn note(&mut self, access: Access, command: &Arc<Command>) {
        match access {
            Access::Write => {
                self.reads.clear();
                if let Some(before) = self.write.replace(Arc::clone(command)) {
                    self.keep(before);
                }
            }
            Access::Read => {
                let mut reads = self.reads.iter_mut();
                match reads.find(|read| command.origin.follows(read.origin)) {
                    Some(read) => *read = Arc::clone(command),
                    None => {
                        if self.reads.len() >= FIRST_SWEEP.max(self.sweep_at) {
                            self.sweep();
                        }
                        self.reads.push(Arc::clone(command));
                    }
                }
            }
        }
    }

    /// Forgets the reads that have completed. One that failed stays: see [`wait`](Self::wait).
    fn sweep(&mut self) {
        self.reads.retain(|read| !matches!(read.is_complete(), Ok(true)));
        // Looking costs little per command, however many stay.
        self.sweep_at = 2 * self.reads.len();
    }

    /// Blocks until no command uses the memory any more. False if one failed: then those that it was
    /// to wait for may still run.
    #[must_use]
    pub(crate) fn wait(&self) -> bool {
        self.write.iter().chain(&self.reads).all(|command| command.event.wait().is_ok())
    }

    /// Refuses where waiting for one of them inside a host task would wait for that task.
    ///
    /// # Errors
    /// This is such a place.
    pub(crate) fn may_wait(&self) -> Result<(), Error> {
        let mut all = self.write.iter().chain(&self.reads);
        all.try_for_each(|command| host_task::may_wait_for(command))
    }

    /// A command that is in the way of this access: it may not have completed.
    pub(crate) fn unfinished(&self, access: Access) -> Option<Arc<Command>> {
        let reads = if access == Access::Write { self.reads.as_slice() } else { &[] };
        let runs = |command: &&Arc<Command>| !matches!(command.is_complete(), Ok(true));
        self.write.iter().chain(reads).find(runs).cloned()
    }

    /// Keeps a write for those who read what others have not replaced. Nobody waits for it by that.
    pub(crate) fn keep(&mut self, write: Arc<Command>) {
        if !write.may_tell() {
            return;
        }
        if self.earlier.len() >= FIRST_SWEEP.max(self.sweep_earlier_at) {
            // Queues look at their commands now and then: nobody need ask the driver here.
            self.earlier.retain(|write| write.may_tell());
            self.sweep_earlier_at = 2 * self.earlier.len();
        }
        self.earlier.push(write);
    }

    /// The last write has replaced everything, if it is this one.
    pub(crate) fn replaced_by(&mut self, command: &Arc<Command>) {
        if self.write.as_ref().is_some_and(|write| Arc::ptr_eq(write, command)) {
            self.earlier.clear();
        }
    }

    /// Somebody has written without a command, when all commands had completed: nobody waits for them
    /// any more. Unless everything was replaced, writers are still asked what they have to tell. What is
    /// given back has been forgotten.
    pub(crate) fn written_over(&mut self, everything: bool) -> Self {
        let mut before = std::mem::take(self);
        if !everything {
            self.earlier = std::mem::take(&mut before.earlier);
            before.write.take().into_iter().for_each(|write| self.keep(write));
        }
        before
    }

    /// Those who wrote what is there.
    pub(crate) fn writers(&self) -> Writers {
        Writers { earlier: self.earlier.clone(), last: self.write.clone() }
    }
}
