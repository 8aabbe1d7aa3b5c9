//! Host tasks and barriers: commands that run no code of the device.

use std::any::Any;
use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};

use crosscut_adapter_api::{self as adapter, DriverError, DriverErrorKind, Promise, Slot};

use crate::command::{Command, Outcome, add};
use crate::ended::FailedCopy;
use crate::event::Event;
use crate::lent::Lent;
use crate::queue::Queue;
use crate::sync::Mutex;
use crate::sync::atomic::{AtomicUsize, Ordering};
use crate::worker;
use crate::{Error, ErrorKind};

thread_local! {
    /// The numbers of the queues whose host tasks this thread is running, one inside the other.
    static INSIDE: RefCell<Vec<u64>> = const { RefCell::new(Vec::new()) };
}

/// Whether this thread is running a host task of the queue with this number.
pub(crate) fn inside_task_of(queue: u64) -> bool {
    // At the end of a thread its locals are gone: what a task does that runs there is not looked at.
    INSIDE.try_with(|inside| inside.borrow().contains(&queue)).unwrap_or(false)
}

/// Whether this thread is running a host task.
pub(crate) fn inside_any() -> bool {
    INSIDE.try_with(|inside| !inside.borrow().is_empty()).unwrap_or(false)
}

/// A host task, which is given the memory it was lent.
pub type HostTask = Box<dyn FnOnce(&[Slot]) + Send>;

/// Refuses to wait inside a host task for a command behind it on its own queue: that waits for the task.
///
/// # Errors
/// This is such a place.
#[inline]
pub(crate) fn may_wait_for(command: &Command) -> Result<(), Error> {
    let Some(line) = command.origin.line else { return Ok(()) };
    // All commands in front of the task have completed.
    if inside_task_of(line) && !command.is_settled() && matches!(command.is_complete(), Ok(false)) {
        return Err(Error::invalid(
            "a host task waits for a command behind it on its own queue",
            "wait after the task, or submit the command to another queue",
        ));
    }
    Ok(())
}

/// A task that waits for commands.
struct Waiting {
    /// How many have not ended, and one for whoever is still counting.
    left: AtomicUsize,
    failure: Mutex<Option<DriverError>>,
    /// None until all have been counted.
    ready: Mutex<Option<Ready>>,
}

/// A task, its event's other end, and its command, which is told of a panic.
struct Ready {
    // Before everything that is dropped: captures of the task, and the last of an allocation, may wait
    // for whoever is behind this task, and so for it.
    promise: Box<dyn Promise>,
    task: HostTask,
    memory: Lent,
    command: Arc<Command>,
    queue: u64,
}

impl Queue {
    /// Runs `task` on a thread of the host once `after`, the barriers before it, and on a queue in order
    /// every command so far, have completed. Returns at once.
    ///
    /// # Errors
    /// The driver's refusal. A panic of the task comes from its event, or from whoever waits next.
    pub fn host_task(
        &self,
        task: Box<dyn FnOnce() + Send>,
        after: &[Event],
    ) -> Result<Event, Error> {
        self.submit_task(Box::new(move |_| task()), Lent::nothing(), after)
    }

    /// Runs `task` with memory, once `after` and whatever uses the memory has completed. Whoever uses
    /// it next waits for the task.
    pub(crate) fn submit_task(
        &self,
        task: HostTask,
        memory: Lent,
        after: &[Event],
    ) -> Result<Event, Error> {
        let failed = |error| Error::driver("submitting a host task", error);
        let mut waits = Vec::new();
        for command in after.iter().flat_map(Event::unsettled) {
            add(&mut waits, command);
        }
        let in_order = self.origin.line.is_some();
        let order = (in_order || !memory.is_nothing()).then(|| self.take_order());
        for (allocation, access) in memory.uses() {
            allocation.uses().collect(access, self.origin, &mut waits);
        }
        let barrier = if in_order { None } else { self.pending.unfinished_barrier() };
        let (event, promise) = self.context().inner().adapter.promise().map_err(failed)?;
        let command = Command::task(self.origin, event);
        let waiting = Arc::new(Waiting::new());
        if in_order {
            // What another thread submits comes before both of these or after them: between them it would neither be
            // waited for by the task nor wait for it. (Natively that is submitted whose call has returned.)
            let _step = self.take_step();
            let before = self.adapter.barrier(&[]).map_err(failed)?;
            waits.push(Command::new(self.origin, before, Outcome::Settled));
            waiting.behind(&waits).map_err(failed)?;
            // Whatever is submitted from now on waits for the task. Where this is refused the
            // promise is dropped, and nobody has heard of its event.
            self.adapter.barrier(&[&*command.event]).map_err(failed)?;
        } else {
            waiting.behind(&waits).map_err(failed)?;
            // The driver does not know of the task.
            barrier.map_or(Ok(()), |it| waiting.behind_barrier(&it)).map_err(failed)?;
        }
        for (allocation, access) in memory.uses() {
            allocation.uses().note(access, &command);
        }
        drop(order);
        self.pending.remember_task(&command);
        let (told, queue) = (Arc::clone(&command), self.number());
        waiting.begin(Ready { promise, task, memory, command: told, queue });
        Ok(Event::of(command))
    }

    /// A command that does nothing but wait: for `after`, or, without any, for every command
    /// submitted to this queue so far. What is submitted to this queue later starts after it.
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn barrier(&self, after: &[Event]) -> Result<Event, Error> {
        let failed = |error| Error::driver("submitting a barrier", error);
        let in_order = self.origin.line.is_some();
        let mut waits = self.dependencies(after)?;
        if !after.is_empty() && waits.is_empty() && !in_order {
            // All have completed, and the driver would take no events for all commands.
            return Ok(Event::nothing());
        }
        let tasks = if after.is_empty() && !in_order {
            self.pending.unfinished_tasks()
        } else {
            Vec::new()
        };
        // Nobody's command comes between the two, nor between those of a host task.
        let order = self.take_order();
        let step = self.take_step();
        if !tasks.is_empty() {
            let commands = self.adapter.barrier(&[]).map_err(failed)?;
            waits.push(Command::new(self.origin, commands, Outcome::Settled));
            waits.extend(tasks);
        }
        let events: Vec<&dyn adapter::Event> = waits.iter().map(|it| &*it.event).collect();
        let event = self.adapter.barrier(&events).map_err(failed)?;
        let command = Command::behind_others(self.origin, event, Outcome::Settled);
        self.pending.begin_barrier(&command);
        drop(step);
        drop(order);
        self.pending.remember(&command);
        Ok(Event::of(command))
    }
}

impl Waiting {
    fn new() -> Self {
        Self { left: AtomicUsize::new(1), failure: Mutex::default(), ready: Mutex::default() }
    }

    /// Waits for these commands, too.
    ///
    /// # Errors
    /// One of them cannot be waited for. What has been counted until then makes nothing begin.
    fn behind(self: &Arc<Self>, commands: &[Arc<Command>]) -> Result<(), DriverError> {
        commands.iter().try_for_each(|command| self.behind_one(command, Self::arrive))
    }

    /// Waits for a barrier of the task's queue, too: for its end alone once somebody was told that it failed, as the queue
    /// can be used after that.
    fn behind_barrier(self: &Arc<Self>, barrier: &Arc<Command>) -> Result<(), DriverError> {
        let arrive = match barrier.is_told() {
            true => |waiting: &_, _| Self::arrive(waiting, Ok(())),
            false => Self::arrive,
        };
        self.behind_one(barrier, arrive)
    }

    fn behind_one(
        self: &Arc<Self>,
        command: &Arc<Command>,
        arrive: fn(&Arc<Self>, Result<(), DriverError>),
    ) -> Result<(), DriverError> {
        self.left.fetch_add(1, Ordering::Relaxed);
        let told = Arc::clone(self);
        let call = Box::new(move |outcome| arrive(&told, outcome));
        let Err(refusal) = command.event.on_complete(call) else { return Ok(()) };
        if command.waits {
            // If it does not run, a wait may return while what it waited for still runs, and if anything tells when that has
            // ended, it is such a call. (Where nothing does, the memory's `Uses` still know it, and keep others away.)
            return Err(refusal);
        }
        // A driver that does not call can still be waited for.
        let (told, command) = (Arc::clone(self), Arc::clone(command));
        let wait = Box::new(move || arrive(&told, command.event.wait()));
        worker::run(wait).map_err(|_| no_thread())
    }

    /// All have been counted.
    fn begin(self: &Arc<Self>, ready: Ready) {
        *self.ready.lock().unwrap_or_else(PoisonError::into_inner) = Some(ready);
        Self::arrive(self, Ok(()));
    }

    /// One of the commands has ended. The last one starts the task.
    fn arrive(waiting: &Arc<Self>, outcome: Result<(), DriverError>) {
        if let Err(error) = outcome {
            let mut failure = waiting.failure.lock().unwrap_or_else(PoisonError::into_inner);
            failure.get_or_insert(error);
        }
        if waiting.left.fetch_sub(1, Ordering::AcqRel) != 1 {
            return;
        }
        // Another thread's, because this one may be the driver's: not even what the task has captured
        // may be dropped here, because that may wait.
        let own = Arc::clone(waiting);
        let refused = worker::run(Box::new(move || own.start()));
        // The job comes back, and the task was never in it.
        if refused.is_err()
            && let Some(ready) = waiting.take()
        {
            ready.abandon();
        }
    }

    fn take(&self) -> Option<Ready> {
        self.ready.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// To be called once, on a thread that may block, when all commands have ended.
    fn start(&self) {
        let Some(ready) = self.take() else { return };
        let failure = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
        match failure {
            Some(error) => ready.give_up(error),
            None => ready.run(),
        }
    }
}

impl Ready {
    /// What it waited for failed, or what it was lent cannot be brought.
    fn give_up(self, error: DriverError) {
        self.command.fail_with(error.clone());
        // First: what the task has captured may wait for it, or for who is behind it.
        self.promise.keep(Err(error));
        discard(self.task);
    }

    /// There is no thread for it, and this one must not block.
    fn abandon(self) {
        let Self { promise, task, memory, command, .. } = self;
        command.fail_with(no_thread());
        promise.keep(Err(no_thread()));
        // Dropping what the task captured, or the last of an allocation, may wait.
        std::mem::forget((task, memory));
    }

    fn run(self) {
        let rooms = match self.memory.fetch() {
            Ok(rooms) => rooms,
            Err(failed) => {
                let failed = failed.noted_by(&self.command);
                return self.give_up(failed);
            }
        };
        let Self { promise, task, memory, command, queue } = self;
        let mut task = Some(task);
        let visited = memory.visit(&mut || {
            let panic = task.take().and_then(|task| call(queue, || task(&rooms.slots())));
            panic.into_iter().for_each(|error| command.fail(error));
        });
        // Also after a panic: as with kernels, what was written until then is there.
        let outcome = visited.map_err(FailedCopy::from).and_then(|()| memory.store(rooms));
        let outcome = outcome.map_err(|failed| failed.noted_by(&command));
        if let Err(error) = &outcome {
            command.fail_with(error.clone());
        }
        promise.keep(outcome);
        // After the promise, as above.
        task.into_iter().for_each(discard);
    }
}

/// Runs a task of a queue; returns its panic.
pub(crate) fn call(queue: u64, task: impl FnOnce()) -> Option<Error> {
    // As above: the task may be that of a thread local's destructor.
    let _ = INSIDE.try_with(|inside| inside.borrow_mut().push(queue));
    let panic = catch_unwind(AssertUnwindSafe(task)).err().map(|payload| {
        let text = format!("a host task panicked: {}", message(&*payload));
        // Dropping a payload can itself panic.
        if let Err(second) = catch_unwind(AssertUnwindSafe(|| drop(payload))) {
            std::mem::forget(second);
        }
        Error::new(ErrorKind::Panic, text)
    });
    // Not before the payload has gone: commands wait for the task until its promise is kept.
    let _ = INSIDE.try_with(|inside| inside.borrow_mut().pop());
    panic
}

/// Drops a task that is not to run: what it captured is the user's, and may panic when it goes.
fn discard(task: HostTask) {
    let task = AssertUnwindSafe(task);
    if let Err(payload) = catch_unwind(move || drop(task)) {
        std::mem::forget(payload);
    }
}

fn message(payload: &(dyn Any + Send)) -> String {
    match (payload.downcast_ref::<&str>(), payload.downcast_ref::<String>()) {
        (Some(text), _) => (*text).to_owned(),
        (_, Some(text)) => text.clone(),
        _ => "a panic with a value that is no text".to_owned(),
    }
}

fn no_thread() -> DriverError {
    DriverError {
        kind: DriverErrorKind::OutOfMemory,
        call: "thread::spawn",
        code: -1,
        log: Some("the system has no thread for a host task".to_owned()),
    }
}

#[cfg(all(test, not(feature = "shuttle")))]
mod tests {
    use std::sync::atomic::AtomicBool;

    use crosscut_adapter_mock::Mock;

    use super::*;
    use crate::command::Origin;
    use crate::happening::Happening;
    use crate::{ErrorKind, Runtime};

    /// Notes that it was dropped.
    struct Dropped(Arc<AtomicBool>);

    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.store(true, Ordering::Relaxed);
        }
    }

    /// The other end of an event of a driver that keeps no more of a failure than a number.
    struct Numbered(Happening);

    impl Promise for Numbered {
        fn keep(self: Box<Self>, outcome: Result<(), DriverError>) {
            self.0.end(outcome.map_err(|error| DriverError {
                kind: DriverErrorKind::DeviceLost,
                call: "wait",
                code: error.code,
                log: None,
            }));
        }
    }

    #[test]
    fn why_a_task_did_not_run_is_told_also_where_the_driver_keeps_a_number_of_it() {
        let endings: [fn(Ready); 2] = [Ready::abandon, |ready| ready.give_up(no_thread())];
        for end in endings {
            let event = Happening::default();
            let origin = Origin { context: 0, line: None };
            let command = Command::task(origin, Box::new(event.clone()));
            end(Ready {
                promise: Box::new(Numbered(event)),
                task: Box::new(|_| ()),
                memory: Lent::nothing(),
                command: Arc::clone(&command),
                queue: 0,
            });
            let asked = [command.is_complete().map(drop), command.is_over(true).map(drop)];
            // Each time, as other failures of a driver's are.
            for told in asked.into_iter().chain([command.wait(), command.wait()]) {
                let told = told.unwrap_err();
                assert_eq!(told.kind(), ErrorKind::OutOfMemory, "{told}");
                assert!(told.to_string().contains("no thread for a host task"), "{told}");
            }
        }
    }

    #[test]
    fn a_task_without_a_thread_fails_and_drops_nothing_on_the_thread_of_the_driver() {
        let mock = Mock::new();
        let runtime = Runtime::with_selector(vec![Arc::new(mock.clone())], "");
        let device = runtime.devices().unwrap().remove(0);
        let queue = Arc::new(Queue::new(&device.default_context().unwrap()).unwrap());
        mock.hold();
        let gone = Arc::new(AtomicBool::new(false));
        let captured = (Dropped(Arc::clone(&gone)), Arc::clone(&queue));
        let task = queue.host_task(Box::new(move || drop(captured)), &[]).unwrap();
        // From here on the task has the last of its queue, which waits for the task when it goes.
        drop(queue);
        worker::REFUSES.set(true);
        mock.release();
        worker::REFUSES.set(false);
        assert_eq!(task.wait().unwrap_err().kind(), ErrorKind::OutOfMemory);
        assert!(!gone.load(Ordering::Relaxed), "what it captured is dropped by nobody");
    }

    #[test]
    fn commands_of_a_queue_dropped_inside_a_task_are_kept_where_no_thread_waits_for_them() {
        let mock = Mock::new();
        let runtime = Runtime::with_selector(vec![Arc::new(mock.clone())], "");
        let device = runtime.devices().unwrap().remove(0);
        let queue = Queue::new(&device.default_context().unwrap()).unwrap();
        queue.barrier(&[]).unwrap();
        let pending = Arc::downgrade(&queue.pending);
        worker::REFUSES.set(true);
        let panic = call(queue.number(), || drop(queue));
        worker::REFUSES.set(false);
        assert!(panic.is_none());
        assert!(pending.upgrade().is_some(), "commands with a panic record wait when they go");
    }
}
