//! Unified shared memory, where a device has it.

use std::sync::Arc;

use crosscut_adapter_api::{Feature, Memory, MemoryKind};

use super::{only_where, pattern};
use crate::condition::HAS_UNIFIED_MEMORY;
use crate::{Behaviour, Bench, TestDevice, ensure};

pub(super) const BEHAVIOURS: &[Behaviour] = &[
    only_where(
        &HAS_UNIFIED_MEMORY,
        "unified memory has one address for host and device",
        one_address,
    ),
    only_where(
        &HAS_UNIFIED_MEMORY,
        "the host sees in unified memory what commands wrote",
        host_sees,
    ),
    only_where(
        &HAS_UNIFIED_MEMORY,
        "commands see in unified memory what the host wrote",
        commands_see,
    ),
    only_where(&HAS_UNIFIED_MEMORY, "unified memory of all kinds is copied to each other", copied),
    only_where(&HAS_UNIFIED_MEMORY, "addresses of live unified memory never overlap", apart),
];

/// The kinds that the device has and the host reaches.
fn reachable(device: &TestDevice) -> Vec<MemoryKind> {
    let kinds = [(Feature::UsmHost, MemoryKind::Host), (Feature::UsmShared, MemoryKind::Shared)];
    let has = |(feature, _): &(Feature, MemoryKind)| device.info().features.has(*feature);
    kinds.into_iter().filter(has).map(|(_, kind)| kind).collect()
}

/// Memory of a kind, and its 64 bytes as the host sees them.
fn allocated(bench: &Bench, kind: MemoryKind) -> Result<(Arc<dyn Memory>, *mut [u8; 64]), String> {
    let memory = bench.memory_of(kind, 64)?;
    let Some(address) = memory.host_address() else {
        return Err(format!("the host has no address of {kind:?} memory"));
    };
    Ok((memory, address.as_ptr().cast()))
}

fn one_address(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    for kind in reachable(device) {
        let (memory, host) = allocated(&bench, kind)?;
        ensure!(memory.device_address() == Some(host.addr() as u64), "{kind:?} has two");
    }
    Ok(())
}

fn host_sees(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    for kind in reachable(device) {
        let (memory, host) = allocated(&bench, kind)?;
        for value in 1..=20 {
            bench.start_fill(&memory, 0, value, 64, &[])?.wait()?;
            // SAFETY: 64 bytes, all filled; no command is running.
            let found = unsafe { host.read_volatile() };
            ensure!(found == [value; 64], "{kind:?}: the host sees {found:?}");
        }
    }
    Ok(())
}

fn commands_see(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    for kind in reachable(device) {
        let (memory, host) = allocated(&bench, kind)?;
        for value in 1..=20 {
            // SAFETY: 64 bytes; no command is running.
            unsafe { host.write_volatile([value; 64]) };
            let found = bench.read_all(&memory)?;
            ensure!(found == [value; 64], "{kind:?}: commands see {found:?}");
        }
    }
    Ok(())
}

fn copied(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let mut kinds = reachable(device);
    kinds.push(MemoryKind::Device);
    for &from in &kinds {
        for &to in &kinds {
            let (source, target) = (bench.memory_of(from, 64)?, bench.memory_of(to, 64)?);
            bench.write(&source, 0, &pattern(64))?;
            super::device_copies::copy(&bench, (&target, 8), (&source, 0), 56)?;
            let found = bench.read(&target, 8, 56)?;
            ensure!(found == pattern(56), "{from:?} to {to:?}: {found:?}");
        }
    }
    Ok(())
}

fn apart(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let mut kept = Vec::new();
    for round in 0..32 {
        for kind in reachable(device).into_iter().chain([MemoryKind::Device]) {
            kept.push(bench.memory_of(kind, 100 + round)?);
        }
    }
    let range = |memory: &Arc<dyn Memory>| {
        memory.device_address().map(|start| (start, start + memory.size().get() as u64))
    };
    let mut ranges: Vec<_> = kept.iter().filter_map(range).collect();
    ranges.sort_unstable();
    for pair in ranges.windows(2) {
        ensure!(pair[0].1 <= pair[1].0, "{pair:x?} overlap");
    }
    Ok(())
}
