//! When a copy has ended, and what becomes of the host's memory where nobody can tell.
//!
//! A driver may fail in a way that leaves open whether a copy goes on: the wait for it fails, the wait for its queue
//! fails, and asked for its state it gives no answer. Memory of our own then stays for ever; an
//! [`Error`] says so to whoever has other memory in the driver's hands ([`Error::may_run`]).

use std::sync::Arc;
use std::time::Duration;

use crosscut_adapter_api::{self as adapter, DriverError};

use crate::Error;
use crate::command::Command;
use crate::queue::Queue;

/// A copy that failed, or whose wait did.
pub(crate) struct FailedCopy {
    error: DriverError,
    /// Whether nobody can tell that it is over: then the memory on both sides must stay for ever.
    pub(crate) may_run: bool,
}

impl FailedCopy {
    /// The first of two failures, for the memory of both.
    pub(crate) fn and(self, other: Self) -> Self {
        Self { error: self.error, may_run: self.may_run || other.may_run }
    }

    /// For a host task that fails with it.
    pub(crate) fn noted_by(self, task: &Command) -> DriverError {
        if self.may_run {
            task.note_may_run();
        }
        self.error
    }

    /// As what the copy was for.
    pub(crate) fn while_doing(self, what: &str) -> Error {
        Error::driver(what, self.error).with_may_run(self.may_run)
    }
}

/// One that the driver did not take.
impl From<DriverError> for FailedCopy {
    fn from(error: DriverError) -> Self {
        Self { error, may_run: false }
    }
}

impl From<FailedCopy> for DriverError {
    fn from(failed: FailedCopy) -> Self {
        failed.error
    }
}

impl Queue {
    /// Reads of at most so many bytes from device globals go by way of memory of our own: nothing that the caller
    /// has is ever in the driver's hands.
    pub const SMALL_READ: usize = 64 << 10;

    /// Blocks until a copy has ended, before the caller gets its memory back.
    pub(crate) fn wait_for_copy(&self, command: &Arc<Command>) -> Result<(), FailedCopy> {
        let outcome = ended(&*command.event, &*self.adapter);
        // Whoever called is told, and nobody else has its event. But what may still run has not completed.
        if !outcome.as_ref().is_err_and(|failed| failed.may_run) {
            if outcome.is_err() {
                // First: who finds it settled must not take it for one that waited for others and then did its work.
                command.note_told();
            }
            command.settle();
        }
        outcome
    }

    /// Blocks until copies have ended whose wait failed with `error`, before the caller gets its memory back.
    /// Gives the error back, which now says whether nobody can tell.
    #[must_use]
    pub fn see_end_of(&self, copies: &crate::Event, error: Error) -> Error {
        let may_run = copies.unsettled().fold(false, |may_run, command| {
            let ended = ended(&*command.event, &*self.adapter);
            may_run | ended.is_err_and(|failed| failed.may_run)
        });
        error.with_may_run(may_run)
    }

    /// Has `start` start a read to an address with room for `size` bytes, waits for it, and has the bytes at `target`.
    ///
    /// # Errors
    /// What `start` says, or the driver's word that the read failed.
    ///
    /// # Safety
    /// `size` bytes are writable at `target`, and what `start` starts writes no more.
    pub(crate) unsafe fn read_back(
        &self,
        target: *mut u8,
        size: usize,
        start: impl FnOnce(*mut u8) -> Result<Arc<Command>, Error>,
    ) -> Result<(), Error> {
        let read = |room| {
            let ended = self.wait_for_copy(&start(room)?);
            ended.map_err(|failed| failed.while_doing("copying from a device global"))
        };
        if size > Self::SMALL_READ {
            return read(target);
        }
        let mut room = vec![0_u8; size];
        let place = room.as_mut_ptr();
        let room = kept_if_in_use(room, read(place))?;
        // SAFETY: both have as many bytes, and the room is our own.
        unsafe { target.copy_from_nonoverlapping(room.as_ptr(), size) };
        Ok(())
    }
}

/// Gives memory back that a copy had, unless nobody can tell that the driver has let go of it: then it stays for ever.
///
/// # Errors
/// What the copy says.
pub fn kept_if_in_use<M>(memory: M, copied: Result<(), Error>) -> Result<M, Error> {
    match copied {
        Ok(()) => Ok(memory),
        Err(error) => {
            if error.may_run() {
                std::mem::forget(memory);
            }
            Err(error)
        }
    }
}

/// Blocks until a copy has ended, before its memory is given back or let go.
pub(crate) fn ended(
    copy: &dyn adapter::Event,
    queue: &dyn adapter::Queue,
) -> Result<(), FailedCopy> {
    copy.wait().map_err(|error| {
        // The wait may have failed and not the copy: the whole queue is the next thing to ask.
        let may_run = queue.wait().is_err() && {
            // A driver that does not wait may still say whether it has ended.
            loop {
                match copy.is_complete() {
                    Ok(false) => std::thread::sleep(Duration::from_millis(1)),
                    Ok(true) => break false,
                    Err(_) => break true,
                }
            }
        };
        FailedCopy { error, may_run }
    })
}
