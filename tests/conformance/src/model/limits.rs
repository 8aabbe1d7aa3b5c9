//! Launches that make no sense: refused at submit, for the right reason, with nothing changed.

use crosscut_runtime::{ErrorKind, Region};

use super::program::{COPY, COUNT, INDICES, Run, STORE, TURN_AROUND, UNKNOWN, word};
use super::stage::refused;
use super::{Outcome, Stage, where_kernels_run, where_programs_are_built};
use crate::adapter::pattern;
use crate::{Behaviour, ensure};

pub(super) const BEHAVIOURS: &[Behaviour] = &[
    where_kernels_run("groups that do not divide the range are refused", not_divided),
    where_kernels_run("a group without items is refused", no_group),
    where_kernels_run("a group larger than the device's is refused", large_group),
    where_kernels_run("a group larger than the device's in one dimension is refused", wide_group),
    where_kernels_run("groups of more items than can be counted are refused", huge_group),
    where_kernels_run("more local memory than the device has is refused", much_local),
    where_kernels_run("local memory without groups is refused", local_alone),
    where_kernels_run("a range too long for one dimension is refused", long_range),
    where_kernels_run("a range of more items than can be counted is refused", huge_range),
    where_kernels_run("a buffer is not read beside being written", read_and_written),
    where_kernels_run("a buffer is not written by two arguments", written_twice),
    where_kernels_run("parts that overlap are not written", overlapping),
    where_kernels_run("a global is not written by two arguments", global_twice),
    where_kernels_run("an argument of another context is refused", foreign),
    where_kernels_run("a launch that was refused leaves its buffers as they are", unchanged),
    where_kernels_run("the queue works after a hundred refusals", works_after),
    where_programs_are_built("a kernel that is in no image is told so", in_no_image),
];

fn not_divided(stage: &Stage) -> Outcome {
    let to = stage.buffer(8 * 60)?;
    for (size, group) in [(&[10][..], &[3][..]), (&[6, 10], &[3, 4]), (&[3, 4, 5], &[3, 4, 2])] {
        let run = Run::of(&INDICES[size.len() - 1], size).in_groups(group).writes(&to);
        refused(run.on(&stage.queue), ErrorKind::Invalid)?;
    }
    Ok(())
}

fn no_group(stage: &Stage) -> Outcome {
    let to = stage.buffer(8 * 60)?;
    for (size, group) in [(&[10][..], &[0][..]), (&[6, 10], &[3, 0]), (&[0], &[0])] {
        let run = Run::of(&INDICES[size.len() - 1], size).in_groups(group).writes(&to);
        refused(run.on(&stage.queue), ErrorKind::Invalid)?;
    }
    Ok(())
}

fn large_group(stage: &Stage) -> Outcome {
    let to = stage.buffer(4)?;
    let most = stage.device.info().limits.work_group_size;
    let run = Run::of(&COUNT[0], &[2 * most]).in_groups(&[2 * most]).writes(&to);
    refused(run.on(&stage.queue), ErrorKind::Invalid)?;
    let run = Run::of(&COUNT[1], &[most, 2]).in_groups(&[most, 2]).writes(&to);
    refused(run.on(&stage.queue), ErrorKind::Invalid)
}

fn wide_group(stage: &Stage) -> Outcome {
    let to = stage.buffer(4)?;
    for (at, most) in stage.device.info().limits.work_item_sizes.into_iter().enumerate() {
        let mut size = [1; 3];
        // The device counts from the fastest dimension.
        size[2 - at] = most.saturating_add(1).min(i32::MAX as usize);
        let run = Run::of(&COUNT[2], &size).in_groups(&size).writes(&to);
        refused(run.on(&stage.queue), ErrorKind::Invalid)?;
    }
    Ok(())
}

fn huge_group(stage: &Stage) -> Outcome {
    let to = stage.buffer(4)?;
    let size = [1 << 20, 1 << 20, 1];
    let run = Run::of(&COUNT[2], &size).in_groups(&size).writes(&to);
    refused(run.on(&stage.queue), ErrorKind::Invalid)
}

fn much_local(stage: &Stage) -> Outcome {
    let to = stage.buffer(64)?;
    let most = usize::try_from(stage.device.info().limits.local_memory).unwrap_or(usize::MAX);
    for size in [most.saturating_add(1), usize::MAX / 2, usize::MAX] {
        let run = Run::of(&TURN_AROUND, &[16]).in_groups(&[16]).writes(&to).local(size);
        refused(run.on(&stage.queue), ErrorKind::Invalid)?;
    }
    Ok(())
}

fn local_alone(stage: &Stage) -> Outcome {
    let to = stage.buffer(64)?;
    let run = Run::of(&TURN_AROUND, &[16]).writes(&to).local(64);
    refused(run.on(&stage.queue), ErrorKind::Invalid)
}

fn long_range(stage: &Stage) -> Outcome {
    let to = stage.holding(&[0; 4])?;
    for size in [&[1 << 31][..], &[usize::MAX], &[1, 1 << 32], &[1, 1, 1 << 31]] {
        let run = Run::of(&COUNT[size.len() - 1], size).writes(&to);
        refused(run.on(&stage.queue), ErrorKind::Invalid)?;
    }
    ensure!(stage.bytes(&to)? == [0; 4], "some items ran");
    Ok(())
}

fn huge_range(stage: &Stage) -> Outcome {
    let to = stage.holding(&[0; 4])?;
    for size in [&[1 << 30, 1 << 30][..], &[1 << 21, 1 << 21, 1 << 21], &[1 << 30, 1 << 11]] {
        let run = Run::of(&COUNT[size.len() - 1], size).writes(&to);
        refused(run.on(&stage.queue), ErrorKind::Invalid)?;
    }
    ensure!(stage.bytes(&to)? == [0; 4], "some items ran");
    Ok(())
}

fn read_and_written(stage: &Stage) -> Outcome {
    let buffer = stage.holding(&pattern(40))?;
    let run = Run::of(&COPY, &[10]).writes(&buffer).reads(&buffer);
    refused(run.on(&stage.queue), ErrorKind::Invalid)
}

fn written_twice(stage: &Stage) -> Outcome {
    let buffer = stage.holding(&pattern(40))?;
    let run = Run::of(&COPY, &[10]).writes(&buffer).writes(&buffer);
    refused(run.on(&stage.queue), ErrorKind::Invalid)
}

fn overlapping(stage: &Stage) -> Outcome {
    let buffer = stage.holding(&pattern(100))?;
    let (one, other) = (Region::new(&buffer, 0..52)?, Region::new(&buffer, 48..100)?);
    let run = Run::of(&COPY, &[13]).writes(one).reads(other);
    refused(run.on(&stage.queue), ErrorKind::Invalid)?;
    ensure!(stage.bytes(&buffer)? == pattern(100), "it ran");
    Ok(())
}

fn global_twice(stage: &Stage) -> Outcome {
    let global = word()?;
    let run = Run::of(&COUNT[0], &[1]).changes(global).changes(global);
    refused(run.on(&stage.queue), ErrorKind::Invalid)
}

fn foreign(stage: &Stage) -> Outcome {
    let (own, other) = (stage.buffer(40)?, stage.elsewhere()?.buffer(40)?);
    let run = Run::of(&COPY, &[10]).writes(&own).reads(&other);
    refused(run.on(&stage.queue), ErrorKind::Invalid)?;
    let run = Run::of(&COPY, &[10]).writes(&other).reads(&own);
    refused(run.on(&stage.queue), ErrorKind::Invalid)
}

fn unchanged(stage: &Stage) -> Outcome {
    let to = stage.holding(&pattern(80))?;
    let run = Run::of(&STORE, &[10]).in_groups(&[7]).writes(&to).with(u64::MAX);
    refused(run.on(&stage.queue), ErrorKind::Invalid)?;
    stage.queue.wait()?;
    ensure!(stage.bytes(&to)? == pattern(80), "it ran");
    Ok(())
}

fn works_after(stage: &Stage) -> Outcome {
    let to = stage.buffer(80)?;
    for value in 0..100 {
        refused(
            Run::of(&STORE, &[10]).in_groups(&[7]).writes(&to).with(value).on(&stage.queue),
            ErrorKind::Invalid,
        )?;
    }
    Run::of(&STORE, &[10]).writes(&to).with(5).on(&stage.queue)?.wait()?;
    ensure!(stage.bytes(&to)? == 5_u64.to_ne_bytes().repeat(10), "it does not run");
    Ok(())
}

fn in_no_image(stage: &Stage) -> Outcome {
    let outcome = Run::of(&UNKNOWN, &[1]).on(&stage.queue);
    refused(outcome, ErrorKind::KernelNotSupported)
}
