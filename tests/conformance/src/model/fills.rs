//! Fills.

use crosscut_runtime::{ErrorKind, Region};

use super::stage::{fill, put, refused};
use super::{Outcome, Stage, everywhere};
use crate::adapter::pattern;
use crate::{Behaviour, ensure};

pub(super) const BEHAVIOURS: &[Behaviour] = &[
    everywhere("a pattern of a power of two of bytes fills a buffer", powers_of_two),
    everywhere("a pattern of any other length fills a buffer", other_lengths),
    everywhere("a pattern of more than 128 bytes fills a buffer", long_patterns),
    everywhere("a pattern as long as the buffer fills it", once),
    everywhere("a fill of a part leaves its neighbours alone", part),
    everywhere("a pattern fills a part that begins at no multiple of it", odd_offset),
    everywhere("a pattern of equal bytes begins anywhere", equal_bytes),
    everywhere("a pattern that does not divide the bytes is refused, and nothing is filled", cut),
    everywhere("a pattern without bytes is refused", no_pattern),
    everywhere("the pattern may be dropped as soon as the fill is submitted", pattern_dropped),
    everywhere("of several fills the last one stays", last_stays),
    everywhere("a fill waits for the events that it is given", waits),
    everywhere("a buffer of another context is not filled", foreign),
    everywhere("a fill of no bytes waits for the events that it is given", empty_waits),
    everywhere("a write after a fill stays", write_after_fill),
];

fn filled(stage: &Stage, length: usize, times: usize) -> Outcome {
    let buffer = stage.buffer(length * times)?;
    fill(&stage.queue, &buffer, &pattern(length), &[])?.wait()?;
    let found = stage.bytes(&buffer)?;
    ensure!(found == pattern(length).repeat(times), "{times} times {length} bytes: {found:?}");
    Ok(())
}

fn powers_of_two(stage: &Stage) -> Outcome {
    [1, 2, 4, 8, 16, 32, 64, 128].into_iter().try_for_each(|length| filled(stage, length, 9))
}

fn other_lengths(stage: &Stage) -> Outcome {
    [3, 5, 6, 7, 12, 24, 33, 100, 127].into_iter().try_for_each(|length| filled(stage, length, 11))
}

fn long_patterns(stage: &Stage) -> Outcome {
    [129, 256, 1000, 4096].into_iter().try_for_each(|length| filled(stage, length, 7))
}

fn once(stage: &Stage) -> Outcome {
    [1, 3, 128, 129, 5000].into_iter().try_for_each(|length| filled(stage, length, 1))
}

fn part(stage: &Stage) -> Outcome {
    let buffer = stage.holding(&[7; 256])?;
    fill(&stage.queue, Region::new(&buffer, 64..128)?, &[1, 2, 3, 4], &[])?.wait()?;
    let found = stage.bytes(&buffer)?;
    ensure!(found[64..128] == [1, 2, 3, 4].repeat(16), "{:?}", &found[64..128]);
    ensure!(found[..64] == [7; 64] && found[128..] == [7; 128], "a neighbour changed");
    Ok(())
}

fn odd_offset(stage: &Stage) -> Outcome {
    for start in [1, 3, 5, 9, 17] {
        let buffer = stage.holding(&[7; 200])?;
        fill(&stage.queue, Region::new(&buffer, start..start + 96)?, &pattern(8), &[])?.wait()?;
        let found = stage.bytes(&buffer)?;
        ensure!(found[start..start + 96] == pattern(8).repeat(12), "at {start}: {found:?}");
        let around = found[..start].iter().chain(&found[start + 96..]).all(|byte| *byte == 7);
        ensure!(around, "a neighbour at {start} changed: {found:?}");
    }
    Ok(())
}

fn equal_bytes(stage: &Stage) -> Outcome {
    let buffer = stage.holding(&[7; 100])?;
    fill(&stage.queue, Region::new(&buffer, 3..35)?, &[4; 16], &[])?.wait()?;
    let found = stage.bytes(&buffer)?;
    ensure!(found[3..35] == [4; 32] && found[..3] == [7; 3], "{found:?}");
    ensure!(found[35..] == [7; 65], "{found:?}");
    Ok(())
}

fn cut(stage: &Stage) -> Outcome {
    let buffer = stage.holding(&[7; 10])?;
    for length in [3, 4, 11, 128] {
        let outcome = fill(&stage.queue, &buffer, &pattern(length), &[]);
        refused(outcome, ErrorKind::Invalid)?;
    }
    ensure!(stage.bytes(&buffer)? == [7; 10], "something was filled");
    Ok(())
}

fn no_pattern(stage: &Stage) -> Outcome {
    let buffer = stage.holding(&[7; 10])?;
    refused(fill(&stage.queue, &buffer, &[], &[]), ErrorKind::Invalid)?;
    ensure!(stage.bytes(&buffer)? == [7; 10], "something was filled");
    Ok(())
}

fn pattern_dropped(stage: &Stage) -> Outcome {
    for length in [16, 48] {
        let buffer = stage.buffer(48 << 14)?;
        let mut bytes = vec![5; length];
        bytes[0] = 6;
        let event = fill(&stage.queue, &buffer, &bytes, &[])?;
        bytes.fill(0);
        drop(bytes);
        event.wait()?;
        let found = stage.bytes(&buffer)?;
        let kept = found.chunks(length).all(|part| part[0] == 6 && part[1] == 5);
        ensure!(kept, "{length}: the pattern was read too late");
    }
    Ok(())
}

fn last_stays(stage: &Stage) -> Outcome {
    for queue in stage.both_orders()? {
        let buffer = stage.buffer(1 << 18)?;
        for value in 0..40 {
            fill(&queue, &buffer, &[value], &[])?;
        }
        let found = super::stage::get(&queue, &buffer)?;
        ensure!(found.iter().all(|byte| *byte == 39), "another one came last");
    }
    Ok(())
}

fn waits(stage: &Stage) -> Outcome {
    let (one, other) = (stage.buffer(1 << 20)?, stage.buffer(64)?);
    let queue = stage.out_of_order()?;
    for value in 1..=10 {
        let first = fill(&queue, &one, &[value], &[])?;
        fill(&queue, &other, &[value], std::slice::from_ref(&first))?.wait()?;
        ensure!(first.is_complete()?, "it did not wait for the first");
    }
    Ok(())
}

fn foreign(stage: &Stage) -> Outcome {
    let buffer = stage.holding(&[7; 10])?;
    let other = stage.elsewhere()?;
    refused(fill(&other.queue, &buffer, &[1], &[]), ErrorKind::Invalid)?;
    ensure!(stage.bytes(&buffer)? == [7; 10], "it was filled");
    Ok(())
}

fn empty_waits(stage: &Stage) -> Outcome {
    let (large, empty) = (stage.buffer(1 << 22)?, stage.buffer(0)?);
    let queue = stage.out_of_order()?;
    let first = fill(&queue, &large, &[1], &[])?;
    fill(&queue, &empty, &[1], std::slice::from_ref(&first))?.wait()?;
    ensure!(first.is_complete()?, "it did not wait for the first");
    Ok(())
}

fn write_after_fill(stage: &Stage) -> Outcome {
    for queue in stage.both_orders()? {
        let buffer = stage.buffer(1 << 20)?;
        for value in 0..10 {
            fill(&queue, &buffer, &[99], &[])?;
            put(&queue, Region::new(&buffer, 1000..1010)?, &[value; 10])?;
            let found = stage.bytes(Region::new(&buffer, 999..1011)?)?;
            ensure!(found[1..11] == [value; 10], "the fill came after the write: {found:?}");
            ensure!(found[0] == 99 && found[11] == 99, "the fill was lost: {found:?}");
        }
    }
    Ok(())
}
