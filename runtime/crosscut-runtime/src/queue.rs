//! Queues: the order between commands, and what is told of them.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

use crosscut_adapter_api::{self as adapter, DriverError, QueueOptions, QueueOrder};

use crate::Error;
use crate::command::{Command, Origin, Outcome};
use crate::context::Context;
use crate::few::Few;
use crate::host_task;
use crate::lines::Delivery;
use crate::memory::Allocation;
use crate::pending::Pending;
use crate::sync::{MutexGuard, RwLock, RwLockWriteGuard};
use crate::uses::Access;
use crate::worker;

/// Commands that wait for more others than this allocate.
const FEW: usize = 8;

/// A sequence of commands on one device, each starting when the one before has completed, unless the
/// queue was asked to be out of order.
///
/// Threads may share it. On the host CPU commands run within the calls that submit them: for other threads one whose call
/// has not returned has not been submitted.
pub struct Queue {
    context: Context,
    pub(crate) adapter: Arc<dyn adapter::Queue>,
    pub(crate) origin: Origin,
    options: QueueOptions,
    /// A number that no other queue ever has.
    number: u64,
    pub(crate) pending: Arc<Pending>,
    /// Shared by commands that take no order, and had alone by what is more than one command of the driver's. Taken
    /// after the order.
    step: RwLock<()>,
}

impl Queue {
    /// Makes a queue in order.
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn new(context: &Context) -> Result<Self, Error> {
        Self::with_options(context, QueueOptions::default())
    }

    /// Makes a queue with these options.
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn with_options(context: &Context, options: QueueOptions) -> Result<Self, Error> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let adapter = context
            .inner()
            .adapter
            .create_queue(&options)
            .map_err(|error| Error::driver("making a queue", error))?;
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        Ok(Self {
            context: context.clone(),
            adapter: Arc::from(adapter),
            origin: Origin {
                context: context.space().number,
                line: (options.order == QueueOrder::InOrder).then_some(number),
            },
            options,
            number,
            pending: Arc::default(),
            step: RwLock::default(),
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
        for task in self.pending.unfinished_tasks() {
            // It is told below.
            let _ = task.event.wait();
        }
        let last = self.pending.last();
        let waited = self.adapter.wait();
        // What a command itself says comes first, and is said once.
        self.pending.tell(last.as_ref().filter(|_| waited.is_ok()))?;
        waited.map_err(|error| Error::driver("a command failed", error))
    }

    /// What it was asked to be.
    #[must_use]
    pub fn options(&self) -> QueueOptions {
        self.options
    }

    pub(crate) fn number(&self) -> u64 {
        self.number
    }

    /// Refuses to be used inside a host task of its own: whatever that waits for waits for it.
    ///
    /// # Errors
    /// This is such a place.
    pub fn outside_own_tasks(&self) -> Result<(), Error> {
        if self.pending.has_had_tasks() && host_task::inside_task_of(self.number) {
            return Err(Error::invalid(
                "a queue is used inside a host task of its own",
                "use another queue there, or submit after the task",
            ));
        }
        Ok(())
    }

    /// Has commands that use memory of this context be submitted by nobody else until this is dropped.
    pub(crate) fn take_order(&self) -> MutexGuard<'_, ()> {
        self.context.space().submit.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// For who has [taken](Self::take_order) the order: has nobody else submit anything to this queue, not even commands
    /// that use no memory, until this is dropped.
    pub(crate) fn take_step(&self) -> RwLockWriteGuard<'_, ()> {
        self.step.write().unwrap_or_else(PoisonError::into_inner)
    }

    /// Submits a command after `after` and everything that uses the same memory, and notes it for
    /// those that come later.
    pub(crate) fn submit(
        &self,
        uses: &[(&Arc<Allocation>, Access)],
        after: Vec<Arc<Command>>,
        outcome: Outcome,
        run: impl FnOnce(&[&dyn adapter::Event]) -> Result<Box<dyn adapter::Event>, DriverError>,
    ) -> Result<Arc<Command>, DriverError> {
        self.submit_in(None, uses, after, outcome, run)
    }

    /// The same for who may have [taken](Self::take_order) the order already.
    pub(crate) fn submit_in(
        &self,
        order: Option<MutexGuard<'_, ()>>,
        uses: &[(&Arc<Allocation>, Access)],
        mut after: Vec<Arc<Command>>,
        outcome: Outcome,
        run: impl FnOnce(&[&dyn adapter::Event]) -> Result<Box<dyn adapter::Event>, DriverError>,
    ) -> Result<Arc<Command>, DriverError> {
        if self.context.is_native() {
            // Complete on return, and the borrows of the caller kept others away until then.
            let after: Few<&dyn adapter::Event, FEW> = after.iter().map(|it| &*it.event).collect();
            return Ok(Command::new(self.origin, run(&after)?, outcome));
        }
        let _delivery = Delivery;
        // After that, and so dropped before it: who prints lines may wait for somebody who wants the order.
        let order = order;
        self.pending.forget_settled();
        if uses.is_empty() && after.is_empty() {
            // There is no order to keep, but for steps of this queue.
            let step = self.step.read().unwrap_or_else(PoisonError::into_inner);
            let command = Command::new(self.origin, run(&[])?, outcome);
            drop(step);
            drop(order);
            self.pending.remember(&command);
            return Ok(command);
        }
        let order = order.unwrap_or_else(|| self.take_order());
        for (allocation, access) in uses {
            allocation.uses().collect(*access, self.origin, &mut after);
        }
        let events: Few<&dyn adapter::Event, FEW> =
            after.iter().map(|command| &*command.event).collect();
        // What waits may be more than one command of the driver's, between which nobody's comes.
        let step = (!events.is_empty()).then(|| self.take_step());
        let event = run(&events)?;
        drop(step);
        let command = match after.is_empty() {
            true => Command::new(self.origin, event, outcome),
            false => Command::behind_others(self.origin, event, outcome),
        };
        for (allocation, access) in uses {
            allocation.uses().note(*access, &command);
        }
        drop(order);
        self.pending.remember(&command);
        Ok(command)
    }

    /// Tells of the first failure that nobody has been told of. Later ones stay for the next call.
    ///
    /// # Errors
    /// That failure.
    pub fn settle_pending(&self) -> Result<(), Error> {
        self.pending.tell(None)
    }
}

impl Drop for Queue {
    /// Waits for kernels that may still write their panic records, so that those are free again.
    /// Who holds an event is still told of its panic, and so is who reads what the kernel wrote. A
    /// panic that nobody can ask about any more is printed, as that of a thread would have been.
    fn drop(&mut self) {
        if self.pending.is_empty() {
            return;
        }
        if host_task::inside_any() {
            // The task that is running here may hold up commands of any queue: they are waited for
            // elsewhere.
            let (pending, adapter) = (Arc::clone(&self.pending), Arc::clone(&self.adapter));
            let settle = worker::run(Box::new(move || pending.settle(&*adapter)));
            // Without a thread that could wait nobody does, nor do the commands go, which may wait too.
            let _ = settle.map_err(std::mem::forget);
            return;
        }
        self.pending.settle(&*self.adapter);
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("device", self.context.device()).finish_non_exhaustive()
    }
}
