//! Kernels: what they are given, and over what they run.

use crosscut_runtime::{ErrorKind, Region};

use super::program::{COPY, COUNT, INDICES, NOTHING, Run, SPIN, STORE, TURN_AROUND};
use super::stage::{fill, get, put};
use super::{Outcome, Stage, where_kernels_run};
use crate::adapter::pattern;
use crate::{Behaviour, ensure};

pub(super) const BEHAVIOURS: &[Behaviour] = &[
    where_kernels_run("a kernel reads one buffer and writes another", copies),
    where_kernels_run("a kernel is given what its closure captured", captures),
    where_kernels_run("a single task runs once", single_task),
    where_kernels_run("a kernel knows its index in one to three dimensions", indices),
    where_kernels_run("a kernel runs once for every item of a range", counts),
    where_kernels_run("a range without items runs nothing, and completes", no_items),
    where_kernels_run(
        "a range without items waits for the events that it is given",
        no_items_waits,
    ),
    where_kernels_run("a kernel is given a part of a buffer, wherever that begins", part),
    where_kernels_run("two parts of a buffer that do not overlap are two arguments", two_parts),
    where_kernels_run("a buffer may be read by two arguments", read_twice),
    where_kernels_run("work-groups divide a range, and share local memory", groups),
    where_kernels_run("local memory of several sizes is used side by side", local_sizes),
    where_kernels_run("the largest work-group that fits the device runs", largest_group),
    where_kernels_run("groups of several dimensions run every item once", grouped_counts),
    where_kernels_run("a launch waits for the events that it is given", waits),
    where_kernels_run("launches on one buffer keep their order across queues", across_queues),
    where_kernels_run("a buffer may be dropped while a kernel uses it", dropped_in_use),
    where_kernels_run("a thousand launches in a row all run", a_thousand),
    where_kernels_run("a kernel that runs long is waited for by a read on another queue", long),
    where_kernels_run("one kernel runs in several contexts", several_contexts),
];

fn word(stage: &Stage, region: Region<'_>) -> Result<u32, super::Failure> {
    let bytes = stage.bytes(region)?;
    Ok(u32::from_ne_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
}

fn copies(stage: &Stage) -> Outcome {
    let (to, from) = (stage.holding(&[0; 400])?, stage.holding(&pattern(400))?);
    Run::of(&COPY, &[100]).writes(&to).reads(&from).on(&stage.queue)?.wait()?;
    ensure!(stage.bytes(&to)? == pattern(400), "it wrote something else");
    ensure!(stage.bytes(&from)? == pattern(400), "it changed what it reads");
    Ok(())
}

fn captures(stage: &Stage) -> Outcome {
    let to = stage.buffer(80)?;
    for value in [0, 1, u64::MAX, 0x0123_4567_89AB_CDEF] {
        Run::of(&STORE, &[10]).writes(&to).with(value).on(&stage.queue)?;
        let found = stage.bytes(&to)?;
        ensure!(found == value.to_ne_bytes().repeat(10), "{value:x} became {found:x?}");
    }
    Ok(())
}

fn single_task(stage: &Stage) -> Outcome {
    for queue in stage.both_orders()? {
        Run::of(&NOTHING, &[]).on(&queue)?.wait()?;
    }
    Ok(())
}

fn indices(stage: &Stage) -> Outcome {
    for size in [&[1][..], &[17], &[3, 5], &[5, 3], &[2, 3, 4], &[1, 1, 9], &[9, 1, 1]] {
        let items: usize = size.iter().product();
        let to = stage.buffer(8 * items)?;
        Run::of(&INDICES[size.len() - 1], size).writes(&to).on(&stage.queue)?;
        let mut whole = [1; 3];
        whole[3 - size.len()..].copy_from_slice(size);
        let expected = |item: usize| {
            let [_, height, width] = whole;
            let (z, y, x) = (item / (height * width), item / width % height, item % width);
            (10_000 * z + 100 * y + x) as u64
        };
        let expected: Vec<u8> = (0..items).flat_map(|item| expected(item).to_ne_bytes()).collect();
        ensure!(stage.bytes(&to)? == expected, "{size:?} has other indices");
    }
    Ok(())
}

fn counts(stage: &Stage) -> Outcome {
    for size in [&[1][..], &[1000], &[99_991], &[31, 37], &[7, 11, 13]] {
        let to = stage.holding(&[0; 4])?;
        Run::of(&COUNT[size.len() - 1], size).writes(&to).on(&stage.queue)?;
        let found = word(stage, (&to).into())?;
        ensure!(found as usize == size.iter().product::<usize>(), "{size:?} ran {found} times");
    }
    Ok(())
}

fn no_items(stage: &Stage) -> Outcome {
    let to = stage.holding(&[3; 4])?;
    for size in [&[0][..], &[0, 5], &[5, 0], &[3, 0, 3]] {
        let run = Run::of(&COUNT[size.len() - 1], size).writes(&to);
        let event = run.on(&stage.queue)?;
        event.wait()?;
        ensure!(event.is_complete()?, "it is not complete");
    }
    ensure!(stage.bytes(&to)? == [3; 4], "something ran");
    Ok(())
}

fn no_items_waits(stage: &Stage) -> Outcome {
    let (queue, large, to) = (stage.out_of_order()?, stage.buffer(1 << 22)?, stage.buffer(4)?);
    let first = fill(&queue, &large, &[1], &[])?;
    let after = [first.clone()];
    Run::of(&COUNT[0], &[0]).writes(&to).after(&after).on(&queue)?.wait()?;
    ensure!(first.is_complete()?, "it did not wait");
    Ok(())
}

fn part(stage: &Stage) -> Outcome {
    for start in [0, 4, 8, 12, 100, 128, 516] {
        let buffer = stage.holding(&vec![9; 1000])?;
        let from = stage.holding(&pattern(1000))?;
        let target = Region::new(&buffer, start..start + 40)?;
        let source = Region::new(&from, 4..44)?;
        Run::of(&COPY, &[10]).writes(target).reads(source).on(&stage.queue)?;
        let found = stage.bytes(&buffer)?;
        ensure!(found[start..start + 40] == pattern(1000)[4..44], "at {start}: {found:?}");
        let around = found[..start].iter().chain(&found[start + 40..]).all(|byte| *byte == 9);
        ensure!(around, "a neighbour of {start} changed");
    }
    Ok(())
}

fn two_parts(stage: &Stage) -> Outcome {
    let buffer = stage.holding(&pattern(1024))?;
    let (to, from) = (Region::new(&buffer, 512..612)?, Region::new(&buffer, 0..100)?);
    Run::of(&COPY, &[25]).writes(to).reads(from).on(&stage.queue)?;
    let found = stage.bytes(&buffer)?;
    ensure!(found[512..612] == pattern(1024)[..100], "the copy is lost");
    ensure!(found[..512] == pattern(1024)[..512], "a neighbour changed");
    ensure!(found[612..] == pattern(1024)[612..], "a neighbour changed");
    Ok(())
}

fn read_twice(stage: &Stage) -> Outcome {
    // The kernel's first argument is bound for reading, and a range without items writes nothing.
    let buffer = stage.holding(&pattern(40))?;
    Run::of(&COPY, &[0]).reads(&buffer).reads(&buffer).on(&stage.queue)?.wait()?;
    ensure!(stage.bytes(&buffer)? == pattern(40), "it was written");
    Ok(())
}

fn reversed(items: usize, group: usize) -> Vec<u8> {
    let other = |item: usize| item / group * group + (group - 1 - item % group);
    (0..items).flat_map(|item| (other(item) as u32).to_ne_bytes()).collect()
}

fn groups(stage: &Stage) -> Outcome {
    for (items, group) in [(1, 1), (64, 1), (64, 64), (96, 32), (1000, 8)] {
        let to = stage.buffer(4 * items)?;
        let run = Run::of(&TURN_AROUND, &[items]).in_groups(&[group]);
        run.writes(&to).local(4 * group).on(&stage.queue)?;
        ensure!(stage.bytes(&to)? == reversed(items, group), "{items} in groups of {group}");
    }
    Ok(())
}

fn local_sizes(stage: &Stage) -> Outcome {
    let queue = stage.out_of_order()?;
    let groups = [2, 4, 8, 16, 32, 64];
    let buffers: Result<Vec<_>, _> = groups.iter().map(|_| stage.buffer(4 * 256)).collect();
    let buffers = buffers?;
    for (to, group) in buffers.iter().zip(groups) {
        let run = Run::of(&TURN_AROUND, &[256]).in_groups(&[group]);
        run.writes(to).local(4 * group).on(&queue)?;
    }
    for (to, group) in buffers.iter().zip(groups) {
        ensure!(get(&queue, to)? == reversed(256, group), "groups of {group}");
    }
    Ok(())
}

fn largest_group(stage: &Stage) -> Outcome {
    let limits = stage.device.info().limits;
    let room = usize::try_from(limits.local_memory / 4).unwrap_or(usize::MAX);
    let group = limits.work_group_size.min(limits.work_item_sizes[0]).min(room);
    let to = stage.buffer(8 * group)?;
    let run = Run::of(&TURN_AROUND, &[2 * group]).in_groups(&[group]);
    run.writes(&to).local(4 * group).on(&stage.queue)?;
    ensure!(stage.bytes(&to)? == reversed(2 * group, group), "groups of {group}");
    Ok(())
}

fn grouped_counts(stage: &Stage) -> Outcome {
    let launches = [(&[64][..], &[16][..]), (&[8, 12], &[4, 3]), (&[4, 6, 10], &[2, 3, 5])];
    for (size, group) in launches {
        let to = stage.holding(&[0; 4])?;
        Run::of(&COUNT[size.len() - 1], size).in_groups(group).writes(&to).on(&stage.queue)?;
        let found = word(stage, (&to).into())?;
        ensure!(found as usize == size.iter().product::<usize>(), "{size:?} ran {found} times");
    }
    Ok(())
}

fn waits(stage: &Stage) -> Outcome {
    let queue = stage.out_of_order()?;
    let (large, to) = (stage.buffer(1 << 22)?, stage.buffer(8)?);
    for value in 0..10 {
        let first = fill(&queue, &large, &[1], &[])?;
        let after = [first.clone()];
        Run::of(&STORE, &[1]).writes(&to).with(value).after(&after).on(&queue)?.wait()?;
        ensure!(first.is_complete()?, "launch {value} did not wait");
    }
    Ok(())
}

fn across_queues(stage: &Stage) -> Outcome {
    let queues = [stage.another()?, stage.out_of_order()?, stage.another()?];
    let (one, other) = (stage.buffer(8 << 12)?, stage.buffer(8 << 12)?);
    for value in 0..60_u64 {
        let queue = |at: u64| &queues[((value + at) % 3) as usize];
        Run::of(&STORE, &[1 << 12]).writes(&one).with(value).on(queue(0))?;
        Run::of(&COPY, &[1 << 13]).writes(&other).reads(&one).on(queue(1))?;
        if value % 10 == 9 {
            let found = get(queue(2), &other)?;
            let same = found.chunks(8).all(|word| word == value.to_ne_bytes());
            ensure!(same, "round {value} lost its order");
        }
    }
    Ok(())
}

fn dropped_in_use(stage: &Stage) -> Outcome {
    let kept = stage.buffer(8 << 12)?;
    for value in 0..40 {
        let buffer = stage.buffer(8 << 12)?;
        Run::of(&STORE, &[1 << 12]).writes(&buffer).with(value).on(&stage.queue)?;
        Run::of(&COPY, &[1 << 13]).writes(&kept).reads(&buffer).on(&stage.queue)?;
    }
    let found = stage.bytes(&kept)?;
    ensure!(found.chunks(8).all(|word| word == 39_u64.to_ne_bytes()), "freed memory was read");
    Ok(())
}

fn a_thousand(stage: &Stage) -> Outcome {
    for queue in stage.both_orders()? {
        let to = stage.holding(&[0; 4])?;
        for _ in 0..1000 {
            Run::of(&COUNT[0], &[3]).writes(&to).on(&queue)?;
        }
        queue.wait()?;
        let found = word(stage, (&to).into())?;
        ensure!(found == 3000, "{found} of 3000 items ran");
    }
    Ok(())
}

fn long(stage: &Stage) -> Outcome {
    let to = stage.holding(&[0; 4])?;
    let other = stage.out_of_order()?;
    let times = 1 << 20;
    Run::of(&SPIN, &[1]).writes(&to).with(times).on(&stage.queue)?;
    let found = get(&other, &to)?;
    ensure!(found == (times as u32).to_ne_bytes(), "the read came after {found:?} rounds");
    Ok(())
}

fn several_contexts(stage: &Stage) -> Outcome {
    let stages = [stage.elsewhere()?, stage.elsewhere()?, stage.elsewhere()?];
    let buffers: Result<Vec<_>, _> = stages.iter().map(|stage| stage.buffer(80)).collect();
    let buffers = buffers?;
    for round in 0..3_u64 {
        for (stage, to) in stages.iter().zip(&buffers) {
            put(&stage.queue, to, &[0; 80])?;
            Run::of(&STORE, &[10]).writes(to).with(round).on(&stage.queue)?;
            ensure!(stage.bytes(to)? == round.to_ne_bytes().repeat(10), "round {round}");
        }
    }
    let (to, own) = (&buffers[0], &stages[1].queue);
    let outcome = Run::of(&STORE, &[10]).writes(to).on(own);
    super::stage::refused(outcome, ErrorKind::Invalid)
}
