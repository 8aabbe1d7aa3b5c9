//! What host tasks do with things that commands behind them use. A task that waited for those would
//! wait for ever, so every behaviour looks for the end of its task, and gives up.

use std::sync::mpsc;
use std::time::{Duration, Instant};

use crosscut_runtime::{Buffer, ErrorKind, Event, Queue};

use super::program::word;
use super::stage::{copy, fill, get, refused};
use super::tasks::held;
use super::{Failure, Outcome, Stage, where_programs_are_built};
use crate::{Behaviour, ensure};

// Not of devices that run native code: there nothing is submitted while a task runs.
pub(super) const BEHAVIOURS: &[Behaviour] = &[
    where_programs_are_built("a host task may drop a buffer that commands behind it use", buffer),
    where_programs_are_built("a host task may drop a queue whose commands are behind it", queue),
    where_programs_are_built(
        "a host task that waits for a command behind it on its queue is refused",
        own_event,
    ),
    where_programs_are_built(
        "a host task that asks when a command behind it on its queue ran is refused",
        own_times,
    ),
    where_programs_are_built(
        "a host task that wants to see what a command behind it on its queue writes is refused",
        own_memory,
    ),
    where_programs_are_built(
        "a host task that wants to write what a command behind it on its queue reads is refused",
        own_source,
    ),
    where_programs_are_built(
        "the first write to a global does not wait for a host task before it",
        first_write,
    ),
    where_programs_are_built(
        "a fill with a pattern that no driver takes does not wait for a host task before it",
        long_fill,
    ),
];

/// A task of this queue that does `what` with something it is sent later.
fn task<T: Send + 'static>(
    queue: &Queue,
    what: impl FnOnce(T) + Send + 'static,
) -> Result<(Event, mpsc::Sender<T>), Failure> {
    let (sender, receiver) = mpsc::channel();
    let task = Box::new(move || {
        if let Ok(sent) = receiver.recv_timeout(Duration::from_secs(120)) {
            what(sent);
        }
    });
    Ok((queue.host_task(task, &[])?, sender))
}

/// Holds a task to its end; its queue is not dropped where that does not come, because that waits.
fn ends(task: &Event, queue: Queue) -> Outcome {
    let begin = Instant::now();
    while !task.is_complete()? {
        if begin.elapsed() > Duration::from_secs(120) {
            std::mem::forget(queue);
            return Err(Failure::from("the task does not end"));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    Ok(queue.wait()?)
}

fn buffer(stage: &Stage) -> Outcome {
    let queue = stage.another()?;
    let (task, sender) = task(&queue, drop::<Buffer>)?;
    let buffer = stage.buffer(1000)?;
    fill(&queue, &buffer, &[3], &[])?;
    sender.send(buffer)?;
    ends(&task, queue)
}

fn queue(stage: &Stage) -> Outcome {
    let (queue, other, buffer) = (stage.another()?, stage.another()?, stage.buffer(1000)?);
    let (task, sender) = task(&queue, drop::<Queue>)?;
    let first = fill(&queue, &buffer, &[3], &[])?;
    let second = fill(&other, &buffer, &[4], &[first])?;
    sender.send(other)?;
    ends(&task, queue)?;
    second.wait()?;
    match get(&stage.queue, &buffer)? == [4; 1000] {
        true => Ok(()),
        false => Err(Failure::from("the command of the dropped queue did not run")),
    }
}

fn own_event(stage: &Stage) -> Outcome {
    let (queue, buffer) = (stage.another()?, stage.buffer(1000)?);
    let (sender, told) = mpsc::channel();
    let wait = move |event: Event| {
        let both = Event::all([&event, &event]);
        let _ = sender.send([event.wait(), both.wait()]);
    };
    let (task, sender) = task(&queue, wait)?;
    let behind = fill(&queue, &buffer, &[3], &[])?;
    sender.send(behind.clone())?;
    ends(&task, queue)?;
    for outcome in told.recv()? {
        refused(outcome, ErrorKind::Invalid)?;
    }
    Ok(behind.wait()?)
}

fn own_times(stage: &Stage) -> Outcome {
    let (queue, buffer) = (stage.another()?, stage.buffer(1000)?);
    let (sender, told) = mpsc::channel();
    let ask = move |event: Event| {
        let _ = sender.send(event.times());
    };
    let (task, sender) = task(&queue, ask)?;
    let behind = fill(&queue, &buffer, &[3], &[])?;
    sender.send(behind.clone())?;
    ends(&task, queue)?;
    let told = told.recv()?.map_err(|error| error.to_string());
    ensure!(told.as_ref().is_err_and(|text| text.contains("behind it")), "{told:?}");
    Ok(behind.wait()?)
}

fn own_memory(stage: &Stage) -> Outcome {
    let (queue, buffer) = (stage.another()?, stage.buffer(1000)?);
    let (sender, told) = mpsc::channel();
    let look = move |buffer: Buffer| {
        let _ = sender.send([buffer.wait_to_read(), buffer.wait_to_write()]);
    };
    let (task, sender) = task(&queue, look)?;
    fill(&queue, &buffer, &[3], &[])?;
    sender.send(buffer)?;
    ends(&task, queue)?;
    told.recv()?.into_iter().try_for_each(|outcome| refused(outcome, ErrorKind::Invalid))
}

fn own_source(stage: &Stage) -> Outcome {
    let (queue, source, target) = (stage.another()?, stage.holding(&[3; 99])?, stage.buffer(99)?);
    let (sender, told) = mpsc::channel();
    let look = move |source: Buffer| {
        let _ = sender.send((source.wait_to_read(), source.wait_to_write()));
    };
    let (task, sender) = task(&queue, look)?;
    copy(&queue, &target, &source, &[])?;
    sender.send(source)?;
    ends(&task, queue)?;
    let (reads, writes) = told.recv()?;
    reads?;
    refused(writes, ErrorKind::Invalid)
}

fn first_write(stage: &Stage) -> Outcome {
    let (queue, global) = (stage.another()?, word()?);
    let (task, go) = held(&queue)?;
    let bytes = 5u64.to_ne_bytes();
    // SAFETY: the word has as many bytes, and any are valid in it.
    let written = unsafe { queue.copy_to_global(global, 0, bytes.as_ptr(), bytes.len(), &[]) }?;
    ensure!(!task.is_complete()?, "the write came back after the task");
    go.send(())?;
    written.wait()?;
    let mut found = [0; 8];
    // SAFETY: as many bytes are writable as the word has.
    unsafe { stage.queue.copy_from_global(global, 0, found.as_mut_ptr(), 8, &[]) }?;
    ensure!(found == bytes, "the word is {found:?}");
    Ok(())
}

fn long_fill(stage: &Stage) -> Outcome {
    let (queue, buffer) = (stage.another()?, stage.buffer(1200)?);
    let (task, go) = held(&queue)?;
    let pattern: [u8; 12] = std::array::from_fn(|at| at as u8);
    let filled = fill(&queue, &buffer, &pattern, &[])?;
    ensure!(!task.is_complete()?, "the fill came back after the task");
    go.send(())?;
    filled.wait()?;
    ensure!(get(&stage.queue, &buffer)? == pattern.repeat(100), "it is filled with something else");
    Ok(())
}
