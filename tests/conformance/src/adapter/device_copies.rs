//! Copies inside a device, and fills with patterns.

use std::sync::Arc;

use crosscut_adapter_api::{Location, Memory, MemoryKind};

use super::{everywhere, pattern};
use crate::device::{length, text};
use crate::{Behaviour, Bench, TestDevice, ensure};

pub(super) const BEHAVIOURS: &[Behaviour] = &[
    everywhere("memory is copied to other memory", whole_copy),
    everywhere("a copy between odd offsets leaves its neighbours alone", copy_at_offsets),
    everywhere("two places of one allocation can be copied to each other", copy_inside),
    everywhere("memory of different kinds is copied to each other", copy_between_kinds),
    everywhere("a copy comes after the commands before it in its queue", copy_in_order),
    everywhere("sixteen megabytes are copied", large_copy),
    everywhere("patterns of up to 128 bytes fill memory", every_pattern_length),
    everywhere("a pattern at an offset leaves its neighbours alone", pattern_at_offset),
    everywhere("the caller may change a pattern as soon as a fill is submitted", pattern_is_copied),
];

/// Copies and waits; the borrows outlive the wait.
pub(super) fn copy(
    bench: &Bench,
    (target, to): (&Arc<dyn Memory>, usize),
    (source, from): (&Arc<dyn Memory>, usize),
    size: usize,
) -> Result<(), String> {
    ensure!(to + size <= target.size().get(), "a behaviour copies outside of its memory");
    ensure!(from + size <= source.size().get(), "a behaviour copies outside of its memory");
    let target = Location { memory: &**target, offset: to };
    let source = Location { memory: &**source, offset: from };
    // SAFETY: both live until the wait has ended, and the ranges are inside.
    let event = unsafe { bench.queue.copy(target, source, length(size)?, &[]) };
    event.map_err(text)?.wait().map_err(text)
}

fn whole_copy(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    for size in [1, 3, 64, 4096, 65_537] {
        let (source, target) = (bench.holding(&pattern(size))?, bench.holding(&vec![0; size])?);
        copy(&bench, (&target, 0), (&source, 0), size)?;
        ensure!(bench.read_all(&target)? == pattern(size), "{size} bytes did not arrive");
        ensure!(bench.read_all(&source)? == pattern(size), "the source of {size} bytes changed");
    }
    Ok(())
}

fn copy_at_offsets(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let (source, target) = (bench.holding(&pattern(200))?, bench.holding(&[7; 200])?);
    copy(&bench, (&target, 33), (&source, 101), 57)?;
    let found = bench.read_all(&target)?;
    ensure!(found[33..90] == pattern(200)[101..158], "not copied: {found:?}");
    ensure!(found[..33] == [7; 33] && found[90..] == [7; 110], "a neighbour: {found:?}");
    Ok(())
}

fn copy_inside(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let memory = bench.holding(&pattern(300))?;
    copy(&bench, (&memory, 150), (&memory, 0), 150)?;
    let found = bench.read_all(&memory)?;
    ensure!(found[..150] == pattern(150) && found[150..] == pattern(150), "{found:?}");
    copy(&bench, (&memory, 0), (&memory, 299), 1)?;
    ensure!(bench.read(&memory, 0, 1)? == pattern(150)[149..], "the last byte did not arrive");
    Ok(())
}

fn copy_between_kinds(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let visible = bench.memory_of(MemoryKind::HostVisible, 100)?;
    let (there, back) = (bench.holding(&pattern(100))?, bench.memory(100)?);
    copy(&bench, (&visible, 0), (&there, 0), 100)?;
    copy(&bench, (&back, 0), (&visible, 0), 100)?;
    ensure!(bench.read_all(&back)? == pattern(100), "the bytes came back changed");
    Ok(())
}

fn copy_in_order(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    const SIZE: usize = 1 << 20;
    let (source, target) = (bench.memory(SIZE)?, bench.memory(SIZE)?);
    for value in 1..=20 {
        let filled = bench.start_fill(&source, 0, value, SIZE, &[])?;
        copy(&bench, (&target, 0), (&source, 0), SIZE)?;
        filled.wait()?;
        let found = bench.read_all(&target)?;
        ensure!(found.iter().all(|byte| *byte == value), "fill {value} came after its copy");
    }
    Ok(())
}

fn large_copy(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let expected = pattern(16 << 20);
    let (source, target) = (bench.holding(&expected)?, bench.memory(16 << 20)?);
    copy(&bench, (&target, 0), (&source, 0), 16 << 20)?;
    ensure!(bench.read_all(&target)? == expected, "the bytes came out changed");
    Ok(())
}

fn every_pattern_length(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    for bytes in (0..=7).map(|log| 1_usize << log) {
        for times in [1, 2, 31, 1000] {
            let memory = bench.context.allocate(MemoryKind::Device, length(bytes * times)?, 128);
            let memory: Arc<dyn Memory> = Arc::from(memory.map_err(text)?);
            let pattern = pattern(bytes);
            bench.start_fill_with(&memory, 0, &pattern, bytes * times, &[])?.wait()?;
            let right = bench.read_all(&memory)? == pattern.repeat(times);
            ensure!(right, "a pattern of {bytes} bytes, {times} times");
        }
    }
    Ok(())
}

fn pattern_at_offset(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let memory = bench.holding(&[1; 96])?;
    bench.start_fill_with(&memory, 8, &[2, 3, 4, 5, 6, 7, 8, 9], 24, &[])?.wait()?;
    let found = bench.read_all(&memory)?;
    ensure!(found[8..32] == [2, 3, 4, 5, 6, 7, 8, 9].repeat(3), "not filled: {found:?}");
    ensure!(found[..8] == [1; 8] && found[32..] == [1; 64], "a neighbour: {found:?}");
    Ok(())
}

fn pattern_is_copied(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let memory = bench.memory(1 << 20)?;
    let mut value = [1_u8, 2, 3, 4];
    let filled = bench.start_fill_with(&memory, 0, &value, 1 << 20, &[])?;
    value.fill(0);
    filled.wait()?;
    ensure!(
        value == [0; 4] && bench.read_all(&memory)? == [1, 2, 3, 4].repeat(1 << 18),
        "it is not"
    );
    Ok(())
}
