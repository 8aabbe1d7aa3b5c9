//! Unified shared memory.

use crosscut_runtime::{Buffer, ErrorKind, Feature, UsmKind};

use super::program::{Run, SPIN, STORE};
use super::stage::{copy, fill, get, put, refused};
use super::{Failure, Outcome, Stage, everywhere, only_where};
use crate::adapter::pattern;
use crate::condition::{
    HAS_DEVICE_MEMORY, HAS_UNIFIED_MEMORY, IMAGES_SHARE_MEMORY, IMAGES_USE_DEVICE_MEMORY,
};
use crate::{Behaviour, ensure};

pub(super) const BEHAVIOURS: &[Behaviour] = &[
    everywhere(
        "a kind of unified memory is there or refused, as the device says",
        there_or_refused,
    ),
    everywhere("pointers of the host are none into unified memory", other_pointers),
    only_where(&HAS_UNIFIED_MEMORY, "the host reaches host and shared memory", reached),
    only_where(&HAS_UNIFIED_MEMORY, "unified memory without bytes has no address", empty),
    only_where(&HAS_UNIFIED_MEMORY, "unified memory is aligned as it was asked for", aligned),
    only_where(&IMAGES_SHARE_MEMORY, "the host waits to read until a kernel has written", waits),
    only_where(
        &HAS_UNIFIED_MEMORY,
        "the host waits to write until a kernel has read",
        waits_to_write,
    ),
    only_where(&HAS_UNIFIED_MEMORY, "unified memory is copied from and to buffers", with_buffers),
    only_where(&HAS_DEVICE_MEMORY, "a pointer into unified memory tells its allocation", pointers),
    only_where(&HAS_DEVICE_MEMORY, "a pointer tells nothing once its memory is gone", gone),
    only_where(&HAS_DEVICE_MEMORY, "a pointer belongs to one context", one_context),
    only_where(&IMAGES_USE_DEVICE_MEMORY, "kernels use device memory like buffers", kernels),
];

const KINDS: [(UsmKind, Feature); 3] = [
    (UsmKind::Device, Feature::UsmDevice),
    (UsmKind::Host, Feature::UsmHost),
    (UsmKind::Shared, Feature::UsmShared),
];

fn made(stage: &Stage, kind: UsmKind, size: usize) -> Result<Buffer, crosscut_runtime::Error> {
    Buffer::allocate_usm(&stage.context, kind, size, 64)
}

/// The kinds that the device has and the host reaches.
fn reachable(stage: &Stage) -> impl Iterator<Item = UsmKind> {
    let there = |(kind, feature): &(UsmKind, Feature)| {
        *kind != UsmKind::Device && stage.device.has(*feature)
    };
    KINDS.into_iter().filter(there).map(|(kind, _)| kind)
}

fn there_or_refused(stage: &Stage) -> Outcome {
    for (kind, feature) in KINDS {
        let outcome = made(stage, kind, 100);
        if !stage.device.has(feature) {
            refused(outcome, ErrorKind::FeatureNotSupported)?;
            continue;
        }
        let buffer = outcome?;
        put(&stage.queue, &buffer, &pattern(100))?;
        ensure!(stage.bytes(&buffer)? == pattern(100), "{kind} memory holds something else");
    }
    Ok(())
}

fn other_pointers(stage: &Stage) -> Outcome {
    let (local, heap) = (5, vec![5; 100]);
    for pointer in [&raw const local, heap.as_ptr(), std::ptr::null(), usize::MAX as *const i32] {
        let found = stage.context.usm_pointer(pointer);
        ensure!(found.is_none(), "{found:?}");
    }
    Ok(())
}

fn reached(stage: &Stage) -> Outcome {
    for kind in reachable(stage) {
        let buffer = made(stage, kind, 64)?;
        let host = buffer.host_address().ok_or("the host does not reach it")?;
        ensure!(buffer.device_address() == Some(host.addr() as u64), "it has two addresses");
        for value in 0..5_u8 {
            fill(&stage.queue, &buffer, &[value], &[])?;
            buffer.wait_to_read()?;
            // SAFETY: 64 bytes, all filled, and no command runs.
            let seen = unsafe { host.cast::<[u8; 64]>().read_volatile() };
            ensure!(seen == [value; 64], "{kind}: the host sees {seen:?}");
            // SAFETY: as above.
            unsafe { host.cast::<[u8; 64]>().write_volatile([value + 100; 64]) };
            ensure!(stage.bytes(&buffer)? == [value + 100; 64], "{kind}: commands see another");
        }
    }
    Ok(())
}

fn empty(stage: &Stage) -> Outcome {
    for kind in reachable(stage) {
        let buffer = made(stage, kind, 0)?;
        let none = buffer.host_address().is_none() && buffer.device_address().is_none();
        ensure!(none && buffer.size() == 0, "{kind}: there is something");
        buffer.wait_to_read()?;
        buffer.wait_to_write()?;
    }
    Ok(())
}

fn aligned(stage: &Stage) -> Outcome {
    for kind in reachable(stage) {
        for align in [1, 2, 8, 64, 128] {
            let buffer = Buffer::allocate_usm(&stage.context, kind, 3, align)?;
            let address = buffer.device_address().ok_or("it has no address")?;
            ensure!(address.is_multiple_of(align as u64), "{kind}: {address:x} for {align}");
        }
    }
    Ok(())
}

fn waits(stage: &Stage) -> Outcome {
    for kind in reachable(stage) {
        let buffer = made(stage, kind, 64)?;
        put(&stage.queue, &buffer, &[0; 64])?;
        let times = 1 << 18;
        Run::of(&SPIN, &[1]).writes(&buffer).with(times).on(&stage.queue)?;
        buffer.wait_to_read()?;
        let host = buffer.host_address().ok_or("the host does not reach it")?;
        // SAFETY: 64 bytes, and no command runs.
        let seen = unsafe { host.cast::<u32>().read_volatile() };
        ensure!(u64::from(seen) == times, "{kind}: the host saw {seen} rounds");
    }
    Ok(())
}

fn waits_to_write(stage: &Stage) -> Outcome {
    let size = 1 << 22;
    for kind in reachable(stage) {
        let (buffer, target) = (made(stage, kind, size)?, stage.buffer(size)?);
        let host = buffer.host_address().ok_or("the host does not reach it")?;
        for value in 1..5_u8 {
            buffer.wait_to_write()?;
            // SAFETY: so many bytes, and no command uses them.
            unsafe { host.write_bytes(value, size) };
            copy(&stage.queue, &target, &buffer, &[])?;
            buffer.wait_to_write()?;
            // SAFETY: as above.
            unsafe { host.write_bytes(0, size) };
            let found = stage.bytes(&target)?;
            ensure!(found.iter().all(|byte| *byte == value), "{kind}: the host wrote too early");
        }
    }
    Ok(())
}

fn with_buffers(stage: &Stage) -> Outcome {
    let (from, to) = (stage.holding(&pattern(100))?, stage.holding(&[0; 100])?);
    for kind in reachable(stage) {
        let between = made(stage, kind, 100)?;
        copy(&stage.queue, &between, &from, &[])?;
        copy(&stage.queue, &to, &between, &[])?;
        ensure!(stage.bytes(&to)? == pattern(100), "{kind}: the copies differ");
        put(&stage.queue, &to, &[0; 100])?;
    }
    Ok(())
}

fn pointer(buffer: &Buffer) -> Result<*const u8, Failure> {
    let address = buffer.device_address().ok_or("it has no address")?;
    Ok(std::ptr::without_provenance(address as usize))
}

fn pointers(stage: &Stage) -> Outcome {
    let buffers = [made(stage, UsmKind::Device, 100)?, made(stage, UsmKind::Device, 5000)?];
    for buffer in &buffers {
        let start = pointer(buffer)?;
        for inside in [0, 1, buffer.size() - 1] {
            let found = stage.context.usm_pointer(start.wrapping_add(inside));
            let told = found.map(|it| (it.kind, it.start, it.size));
            let expected = (UsmKind::Device, start.addr(), buffer.size());
            ensure!(told == Some(expected), "{inside}: {told:?}");
        }
        let found = stage.context.usm_pointer(start.wrapping_add(buffer.size()));
        ensure!(found.is_none_or(|it| it.start != start.addr()), "beyond the end: {found:?}");
    }
    Ok(())
}

fn gone(stage: &Stage) -> Outcome {
    let buffer = made(stage, UsmKind::Device, 100)?;
    let start = pointer(&buffer)?;
    drop(buffer);
    ensure!(stage.context.usm_pointer(start).is_none(), "it is still known");
    Ok(())
}

fn one_context(stage: &Stage) -> Outcome {
    let buffer = made(stage, UsmKind::Device, 100)?;
    let found = stage.elsewhere()?.context.usm_pointer(pointer(&buffer)?);
    ensure!(found.is_none(), "another context knows it: {found:?}");
    Ok(())
}

fn kernels(stage: &Stage) -> Outcome {
    let buffer = made(stage, UsmKind::Device, 80)?;
    Run::of(&STORE, &[10]).writes(&buffer).with(77).on(&stage.queue)?;
    ensure!(get(&stage.queue, &buffer)? == 77_u64.to_ne_bytes().repeat(10), "it holds another");
    Ok(())
}
