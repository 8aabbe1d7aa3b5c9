//! Host tasks that are lent memory.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::mpsc;
use std::time::Duration;

use crosscut_runtime::{
    Access, Binding, Buffer, Error, ErrorKind, Event, Queue, Region, Slot, Source, UsmKind,
};

use super::stage::{copy, fill, get, refused};
use super::{Outcome, Stage, everywhere, only_where, where_programs_are_built};
use crate::adapter::pattern;
use crate::condition::{Condition, HAS_UNIFIED_MEMORY, TAKES_SPIRV};
use crate::{Behaviour, ensure};

pub(super) const BEHAVIOURS: &[Behaviour] = &[
    everywhere("a host task sees the memory it is lent", seen),
    everywhere("what a host task writes is there for who reads it next", written),
    everywhere("what a host task is lent for reading stays as it is", read_only),
    everywhere("a part is lent without its neighbours", parts),
    everywhere("no bytes can be lent", nothing),
    everywhere("memory is lent as its elements are aligned", aligned),
    everywhere(
        "a host task waits for whoever writes what it is lent, on another queue",
        after_writer,
    ),
    everywhere("who writes memory waits for the host task that reads it", before_writer),
    everywhere("who reads memory waits for the host task that writes it", before_reader),
    everywhere("host tasks that write the same memory come one after the other", chain),
    everywhere("memory may be dropped while a host task has it", dropped),
    everywhere("the panic of a host task is told to who reads what it wrote", panicked),
    everywhere("what a host task wrote before its panic is there", kept),
    everywhere("memory of another context is not lent", foreign),
    everywhere("memory that is written is lent once", twice),
    everywhere("dropping a queue waits for the host tasks that have memory", dropped_queue),
    // The host CPU runs tasks with memory when they are submitted.
    where_programs_are_built(
        "other memory of a queue out of order goes on while a host task has some",
        others_go_on,
    ),
    only_where(
        &SHARES_ATOMICS,
        "atomics that the host reaches are lent themselves: nobody's changes are undone",
        beside_the_host,
    ),
    everywhere(
        "atomics of a buffer are lent, and what tasks add to them comes back",
        shared_atomics,
    ),
];

// Not of the host CPU, which has ended the task before anybody else can do anything.
const SHARES_ATOMICS: Condition = Condition {
    otherwise: "nobody on the host has memory while its host tasks have it",
    holds: |device| (HAS_UNIFIED_MEMORY.holds)(device) && (TAKES_SPIRV.holds)(device),
};

type Bytes<'a> = &'a mut [u8];

/// A part and what is done with it.
fn lent<'a>(region: impl Into<Region<'a>>, access: Access, align: usize) -> Binding<'a> {
    let region = region.into();
    Binding { source: Source::Buffer(region), access, length: region.size(), align }
}

fn with(
    queue: &Queue,
    bindings: &[Binding<'_>],
    after: &[Event],
    task: impl FnOnce(Vec<Bytes<'_>>) + Send + 'static,
) -> Result<Event, Error> {
    let task = move |slots: &[Slot]| {
        let bytes = slots.iter().map(|slot| {
            // SAFETY: elements are bytes here, and each binding has its own.
            unsafe { std::slice::from_raw_parts_mut(slot.address, slot.length) }
        });
        task(bytes.collect());
    };
    // SAFETY: behaviours write only what they were lent for that, from one thread at a time.
    unsafe { queue.host_task_with(bindings, Box::new(task), after) }
}

fn writing(
    queue: &Queue,
    buffer: &Buffer,
    task: impl FnOnce(Bytes<'_>) + Send + 'static,
) -> Result<Event, Error> {
    with(queue, &[lent(buffer, Access::Write, 1)], &[], |mut all| task(all.remove(0)))
}

fn reading(queue: &Queue, buffer: &Buffer) -> Result<mpsc::Receiver<Vec<u8>>, Error> {
    let (sender, receiver) = mpsc::channel();
    with(queue, &[lent(buffer, Access::Read, 1)], &[], move |all| {
        // Long enough for whoever does not wait to be found out.
        std::thread::sleep(Duration::from_millis(5));
        let _ = sender.send(all[0].to_vec());
    })?;
    Ok(receiver)
}

fn seen(stage: &Stage) -> Outcome {
    let bytes = pattern(5000);
    let buffer = stage.holding(&bytes)?;
    for queue in stage.both_orders()? {
        ensure!(reading(&queue, &buffer)?.recv()? == bytes, "it saw other bytes");
    }
    Ok(())
}

fn written(stage: &Stage) -> Outcome {
    for (queue, value) in stage.both_orders()?.into_iter().zip(1..) {
        let buffer = stage.holding(&[0; 100])?;
        writing(&queue, &buffer, move |bytes| bytes[50..].fill(value))?;
        let bytes = get(&queue, &buffer)?;
        ensure!(bytes[..50] == [0; 50] && bytes[50..] == [value; 50], "{bytes:?}");
    }
    Ok(())
}

fn read_only(stage: &Stage) -> Outcome {
    let (one, other) = (stage.holding(&[1; 64])?, stage.holding(&[2; 64])?);
    let bindings = [lent(&one, Access::Read, 1), lent(&other, Access::Write, 1)];
    with(&stage.queue, &bindings, &[], |mut all| {
        let source = all[0].to_vec();
        all[1].copy_from_slice(&source);
    })?;
    ensure!(stage.bytes(&one)? == [1; 64], "the one that is read");
    ensure!(stage.bytes(&other)? == [1; 64], "the one that is written");
    Ok(())
}

fn parts(stage: &Stage) -> Outcome {
    let buffer = stage.holding(&pattern(100))?;
    let low = Region::new(&buffer, 3..10)?;
    let high = Region::new(&buffer, 10..99)?;
    let bindings = [lent(low, Access::Write, 1), lent(high, Access::Write, 1)];
    with(&stage.queue, &bindings, &[], |mut all| {
        let first = all[1][0];
        all[0].fill(first);
        all[1].fill(0);
    })?;
    let mut expected = pattern(100);
    let first = expected[10];
    expected[3..10].fill(first);
    expected[10..99].fill(0);
    ensure!(stage.bytes(&buffer)? == expected, "other bytes");
    Ok(())
}

fn nothing(stage: &Stage) -> Outcome {
    let (empty, some) = (stage.buffer(0)?, stage.holding(&[7; 4])?);
    let end = Region::new(&some, 4..4)?;
    let (sender, receiver) = mpsc::channel();
    let bindings = [lent(&empty, Access::Write, 64), lent(end, Access::Read, 8)];
    with(&stage.queue, &bindings, &[], move |all| {
        let _ = sender.send(all.iter().map(|bytes| bytes.len()).sum::<usize>());
    })?;
    with(&stage.queue, &[], &[], |_| ())?.wait()?;
    ensure!(receiver.recv()? == 0, "there are bytes");
    Ok(())
}

fn aligned(stage: &Stage) -> Outcome {
    let (sender, receiver) = mpsc::channel();
    for align in [1usize, 8, 64] {
        let buffer = stage.holding(&[1; 64])?;
        let sender = sender.clone();
        with(&stage.queue, &[lent(&buffer, Access::Read, align)], &[], move |all| {
            let _ = sender.send(all[0].as_ptr().addr() % align);
        })?
        .wait()?;
        ensure!(receiver.recv()? == 0, "not aligned to {align}");
    }
    Ok(())
}

fn after_writer(stage: &Stage) -> Outcome {
    let [one, other] = stage.both_orders()?;
    let buffer = stage.buffer(1 << 20)?;
    for value in 0..10 {
        fill(&one, &buffer, &[value], &[])?;
        let seen = reading(&other, &buffer)?.recv()?;
        ensure!(seen.iter().all(|it| *it == value), "it came before fill {value}");
        fill(&other, &buffer, &[100 + value], &[])?;
        let seen = reading(&one, &buffer)?.recv()?;
        ensure!(seen.iter().all(|it| *it == 100 + value), "it came before fill {value}");
    }
    Ok(())
}

fn before_writer(stage: &Stage) -> Outcome {
    let [one, other] = stage.both_orders()?;
    let buffer = stage.holding(&[0; 1000])?;
    for value in 1..5 {
        let seen = reading(&one, &buffer)?;
        fill(&other, &buffer, &[value], &[])?;
        ensure!(seen.recv()? == [value - 1; 1000], "fill {value} came before it");
        other.wait()?;
    }
    Ok(())
}

fn before_reader(stage: &Stage) -> Outcome {
    let [one, other] = stage.both_orders()?;
    let (buffer, target) = (stage.holding(&[0; 1000])?, stage.buffer(1000)?);
    for value in 1..5 {
        writing(&other, &buffer, move |bytes| {
            std::thread::sleep(Duration::from_millis(5));
            bytes.fill(value);
        })?;
        copy(&one, &target, &buffer, &[])?;
        ensure!(get(&one, &target)? == [value; 1000], "the copy came before task {value}");
    }
    Ok(())
}

fn chain(stage: &Stage) -> Outcome {
    let queues = stage.both_orders()?;
    let buffer = stage.holding(&[0; 10])?;
    for number in 0..100u8 {
        writing(&queues[usize::from(number % 2)], &buffer, move |bytes| {
            for byte in bytes {
                *byte = if *byte == number { number + 1 } else { 255 };
            }
        })?;
    }
    ensure!(stage.bytes(&buffer)? == [100; 10], "{:?}", stage.bytes(&buffer)?);
    Ok(())
}

fn dropped(stage: &Stage) -> Outcome {
    for queue in stage.both_orders()? {
        let (sender, receiver) = mpsc::channel();
        for value in 0..5u8 {
            let (buffer, sender) = (stage.buffer(1 << 18)?, sender.clone());
            fill(&queue, &buffer, &[value], &[])?;
            writing(&queue, &buffer, move |bytes| {
                std::thread::sleep(Duration::from_millis(2));
                let same = bytes.iter().all(|byte| *byte == value);
                bytes.fill(9);
                let _ = sender.send(same);
            })?;
        }
        queue.wait()?;
        ensure!(receiver.try_iter().collect::<Vec<_>>() == [true; 5], "other bytes");
    }
    Ok(())
}

fn panicked(stage: &Stage) -> Outcome {
    let [one, other] = stage.both_orders()?;
    let buffer = stage.holding(&[5; 8])?;
    writing(&one, &buffer, |_| std::panic::resume_unwind(Box::new("no")))?;
    let told = get(&other, &buffer).map(drop);
    ensure!(told.is_err_and(|error| error.kind() == ErrorKind::Panic), "it was not told");
    ensure!(get(&other, &buffer)? == [5; 8], "the memory has changed");
    Ok(())
}

fn kept(stage: &Stage) -> Outcome {
    for queue in stage.both_orders()? {
        let buffer = stage.holding(&[0; 4])?;
        let event = writing(&queue, &buffer, |bytes| {
            bytes[1] = 7;
            std::panic::resume_unwind(Box::new("no"));
        })?;
        let error = event.wait().err().map(|error| error.kind());
        ensure!(error == Some(ErrorKind::Panic), "{error:?}");
        ensure!(get(&queue, &buffer)? == [0, 7, 0, 0], "{:?}", get(&queue, &buffer)?);
    }
    Ok(())
}

fn foreign(stage: &Stage) -> Outcome {
    let there = stage.elsewhere()?.holding(&[1; 4])?;
    refused(writing(&stage.queue, &there, |_| ()), ErrorKind::Invalid)
}

fn twice(stage: &Stage) -> Outcome {
    let buffer = stage.holding(&[1; 8])?;
    let (all, part) = (Region::whole(&buffer), Region::new(&buffer, 2..3)?);
    let bindings = [lent(all, Access::Read, 1), lent(part, Access::Write, 1)];
    // SAFETY: the task touches nothing.
    let lend =
        |bindings: &[_]| unsafe { stage.queue.host_task_with(bindings, Box::new(|_| ()), &[]) };
    refused(lend(&bindings), ErrorKind::Invalid)?;
    lend(&[lent(all, Access::Read, 1), lent(part, Access::Read, 1)])?.wait()?;
    Ok(())
}

fn dropped_queue(stage: &Stage) -> Outcome {
    let buffer = stage.holding(&[0; 16])?;
    for (queue, value) in stage.both_orders()?.into_iter().zip(1..) {
        let event = writing(&queue, &buffer, move |bytes| {
            std::thread::sleep(Duration::from_millis(10));
            bytes.fill(value);
        })?;
        drop(queue);
        ensure!(event.is_complete()?, "it still runs");
        ensure!(stage.bytes(&buffer)? == [value; 16], "{:?}", stage.bytes(&buffer)?);
    }
    Ok(())
}

fn others_go_on(stage: &Stage) -> Outcome {
    let queue = stage.out_of_order()?;
    let (held, free) = (stage.holding(&[0; 16])?, stage.holding(&[0; 16])?);
    let (go, wait) = mpsc::channel::<()>();
    let event = writing(&queue, &held, move |bytes| {
        // Dropping the sender is as good as a word.
        let _ = wait.recv_timeout(Duration::from_secs(120));
        bytes.fill(1);
    })?;
    fill(&queue, &free, &[2], &[])?.wait()?;
    ensure!(get(&queue, &free)? == [2; 16], "{:?}", get(&queue, &free)?);
    ensure!(!event.is_complete()?, "the task did not wait");
    drop(go);
    ensure!(get(&queue, &held)? == [1; 16], "{:?}", get(&queue, &held)?);
    Ok(())
}

/// Has a task do `work` with the atomics of a buffer, which others have at the same time.
fn counting(
    queue: &Queue,
    counts: &Buffer,
    work: impl FnOnce(&[AtomicU32]) + Send + 'static,
) -> Result<Event, Error> {
    let region = Region::whole(counts).shared();
    let source = Source::Buffer(region);
    let binding = Binding { source, access: Access::Write, length: region.size() / 4, align: 4 };
    let task = move |slots: &[Slot]| {
        let (first, length) = (slots[0].address.cast::<AtomicU32>(), slots[0].length);
        // SAFETY: the elements are atomics, for everybody.
        work(unsafe { std::slice::from_raw_parts(first, length) });
    };
    // SAFETY: as it was bound: it writes atomics.
    unsafe { queue.host_task_with(&[binding], Box::new(task), &[]) }
}

fn beside_the_host(stage: &Stage) -> Outcome {
    for kind in [UsmKind::Host, UsmKind::Shared] {
        let Ok(counts) = Buffer::allocate_usm(stage.queue.context(), kind, 8, 4) else { continue };
        fill(&stage.queue, &counts, &[0], &[])?.wait()?;
        let address = counts.host_address().ok_or("the host does not reach it")?;
        // SAFETY: two zeroed elements, there until the buffer is dropped below.
        let host = unsafe { std::slice::from_raw_parts(address.cast::<AtomicU32>(), 2) };
        let ((begun, begins), (go, waits)) = (mpsc::channel::<()>(), mpsc::channel::<()>());
        let event = counting(&stage.queue, &counts, move |counts| {
            counts[0].fetch_add(1, Relaxed);
            drop(begun);
            // Dropping the sender is as good as a word.
            let _ = waits.recv_timeout(Duration::from_secs(120));
            counts[0].fetch_add(1, Relaxed);
        })?;
        let _ = begins.recv_timeout(Duration::from_secs(120));
        host[0].fetch_add(100, Relaxed);
        host[1].fetch_add(7, Relaxed);
        drop(go);
        event.wait()?;
        let counts = [host[0].load(Relaxed), host[1].load(Relaxed)];
        ensure!(counts == [102, 7], "{kind}: {counts:?}");
    }
    Ok(())
}

fn shared_atomics(stage: &Stage) -> Outcome {
    let counts = stage.holding(&[0; 8])?;
    for queue in stage.both_orders()? {
        counting(&queue, &counts, |counts| {
            counts[1].fetch_add(3, Relaxed);
        })?;
    }
    let expected = [0u32.to_ne_bytes(), 6u32.to_ne_bytes()].concat();
    ensure!(stage.bytes(&counts)? == expected, "{:?}", stage.bytes(&counts)?);
    Ok(())
}
