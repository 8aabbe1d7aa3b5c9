//! Threads may share everything.

use std::thread::{ScopedJoinHandle, scope};

use super::{everywhere, only_where, partition, where_kernels_run};
use crate::condition::CAN_BE_CUT;
use crate::device::extent;
use crate::{Behaviour, Place, TestDevice, Work, ensure};

pub(super) const BEHAVIOURS: &[Behaviour] = &[
    everywhere("threads share a queue", share_a_queue),
    everywhere("threads share a context, each with its queue", share_a_context),
    everywhere("threads allocate and free at once", allocate_at_once),
    everywhere("threads open the device at once", open_at_once),
    only_where(&CAN_BE_CUT, "threads cut the device while others let go of it", cut_at_once),
    where_kernels_run("threads launch one kernel, each with its arguments", share_a_kernel),
];

const THREADS: u8 = 8;

type Outcomes<'scope> = Vec<ScopedJoinHandle<'scope, Result<(), String>>>;

fn join(threads: Outcomes<'_>) -> Result<(), String> {
    let panicked = |_| Err("a thread panicked".to_owned());
    threads.into_iter().try_for_each(|thread| thread.join().unwrap_or_else(panicked))
}

fn share_a_queue(device: &TestDevice) -> Result<(), String> {
    let bench = &device.bench()?;
    let run = |value| {
        let memory = bench.memory(1000)?;
        for round in 0..50 {
            bench.start_fill(&memory, 0, value ^ round, 1000, &[])?;
            let found = bench.read_all(&memory)?;
            ensure!(found == [value ^ round; 1000], "thread {value} saw another's bytes");
        }
        Ok(())
    };
    scope(|scope| join((0..THREADS).map(|value| scope.spawn(move || run(value))).collect()))
}

fn share_a_context(device: &TestDevice) -> Result<(), String> {
    let bench = &device.bench()?;
    let run = |value| {
        let own = bench.another(Default::default())?;
        let memory = own.memory(1000)?;
        for _ in 0..50 {
            own.write(&memory, 0, &[value; 1000])?;
            ensure!(own.read_all(&memory)? == [value; 1000], "thread {value}");
        }
        Ok(())
    };
    scope(|scope| join((0..THREADS).map(|value| scope.spawn(move || run(value))).collect()))
}

fn allocate_at_once(device: &TestDevice) -> Result<(), String> {
    let bench = &device.bench()?;
    let run = |value: u8| {
        for round in 1..100 {
            drop(bench.memory(round * 37 + usize::from(value))?);
        }
        Ok(())
    };
    scope(|scope| join((0..THREADS).map(|value| scope.spawn(move || run(value))).collect()))
}

fn open_at_once(device: &TestDevice) -> Result<(), String> {
    let run = |value| {
        let bench = device.bench()?;
        let memory = bench.holding(&[value; 10])?;
        ensure!(bench.read_all(&memory)? == [value; 10], "thread {value}");
        Ok(())
    };
    scope(|scope| join((0..THREADS).map(|value| scope.spawn(move || run(value))).collect()))
}

fn cut_at_once(device: &TestDevice) -> Result<(), String> {
    let count = partition::singles(device)?.len();
    let run = |value| {
        for _ in 0..200 {
            if value % 2 == 0 {
                drop(device.context()?);
                continue;
            }
            let parts = partition::singles(device)?;
            ensure!(parts.len() == count, "it was cut into another number of parts");
        }
        partition::parts_work(device)
    };
    scope(|scope| join((0..THREADS).map(|value| scope.spawn(move || run(value))).collect()))
}

fn share_a_kernel(device: &TestDevice) -> Result<(), String> {
    let bench = &device.bench()?;
    let kernel = &bench.kernel("store_value")?;
    let run = |thread| {
        let own = bench.another(Default::default())?;
        let memory = own.memory(8 * 64)?;
        for round in 0..100 {
            let value = u64::from(thread) << 32 | round;
            let work = Work::StoreValue { to: Place::start(&memory), value };
            own.start_launch(kernel, extent(&[64]), &work, &[])?.wait()?;
            let found = own.read_all(&memory)?;
            let mine = found.chunks(8).all(|word| word == value.to_ne_bytes());
            ensure!(mine, "thread {thread} launched with another's arguments");
        }
        Ok(())
    };
    scope(|scope| join((0..THREADS).map(|value| scope.spawn(move || run(value))).collect()))
}
