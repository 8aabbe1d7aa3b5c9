//! Copies between buffers, of one context and of two.

use crosscut_runtime::{ErrorKind, Region};

use super::stage::{copy, fill, get_after, put_after, refused};
use super::{Outcome, Stage, everywhere};
use crate::adapter::pattern;
use crate::{Behaviour, ensure};

pub(super) const BEHAVIOURS: &[Behaviour] = &[
    everywhere("a buffer is copied to another, and keeps what it has", whole),
    everywhere("a part is copied to another part", parts),
    everywhere("a part is copied to another part of its buffer", inside),
    everywhere("the rows of a matrix are copied into a larger one", rows),
    everywhere("a box is copied out of a volume, row by row", volume),
    everywhere("a copy between parts of different sizes is refused", sizes_differ),
    everywhere("a copy of no bytes completes", nothing),
    everywhere("a chain of copies keeps its order on every queue", chain),
    everywhere("a copy waits for the events that it is given", waits),
    everywhere("a buffer is copied to another context by either's queue", across),
    everywhere("nine megabytes are copied to another context", large_across),
    everywhere("a copy to another context waits for what writes its source", across_waits),
    everywhere("a copy between two other contexts is refused", both_foreign),
    everywhere("a write waits for the events that it is given", write_waits),
    everywhere("a read waits for the events that it is given", read_waits),
    everywhere("a read of no bytes waits for the events that it is given", empty_read_waits),
];

fn whole(stage: &Stage) -> Outcome {
    for size in [1, 100, 65_537] {
        let (from, to) = (stage.holding(&pattern(size))?, stage.holding(&vec![1; size])?);
        copy(&stage.queue, &to, &from, &[])?.wait()?;
        ensure!(stage.bytes(&to)? == pattern(size), "{size} bytes changed");
        ensure!(stage.bytes(&from)? == pattern(size), "the source of {size} bytes changed");
    }
    Ok(())
}

fn parts(stage: &Stage) -> Outcome {
    let (from, to) = (stage.holding(&pattern(100))?, stage.holding(&[1; 100])?);
    copy(&stage.queue, Region::new(&to, 7..18)?, Region::new(&from, 61..72)?, &[])?.wait()?;
    let found = stage.bytes(&to)?;
    ensure!(found[7..18] == pattern(100)[61..72], "{found:?}");
    ensure!(found[..7] == [1; 7] && found[18..] == [1; 82], "a neighbour changed: {found:?}");
    Ok(())
}

fn inside(stage: &Stage) -> Outcome {
    let buffer = stage.holding(&pattern(100))?;
    copy(&stage.queue, Region::new(&buffer, 50..100)?, Region::new(&buffer, 0..50)?, &[])?
        .wait()?;
    let found = stage.bytes(&buffer)?;
    ensure!(found[50..] == pattern(50) && found[..50] == pattern(50), "{found:?}");
    Ok(())
}

fn rows(stage: &Stage) -> Outcome {
    let (width, height, pitch) = (13, 9, 20);
    let from = stage.holding(&pattern(width * height))?;
    let to = stage.holding(&vec![0xEE; pitch * (height + 2)])?;
    for queue in stage.both_orders()? {
        let mut copies = Vec::new();
        for row in 0..height {
            let (start, at) = (row * width, (row + 1) * pitch + 3);
            let source = Region::new(&from, start..start + width)?;
            copies.push(copy(&queue, Region::new(&to, at..at + width)?, source, &[])?);
        }
        crosscut_runtime::Event::wait_all(&copies)?;
        for (at, byte) in stage.bytes(&to)?.into_iter().enumerate() {
            let (row, column) = (at / pitch, at % pitch);
            let inside = (1..=height).contains(&row) && (3..3 + width).contains(&column);
            let expected = match inside {
                true => pattern(width * height)[(row - 1) * width + column - 3],
                false => 0xEE,
            };
            ensure!(byte == expected, "row {row}, column {column} has {byte}");
        }
    }
    Ok(())
}

fn volume(stage: &Stage) -> Outcome {
    let (side, cut) = (8, 3);
    let from = stage.holding(&pattern(side * side * side))?;
    let to = stage.buffer(cut * cut * cut)?;
    for plane in 0..cut {
        for row in 0..cut {
            let start = ((plane + 2) * side + row + 1) * side + 4;
            let at = (plane * cut + row) * cut;
            let source = Region::new(&from, start..start + cut)?;
            copy(&stage.queue, Region::new(&to, at..at + cut)?, source, &[])?;
        }
    }
    let whole = pattern(side * side * side);
    for (at, byte) in stage.bytes(&to)?.into_iter().enumerate() {
        let (plane, row, column) = (at / (cut * cut), at / cut % cut, at % cut);
        let expected = whole[((plane + 2) * side + row + 1) * side + 4 + column];
        ensure!(byte == expected, "{plane}, {row}, {column} has {byte}");
    }
    Ok(())
}

fn sizes_differ(stage: &Stage) -> Outcome {
    let (one, other) = (stage.holding(&[1; 10])?, stage.holding(&[2; 11])?);
    refused(copy(&stage.queue, &one, &other, &[]), ErrorKind::Invalid)?;
    refused(copy(&stage.queue, &other, &one, &[]), ErrorKind::Invalid)?;
    ensure!(stage.bytes(&one)? == [1; 10] && stage.bytes(&other)? == [2; 11], "one was written");
    Ok(())
}

fn nothing(stage: &Stage) -> Outcome {
    let (one, other) = (stage.buffer(0)?, stage.holding(&[2; 11])?);
    copy(&stage.queue, &one, Region::new(&other, 11..11)?, &[])?.wait()?;
    copy(&stage.queue, Region::new(&other, 3..3)?, &one, &[])?.wait()?;
    ensure!(stage.bytes(&other)? == [2; 11], "something was copied");
    Ok(())
}

fn chain(stage: &Stage) -> Outcome {
    for queue in stage.both_orders()? {
        let buffers: Result<Vec<_>, _> = (0..10).map(|_| stage.buffer(1 << 16)).collect();
        let buffers = buffers?;
        for value in 0..5 {
            fill(&queue, &buffers[0], &[value], &[])?;
            for pair in buffers.windows(2) {
                copy(&queue, &pair[1], &pair[0], &[])?;
            }
            let found = super::stage::get(&queue, &buffers[9])?;
            ensure!(found.iter().all(|byte| *byte == value), "round {value} lost its order");
        }
    }
    Ok(())
}

fn waits(stage: &Stage) -> Outcome {
    let queue = stage.out_of_order()?;
    let (large, one, other) = (stage.buffer(1 << 21)?, stage.buffer(10)?, stage.buffer(10)?);
    for value in 0..10 {
        let first = fill(&queue, &large, &[value], &[])?;
        copy(&queue, &one, &other, std::slice::from_ref(&first))?.wait()?;
        ensure!(first.is_complete()?, "it did not wait");
    }
    Ok(())
}

fn across(stage: &Stage) -> Outcome {
    let other = stage.elsewhere()?;
    for queue in [&stage.queue, &other.queue] {
        let (from, to) = (stage.holding(&pattern(1000))?, other.buffer(1000)?);
        copy(queue, &to, &from, &[])?.wait()?;
        ensure!(other.bytes(&to)? == pattern(1000), "there it is something else");
        let back = stage.buffer(500)?;
        copy(queue, &back, Region::new(&to, 3..503)?, &[])?.wait()?;
        ensure!(stage.bytes(&back)? == pattern(1000)[3..503], "a part came back changed");
    }
    Ok(())
}

fn large_across(stage: &Stage) -> Outcome {
    let (other, size) = (stage.elsewhere()?, 9 << 20);
    let (from, to) = (stage.holding(&pattern(size))?, other.buffer(size)?);
    copy(&stage.queue, &to, &from, &[])?.wait()?;
    ensure!(other.bytes(&to)? == pattern(size), "there it is something else");
    Ok(())
}

fn across_waits(stage: &Stage) -> Outcome {
    let other = stage.elsewhere()?;
    let (from, to) = (stage.buffer(1 << 21)?, other.buffer(1 << 21)?);
    for value in 0..6 {
        fill(&stage.queue, &from, &[value], &[])?;
        copy(&other.queue, &to, &from, &[])?.wait()?;
        ensure!(other.bytes(&to)?.iter().all(|byte| *byte == value), "round {value} came early");
    }
    Ok(())
}

fn both_foreign(stage: &Stage) -> Outcome {
    let (one, other) = (stage.elsewhere()?, stage.elsewhere()?);
    let (from, to) = (one.holding(&[1; 10])?, other.holding(&[2; 10])?);
    refused(copy(&stage.queue, &to, &from, &[]), ErrorKind::Invalid)?;
    ensure!(other.bytes(&to)? == [2; 10], "it was copied");
    Ok(())
}

fn write_waits(stage: &Stage) -> Outcome {
    let queue = stage.out_of_order()?;
    let (large, small) = (stage.buffer(1 << 21)?, stage.buffer(10)?);
    for value in 0..10 {
        let first = fill(&queue, &large, &[value], &[])?;
        put_after(&queue, &small, &[value; 10], std::slice::from_ref(&first))?;
        ensure!(first.is_complete()?, "it did not wait");
    }
    Ok(())
}

fn read_waits(stage: &Stage) -> Outcome {
    let queue = stage.out_of_order()?;
    let (large, small) = (stage.buffer(1 << 21)?, stage.holding(&[5; 10])?);
    for value in 0..10 {
        let first = fill(&queue, &large, &[value], &[])?;
        get_after(&queue, &small, std::slice::from_ref(&first))?;
        ensure!(first.is_complete()?, "it did not wait");
    }
    Ok(())
}

fn empty_read_waits(stage: &Stage) -> Outcome {
    let queue = stage.out_of_order()?;
    let (large, empty) = (stage.buffer(1 << 21)?, stage.buffer(0)?);
    for value in 0..10 {
        let first = fill(&queue, &large, &[value], &[])?;
        get_after(&queue, &empty, std::slice::from_ref(&first))?;
        ensure!(first.is_complete()?, "it did not wait");
    }
    Ok(())
}
