//! Queues: the order between commands, and what is told of them.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crosscut_adapter_api::{self as adapter, DriverError, QueueOptions};

use crate::Error;
use crate::command::{Access, Command, Origin, Outcome};
use crate::context::Context;
use crate::memory::Allocation;

/// So many commands may wait to be told about before the finished ones are looked for.
const FIRST_SWEEP: usize = 128;

/// A sequence of commands on one device, each starting when the one before has completed.
///
/// Threads may share it.
pub struct Queue {
    context: Context,
    pub(crate) adapter: Arc<dyn adapter::Queue>,
    pub(crate) origin: Origin,
    pending: Mutex<Pending>,
}

/// Kernels that may have panicked and that nobody has asked about.
struct Pending {
    /// Oldest first.
    commands: VecDeque<Arc<Command>>,
    /// At how many the finished ones are looked for: twice what was left the last time, so that
    /// looking costs little per launch however many stay.
    sweep_at: usize,
}

impl Pending {
    /// Forgets what has completed with nothing to tell.
    fn sweep(&mut self) {
        // In order: where one has not completed, none behind it has.
        let mut running = false;
        self.commands.retain(|command| {
            running = running || !matches!(command.is_complete(), Ok(true));
            running || !command.is_done_and_clean()
        });
        self.sweep_at = FIRST_SWEEP.max(2 * self.commands.len());
    }
}

impl Queue {
    /// Makes a queue.
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn new(context: &Context) -> Result<Self, Error> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let adapter = context
            .inner()
            .adapter
            .create_queue(&QueueOptions::default())
            .map_err(|error| Error::driver("making a queue", error))?;
        Ok(Self {
            context: context.clone(),
            adapter: Arc::from(adapter),
            origin: Origin {
                context: context.inner().number,
                line: Some(NEXT.fetch_add(1, Ordering::Relaxed)),
            },
            pending: Mutex::new(Pending { commands: VecDeque::new(), sweep_at: FIRST_SWEEP }),
        })
    }

    /// The context its commands run in.
    #[must_use]
    pub fn context(&self) -> &Context {
        &self.context
    }

    /// Blocks until every command submitted so far has completed.
    ///
    /// # Errors
    /// A command failed, or a kernel panicked and nobody has been told.
    pub fn wait(&self) -> Result<(), Error> {
        self.adapter.wait().map_err(|error| Error::driver("a command failed", error))?;
        self.settle_pending()
    }

    /// Blocks until a copy has ended, before the caller gets its memory back.
    pub(crate) fn wait_for_copy(&self, command: &Arc<Command>) -> Result<(), DriverError> {
        command.event.wait().inspect_err(|_| {
            // The wait may have failed and not the copy: the whole queue is the next thing to ask.
            let _ = self.adapter.wait();
        })
    }

    /// Submits a command after `after` and everything that uses the same memory, and notes it for
    /// those that come later.
    pub(crate) fn submit(
        &self,
        uses: &[(&Arc<Allocation>, Access)],
        mut after: Vec<Arc<Command>>,
        outcome: Outcome,
        run: impl FnOnce(&[&dyn adapter::Event]) -> Result<Box<dyn adapter::Event>, DriverError>,
    ) -> Result<Arc<Command>, DriverError> {
        if self.context.is_native() {
            // Complete on return, and the borrows of the caller kept others away until then.
            let after: Vec<&dyn adapter::Event> = after.iter().map(|it| &*it.event).collect();
            return Ok(Command::new(self.origin, run(&after)?, outcome));
        }
        if uses.is_empty() && after.is_empty() {
            // There is no order to keep.
            return Ok(Command::new(self.origin, run(&[])?, outcome));
        }
        let _order = self.context.inner().submit.lock().unwrap_or_else(PoisonError::into_inner);
        for (allocation, access) in uses {
            allocation.uses().collect(*access, self.origin, &mut after);
        }
        let events: Vec<&dyn adapter::Event> =
            after.iter().map(|command| &*command.event).collect();
        let command = Command::new(self.origin, run(&events)?, outcome);
        for (allocation, access) in uses {
            allocation.uses().note(*access, &command);
        }
        Ok(command)
    }

    /// Remembers a kernel that may have panicked.
    pub(crate) fn remember(&self, command: &Arc<Command>) {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        // Those that somebody waited for: the usual case, and known without asking the driver.
        while pending.commands.front().is_some_and(|command| command.is_settled()) {
            pending.commands.pop_front();
        }
        if pending.commands.len() >= pending.sweep_at {
            pending.sweep();
        }
        pending.commands.push_back(Arc::clone(command));
    }

    /// Tells of the first panic that nobody has been told of. Later ones stay for the next call.
    pub(crate) fn settle_pending(&self) -> Result<(), Error> {
        let mut pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner);
        while let Some(command) = pending.commands.front() {
            let told = match command.is_complete() {
                Ok(false) => break,
                Ok(true) => command.tell(),
                Err(error) => Err(error),
            };
            pending.commands.pop_front();
            told?;
        }
        Ok(())
    }
}

impl Drop for Queue {
    /// Waits for kernels that may still write their panic records, so that those are free again.
    /// Who holds an event is still told of its panic, and so is who reads what the kernel wrote. A
    /// panic that nobody can ask about any more is printed, as that of a thread would have been.
    fn drop(&mut self) {
        let pending = self.pending.get_mut().unwrap_or_else(PoisonError::into_inner);
        if pending.commands.is_empty() {
            return;
        }
        let _ = self.adapter.wait();
        pending.sweep();
        for command in pending.commands.drain(..) {
            if Arc::strong_count(&command) == 1
                && let Ok(true) = command.is_complete()
                && let Err(error) = command.tell()
            {
                use std::io::Write as _;
                // Without a standard error nobody is left to be told.
                let _ = writeln!(std::io::stderr(), "crosscut: {error}");
            }
        }
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("device", self.context.device()).finish_non_exhaustive()
    }
}
