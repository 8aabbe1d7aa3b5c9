//! Completion of commands, and of work that the runtime does itself.

use std::any::Any;

use crate::DriverError;

/// What an [`Event`] calls once its command has ended; with the driver's word if that failed.
///
/// It may run on a thread of the driver's: it is short, waits for nobody and does not unwind.
pub type Completed = Box<dyn FnOnce(Result<(), DriverError>) + Send>;

/// The completion of one command.
pub trait Event: Send + Sync {
    /// How far the command has come. What a complete one wrote need not be visible to the host before
    /// [`acquire`](Self::acquire) or [`wait`](Self::wait) has returned. Nor need it have run, if it waited for others:
    /// of one that did not, because one of those failed, some drivers say that it is complete, and only these two and
    /// [`on_complete`](Self::on_complete) tell.
    ///
    /// # Errors
    /// The driver's word that the command failed, or its refusal to answer.
    fn state(&self) -> Result<EventState, DriverError>;

    /// Whether the command has completed, by its [state](Self::state).
    ///
    /// # Errors
    /// As there.
    fn is_complete(&self) -> Result<bool, DriverError> {
        Ok(self.state()? == EventState::Complete)
    }

    /// Blocks until the command has completed and the host can see what it wrote.
    ///
    /// # Errors
    /// The driver's word that the command failed.
    fn wait(&self) -> Result<(), DriverError>;

    /// Makes visible to the host what a command wrote that is complete by its [state](Self::state). Does not block,
    /// also while the process ends: locks are held. The default is for events whose wait does not either.
    ///
    /// Some drivers return from it only once they have called whoever asked by [`on_complete`](Self::on_complete). So it is
    /// not for these calls themselves, and they take none of the locks under which it is called.
    ///
    /// # Errors
    /// The driver's word that the command failed, or its refusal.
    fn acquire(&self) -> Result<(), DriverError> {
        self.wait()
    }

    /// Has `call` called once the command has completed, and the host can see what it wrote, or has failed:
    /// by whom and when is the driver's choice, also before this returns. It is called exactly once, even if
    /// the event is dropped, unless the process ends first or this refuses.
    ///
    /// A command that did not run, because something that it waited for failed, may have failed before the rest of that
    /// has ended. Where the driver itself tells a command of such a failure, `call` is called once all of it has ended.
    /// Where the adapter does, because the driver knows no failures, what the driver has may still run: the runtime itself
    /// keeps commands apart from whatever uses their memory and was left behind so.
    ///
    /// # Errors
    /// The driver's refusal; `call` is then dropped without having been called.
    fn on_complete(&self, call: Completed) -> Result<(), DriverError>;

    /// When the command ran, on a queue that was made with [`QueueOptions::profiling`]; only once
    /// it has completed. `None` elsewhere.
    ///
    /// # Errors
    /// The driver's refusal to answer.
    ///
    /// [`QueueOptions::profiling`]: crate::QueueOptions::profiling
    fn times(&self) -> Result<Option<EventTimes>, DriverError>;

    /// For the adapter to find its own type again.
    fn as_any(&self) -> &dyn Any;
}

/// How far a command has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EventState {
    /// It has not started.
    Submitted,
    /// It has started.
    Running,
    /// It has completed.
    Complete,
}

/// When a command was submitted, started and ended: nanoseconds of one clock of the device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct EventTimes {
    /// When it was handed to the device.
    pub submitted: u64,
    /// When it began to run; not before it was submitted.
    pub started: u64,
    /// When it had ended; not before it started.
    pub ended: u64,
}

/// An event, and its other end.
pub type Promised = (Box<dyn Event>, Box<dyn Promise>);

/// The other end of an event that completes when the runtime says so.
pub trait Promise: Send {
    /// Completes the event, or has it fail with this error as the driver's word. Commands that wait
    /// for it go on, or fail.
    fn keep(self: Box<Self>, outcome: Result<(), DriverError>);
}
