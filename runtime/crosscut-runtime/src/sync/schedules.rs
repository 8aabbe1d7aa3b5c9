//! The event graph under many schedules: nobody is left waiting, nothing is used before it is ready or
//! after it is gone, and what went wrong is told as often as it should be.
//!
//! `cargo test -p crosscut-runtime --features shuttle --lib schedules`. `CROSSCUT_SCHEDULES` is how many
//! schedules each test runs under. Shuttle prints that of a failure; a deadlock is one.

use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, PoisonError};
use std::task::{Poll, Wake, Waker};

use crosscut_adapter_api::{self as adapter, QueueOptions, QueueOrder, Slot};
use shuttle::sync::atomic::{AtomicUsize, Ordering};
use shuttle::sync::{Condvar, Mutex};
use shuttle::thread;

use super::device::{Happening, Threads};
use crate::command::{Command, Origin, Outcome};
use crate::launch::{Binding, Source};
use crate::uses::Access;
use crate::{Buffer, Context, Error, Event, Queue, Region, Runtime};

fn schedules() -> usize {
    let many = std::env::var("CROSSCUT_SCHEDULES").ok().and_then(|text| text.parse().ok());
    many.unwrap_or(1000)
}

/// Runs `test` under schedules of two sorts: any, and those with few but well chosen switches.
fn under_many_schedules(test: fn()) {
    shuttle::check_random(test, schedules());
    shuttle::check_pct(test, schedules(), 3);
}

fn context() -> Context {
    let runtime = Runtime::with_selector(vec![Arc::new(Threads::new())], "");
    runtime.devices().unwrap().remove(0).create_context().unwrap()
}

fn queue(context: &Context, order: QueueOrder) -> Queue {
    Queue::with_options(context, QueueOptions { order, profiling: false }).unwrap()
}

fn fill(queue: &Queue, buffer: &Buffer) -> Event {
    // SAFETY: this device has no bytes, it looks at who is there.
    unsafe { queue.fill(Region::whole(buffer), &[1], &[]) }.unwrap()
}

fn copy(queue: &Queue, to: &Buffer, from: &Buffer) -> Event {
    // SAFETY: as above.
    unsafe { queue.copy(Region::whole(to), Region::whole(from), 0, &[]) }.unwrap()
}

fn buffer(context: &Context) -> Buffer {
    Buffer::allocate(context, 8, 8).unwrap()
}

/// Wakes a thread.
#[derive(Default)]
struct Signal(Mutex<bool>, Condvar);

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = true;
        self.1.notify_all();
    }
}

/// Polls, and sleeps until it is woken: forever, if nobody does.
fn block_on(mut event: Event) -> Result<(), Error> {
    let signal = Arc::new(Signal::default());
    let waker = Waker::from(Arc::clone(&signal));
    loop {
        let polled = Pin::new(&mut event).poll(&mut std::task::Context::from_waker(&waker));
        if let Poll::Ready(outcome) = polled {
            return outcome;
        }
        let mut woken = signal.0.lock().unwrap_or_else(PoisonError::into_inner);
        while !*woken {
            woken = signal.1.wait(woken).unwrap_or_else(PoisonError::into_inner);
        }
        *woken = false;
    }
}

fn command(context: u64, outcome: Outcome) -> (Event, Happening) {
    let happening = Happening::default();
    let origin = Origin { context, line: None };
    (Event::of(Command::new(origin, Box::new(happening.clone()), outcome)), happening)
}

#[test]
fn whoever_polls_an_event_is_woken() {
    under_many_schedules(|| {
        let (event, happening) = command(0, Outcome::Settled);
        let pollers: Vec<_> = (0..3)
            .map(|_| {
                let event = event.clone();
                thread::spawn(move || block_on(event))
            })
            .collect();
        let ending = thread::spawn(move || happening.0.set(Ok(())));
        for poller in pollers {
            poller.join().unwrap().unwrap();
        }
        ending.join().unwrap();
    });
}

#[test]
fn whoever_polls_several_events_is_woken_for_the_last() {
    under_many_schedules(|| {
        let (events, happenings): (Vec<_>, Vec<_>) =
            (0..3).map(|_| command(0, Outcome::Settled)).unzip();
        let all = Event::all(&events);
        let poller = thread::spawn(move || block_on(all));
        for happening in happenings {
            thread::spawn(move || happening.0.set(Ok(())));
        }
        poller.join().unwrap().unwrap();
        assert!(events.iter().all(|event| event.is_complete().unwrap()));
    });
}

#[test]
fn commands_that_share_memory_never_run_together() {
    under_many_schedules(|| {
        let context = context();
        let buffers = Arc::new([buffer(&context), buffer(&context)]);
        let shared = Arc::new(queue(&context, QueueOrder::OutOfOrder));
        let threads: Vec<_> = (0..2)
            .map(|number| {
                let (context, buffers) = (context.clone(), Arc::clone(&buffers));
                let shared = Arc::clone(&shared);
                thread::spawn(move || {
                    let own = queue(&context, QueueOrder::InOrder);
                    fill(&shared, &buffers[number]);
                    copy(&own, &buffers[number], &buffers[1 - number]);
                    copy(&shared, &buffers[1 - number], &buffers[number]);
                    own.wait().unwrap();
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        shared.wait().unwrap();
    });
}

#[test]
fn memory_is_freed_after_the_last_command_that_uses_it() {
    under_many_schedules(|| {
        let context = context();
        let queue = Arc::new(queue(&context, QueueOrder::OutOfOrder));
        let threads: Vec<_> = (0..2)
            .map(|_| {
                let (context, queue) = (context.clone(), Arc::clone(&queue));
                thread::spawn(move || {
                    let (one, other) = (buffer(&context), buffer(&context));
                    fill(&queue, &one);
                    copy(&queue, &other, &one);
                    // Dropped with commands on their way, by a thread that does not wait for them.
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
}

#[test]
fn a_host_task_runs_once_after_all_that_it_waits_for() {
    under_many_schedules(|| {
        let context = context();
        let queue = queue(&context, QueueOrder::OutOfOrder);
        let (events, happenings): (Vec<_>, Vec<_>) =
            (0..3).map(|_| command(queue.origin.context, Outcome::Settled)).unzip();
        let ran = Arc::new(AtomicUsize::new(0));
        for happening in happenings {
            thread::spawn(move || happening.0.set(Ok(())));
        }
        let (seen, awaited) = (Arc::clone(&ran), events.clone());
        let task = Box::new(move || {
            assert!(awaited.iter().all(|event| event.is_complete().unwrap()), "it came early");
            seen.fetch_add(1, Ordering::SeqCst);
        });
        let event = queue.host_task(task, &events).unwrap();
        event.wait().unwrap();
        assert_eq!(ran.load(Ordering::SeqCst), 1);
    });
}

#[test]
fn host_tasks_of_a_queue_in_order_keep_it() {
    under_many_schedules(|| {
        let context = context();
        let queue = queue(&context, QueueOrder::InOrder);
        let buffer = buffer(&context);
        let ran = Arc::new(AtomicUsize::new(0));
        for number in 0..3 {
            fill(&queue, &buffer);
            let ran = Arc::clone(&ran);
            let task = Box::new(move || assert_eq!(ran.fetch_add(1, Ordering::SeqCst), number));
            queue.host_task(task, &[]).unwrap();
        }
        queue.wait().unwrap();
        assert_eq!(ran.load(Ordering::SeqCst), 3);
    });
}

/// Runs a host task of a queue that another thread gives a command meanwhile: that comes before the task or after it.
fn no_command_runs_beside_a_task(submit: fn(&Queue, &Buffer) -> Event) {
    let context = context();
    let (shared, buffer) = (Arc::new(queue(&context, QueueOrder::InOrder)), buffer(&context));
    let given = Arc::new(Mutex::new(None));
    let (using, giving) = (Arc::clone(&shared), Arc::clone(&given));
    let another = thread::spawn(move || {
        let event = submit(&using, &buffer);
        *giving.lock().unwrap() = Some(event);
    });
    let is_complete = move || {
        let given: Option<Event> = given.lock().unwrap().clone();
        given.map(|event| event.is_complete().unwrap())
    };
    let task = Box::new(move || {
        if is_complete() == Some(false) {
            thread::yield_now();
            assert_eq!(is_complete(), Some(false), "the command ran beside the task");
        }
    });
    let _event = shared.host_task(task, &[]).unwrap();
    another.join().unwrap();
    // By its queue: all threads are inside the task for as long as it runs, as shuttle's are one of the system's.
    shared.wait().unwrap();
}

#[test]
fn a_command_that_uses_memory_does_not_run_beside_a_task_of_its_queue() {
    under_many_schedules(|| no_command_runs_beside_a_task(fill));
}

#[test]
fn a_command_that_uses_nothing_does_not_run_beside_a_task_of_its_queue() {
    under_many_schedules(|| {
        no_command_runs_beside_a_task(|queue, _| {
            // As a kernel without arguments.
            let run = |after: &[&dyn adapter::Event]| queue.adapter.barrier(after);
            Event::of(queue.submit(&[], Vec::new(), Outcome::Settled, run).unwrap())
        });
    });
}

#[test]
fn a_barrier_does_not_pass_beside_a_task_of_its_queue() {
    under_many_schedules(|| no_command_runs_beside_a_task(|queue, _| queue.barrier(&[]).unwrap()));
}

/// Commands are remembered after they are handed over, so that a list of them need not be in order.
#[test]
fn copies_by_the_host_come_after_host_tasks_whoever_else_uses_the_queue() {
    under_many_schedules(|| {
        let context = context();
        let shared = Arc::new(queue(&context, QueueOrder::InOrder));
        let (one, other) = (buffer(&context), buffer(&context));
        let using = Arc::clone(&shared);
        let another = thread::spawn(move || drop(fill(&using, &other)));
        let ran = Arc::new(AtomicUsize::new(0));
        let task = Arc::clone(&ran);
        let task = Box::new(move || {
            task.fetch_add(1, Ordering::SeqCst);
        });
        shared.host_task(task, &[]).unwrap();
        let allocation = Region::whole(&one).bytes().unwrap().allocation;
        if shared.wait_for_turn(allocation, Access::Read).is_some() {
            assert_eq!(ran.load(Ordering::SeqCst), 1, "the copy came before the task");
        }
        another.join().unwrap();
    });
}

/// The same for a command of which the copy does not know what it writes: a kernel that follows addresses, for one.
#[test]
fn copies_by_the_host_come_after_all_commands_of_their_thread() {
    under_many_schedules(|| {
        let context = context();
        let shared = Arc::new(queue(&context, QueueOrder::InOrder));
        let [one, other, elsewhere] = [(); 3].map(|()| buffer(&context));
        let using = Arc::clone(&shared);
        let another = thread::spawn(move || drop(fill(&using, &other)));
        let before = fill(&shared, &elsewhere);
        let allocation = Region::whole(&one).bytes().unwrap().allocation;
        if shared.wait_for_turn(allocation, Access::Read).is_some() {
            assert!(before.is_complete().unwrap(), "the copy came before the fill");
        }
        another.join().unwrap();
    });
}

#[test]
fn host_tasks_with_memory_come_between_those_who_use_it_and_let_it_go() {
    under_many_schedules(|| {
        let context = context();
        let one = queue(&context, QueueOrder::InOrder);
        let other = queue(&context, QueueOrder::OutOfOrder);
        let (lent, copied) = (buffer(&context), buffer(&context));
        let ran = Arc::new(AtomicUsize::new(0));
        let lend = |queue: &Queue, access, number| {
            let ran = Arc::clone(&ran);
            let task = move |_: &[Slot]| {
                assert_eq!(ran.fetch_add(1, Ordering::SeqCst), number, "out of order");
            };
            let source = Source::Buffer(Region::whole(&lent));
            let binding = Binding { source, access, length: 8, align: 8 };
            // SAFETY: the task touches nothing.
            unsafe { queue.host_task_with(&[binding], Box::new(task), &[]) }.unwrap()
        };
        fill(&one, &lent);
        lend(&other, Access::Write, 0);
        copy(&one, &copied, &lent);
        lend(&one, Access::Write, 1);
        let last = lend(&other, Access::Read, 2);
        fill(&one, &lent);
        // Dropped while the last one may still have it.
        drop(lent);
        last.wait().unwrap();
        one.wait().unwrap();
        assert_eq!(ran.load(Ordering::SeqCst), 3);
    });
}

#[test]
fn a_panic_is_told_by_its_event_once_and_by_queues_at_most_once() {
    under_many_schedules(|| {
        let context = context();
        let queue = Arc::new(queue(&context, QueueOrder::OutOfOrder));
        let task = Box::new(|| std::panic::resume_unwind(Box::new("no")));
        let event = queue.host_task(task, &[]).unwrap();
        let told = Arc::new([AtomicUsize::new(0), AtomicUsize::new(0)]);
        let threads: Vec<_> = (0..4)
            .map(|number| {
                let (queue, event, told) = (Arc::clone(&queue), event.clone(), Arc::clone(&told));
                thread::spawn(move || {
                    let outcome = if number % 2 == 0 { event.wait() } else { queue.wait() };
                    told[number % 2].fetch_add(usize::from(outcome.is_err()), Ordering::SeqCst);
                })
            })
            .collect();
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!(told[0].load(Ordering::SeqCst), 1, "by its event");
        assert!(told[1].load(Ordering::SeqCst) <= 1, "by its queue");
    });
}
