//! Completion.

use std::time::{Duration, Instant};

use crosscut_adapter_api::QueueOrder::{InOrder, OutOfOrder};

use super::everywhere;
use crate::device::text;
use crate::{Behaviour, TestDevice, ensure};

pub(super) const BEHAVIOURS: &[Behaviour] = &[
    everywhere("an event that was waited for is complete", complete_after_wait),
    everywhere("an event may be waited for again", wait_again),
    everywhere("a command completes though nobody waits for it", completes_unasked),
    everywhere("a command completes though its event was dropped", completes_without_event),
    everywhere("waiting for a queue completes all its events", queue_wait_completes_all),
    everywhere("waiting for an empty queue returns", wait_for_nothing),
    everywhere("threads may wait for one event together", threads_wait_together),
];

fn complete_after_wait(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let memory = bench.memory(1 << 20)?;
    let filled = bench.start_fill(&memory, 0, 1, 1 << 20, &[])?;
    filled.wait()?;
    ensure!(filled.event().is_complete().map_err(text)?, "it is not");
    Ok(())
}

fn wait_again(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let memory = bench.memory(64)?;
    let filled = bench.start_fill(&memory, 0, 1, 64, &[])?;
    (0..3).try_for_each(|_| filled.wait())
}

fn completes_unasked(device: &TestDevice) -> Result<(), String> {
    for order in [InOrder, OutOfOrder] {
        let bench = device.bench()?.another(order)?;
        let other = bench.another(InOrder)?;
        let memory = bench.memory(1 << 20)?;
        let filled = bench.start_fill(&memory, 0, 1, 1 << 20, &[])?;
        let after = other.start_fill(&memory, 0, 2, 1 << 20, &[&filled])?;
        let patience = Instant::now() + Duration::from_secs(120);
        while !after.event().is_complete().map_err(text)? {
            ensure!(Instant::now() < patience, "{order:?}: it is not complete after two minutes");
            std::thread::yield_now();
        }
    }
    Ok(())
}

fn completes_without_event(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let memory = bench.holding(&[0; 1000])?;
    bench.fill_without_event(&memory, 8)?;
    ensure!(bench.read_all(&memory)? == [8; 1000], "the command did not run");
    Ok(())
}

fn queue_wait_completes_all(device: &TestDevice) -> Result<(), String> {
    for order in [InOrder, OutOfOrder] {
        let bench = device.bench()?.another(order)?;
        let memory = bench.memory(1 << 20)?;
        let mut pending = Vec::new();
        for part in 0..16 {
            pending.push(bench.start_fill(&memory, part << 16, 1, 1 << 16, &[])?);
        }
        bench.queue.wait().map_err(text)?;
        for command in &pending {
            ensure!(command.event().is_complete().map_err(text)?, "{order:?}: one is not");
        }
    }
    Ok(())
}

fn wait_for_nothing(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    bench.queue.wait().map_err(text)?;
    bench.queue.wait().map_err(text)
}

fn threads_wait_together(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let memory = bench.memory(4 << 20)?;
    let filled = bench.start_fill(&memory, 0, 1, 4 << 20, &[])?;
    std::thread::scope(|scope| {
        let waiters: Vec<_> = (0..8).map(|_| scope.spawn(|| filled.wait())).collect();
        waiters
            .into_iter()
            .try_for_each(|waiter| waiter.join().unwrap_or_else(|_| Err("panicked".to_owned())))
    })
}
