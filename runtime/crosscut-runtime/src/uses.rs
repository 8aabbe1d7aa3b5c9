//! Who uses some memory, and who must wait for whom because of that.

use std::sync::Arc;

use crate::Error;
use crate::command::{Command, Origin, add};
use crate::host_task;
use crate::row::Row;

/// What a command does with memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Reads it, beside others.
    Read,
    /// Writes it, alone.
    Write,
}

/// The commands that still matter to whoever uses some memory next.
#[derive(Default)]
pub(crate) struct Uses {
    write: Option<Arc<Command>>,
    /// Before that write, which [may leave them behind](Command::may_leave_behind).
    before: Row<(Access, Arc<Command>)>,
    lost: Lost,
    /// Before that write, which did not replace all that they wrote: kernels and host tasks whose panic,
    /// if they panicked, nobody has been told of.
    earlier: Row<Arc<Command>>,
    /// Since that write; of each queue that runs in order only the last.
    reads: Vec<Arc<Command>>,
    /// At how many before the last write those that have completed are looked for.
    sweep_before_at: usize,
    /// At how many reads those that have completed are looked for.
    sweep_at: usize,
    /// At how many earlier writes those that have nothing to tell are looked for.
    sweep_earlier_at: usize,
}

/// Whether a command is forgotten that failed: drivers may say that also of one that still runs.
#[derive(Clone, Copy, Default)]
struct Lost {
    user: bool,
    /// One that wrote.
    writer: bool,
}

impl Lost {
    fn note(&mut self, access: Access, command: &Command) {
        let is_lost = command.may_be_lost();
        self.user |= is_lost;
        self.writer |= is_lost && access == Access::Write;
    }
}

/// Those who wrote what is in some memory. Every copy to the host has them: lists are shared, as rows behind a command that
/// takes long would otherwise take memory by the square of their length.
pub(crate) struct Writers {
    earlier: Row<Arc<Command>>,
    last: Option<Arc<Command>>,
    /// What the last one was to wait for, unless that is known to have ended.
    before: Row<(Access, Arc<Command>)>,
    lost: bool,
}

impl Writers {
    /// Whether nobody can tell that all have ended.
    pub(crate) fn may_still_write(&self) -> bool {
        self.lost
    }

    /// For whoever reads what they wrote: blocks until they have completed, and tells of a panic.
    pub(crate) fn tell(&self) -> Result<(), Error> {
        let mut writers = self.earlier.oldest_first().chain(&self.last);
        writers.try_for_each(|writer| writer.wait_and_tell())?;
        if !self.last.as_ref().is_some_and(|last| last.is_told()) {
            return Ok(());
        }
        // It failed, and its end says nothing of them.
        let mut left_behind = self.before.oldest_first().filter(|(_, command)| !command.is_told());
        left_behind.try_for_each(|(_, command)| command.complete())
    }
}

/// Those who use some memory.
pub(crate) struct Users {
    commands: Vec<Arc<Command>>,
    lost: bool,
}

impl Users {
    /// Blocks until all have completed. False if one failed: then nobody can tell.
    ///
    /// # Errors
    /// This is inside a host task that one of them is behind.
    pub(crate) fn wait(&self) -> Result<bool, Error> {
        self.commands.iter().try_for_each(|command| host_task::may_wait_for(command))?;
        Ok(!self.lost && self.commands.iter().all(|command| command.see_end()))
    }
}

/// So many of a kind may gather before the finished ones are looked for.
const FIRST_SWEEP: usize = 32;

impl Uses {
    /// Adds to `after` what a new command from `origin` with this access must wait for.
    pub(crate) fn collect(&self, access: Access, origin: Origin, after: &mut Vec<Arc<Command>>) {
        // Who waits for a write fails with it, or comes behind all that it was to wait for.
        // Nor is one named that has done its work: a driver that could not tell when it ends takes nothing behind it.
        let is_waited_for = |command: &Arc<Command>| {
            !command.is_told() && !command.has_done_its_work() && !origin.follows(command.origin)
        };
        for command in self.in_the_way_of(access).filter(|command| is_waited_for(command)) {
            add(after, command);
        }
        if self.write.as_ref().is_some_and(is_waited_for) {
            return;
        }
        let before = self.before().filter(|(_, command)| is_waited_for(command));
        for (access, command) in before {
            add(after, command);
            if *access == Access::Write {
                return;
            }
        }
    }

    /// The last write, and what came after it that is in the way of this access. One whose failure somebody was told of
    /// is over; until then whoever comes next fails with it.
    fn in_the_way_of(&self, access: Access) -> impl Iterator<Item = &Arc<Command>> {
        let reads = if access == Access::Write { self.reads.as_slice() } else { &[] };
        self.write.iter().chain(reads).filter(|command| !command.is_told())
    }

    /// What was before the last write, if that is not known to have come after it. Newest first.
    fn before(&self) -> impl Iterator<Item = &(Access, Arc<Command>)> {
        let is_open = |write: &Arc<Command>| {
            write.is_told()
                || !write.has_done_its_work() && !matches!(write.is_complete(), Ok(true))
        };
        let is_open = !self.before.is_empty() && self.write.as_ref().is_some_and(is_open);
        is_open.then(|| self.before.newest_first()).into_iter().flatten()
    }

    /// Notes a new command, submitted after everything that [`collect`](Self::collect) gave.
    pub(crate) fn note(&mut self, access: Access, command: &Arc<Command>) {
        match access {
            Access::Write => {
                self.note_before(command);
                if let Some(before) = self.write.replace(Arc::clone(command)) {
                    self.keep(before);
                }
            }
            Access::Read => {
                // Of its own queue, too.
                let mut reads = self.reads.iter_mut().filter(|_| !command.may_leave_behind());
                match reads.find(|read| command.origin.follows(read.origin)) {
                    Some(read) => *read = Arc::clone(command),
                    None => {
                        if self.reads.len() >= FIRST_SWEEP.max(self.sweep_at) {
                            let Self { reads, lost, .. } = self;
                            reads.retain(|read| is_open(Access::Read, read, lost));
                            self.sweep_at = 2 * self.reads.len();
                        }
                        self.reads.push(Arc::clone(command));
                    }
                }
            }
        }
    }

    /// Takes down what a new write comes after; no reads are left. What leaves nothing behind need not be looked behind.
    fn note_before(&mut self, command: &Arc<Command>) {
        if self.write.as_ref().is_some_and(|write| write.has_done_its_work()) {
            // And so has what was before it.
            self.before = Row::default();
        }
        if self.before.len() >= FIRST_SWEEP.max(self.sweep_before_at) {
            let Self { before, lost, .. } = self;
            before.retain(|(access, command)| is_open(*access, command, lost));
            self.sweep_before_at = 2 * self.before.len();
        }
        let write = self.write.iter().map(|write| (Access::Write, write));
        for (access, it) in write.chain(self.reads.iter().map(|read| (Access::Read, read))) {
            self.lost.note(access, it);
            if command.may_leave_behind() && !it.is_told() && !it.has_done_its_work() {
                self.before.push((access, Arc::clone(it)));
            }
        }
        self.reads.clear();
    }

    /// Blocks until no command uses the memory any more. False if one failed: then nobody can tell. For who alone has
    /// the memory; others wait for its [users](Self::users).
    #[must_use]
    pub(crate) fn wait(&self) -> bool {
        !self.lost.user && self.all().all(|(_, command)| command.see_end())
    }

    fn all(&self) -> impl Iterator<Item = (Access, &Arc<Command>)> {
        let write = self.write.iter().map(|write| (Access::Write, write));
        let before = self.before.newest_first().map(|(access, command)| (*access, command));
        write.chain(before).chain(self.reads.iter().map(|read| (Access::Read, read)))
    }

    /// Those who use the memory, to be waited for when the lock of this has been given back.
    pub(crate) fn users(&self) -> Users {
        let commands = self.all().map(|(_, command)| Arc::clone(command)).collect();
        Users { commands, lost: self.lost.user }
    }

    /// A command that is in the way of this access: it may not have completed.
    pub(crate) fn unfinished(&self, access: Access) -> Option<Arc<Command>> {
        let runs = |command: &&Arc<Command>| {
            !command.is_told() && !matches!(command.is_complete(), Ok(true))
        };
        let before = self.before().map(|(_, command)| command);
        self.in_the_way_of(access).chain(before).find(runs).cloned()
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
            self.earlier = Row::default();
        }
    }

    /// Somebody has written without a command, when all commands had completed: nobody waits for them
    /// any more. Unless everything was replaced, writers are still asked what they have to tell. What is
    /// given back has been forgotten.
    pub(crate) fn written_over(&mut self, everything: bool) -> Self {
        let mut before = std::mem::take(self);
        self.lost = before.lost;
        before.all().for_each(|(access, command)| self.lost.note(access, command));
        if !everything {
            self.earlier = std::mem::take(&mut before.earlier);
            before.write.take().into_iter().for_each(|write| self.keep(write));
        }
        before
    }

    /// Those who wrote what is there.
    pub(crate) fn writers(&self) -> Writers {
        // Without asking the driver, as everybody comes here who reads.
        let is_open = self.write.as_ref().is_some_and(|write| !write.has_done_its_work());
        let before = if is_open { self.before.clone() } else { Row::default() };
        let (earlier, last) = (self.earlier.clone(), self.write.clone());
        Writers { earlier, last, before, lost: self.lost.writer }
    }
}

/// False for one that has completed, or whose failure somebody was told of, which may make it `lost`. Whoever looks
/// through a list does so again once twice as many are there: that costs little per command, however many stay.
fn is_open(access: Access, command: &Command, lost: &mut Lost) -> bool {
    lost.note(access, command);
    !command.is_told() && !matches!(command.is_complete(), Ok(true))
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests;
