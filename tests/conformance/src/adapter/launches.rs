//! Kernels and their arguments.

use crosscut_adapter_api::QueueOrder::InOrder;

use super::{pattern, where_kernels_run};
use crate::device::extent;
use crate::{Behaviour, Place, TestDevice, Work, ensure};

pub(super) const BEHAVIOURS: &[Behaviour] = &[
    where_kernels_run("a kernel reads and writes its memory", copy),
    where_kernels_run("a kernel takes a 32-bit value", value_of_32_bits),
    where_kernels_run("a kernel takes a 64-bit value", value_of_64_bits),
    where_kernels_run("a kernel takes no argument at all", no_argument),
    where_kernels_run("a kernel takes a place inside memory", offset_argument),
    where_kernels_run("the last extent is the fastest, in one to three dimensions", dimensions),
    where_kernels_run("every item runs once, for even and for odd sizes", every_item_once),
    where_kernels_run("a launch keeps the arguments it was given", arguments_are_kept),
    where_kernels_run("a kernel is launched again with memory made since", fresh_memory),
    where_kernels_run("one memory may be two arguments", one_memory_twice),
    where_kernels_run("a kernel follows an address that it finds in memory", follow_address),
    where_kernels_run("a launch waits for a write on another queue", launch_after_write),
    where_kernels_run("a read waits for a launch on another queue", read_after_launch),
    where_kernels_run("a command waits for a kernel that takes long", wait_for_long_kernel),
];

fn words(values: impl IntoIterator<Item = u32>) -> Vec<u8> {
    values.into_iter().flat_map(u32::to_ne_bytes).collect()
}

fn copy(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let (from, to) = (bench.holding(&pattern(4000))?, bench.holding(&[0; 4000])?);
    let work = Work::Copy { to: Place::start(&to), from: Place::start(&from) };
    bench.launch(&[1000], &work)?;
    ensure!(bench.read_all(&to)? == pattern(4000), "the copy differs");
    Ok(())
}

fn value_of_32_bits(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let (from, to) = (bench.holding(&words(0..100))?, bench.holding(&[0; 400])?);
    let (to_place, from) = (Place::start(&to), Place::start(&from));
    bench.launch(&[100], &Work::Add { to: to_place, from, number: 0x8000_0001 })?;
    let expected = words((0..100).map(|i| i + 0x8000_0001));
    ensure!(bench.read_all(&to)? == expected, "the sums differ");
    Ok(())
}

fn value_of_64_bits(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let to = bench.holding(&[0; 80])?;
    let value = 0x8123_4567_89AB_CDEF;
    bench.launch(&[10], &Work::StoreValue { to: Place::start(&to), value })?;
    let found = bench.read_all(&to)?;
    ensure!(found.chunks(8).all(|word| word == value.to_ne_bytes()), "{found:?}");
    Ok(())
}

fn no_argument(device: &TestDevice) -> Result<(), String> {
    device.bench()?.launch(&[100], &Work::Nothing)
}

fn offset_argument(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let step = 24_usize.next_multiple_of(bench.context.argument_alignment());
    let to = bench.holding(&vec![0; step * 4])?;
    for part in 0..4_u8 {
        let place = Place { memory: to.clone(), offset: usize::from(part) * step };
        let value = u64::from(part) + 1;
        bench.launch(&[1], &Work::StoreValue { to: place, value })?;
    }
    let found = bench.read_all(&to)?;
    for (part, bytes) in (1_u64..).zip(found.chunks(step)) {
        ensure!(bytes[..8] == part.to_ne_bytes(), "part {part} has {:?}", &bytes[..8]);
        ensure!(bytes[8..].iter().all(|byte| *byte == 0), "part {part} has more than it should");
    }
    Ok(())
}

fn dimensions(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    for size in [&[7][..], &[3, 5], &[2, 3, 5], &[1, 1, 4], &[4, 1, 1]] {
        let items: usize = size.iter().product();
        let to = bench.holding(&vec![0xFF; items * 8])?;
        bench.launch(size, &Work::StoreIndices { to: Place::start(&to) })?;
        let mut whole = [1; 3];
        whole[3 - size.len()..].copy_from_slice(size);
        let [_, height, width] = whole;
        let index = |i: usize| (i / (height * width), i / width % height, i % width);
        let expected: Vec<u8> = (0..items)
            .map(index)
            .flat_map(|(z, y, x)| ((z * 10_000 + y * 100 + x) as u64).to_ne_bytes())
            .collect();
        ensure!(bench.read_all(&to)? == expected, "{size:?} has other indices");
    }
    Ok(())
}

fn every_item_once(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    for size in [&[1][..], &[97], &[1 << 20], &[1_000_003], &[101, 103], &[7, 11, 13]] {
        let counter = bench.holding(&[0; 4])?;
        bench.launch(size, &Work::Count { to: Place::start(&counter) })?;
        let items: usize = size.iter().product();
        let found = bench.read_all(&counter)?;
        ensure!(found == (items as u32).to_ne_bytes(), "{size:?} counted {found:?}");
    }
    Ok(())
}

fn arguments_are_kept(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let kernel = bench.kernel("store_value")?;
    let to = bench.memory(128 * 64)?;
    let alignment = bench.context.argument_alignment();
    ensure!(128 % alignment == 0, "this behaviour places values 128 bytes apart");
    let mut pending = Vec::new();
    for part in 0..64 {
        let place = Place { memory: to.clone(), offset: part * 128 };
        let work = Work::StoreValue { to: place, value: part as u64 };
        pending.push(bench.start_launch(&kernel, extent(&[1]), &work, &[])?);
    }
    let found = bench.read_all(&to)?;
    for (part, bytes) in (0_u64..).zip(found.chunks(128)) {
        ensure!(bytes[..8] == part.to_ne_bytes(), "launch {part} had another's arguments");
    }
    Ok(())
}

/// Memory that is freed makes room: the next may well begin at the same address.
fn fresh_memory(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let kernel = bench.kernel("store_value")?;
    for value in [7, 7, 7, 8] {
        let to = bench.holding(&[0; 8])?;
        let work = Work::StoreValue { to: Place::start(&to), value };
        bench.start_launch(&kernel, extent(&[1]), &work, &[])?;
        let found = bench.read_all(&to)?;
        ensure!(found == value.to_ne_bytes(), "{found:?} instead of {value}");
    }
    Ok(())
}

fn one_memory_twice(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let memory = bench.holding(&words(0..100))?;
    let (to, from) = (Place::start(&memory), Place::start(&memory));
    bench.launch(&[100], &Work::Add { to, from, number: 5 })?;
    ensure!(bench.read_all(&memory)? == words(5..105), "the sums differ");
    Ok(())
}

fn follow_address(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let pointee = bench.holding(&words([1, 2, 3, 4]))?;
    // Without addresses there are none to follow.
    let Some(address) = pointee.device_address() else { return Ok(()) };
    let cell = bench.holding(&(address + 8).to_ne_bytes())?;
    let to = bench.holding(&[0; 4])?;
    let work = Work::FollowAddress {
        to: Place::start(&to),
        cell: Place::start(&cell),
        pointee: Place::start(&pointee),
    };
    bench.launch(&[1], &work)?;
    ensure!(bench.read_all(&to)? == words([3]), "it found something else");
    Ok(())
}

fn launch_after_write(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let other = bench.another(InOrder)?;
    let size = 1 << 22;
    let (from, to) = (bench.memory(size)?, bench.memory(size)?);
    let kernel = bench.kernel("copy")?;
    for value in 1..=5 {
        let written = bench.start_write(&from, 0, &vec![value; size], &[])?;
        let work = Work::Copy { to: Place::start(&to), from: Place::start(&from) };
        other.start_launch(&kernel, extent(&[size / 4]), &work, &[&written])?.wait()?;
        let found = other.read_all(&to)?;
        ensure!(found.iter().all(|byte| *byte == value), "the launch came before write {value}");
    }
    Ok(())
}

fn read_after_launch(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let other = bench.another(InOrder)?;
    let to = bench.memory(8 << 16)?;
    let kernel = bench.kernel("store_value")?;
    for value in 1..=20_u64 {
        let work = Work::StoreValue { to: Place::start(&to), value };
        let launched = bench.start_launch(&kernel, extent(&[1 << 16]), &work, &[])?;
        let found = other.start_read(&to, 0, 8 << 16, &[&launched])?.bytes()?;
        let all = found.chunks(8).all(|word| word == value.to_ne_bytes());
        ensure!(all, "the read came before launch {value}");
    }
    Ok(())
}

fn wait_for_long_kernel(device: &TestDevice) -> Result<(), String> {
    let bench = device.bench()?;
    let other = bench.another(InOrder)?;
    let counter = bench.holding(&[0; 4])?;
    let kernel = bench.kernel("spin")?;
    let times = 1 << 22;
    let work = Work::Spin { to: Place::start(&counter), times };
    let spun = bench.start_launch(&kernel, extent(&[1]), &work, &[])?;
    let found = other.start_read(&counter, 0, 4, &[&spun])?.bytes()?;
    ensure!(found == (times as u32).to_ne_bytes(), "the read came after {found:?} rounds");
    Ok(())
}
