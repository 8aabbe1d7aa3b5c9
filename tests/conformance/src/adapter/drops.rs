//! Objects that outlive what they were made from.

use super::{everywhere, where_programs_are_built};
use crate::device::{extent, text};
use crate::{Behaviour, Bench, Place, TestDevice, Work, ensure};

pub(super) const BEHAVIOURS: &[Behaviour] = &[
    everywhere("an event outlives its queue", event_outlives_queue),
    everywhere(
        "an event of a dropped queue can be waited for by a command",
        event_of_dropped_queue,
    ),
    everywhere("queues and memory outlive their context", queue_outlives_context),
    everywhere("a hundred contexts come and go", contexts_come_and_go),
    where_programs_are_built("a kernel outlives its program", kernel_outlives_program),
];

fn event_outlives_queue(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let memory = bench.memory(4 << 20)?;
    let filled = bench.start_fill(&memory, 0, 1, 4 << 20, &[])?;
    drop(bench);
    filled.wait()?;
    ensure!(filled.event().is_complete().map_err(text)?, "it did not complete");
    Ok(())
}

fn event_of_dropped_queue(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let memory = bench.memory(4 << 20)?;
    // Many times: a driver may give the same handle to the next queue.
    for value in 1..=10 {
        let other = bench.another(Default::default())?;
        let filled = other.start_fill(&memory, 0, value, 4 << 20, &[])?;
        drop(other);
        let next = bench.another(Default::default())?;
        let found = next.start_read(&memory, 0, 4 << 20, &[&filled])?.bytes()?;
        ensure!(found.iter().all(|byte| *byte == value), "fill {value} was not waited for");
    }
    Ok(())
}

fn queue_outlives_context(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let memory = bench.memory(64)?;
    let Bench { context, queue, .. } = bench;
    drop(context);
    let size = memory.size();
    // SAFETY: the memory outlives the wait.
    let event = unsafe { queue.fill(&*memory, 0, &[3], size, &[]) }.map_err(text)?;
    event.wait().map_err(text)?;
    drop(queue);
    event.wait().map_err(text)?;
    drop(memory);
    drop(event);
    Ok(())
}

fn contexts_come_and_go(device: &TestDevice) -> Result<(), String> {
    for value in 0..100 {
        let bench = device.bench()?;
        let memory = bench.holding(&[value; 32])?;
        ensure!(bench.read_all(&memory)? == [value; 32], "context {value}");
    }
    Ok(())
}

fn kernel_outlives_program(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let memory = bench.holding(&[0; 8])?;
    // `kernel` builds a program of its own and drops it.
    let kernel = bench.kernel("store_value")?;
    let work = Work::StoreValue { to: Place::start(&memory), value: 77 };
    bench.start_launch(&kernel, extent(&[1]), &work, &[])?.wait()?;
    ensure!(bench.read_all(&memory)? == 77_u64.to_ne_bytes(), "the kernel did not run");
    Ok(())
}
