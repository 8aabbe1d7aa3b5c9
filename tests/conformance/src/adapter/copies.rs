//! Writing, reading and filling.

use crosscut_adapter_api::MemoryKind;

use super::{everywhere, pattern};
use crate::{Behaviour, TestDevice, ensure};

pub(super) const BEHAVIOURS: &[Behaviour] = &[
    everywhere("what was written is read", round_trip),
    everywhere("host-visible memory is written and read like any other", host_visible_round_trip),
    everywhere("a write at an offset leaves its neighbours alone", write_at_offset),
    everywhere("a read at an offset gives the bytes there", read_at_offset),
    everywhere("a fill reaches every byte", fill_all),
    everywhere("a fill at an odd offset leaves its neighbours alone", fill_at_offset),
    everywhere("one byte can be written, filled and read", single_byte),
    everywhere("host memory may have any alignment", unaligned_host_memory),
    everywhere("sixteen megabytes survive a round trip", large_round_trip),
    everywhere("every byte value can be a fill", every_fill_value),
];

fn round_trip(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    for size in [1, 3, 64, 1000, 4096, 65_537] {
        let expected = pattern(size);
        let memory = bench.holding(&expected)?;
        ensure!(bench.read_all(&memory)? == expected, "{size} bytes came back changed");
    }
    Ok(())
}

fn host_visible_round_trip(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let memory = bench.memory_of(MemoryKind::HostVisible, 1000)?;
    bench.start_fill(&memory, 0, 9, 1000, &[])?.wait()?;
    bench.write(&memory, 10, &pattern(100))?;
    let found = bench.read_all(&memory)?;
    ensure!(found[10..110] == pattern(100), "the write was lost");
    ensure!(found[..10] == [9; 10] && found[110..] == [9; 890], "the fill was lost");
    Ok(())
}

fn write_at_offset(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let memory = bench.holding(&[0xAA; 256])?;
    bench.write(&memory, 13, &pattern(50))?;
    let found = bench.read_all(&memory)?;
    ensure!(found[13..63] == pattern(50), "the write was lost: {found:?}");
    ensure!(found[..13] == [0xAA; 13] && found[63..] == [0xAA; 193], "a neighbour: {found:?}");
    Ok(())
}

fn read_at_offset(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let memory = bench.holding(&pattern(256))?;
    let found = bench.read(&memory, 77, 100)?;
    ensure!(found == pattern(256)[77..177], "{found:?}");
    Ok(())
}

fn fill_all(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    for size in [1, 31, 4096, 100_001] {
        let memory = bench.memory(size)?;
        bench.start_fill(&memory, 0, 0x5A, size, &[])?.wait()?;
        ensure!(bench.read_all(&memory)? == vec![0x5A; size], "{size} bytes are not all filled");
    }
    Ok(())
}

fn fill_at_offset(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let memory = bench.holding(&[0; 100])?;
    bench.start_fill(&memory, 7, 1, 13, &[])?.wait()?;
    let found = bench.read_all(&memory)?;
    ensure!(found[7..20] == [1; 13], "not filled: {found:?}");
    ensure!(found[..7] == [0; 7] && found[20..] == [0; 80], "a neighbour: {found:?}");
    Ok(())
}

fn single_byte(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let memory = bench.holding(&[1; 33])?;
    bench.write(&memory, 32, &[2])?;
    bench.start_fill(&memory, 31, 3, 1, &[])?.wait()?;
    let last = bench.read(&memory, 30, 3)?;
    ensure!(last == [1, 3, 2], "{last:?}");
    ensure!(bench.read(&memory, 32, 1)? == [2], "the last byte");
    Ok(())
}

fn unaligned_host_memory(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let memory = bench.memory(64)?;
    let source = pattern(80);
    for shift in 1..9 {
        let size = memory.size();
        // SAFETY: `source` has `shift + 64` bytes or more, and it and the memory outlive the wait.
        let event = unsafe {
            bench.queue.write(&*memory, 0, source.as_ptr().wrapping_add(shift), size, &[])
        };
        event.and_then(|event| event.wait()).map_err(|error| error.to_string())?;
        ensure!(bench.read_all(&memory)? == source[shift..shift + 64], "shifted by {shift}");
    }
    Ok(())
}

fn large_round_trip(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let expected = pattern(16 << 20);
    let memory = bench.holding(&expected)?;
    ensure!(bench.read_all(&memory)? == expected, "the bytes came back changed");
    Ok(())
}

fn every_fill_value(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let memory = bench.memory(256)?;
    for value in 0..=255 {
        bench.start_fill(&memory, usize::from(value), value, 1, &[])?;
    }
    let expected: Vec<u8> = (0..=255).collect();
    ensure!(bench.read_all(&memory)? == expected, "some values are wrong");
    Ok(())
}
