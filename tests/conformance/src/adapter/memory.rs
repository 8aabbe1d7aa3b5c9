//! Allocations.

use crosscut_adapter_api::MemoryKind;

use super::{everywhere, pattern};
use crate::device::{length, text};
use crate::{Behaviour, TestDevice, ensure};

pub(super) const BEHAVIOURS: &[Behaviour] = &[
    everywhere("memory has the size that was asked for", size_is_as_asked),
    everywhere("memory is aligned as asked for", alignment_is_as_asked),
    everywhere("allocations do not overlap", allocations_do_not_overlap),
    everywhere("a thousand allocations are alive at once", a_thousand_allocations),
    everywhere("freed memory can be allocated again", freed_memory_comes_back),
    everywhere("contexts have their own memory", contexts_have_their_own),
    everywhere("a host address shows what the device wrote", host_sees_device),
    everywhere("the device sees what was written through a host address", device_sees_host),
    everywhere("an address stays the same", address_stays),
];

const KINDS: [MemoryKind; 2] = [MemoryKind::Device, MemoryKind::HostVisible];

fn size_is_as_asked(device: &TestDevice) -> Result<(), String> {
    let context = device.context()?;
    for kind in KINDS {
        for size in [1, 2, 3, 7, 24, 4095, 4097, 1 << 20] {
            let found = context.allocate(kind, length(size)?, 1).map_err(text)?.size().get();
            ensure!(found == size, "{size} bytes of {kind:?} became {found}");
        }
    }
    Ok(())
}

fn alignment_is_as_asked(device: &TestDevice) -> Result<(), String> {
    let context = device.context()?;
    for kind in KINDS {
        for align in (0..=12).map(|log| 1_usize << log) {
            let memory = match context.allocate(kind, length(24)?, align) {
                Ok(memory) => memory,
                // Beyond what any type of a kernel needs, a device may say no.
                Err(_) if align > 128 => continue,
                Err(error) => return Err(format!("alignment {align} of {kind:?}: {error}")),
            };
            let host = memory.host_address().map(|address| address.addr().get() as u64);
            for address in memory.device_address().into_iter().chain(host) {
                ensure!(address % align as u64 == 0, "{address:#x} is not aligned to {align}");
            }
        }
    }
    Ok(())
}

fn allocations_do_not_overlap(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let memory: Result<Vec<_>, _> = (0..64).map(|_| bench.memory(100)).collect();
    let memory = memory?;
    for (value, memory) in (0..).zip(&memory) {
        bench.start_fill(memory, 0, value, 100, &[])?.wait()?;
    }
    for (value, memory) in (0..).zip(&memory) {
        ensure!(bench.read_all(memory)? == [value; 100], "allocation {value} was changed");
    }
    Ok(())
}

fn a_thousand_allocations(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let memory: Result<Vec<_>, _> = (0..1000).map(|_| bench.memory(16)).collect();
    let memory = memory?;
    bench.write(&memory[0], 0, &[1; 16])?;
    bench.write(&memory[999], 0, &[2; 16])?;
    ensure!(bench.read_all(&memory[0])? == [1; 16], "the first allocation was changed");
    Ok(())
}

fn freed_memory_comes_back(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    // Together more than the device has, unless freeing frees.
    let size = (device.info().largest_allocation / 4).min(1 << 26) as usize;
    let rounds = (device.info().memory_size / size as u64).clamp(4, 1024) + 1;
    for _ in 0..rounds {
        let memory = bench.memory(size)?;
        bench.start_fill(&memory, size - 1, 1, 1, &[])?.wait()?;
    }
    Ok(())
}

fn contexts_have_their_own(device: &TestDevice) -> Result<(), String> {
    let (one, two) = (device.bench()?, device.bench()?);
    let (first, second) = (one.holding(&[1; 64])?, two.holding(&[2; 64])?);
    ensure!(one.read_all(&first)? == [1; 64], "the first context's memory was changed");
    ensure!(two.read_all(&second)? == [2; 64], "the second context's memory was changed");
    Ok(())
}

fn host_sees_device(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let memory = bench.memory_of(MemoryKind::HostVisible, 64)?;
    let Some(address) = memory.host_address() else { return Ok(()) };
    let expected = pattern(64);
    bench.write(&memory, 0, &expected)?;
    // SAFETY: a host address is readable for the size of its memory, here 64 bytes, all written; no
    // command is running.
    let found = unsafe { address.cast::<[u8; 64]>().read_unaligned() };
    ensure!(found[..] == expected[..], "the host sees {found:?}");
    Ok(())
}

fn device_sees_host(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let memory = bench.memory_of(MemoryKind::HostVisible, 64)?;
    let Some(address) = memory.host_address() else { return Ok(()) };
    // SAFETY: a host address is writable for the size of its memory, here 64 bytes; no command is
    // running.
    unsafe { address.cast::<[u8; 64]>().write_unaligned([7; 64]) };
    let found = bench.read_all(&memory)?;
    ensure!(found == [7; 64], "the device sees {found:?}");
    Ok(())
}

fn address_stays(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let memory = bench.memory(4096)?;
    let before = memory.device_address();
    bench.start_fill(&memory, 0, 1, 4096, &[])?.wait()?;
    ensure!(memory.device_address() == before, "it moved");
    Ok(())
}
