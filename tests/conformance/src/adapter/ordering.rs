//! What runs before what.

use crosscut_adapter_api::QueueOrder::{InOrder, OutOfOrder};

use super::everywhere;
use crate::{Behaviour, Pending, TestDevice, ensure};

pub(super) const BEHAVIOURS: &[Behaviour] = &[
    everywhere("a queue in order runs its commands in order", in_order),
    everywhere("a queue out of order keeps the order that events ask for", out_of_order),
    everywhere("a command waits for an event of another queue", across_two_queues),
    everywhere("a chain of events may go through many queues", across_many_queues),
    everywhere("a command may wait for many events", many_events),
    everywhere("an event may be waited for twice by one command", same_event_twice),
    everywhere("a command may wait for an event of its own queue", own_queue),
    everywhere("a command may wait for an event that has completed", completed_event),
];

/// Large enough for a copy of it to take a while.
const LARGE: usize = 4 << 20;

fn in_order(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let memory = bench.memory(LARGE)?;
    let mut pending = Vec::new();
    for value in 1..=20 {
        pending.push(bench.start_fill(&memory, 0, value, LARGE, &[])?);
        pending.push(bench.start_write(&memory, LARGE - 1, &[value + 100], &[])?);
    }
    let last = bench.start_read(&memory, LARGE - 2, 2, &[])?.bytes()?;
    ensure!(last == [20, 120], "the last commands were not the last: {last:?}");
    Ok(())
}

fn out_of_order(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?.another(OutOfOrder)?;
    let memory = bench.memory(LARGE)?;
    let mut last = bench.start_fill(&memory, 0, 0, LARGE, &[])?;
    let mut pending = Vec::new();
    for value in 1..=20 {
        let next = bench.start_fill(&memory, 0, value, LARGE, &[&last])?;
        pending.push(std::mem::replace(&mut last, next));
    }
    let found = bench.start_read(&memory, 0, LARGE, &[&last])?.bytes()?;
    ensure!(found.iter().all(|byte| *byte == 20), "a fill ran before the one it waits for");
    Ok(())
}

fn across_two_queues(device: &TestDevice) -> Result<(), String> {
    let one = device.bench()?;
    let two = one.another(InOrder)?;
    let memory = one.memory(LARGE)?;
    for value in 1..=20 {
        let filled = one.start_fill(&memory, 0, value, LARGE, &[])?;
        let found = two.start_read(&memory, 0, LARGE, &[&filled])?.bytes()?;
        ensure!(found.iter().all(|byte| *byte == value), "the read came before fill {value}");
    }
    Ok(())
}

fn across_many_queues(device: &TestDevice) -> Result<(), String> {
    let first = device.bench()?;
    let memory = first.memory(1 << 16)?;
    let mut queues = vec![first.clone()];
    for order in [OutOfOrder, InOrder, OutOfOrder, InOrder] {
        queues.push(first.another(order)?);
    }
    let mut chain = vec![first.start_fill(&memory, 0, 0, 1 << 16, &[])?];
    for step in 1..=60_u8 {
        let queue = &queues[usize::from(step) % queues.len()];
        let next = queue.start_fill(&memory, 0, step, 1 << 16, &[&chain[chain.len() - 1]])?;
        chain.push(next);
    }
    let found = first.start_read(&memory, 0, 1 << 16, &[&chain[60]])?.bytes()?;
    ensure!(found.iter().all(|byte| *byte == 60), "a link of the chain ran too early");
    Ok(())
}

fn many_events(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?.another(OutOfOrder)?;
    let other = bench.another(InOrder)?;
    let memory = bench.memory(40 << 12)?;
    let mut pending = Vec::new();
    for part in 0..40_u8 {
        let offset = usize::from(part) << 12;
        pending.push(bench.start_fill(&memory, offset, part, 1 << 12, &[])?);
    }
    let all: Vec<&Pending> = pending.iter().collect();
    let found = other.start_read(&memory, 0, 40 << 12, &all)?.bytes()?;
    for (part, bytes) in (0..).zip(found.chunks(1 << 12)) {
        ensure!(bytes.iter().all(|byte| *byte == part), "part {part} was not waited for");
    }
    Ok(())
}

fn same_event_twice(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let other = bench.another(InOrder)?;
    let memory = bench.memory(64)?;
    let filled = bench.start_fill(&memory, 0, 5, 64, &[])?;
    let found = other.start_read(&memory, 0, 64, &[&filled, &filled])?.bytes()?;
    ensure!(found == [5; 64], "{found:?}");
    Ok(())
}

fn own_queue(device: &TestDevice) -> Result<(), String> {
    for order in [InOrder, OutOfOrder] {
        let bench = device.bench()?.another(order)?;
        let memory = bench.memory(LARGE)?;
        let filled = bench.start_fill(&memory, 0, 5, LARGE, &[])?;
        let found = bench.start_read(&memory, LARGE - 8, 8, &[&filled])?.bytes()?;
        ensure!(found == [5; 8], "{order:?}: {found:?}");
    }
    Ok(())
}

fn completed_event(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let other = bench.another(InOrder)?;
    let memory = bench.memory(64)?;
    let filled = bench.start_fill(&memory, 0, 5, 64, &[])?;
    filled.wait()?;
    let found = other.start_read(&memory, 0, 64, &[&filled])?.bytes()?;
    ensure!(found == [5; 64], "{found:?}");
    Ok(())
}
