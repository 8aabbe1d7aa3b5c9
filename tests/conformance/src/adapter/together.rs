//! Devices that are opened together: a whole and its parts.

use crosscut_adapter_api::QueueOrder::{InOrder, OutOfOrder};
use crosscut_adapter_api::{Feature, MemoryKind};

use super::{only_where, pattern};
use crate::condition::{CAN_BE_OPENED_TOGETHER, PROGRAMS_OF_SEVERAL};
use crate::device::{extent, text};
use crate::{Behaviour, Bench, Place, TestDevice, Work, ensure};

const fn together(name: &'static str, run: fn(&TestDevice) -> Result<(), String>) -> Behaviour {
    only_where(&CAN_BE_OPENED_TOGETHER, name, run)
}

pub(super) const BEHAVIOURS: &[Behaviour] = &[
    together("devices that are opened together have a context each", one_each),
    together("what one device wrote another reads, and a third changes", shared_memory),
    together("memory of every kind is reached by all devices opened together", every_kind),
    together("a chain of events may go through all devices of a context", chain),
    together("a promise made on one device holds up commands on another", promise),
    together("a kernel uses memory that a kernel of another device wrote", kernels_chain),
    together("memory outlives the device whose context allocated it", outlives),
    together("a context works when those opened together with it are gone", last_one),
    only_where(
        &PROGRAMS_OF_SEVERAL,
        "a program is built for each device opened together, also from its bytes",
        programs,
    ),
];

/// A queue in order on the whole and on each of its parts, opened together.
fn benches(device: &TestDevice) -> Result<Vec<Bench>, String> {
    let contexts = device.opened_with_parts()?.into_iter();
    contexts.map(|context| device.bench_on(context, InOrder)).collect()
}

fn one_each(device: &TestDevice) -> Result<(), String> {
    let count = benches(device)?.len();
    let expected = device.info().compute_units as usize + 1;
    ensure!(count == expected, "{count} contexts for {expected} devices");
    Ok(())
}

fn shared_memory(device: &TestDevice) -> Result<(), String> {
    let benches = benches(device)?;
    let memory = benches[0].holding(&pattern(5000))?;
    for (value, bench) in (1..).zip(&benches) {
        ensure!(bench.read_all(&memory)?[2500..] == pattern(5000)[2500..], "it read others");
        bench.start_fill(&memory, 0, value, 2500, &[])?.wait()?;
        for reader in &benches {
            ensure!(reader.read(&memory, 0, 2500)? == [value; 2500], "{value} is not there");
        }
    }
    Ok(())
}

fn every_kind(device: &TestDevice) -> Result<(), String> {
    let benches = benches(device)?;
    let features = device.info().features;
    let kinds = [
        (MemoryKind::Device, None),
        (MemoryKind::HostVisible, None),
        (MemoryKind::Host, Some(Feature::UsmHost)),
        (MemoryKind::Shared, Some(Feature::UsmShared)),
    ];
    for owner in &benches {
        for (kind, feature) in kinds {
            let there = |feature| features.has(feature) && !owner.context.lacks(feature);
            if !feature.is_none_or(there) {
                continue;
            }
            let memory = owner.memory_of(kind, 800)?;
            for (value, bench) in (1..).zip(&benches) {
                let work = Work::StoreValue { to: Place::start(&memory), value };
                bench.launch(&[100], &work)?;
                let stored = owner.read_all(&memory)?;
                ensure!(stored == value.to_ne_bytes().repeat(100), "{kind:?}: {value} is lost");
            }
        }
    }
    Ok(())
}

fn chain(device: &TestDevice) -> Result<(), String> {
    const SIZE: usize = 1 << 18;
    let mut queues = benches(device)?;
    for bench in queues.clone() {
        queues.push(bench.another(OutOfOrder)?);
    }
    let memory = queues[0].memory(SIZE)?;
    let mut chain = vec![queues[0].start_fill(&memory, 0, 0, SIZE, &[])?];
    for step in 1..=60_u8 {
        let queue = &queues[usize::from(step) % queues.len()];
        let next = queue.start_fill(&memory, 0, step, SIZE, &[&chain[chain.len() - 1]])?;
        chain.push(next);
    }
    let found = queues[1].start_read(&memory, 0, SIZE, &[&chain[60]])?.bytes()?;
    ensure!(found.iter().all(|byte| *byte == 60), "a link of the chain ran too early");
    Ok(())
}

fn promise(device: &TestDevice) -> Result<(), String> {
    let benches = benches(device)?;
    let memory = benches[0].holding(&[1; 64])?;
    for (value, bench) in (2..).zip(&benches) {
        // Another than `bench`, which must not be held up itself.
        let other = &benches[usize::from(value - 1) % benches.len()];
        let (event, promise) = bench.context.promise().map_err(text)?;
        let waited = std::thread::scope(|scope| {
            // On the host a barrier returns before what it waits for, and nothing else does.
            let barrier = other.queue.barrier(&[&*event]).map_err(text)?;
            let filled = scope.spawn(|| other.start_fill(&memory, 0, value, 64, &[])?.wait());
            let before = bench.read_all(&memory)?;
            promise.keep(Ok(()));
            filled.join().map_err(|_| "the fill panicked")??;
            barrier.wait().map_err(text)?;
            Ok::<_, String>(before)
        })?;
        ensure!(waited == [value - 1; 64], "the fill did not wait: {}", waited[0]);
        ensure!(bench.read_all(&memory)? == [value; 64], "the fill did not run");
    }
    Ok(())
}

fn kernels_chain(device: &TestDevice) -> Result<(), String> {
    let benches = benches(device)?;
    let (mut from, mut to) = (benches[0].holding(&[0; 4000])?, benches[0].memory(4000)?);
    let mut steps = 0;
    for bench in benches.iter().cycle().take(3 * benches.len()) {
        let (to_place, from_place) = (Place::start(&to), Place::start(&from));
        bench.launch(&[1000], &Work::Add { to: to_place, from: from_place, number: 7 })?;
        std::mem::swap(&mut from, &mut to);
        steps += 7;
    }
    let found = benches[0].read_all(&from)?;
    ensure!(found == u32::to_ne_bytes(steps).repeat(1000), "a kernel missed what was written");
    Ok(())
}

fn outlives(device: &TestDevice) -> Result<(), String> {
    let mut benches = benches(device)?;
    let Some(last) = benches.pop() else { return Err("there are no contexts".to_owned()) };
    let memory = last.holding(&pattern(300))?;
    drop(last);
    ensure!(benches[0].read_all(&memory)? == pattern(300), "it was lost");
    Ok(())
}

fn last_one(device: &TestDevice) -> Result<(), String> {
    let Some(last) = benches(device)?.pop() else { return Err("there are no contexts".to_owned()) };
    let memory = last.holding(&pattern(8000))?;
    ensure!(last.read_all(&memory)? == pattern(8000), "a copy went wrong");
    last.launch(&[1000], &Work::StoreValue { to: Place::start(&memory), value: 3 })?;
    ensure!(last.read_all(&memory)? == 3_u64.to_ne_bytes().repeat(1000), "a launch went wrong");
    Ok(())
}

fn programs(device: &TestDevice) -> Result<(), String> {
    let benches = benches(device)?;
    for bench in &benches {
        let built = bench.program()?;
        let mut programs = Vec::new();
        if let Some(caching) = bench.context.as_caching() {
            let bytes = caching.binary(&*built).map_err(text)?;
            if !bytes.is_empty() {
                let again = caching.build_binary(&bytes).map_err(text)?;
                ensure!(!caching.binary(&*again).map_err(text)?.is_empty(), "no bytes of it");
                programs.push(again);
            }
        }
        programs.push(built);
        for (value, program) in (5..).zip(&programs) {
            let memory = benches[0].memory(8)?;
            let kernel = bench.kernel_of(&**program, "store_value")?;
            let work = Work::StoreValue { to: Place::start(&memory), value };
            bench.start_launch(&kernel, extent(&[1]), &work, &[])?.wait()?;
            let stored = benches[0].read_all(&memory)?;
            ensure!(stored == value.to_ne_bytes(), "{value} was not stored");
        }
    }
    Ok(())
}
