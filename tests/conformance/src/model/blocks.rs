//! Rectangles and boxes of buffers.

use crosscut_runtime::{Block, Buffer, Error, ErrorKind, Event, Queue, Region};

use super::stage::{fill, refused};
use super::{Outcome, Stage, everywhere};
use crate::adapter::pattern;
use crate::{Behaviour, ensure};

pub(super) const BEHAVIOURS: &[Behaviour] = &[
    everywhere("a block is read row after row", read),
    everywhere("a block is written row after row, and its neighbours stay", written),
    everywhere("a block is filled, and its neighbours stay", filled),
    everywhere("a block is copied to one whose rows are further apart", copied),
    everywhere("a block is copied to bytes without gaps, and back", packed),
    everywhere("a block goes to another context, by the queue of either", across),
    everywhere("a block of more than what is staged at once goes to another context", large_across),
    everywhere("rows that follow one another are one region", joined),
    everywhere("a block that leaves its buffer is refused", outside),
    everywhere("a block with rows that overlap is refused", overlapping),
    everywhere("a block without rows has no bytes, and is copied", empty),
    everywhere("a block of another context is neither read nor written", foreign),
    everywhere("the event of a filled block completes with its last row", event),
    everywhere("a copy of a block waits for the events that it is given", waits),
];

/// Planes of 8 rows of 10 bytes, of which a block has 2 by 3 by 4 bytes.
const PLANE: usize = 80;
const FIRST: usize = 23;
const ROWS: usize = 6;

fn block(buffer: &Buffer) -> Result<Block<'_>, Error> {
    Block::new(Region::new(buffer, FIRST..buffer.size())?, 4, [3, 2], [10, PLANE])
}

/// Where its rows are.
fn places() -> impl Iterator<Item = std::ops::Range<usize>> {
    (0..ROWS).map(|row| FIRST + row / 3 * PLANE + row % 3 * 10).map(|start| start..start + 4)
}

fn get(queue: &Queue, block: Block<'_>) -> Result<Vec<u8>, Error> {
    let mut bytes = vec![0; block.size()];
    // SAFETY: there is room for as many bytes.
    unsafe { queue.read_block(block, bytes.as_mut_ptr(), 0, &[]) }?;
    Ok(bytes)
}

fn put(queue: &Queue, block: Block<'_>, bytes: &[u8]) -> Result<(), Error> {
    assert_eq!(block.size(), bytes.len(), "a behaviour writes another number of bytes");
    // SAFETY: as many bytes are readable; behaviours use memory from one thread at a time.
    unsafe { queue.write_block(block, bytes.as_ptr(), &[]) }
}

fn copy(queue: &Queue, to: Block<'_>, from: Block<'_>, after: &[Event]) -> Result<Event, Error> {
    // SAFETY: behaviours copy between two buffers, from one thread at a time.
    unsafe { queue.copy_block(to, from, 0, after) }
}

fn fill_block(queue: &Queue, to: Block<'_>, with: &[u8]) -> Result<Event, Error> {
    // SAFETY: behaviours use memory from one thread at a time.
    unsafe { queue.fill_block(to, with, &[]) }
}

/// Nothing but the rows changed in a buffer that held sevens; what the rows hold.
fn rows(stage: &Stage, buffer: &Buffer) -> Result<Vec<u8>, super::Failure> {
    let mut found = stage.bytes(buffer)?;
    let inside: Vec<u8> = places().flat_map(|place| found[place].to_vec()).collect();
    places().for_each(|place| found[place].fill(7));
    ensure!(found.iter().all(|byte| *byte == 7), "a neighbour changed: {found:?}");
    Ok(inside)
}

fn read(stage: &Stage) -> Outcome {
    let buffer = stage.holding(&pattern(2 * PLANE))?;
    let expected: Vec<u8> = places().flat_map(|place| pattern(2 * PLANE)[place].to_vec()).collect();
    for queue in stage.both_orders()? {
        let found = get(&queue, block(&buffer)?)?;
        ensure!(found == expected, "{found:?}");
    }
    Ok(())
}

fn written(stage: &Stage) -> Outcome {
    for queue in stage.both_orders()? {
        let buffer = stage.holding(&[7; 2 * PLANE])?;
        put(&queue, block(&buffer)?, &pattern(4 * ROWS))?;
        ensure!(rows(stage, &buffer)? == pattern(4 * ROWS), "it holds something else");
    }
    Ok(())
}

fn filled(stage: &Stage) -> Outcome {
    for with in [&[1][..], &[1, 2], &[1, 2, 3, 4]] {
        let buffer = stage.holding(&[7; 2 * PLANE])?;
        fill_block(&stage.queue, block(&buffer)?, with)?.wait()?;
        let found = rows(stage, &buffer)?;
        ensure!(found == with.repeat(4 * ROWS / with.len()), "{found:?}");
    }
    let buffer = stage.holding(&[7; 2 * PLANE])?;
    refused(fill_block(&stage.queue, block(&buffer)?, &[1, 2, 3]), ErrorKind::Invalid)?;
    Ok(())
}

fn copied(stage: &Stage) -> Outcome {
    for queue in stage.both_orders()? {
        let (from, to) = (stage.holding(&pattern(100))?, stage.holding(&[7; 2 * PLANE])?);
        let near = Block::new(Region::new(&from, 5..100)?, 4, [3, 2], [6, 31])?;
        copy(&queue, block(&to)?, near, &[])?.wait()?;
        ensure!(rows(stage, &to)? == get(&queue, near)?, "it holds something else");
    }
    Ok(())
}

fn packed(stage: &Stage) -> Outcome {
    let (buffer, flat) = (stage.holding(&[7; 2 * PLANE])?, stage.holding(&pattern(4 * ROWS))?);
    copy(&stage.queue, block(&buffer)?, Block::whole((&flat).into()), &[])?.wait()?;
    ensure!(rows(stage, &buffer)? == pattern(4 * ROWS), "it holds something else");
    let back = stage.buffer(4 * ROWS)?;
    copy(&stage.queue, Block::whole((&back).into()), block(&buffer)?, &[])?.wait()?;
    ensure!(stage.bytes(&back)? == pattern(4 * ROWS), "it came back changed");
    let more = stage.buffer(4 * ROWS + 1)?;
    let refusal = copy(&stage.queue, Block::whole((&more).into()), block(&buffer)?, &[]);
    refused(refusal, ErrorKind::Invalid)?;
    Ok(())
}

fn across(stage: &Stage) -> Outcome {
    let other = stage.elsewhere()?;
    for queue in [&stage.queue, &other.queue] {
        let (from, to) = (stage.holding(&pattern(2 * PLANE))?, other.holding(&[7; 2 * PLANE])?);
        copy(queue, block(&to)?, block(&from)?, &[])?.wait()?;
        let expected = get(&stage.queue, block(&from)?)?;
        ensure!(rows(&other, &to)? == expected, "there it is something else");
    }
    Ok(())
}

fn large_across(stage: &Stage) -> Outcome {
    let (other, row, count) = (stage.elsewhere()?, (1 << 20) + 5, 7);
    let (from, to) = (stage.holding(&pattern(row * count))?, other.buffer(row * count)?);
    let cut = |buffer| {
        let region = Region::new(buffer, 1..row * count)?;
        Block::new(region, row - 3, [count, 1], [row, 0])
    };
    copy(&stage.queue, cut(&to)?, cut(&from)?, &[])?.wait()?;
    ensure!(get(&other.queue, cut(&to)?)? == get(&stage.queue, cut(&from)?)?, "it changed");
    Ok(())
}

fn joined(stage: &Stage) -> Outcome {
    let buffer = stage.buffer(60)?;
    let of = |row, counts, pitches| Block::new(Region::whole(&buffer), row, counts, pitches);
    for (block, size) in [
        (of(10, [3, 2], [10, 30])?, 60),
        (of(10, [3, 1], [10, 99])?, 30),
        (of(10, [1, 3], [99, 10])?, 30),
        (of(10, [1, 1], [0, 0])?, 10),
    ] {
        ensure!(block.as_region().map(|it| it.size()) == Some(size), "not {size} bytes at once");
    }
    for block in [of(9, [3, 2], [10, 30])?, of(10, [2, 2], [10, 30])?, of(9, [1, 2], [0, 30])?] {
        ensure!(block.as_region().is_none(), "rows with gaps are no region");
    }
    Ok(())
}

fn outside(stage: &Stage) -> Outcome {
    let buffer = stage.buffer(60)?;
    let of = |row, counts, pitches| Block::new(Region::whole(&buffer), row, counts, pitches);
    of(10, [3, 2], [10, 30])?;
    for (row, counts, pitches) in [
        (61, [1, 1], [61, 61]),
        (10, [7, 1], [10, 70]),
        (10, [3, 2], [10, 31]),
        (1, [2, 1], [60, 60]),
        (1, [2, 2], [usize::MAX, usize::MAX]),
        (1, [usize::MAX, usize::MAX], [1, usize::MAX]),
    ] {
        refused(of(row, counts, pitches).map(|_| ()), ErrorKind::Invalid)?;
    }
    Ok(())
}

fn overlapping(stage: &Stage) -> Outcome {
    let buffer = stage.buffer(60)?;
    let of = |row, counts, pitches| Block::new(Region::whole(&buffer), row, counts, pitches);
    refused(of(10, [3, 1], [9, 30]).map(|_| ()), ErrorKind::Invalid)?;
    refused(of(10, [2, 2], [10, 19]).map(|_| ()), ErrorKind::Invalid)?;
    Ok(())
}

fn empty(stage: &Stage) -> Outcome {
    let (from, to) = (stage.buffer(60)?, stage.holding(&[7; 60])?);
    let none = |buffer| Block::new(Region::whole(buffer), 10, [0, 2], [10, 30]);
    copy(&stage.queue, none(&to)?, none(&from)?, &[])?.wait()?;
    fill_block(&stage.queue, none(&to)?, &[1])?.wait()?;
    put(&stage.queue, none(&to)?, &[])?;
    ensure!(get(&stage.queue, none(&from)?)?.is_empty(), "there are bytes");
    ensure!(stage.bytes(&to)? == [7; 60], "something was written");
    Ok(())
}

fn foreign(stage: &Stage) -> Outcome {
    let (buffer, other) = (stage.holding(&[7; 2 * PLANE])?, stage.elsewhere()?);
    refused(get(&other.queue, block(&buffer)?), ErrorKind::Invalid)?;
    refused(put(&other.queue, block(&buffer)?, &[1; 4 * ROWS]), ErrorKind::Invalid)?;
    refused(fill_block(&other.queue, block(&buffer)?, &[1]), ErrorKind::Invalid)?;
    let back = stage.buffer(2 * PLANE)?;
    refused(copy(&other.queue, block(&back)?, block(&buffer)?, &[]), ErrorKind::Invalid)?;
    ensure!(stage.bytes(&buffer)? == [7; 2 * PLANE], "something was written");
    Ok(())
}

fn event(stage: &Stage) -> Outcome {
    for queue in stage.both_orders()? {
        let buffer = stage.buffer(1 << 20)?;
        let rows = Block::new(Region::whole(&buffer), 1 << 10, [512, 1], [1 << 11, 0])?;
        for value in 1..4 {
            let event = fill_block(&queue, rows, &[value])?;
            event.wait()?;
            ensure!(event.is_complete()?, "it was waited for");
            let found = get(&queue, rows)?;
            ensure!(found.iter().all(|byte| *byte == value), "round {value} came early");
        }
    }
    Ok(())
}

fn waits(stage: &Stage) -> Outcome {
    let (one, from) = (stage.buffer(1 << 20)?, stage.holding(&pattern(2 * PLANE))?);
    let to = stage.buffer(2 * PLANE)?;
    let queue = stage.out_of_order()?;
    for value in 1..=10 {
        let first = fill(&queue, &one, &[value], &[])?;
        copy(&queue, block(&to)?, block(&from)?, std::slice::from_ref(&first))?.wait()?;
        ensure!(first.is_complete()?, "it did not wait for the first");
    }
    Ok(())
}
