//! Host tasks and barriers.

use std::sync::mpsc::{self, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use crosscut_runtime::{ErrorKind, Event, Queue};

use super::stage::{fill, get, refused};
use super::{Failure, Outcome, Stage, everywhere};
use crate::{Behaviour, ensure};

pub(super) const BEHAVIOURS: &[Behaviour] = &[
    everywhere("a host task runs once", once),
    everywhere("waiting for a queue waits for its host tasks", waited_for),
    everywhere("host tasks of a queue in order run in order", in_order),
    everywhere("a host task in order comes after the commands before it", after_commands),
    everywhere("commands in order come after the host task before them", before_commands),
    everywhere("a host task waits for the events that it is given", after_events),
    everywhere("a command waits for the event of a host task", awaited_by_command),
    everywhere("a host task may use another queue", uses_another_queue),
    everywhere("a host task may not use its own queue, and is told so", uses_own_queue),
    everywhere("a host task may submit another one", submits_another),
    everywhere("the panic of a host task is told by its event, once", panic_told),
    everywhere(
        "the panic of a host task is told by its queue, if nobody asks its event",
        panic_queue,
    ),
    everywhere("the queue works after the panic of a host task", works_after_panic),
    everywhere("what waits for a host task that panicked runs", runs_after_panic),
    everywhere("dropping a queue waits for its host tasks", dropped_queue),
    everywhere("an event of a host task that runs is not complete", running),
    everywhere("other queues go on while a host task runs", others_go_on),
    everywhere("a barrier waits for host tasks", barrier_of_tasks),
    everywhere("a host task comes after the barrier before it", after_barrier),
    everywhere("a barrier of events waits for those alone", barrier_of_events),
    everywhere("a barrier of events that have completed completes", barrier_of_completed),
    everywhere("a barrier on an idle queue completes at once", idle_barrier),
];

/// What tasks wrote down, in their order.
type Notes = Arc<Mutex<Vec<usize>>>;

fn note(notes: &Notes, number: usize) -> Box<dyn FnOnce() + Send> {
    let notes = Arc::clone(notes);
    Box::new(move || notes.lock().unwrap_or_else(PoisonError::into_inner).push(number))
}

fn noted(notes: &Notes) -> Vec<usize> {
    notes.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// A task that runs until it is sent something, or its sender is dropped.
pub(super) fn held(queue: &Queue) -> Result<(Event, Sender<()>), Failure> {
    let (sender, receiver) = mpsc::channel();
    let task = Box::new(move || {
        let _ = receiver.recv_timeout(Duration::from_secs(120));
    });
    Ok((queue.host_task(task, &[])?, sender))
}

fn sleeping(queue: &Queue, task: Box<dyn FnOnce() + Send>) -> Result<Event, Failure> {
    let sleepy = Box::new(move || {
        std::thread::sleep(Duration::from_millis(20));
        task();
    });
    Ok(queue.host_task(sleepy, &[])?)
}

fn once(stage: &Stage) -> Outcome {
    for queue in stage.both_orders()? {
        let notes = Notes::default();
        let event = queue.host_task(note(&notes, 1), &[])?;
        event.wait()?;
        event.wait()?;
        queue.wait()?;
        ensure!(noted(&notes) == [1], "it ran {} times", noted(&notes).len());
    }
    Ok(())
}

fn waited_for(stage: &Stage) -> Outcome {
    for queue in stage.both_orders()? {
        let notes = Notes::default();
        for number in 0..5 {
            sleeping(&queue, note(&notes, number))?;
        }
        queue.wait()?;
        ensure!(noted(&notes).len() == 5, "{} of 5 had run", noted(&notes).len());
    }
    Ok(())
}

fn in_order(stage: &Stage) -> Outcome {
    let notes = Notes::default();
    for number in 0..100 {
        stage.queue.host_task(note(&notes, number), &[])?;
    }
    stage.queue.wait()?;
    ensure!(noted(&notes).into_iter().eq(0..100), "{:?}", noted(&notes));
    Ok(())
}

fn after_commands(stage: &Stage) -> Outcome {
    let buffer = stage.buffer(1 << 22)?;
    for value in 0..5 {
        let filled = fill(&stage.queue, &buffer, &[value], &[])?;
        let (sender, receiver) = mpsc::channel();
        let task = Box::new(move || {
            let _ = sender.send(filled.is_complete());
        });
        stage.queue.host_task(task, &[])?.wait()?;
        ensure!(receiver.recv()??, "it ran before the fill had completed");
    }
    Ok(())
}

fn before_commands(stage: &Stage) -> Outcome {
    let buffer = stage.buffer(100)?;
    for value in 0..5 {
        let notes = Notes::default();
        sleeping(&stage.queue, note(&notes, 1))?;
        fill(&stage.queue, &buffer, &[value], &[])?.wait()?;
        ensure!(noted(&notes) == [1], "the fill came before the task");
    }
    Ok(())
}

fn after_events(stage: &Stage) -> Outcome {
    let (one, other) = (stage.out_of_order()?, stage.another()?);
    let notes = Notes::default();
    let first = [sleeping(&one, note(&notes, 1))?, sleeping(&other, note(&notes, 1))?];
    one.host_task(note(&notes, 2), &first)?.wait()?;
    ensure!(noted(&notes) == [1, 1, 2], "{:?}", noted(&notes));
    Ok(())
}

fn awaited_by_command(stage: &Stage) -> Outcome {
    let (one, other) = (stage.out_of_order()?, stage.another()?);
    let buffer = stage.buffer(100)?;
    let notes = Notes::default();
    let first = sleeping(&one, note(&notes, 1))?;
    fill(&other, &buffer, &[4], &[first])?.wait()?;
    ensure!(noted(&notes) == [1], "the fill came before the task");
    Ok(())
}

fn uses_another_queue(stage: &Stage) -> Outcome {
    let (buffer, queue) = (Arc::new(stage.holding(&[6; 100])?), stage.another()?);
    let (sender, receiver) = mpsc::channel();
    let inner = Arc::clone(&buffer);
    let task = Box::new(move || {
        let _ = sender.send(get(&queue, &*inner));
    });
    stage.queue.host_task(task, &[])?.wait()?;
    ensure!(receiver.recv()?? == [6; 100], "it read something else");
    Ok(())
}

fn uses_own_queue(stage: &Stage) -> Outcome {
    let queue = Arc::new(stage.another()?);
    let (sender, receiver) = mpsc::channel();
    let inner = Arc::clone(&queue);
    let task = Box::new(move || {
        let _ = sender.send(inner.outside_own_tasks());
    });
    queue.host_task(task, &[])?.wait()?;
    refused(receiver.recv()?, ErrorKind::Invalid)?;
    Ok(queue.outside_own_tasks()?)
}

fn submits_another(stage: &Stage) -> Outcome {
    let other = stage.another()?;
    let notes = Notes::default();
    let (sender, receiver) = mpsc::channel();
    let inner = note(&notes, 2);
    let task = Box::new(move || {
        let _ = sender.send(other.host_task(inner, &[]));
    });
    stage.queue.host_task(task, &[])?.wait()?;
    receiver.recv()??.wait()?;
    ensure!(noted(&notes) == [2], "{:?}", noted(&notes));
    Ok(())
}

/// A task that panics without a word on the standard error.
fn panicking(queue: &Queue) -> Result<Event, Failure> {
    let task = Box::new(|| std::panic::resume_unwind(Box::new("no more paper")));
    Ok(queue.host_task(task, &[])?)
}

fn is_panic(outcome: Result<(), crosscut_runtime::Error>) -> Outcome {
    let Err(error) = outcome else { return Err(Failure::from("it was not told")) };
    ensure!(error.kind() == ErrorKind::Panic, "{error}");
    ensure!(error.message().contains("no more paper"), "{error}");
    Ok(())
}

fn panic_told(stage: &Stage) -> Outcome {
    for queue in stage.both_orders()? {
        let event = panicking(&queue)?;
        is_panic(event.wait())?;
        event.wait()?;
        queue.wait()?;
    }
    Ok(())
}

fn panic_queue(stage: &Stage) -> Outcome {
    for queue in stage.both_orders()? {
        drop(panicking(&queue)?);
        is_panic(queue.wait())?;
        queue.wait()?;
    }
    Ok(())
}

fn works_after_panic(stage: &Stage) -> Outcome {
    for queue in stage.both_orders()? {
        let buffer = stage.buffer(10)?;
        is_panic(panicking(&queue)?.wait())?;
        fill(&queue, &buffer, &[3], &[])?.wait()?;
        ensure!(get(&queue, &buffer)? == [3; 10], "it does not fill");
        let notes = Notes::default();
        queue.host_task(note(&notes, 1), &[])?.wait()?;
        ensure!(noted(&notes) == [1], "tasks do not run");
    }
    Ok(())
}

fn runs_after_panic(stage: &Stage) -> Outcome {
    let queue = stage.out_of_order()?;
    let (buffer, notes) = (stage.buffer(10)?, Notes::default());
    let first = [panicking(&queue)?];
    queue.host_task(note(&notes, 1), &first)?.wait()?;
    fill(&queue, &buffer, &[3], &first)?.wait()?;
    ensure!(noted(&notes) == [1], "the task did not run");
    is_panic(first[0].wait())
}

fn dropped_queue(stage: &Stage) -> Outcome {
    for queue in stage.both_orders()? {
        let notes = Notes::default();
        sleeping(&queue, note(&notes, 1))?;
        drop(queue);
        ensure!(noted(&notes) == [1], "it had not run");
    }
    Ok(())
}

fn running(stage: &Stage) -> Outcome {
    for queue in stage.both_orders()? {
        let (event, sender) = held(&queue)?;
        ensure!(!event.is_complete()?, "it is complete before its end");
        drop(sender);
        event.wait()?;
        ensure!(event.is_complete()?, "it is not complete");
    }
    Ok(())
}

fn others_go_on(stage: &Stage) -> Outcome {
    let (one, other) = (stage.another()?, stage.another()?);
    let (event, sender) = held(&one)?;
    let buffer = stage.buffer(10)?;
    fill(&other, &buffer, &[3], &[])?.wait()?;
    ensure!(get(&other, &buffer)? == [3; 10], "it does not fill");
    ensure!(!event.is_complete()?, "the task has ended by itself");
    drop(sender);
    Ok(event.wait()?)
}

fn barrier_of_tasks(stage: &Stage) -> Outcome {
    for queue in stage.both_orders()? {
        let notes = Notes::default();
        for number in 0..3 {
            sleeping(&queue, note(&notes, number))?;
        }
        queue.barrier(&[])?.wait()?;
        ensure!(noted(&notes).len() == 3, "{:?}", noted(&notes));
    }
    Ok(())
}

fn after_barrier(stage: &Stage) -> Outcome {
    let other = stage.another()?;
    for queue in stage.both_orders()? {
        for barriers in [1, 2] {
            let notes = Notes::default();
            let (first, sender) = held(&queue)?;
            for _ in 0..barriers {
                queue.barrier(&[])?;
            }
            queue.host_task(note(&notes, 1), &[])?;
            // Some time, for one that waits for nothing.
            for _ in 0..10 {
                other.host_task(Box::new(|| ()), &[])?.wait()?;
            }
            ensure!(noted(&notes).is_empty(), "it overtook the barrier");
            ensure!(!first.is_complete()?, "the held task has ended by itself");
            drop(sender);
            queue.wait()?;
            ensure!(noted(&notes) == [1], "it did not run");
        }
    }
    Ok(())
}

fn barrier_of_events(stage: &Stage) -> Outcome {
    let queue = stage.out_of_order()?;
    let notes = Notes::default();
    let (event, sender) = held(&queue)?;
    let awaited = [sleeping(&queue, note(&notes, 1))?];
    let barrier = queue.barrier(&awaited)?;
    barrier.wait()?;
    ensure!(noted(&notes) == [1], "it did not wait");
    ensure!(!event.is_complete()?, "the held task has ended by itself");
    drop(sender);
    Ok(event.wait()?)
}

fn barrier_of_completed(stage: &Stage) -> Outcome {
    for queue in stage.both_orders()? {
        let buffer = stage.buffer(10)?;
        let filled = fill(&queue, &buffer, &[1], &[])?;
        filled.wait()?;
        queue.barrier(&[filled, Event::default()])?.wait()?;
    }
    Ok(())
}

fn idle_barrier(stage: &Stage) -> Outcome {
    for queue in stage.both_orders()? {
        let barrier = queue.barrier(&[])?;
        barrier.wait()?;
        ensure!(barrier.is_complete()?, "it is not complete");
    }
    Ok(())
}
