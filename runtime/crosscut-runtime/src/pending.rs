//! Commands of a queue that may have failed or panicked, and that nobody has asked about.

use std::collections::VecDeque;
use std::sync::{Arc, PoisonError};

use crosscut_adapter_api as adapter;

use crate::command::Command;
use crate::few::Few;
use crate::lines::Delivery;
use crate::sync::atomic::{AtomicBool, Ordering};
use crate::sync::{Mutex, MutexGuard};
use crate::{Error, ErrorKind};

/// So many commands may wait to be told about before the finished ones are looked for.
const FIRST_SWEEP: usize = 128;

/// Looking whether more have ended allocates.
const FEW: usize = 8;

#[derive(Default)]
pub(crate) struct Pending {
    list: Mutex<List>,
    /// Whether there ever was a host task: most queues never have one.
    tasked: AtomicBool,
}

#[derive(Default)]
struct List {
    /// Oldest first.
    commands: VecDeque<Arc<Command>>,
    /// Host tasks that may not have ended; they are among the commands, too.
    tasks: Vec<Arc<Command>>,
    /// Of a queue out of order: the newest barrier, unless it is known to have completed.
    barrier: Option<Arc<Command>>,
    /// At how many the finished ones are looked for: twice what was left the last time, so that
    /// looking costs little per launch however many stay.
    sweep_at: usize,
}

const WAIT: &str = "wait for the launch's event, or for its queue, to get this as an error";

impl List {
    /// Forgets what has completed with nothing to tell.
    fn sweep(&mut self) {
        // In order: where one has not completed, none behind it has.
        let mut running = false;
        self.commands.retain(|command| {
            if running {
                return true;
            }
            let over = command.is_over(false);
            running = command.origin.line.is_some() && matches!(over, Ok(false));
            !(matches!(over, Ok(true)) && (!command.may_tell() || command.is_clean()))
        });
        self.sweep_at = 2 * self.commands.len();
    }
}

impl Pending {
    fn list(&self) -> MutexGuard<'_, List> {
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets those that somebody waited for: the usual case, and known without asking the driver.
    ///
    /// To be called before the next command is handed over: a driver that is given one has less time
    /// for the release of an event.
    pub(crate) fn forget_settled(&self) {
        let mut list = self.list();
        while list.commands.front().is_some_and(|command| command.is_settled()) {
            list.commands.pop_front();
        }
    }

    /// For a queue in order: a command that has not completed and that a copy which comes next must come after.
    ///
    /// All are looked at, although commands complete before those behind them: they are remembered after they are
    /// handed over, and where threads share the queue, the last one here may have been submitted before others.
    pub(crate) fn unfinished(&self) -> Option<Arc<Command>> {
        let list = self.list();
        let unsettled = list.commands.iter().rev().filter(|command| !command.is_settled());
        let unsettled: Few<Arc<Command>, FEW> = unsettled.cloned().collect();
        // Without the lock, as what a command has is let go of where it has nothing to tell; that may wait.
        drop(list);
        unsettled.iter().find(|command| !command.has_ended()).cloned()
    }

    /// Remembers a command.
    pub(crate) fn remember(&self, command: &Arc<Command>) {
        let mut list = self.list();
        if list.commands.len() >= FIRST_SWEEP.max(list.sweep_at) {
            list.sweep();
        }
        list.commands.push_back(Arc::clone(command));
    }

    /// There is a barrier: as behind a task, native commands must ask whether it is their turn. To be called before
    /// anybody else has the driver take another one, so that the newest here is the driver's newest.
    pub(crate) fn begin_barrier(&self, command: &Arc<Command>) {
        self.tasked.store(true, Ordering::Release);
        if command.origin.line.is_none() {
            self.list().barrier = Some(Arc::clone(command));
        }
    }

    /// For a queue out of order: the barrier that what the driver does not order is behind. It stands for earlier ones,
    /// which it is behind itself.
    pub(crate) fn unfinished_barrier(&self) -> Option<Arc<Command>> {
        if !self.has_had_tasks() {
            return None;
        }
        let mut list = self.list();
        list.barrier.take_if(|barrier| matches!(barrier.is_complete(), Ok(true)));
        list.barrier.clone()
    }

    /// There is a host task, which runs before its call returns.
    pub(crate) fn begin_task(&self) {
        self.tasked.store(true, Ordering::Release);
    }

    /// Remembers a host task.
    pub(crate) fn remember_task(&self, command: &Arc<Command>) {
        self.tasked.store(true, Ordering::Release);
        self.remember(command);
        let mut list = self.list();
        list.tasks.retain(|task| matches!(task.is_complete(), Ok(false)));
        list.tasks.push(Arc::clone(command));
    }

    /// Whether there has been a task or a barrier.
    pub(crate) fn has_had_tasks(&self) -> bool {
        self.tasked.load(Ordering::Acquire)
    }

    /// The host tasks that may not have ended.
    pub(crate) fn unfinished_tasks(&self) -> Vec<Arc<Command>> {
        if !self.has_had_tasks() {
            return Vec::new();
        }
        let mut list = self.list();
        list.tasks.retain(|task| matches!(task.is_complete(), Ok(false)));
        list.tasks.clone()
    }

    /// The command that was remembered last: whoever waits for the queue from now on waits for it and all before.
    pub(crate) fn last(&self) -> Option<Arc<Command>> {
        self.list().commands.back().cloned()
    }

    /// Tells of the first failure that nobody has been told of. Later ones stay for the next call. Somebody has waited
    /// for all commands up to `waited`.
    pub(crate) fn tell(&self, waited: Option<&Arc<Command>>) -> Result<(), Error> {
        let _delivery = Delivery;
        // Before the lock, and so dropped after it: the last of a command may wait.
        let mut over = Vec::new();
        let mut list = self.list();
        // Others may have told of it and forgotten it.
        let is_last = |command: &Arc<Command>| waited.is_some_and(|it| Arc::ptr_eq(it, command));
        let mut waited_for = list.commands.iter().any(is_last);
        // How many at the front still run: only out of order others may have ended behind them.
        let mut running = 0;
        while let Some(command) = list.commands.get(running) {
            let visible = waited_for;
            waited_for = waited_for && !is_last(command);
            let told = match command.is_over(visible) {
                Ok(false) if command.origin.line.is_some() => break,
                Ok(false) => {
                    running += 1;
                    continue;
                }
                Ok(true) if visible || command.may_tell() => command.tell(),
                Ok(true) => Ok(()),
                Err(error) => {
                    command.note_told();
                    Err(error)
                }
            };
            over.extend(list.commands.remove(running));
            told?;
        }
        Ok(())
    }

    /// Whether there is anything to settle.
    pub(crate) fn is_empty(&self) -> bool {
        self.list().commands.is_empty()
    }

    /// Waits for all commands of the queue, and prints what nobody can ask about any more. For a panic of one that
    /// somebody has an event of, that is when the event goes.
    pub(crate) fn settle(&self, queue: &dyn adapter::Queue) {
        let _delivery = Delivery;
        let mut list = std::mem::take(&mut *self.list());
        for task in list.tasks.drain(..) {
            // What it says is looked for below.
            let _ = task.event.wait();
        }
        let _ = queue.wait();
        list.sweep();
        let mut has_failed = false;
        for command in list.commands.drain(..) {
            if !command.orphan() {
                continue;
            }
            match command.is_complete() {
                Ok(true) => command.untold().into_iter().for_each(print),
                Ok(false) => {}
                // With those behind it, which it takes with it.
                Err(_) if command.is_told() => has_failed = true,
                // Where the process is ending, nobody can tell.
                Err(_) if has_failed || adapter::exit::driver().is_none() => {}
                // Once: a command that fails takes those behind it with it.
                Err(error) => {
                    has_failed = true;
                    command.note_told();
                    print(error);
                }
            }
        }
    }
}

/// For a command that nobody can ask about any more, and whose queue has gone: prints its panic, if nobody was told.
pub(crate) fn print_untold(command: &Command) {
    // Its queue has waited for it; where that failed, that is what was told.
    if command.may_tell() && matches!(command.is_complete(), Ok(true)) {
        command.untold().into_iter().for_each(print);
    }
}

/// Tells of what nobody can ask about any more.
fn print(mut error: Error) {
    use std::io::Write as _;
    if error.kind() == ErrorKind::Panic {
        error = error.with_help(WAIT);
    }
    // At once, so that nothing that others print comes between. Without a standard error nobody is left to be told.
    let _ = std::io::stderr().write_all(format!("crosscut: {error}\n").as_bytes());
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use crosscut_adapter_api::promise_dropped;

    use super::*;
    use crate::command::{Origin, Outcome};
    use crate::happening::{Happening, Telling};

    #[test]
    fn a_command_that_did_not_run_is_told_also_where_its_state_says_that_it_is_complete() {
        for line in [Some(1), None] {
            for waited in [true, false] {
                let event = Happening::new(Telling::Completion);
                let pending = Pending::default();
                let origin = Origin { context: 0, line };
                let command =
                    Command::behind_others(origin, Box::new(event.clone()), Outcome::Settled);
                pending.remember(&command);
                event.end(Err(promise_dropped()));
                assert!(pending.tell(waited.then_some(&command)).is_err());
                assert!(pending.tell(None).is_ok(), "a queue tells once");
                assert!(command.wait().is_err());
                assert!(command.is_complete().is_err());
            }
        }
    }
}
