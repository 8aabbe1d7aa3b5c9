//! Buffers and parts of them.

use crosscut_runtime::{Buffer, ErrorKind, Region};

use super::stage::{fill, get, put, refused};
use super::{Outcome, Stage, everywhere};
use crate::adapter::pattern;
use crate::{Behaviour, ensure};

pub(super) const BEHAVIOURS: &[Behaviour] = &[
    everywhere("a buffer holds what was written to it, whatever its size", round_trip),
    everywhere("a buffer tells its size and its context", tells),
    everywhere("a buffer without bytes is written, read and filled", empty),
    everywhere("queues of a context share its buffers", shared_by_queues),
    everywhere("a buffer outlives the queue that wrote it", outlives_queue),
    everywhere("a buffer outlives every other handle to its context", outlives_context),
    everywhere("a part of a buffer is written without its neighbours", part_written),
    everywhere("a part of a buffer is read", part_read),
    everywhere("a part of a part is counted from the part's beginning", part_of_part),
    everywhere("a part without bytes lies anywhere in a buffer, also at its end", empty_part),
    everywhere("a part beyond the end of a buffer is refused", part_beyond),
    everywhere("a part of a part does not reach beyond that", part_of_part_beyond),
    everywhere("a buffer of another context is not written", foreign_write),
    everywhere("a buffer of another context is not read", foreign_read),
    everywhere("a buffer that no device could hold is out of memory", too_large),
    everywhere("a buffer may be dropped while commands use it", dropped_in_use),
    everywhere("five hundred buffers hold their own bytes", many),
    everywhere("memory of a dropped buffer is given to another", given_again),
];

fn round_trip(stage: &Stage) -> Outcome {
    for size in [1, 2, 3, 7, 64, 4097, 1 << 20] {
        let buffer = stage.holding(&pattern(size))?;
        ensure!(stage.bytes(&buffer)? == pattern(size), "{size} bytes came back changed");
    }
    Ok(())
}

fn tells(stage: &Stage) -> Outcome {
    for size in [0, 1, 63, 1000] {
        let buffer = stage.buffer(size)?;
        ensure!(buffer.size() == size, "{} instead of {size}", buffer.size());
        ensure!(*buffer.context() == stage.context, "it is of another context");
    }
    Ok(())
}

fn empty(stage: &Stage) -> Outcome {
    let buffer = stage.buffer(0)?;
    put(&stage.queue, &buffer, &[])?;
    fill(&stage.queue, &buffer, &[1, 2, 3], &[])?.wait()?;
    ensure!(stage.bytes(&buffer)?.is_empty(), "it has bytes");
    Ok(())
}

fn shared_by_queues(stage: &Stage) -> Outcome {
    let buffer = stage.buffer(100)?;
    for value in 0..10 {
        let (one, other) = (stage.another()?, stage.out_of_order()?);
        put(&one, &buffer, &[value; 100])?;
        ensure!(get(&other, &buffer)? == [value; 100], "the other queue saw something else");
    }
    Ok(())
}

fn outlives_queue(stage: &Stage) -> Outcome {
    let buffer = stage.buffer(100)?;
    let queue = stage.another()?;
    let filled = fill(&queue, &buffer, &[8], &[])?;
    drop(queue);
    ensure!(stage.bytes(&buffer)? == [8; 100], "the fill was lost");
    Ok(filled.wait()?)
}

fn outlives_context(stage: &Stage) -> Outcome {
    let Stage { context, queue, .. } = stage.elsewhere()?;
    let buffer = Buffer::allocate(&context, 10, 1)?;
    drop((context, queue));
    let queue = crosscut_runtime::Queue::new(buffer.context())?;
    put(&queue, &buffer, &[3; 10])?;
    ensure!(get(&queue, &buffer)? == [3; 10], "it has something else");
    Ok(())
}

fn part_written(stage: &Stage) -> Outcome {
    let buffer = stage.holding(&[9; 100])?;
    put(&stage.queue, Region::new(&buffer, 13..50)?, &pattern(37))?;
    let found = stage.bytes(&buffer)?;
    ensure!(found[13..50] == pattern(37), "the part has {:?}", &found[13..50]);
    ensure!(found[..13] == [9; 13] && found[50..] == [9; 50], "a neighbour changed: {found:?}");
    Ok(())
}

fn part_read(stage: &Stage) -> Outcome {
    let buffer = stage.holding(&pattern(1000))?;
    for (start, end) in [(0, 1), (1, 1000), (333, 334), (999, 1000), (0, 1000)] {
        let found = stage.bytes(Region::new(&buffer, start..end)?)?;
        ensure!(found == pattern(1000)[start..end], "{start} to {end}: {found:?}");
    }
    Ok(())
}

fn part_of_part(stage: &Stage) -> Outcome {
    let buffer = stage.holding(&pattern(100))?;
    let inner = Region::new(&buffer, 20..80)?.part(10, 30)?.part(5, 4)?;
    ensure!(inner.size() == 4, "it has {} bytes", inner.size());
    ensure!(stage.bytes(inner)? == pattern(100)[35..39], "it lies elsewhere");
    Ok(())
}

fn empty_part(stage: &Stage) -> Outcome {
    let buffer = stage.holding(&[4; 10])?;
    for at in [0, 5, 10] {
        let part = Region::new(&buffer, at..at)?;
        put(&stage.queue, part, &[])?;
        fill(&stage.queue, part, &[1], &[])?.wait()?;
        ensure!(stage.bytes(part)?.is_empty(), "it has bytes");
    }
    ensure!(stage.bytes(&buffer)? == [4; 10], "something was written");
    Ok(())
}

fn part_beyond(stage: &Stage) -> Outcome {
    let buffer = stage.buffer(10)?;
    #[allow(clippy::reversed_empty_ranges, reason = "ranges that make no sense are refused")]
    for range in [0..11, 11..11, 9..usize::MAX, usize::MAX..usize::MAX, 6..5] {
        refused(Region::new(&buffer, range), ErrorKind::Invalid)?;
    }
    Ok(())
}

fn part_of_part_beyond(stage: &Stage) -> Outcome {
    let buffer = stage.buffer(100)?;
    let part = Region::new(&buffer, 10..20)?;
    for (start, size) in [(0, 11), (10, 1), (11, 0), (1, usize::MAX), (usize::MAX, 1)] {
        refused(part.part(start, size), ErrorKind::Invalid)?;
    }
    Ok(())
}

fn foreign_write(stage: &Stage) -> Outcome {
    let buffer = stage.holding(&[1; 10])?;
    let other = stage.elsewhere()?;
    refused(put(&other.queue, &buffer, &[2; 10]), ErrorKind::Invalid)?;
    ensure!(stage.bytes(&buffer)? == [1; 10], "it was written");
    Ok(())
}

fn foreign_read(stage: &Stage) -> Outcome {
    let buffer = stage.holding(&[1; 10])?;
    refused(stage.elsewhere()?.bytes(&buffer), ErrorKind::Invalid)
}

fn too_large(stage: &Stage) -> Outcome {
    let most = usize::try_from(stage.device.info().largest_allocation).unwrap_or(usize::MAX);
    for size in [usize::MAX, usize::MAX / 2, most.saturating_add(1)] {
        refused(stage.buffer(size), ErrorKind::OutOfMemory)?;
    }
    let buffer = stage.holding(&[5; 10])?;
    ensure!(stage.bytes(&buffer)? == [5; 10], "memory is gone after a refusal");
    Ok(())
}

fn dropped_in_use(stage: &Stage) -> Outcome {
    let kept = stage.buffer(1 << 20)?;
    let mut last = None;
    for value in 0..50 {
        let buffer = stage.buffer(1 << 20)?;
        fill(&stage.queue, &buffer, &[value], &[])?;
        last = Some(super::stage::copy(&stage.queue, &kept, &buffer, &[])?);
    }
    last.map_or(Ok(()), |last| last.wait())?;
    ensure!(stage.bytes(&kept)?.iter().all(|byte| *byte == 49), "freed memory was copied");
    Ok(())
}

fn many(stage: &Stage) -> Outcome {
    let buffers: Result<Vec<_>, _> =
        (0..500_usize).map(|at| stage.holding(&pattern(1 + at))).collect();
    for (at, buffer) in buffers?.iter().enumerate() {
        ensure!(stage.bytes(buffer)? == pattern(1 + at), "buffer {at} has another's bytes");
    }
    Ok(())
}

fn given_again(stage: &Stage) -> Outcome {
    let size = usize::try_from(stage.device.info().largest_allocation / 4).unwrap_or(usize::MAX);
    for _ in 0..40 {
        drop(stage.buffer(size.min(16 << 20))?);
    }
    Ok(())
}
