//! Bitonic sort: every step compares pairs at one distance, all at once.
#![allow(clippy::print_stdout, reason = "an example talks to the terminal")]

use crosscut::prelude::*;

/// Sorts a buffer whose length is a power of two; `spare` is as long.
fn sort<T: DeviceCopy + PartialOrd>(
    queue: &Queue,
    data: &mut Buffer<T>,
    spare: &mut Buffer<T>,
) -> crosscut::Result<()> {
    let mut block = 2;
    while block <= data.len() {
        let mut distance = block / 2;
        while distance > 0 {
            let from = &*data;
            queue.for_each(spare, from, move |i, to, from| {
                let (mine, other) = (from[i], from[i ^ distance]);
                let ascending = i & block == 0;
                let first = i & distance == 0;
                // The first of a pair takes the smaller one where the block ascends.
                *to = if (first == ascending) == (mine <= other) { mine } else { other };
            })?;
            std::mem::swap(data, spare);
            distance /= 2;
        }
        block *= 2;
    }
    Ok(())
}

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    let numbers: Vec<u32> = (0..1u32 << 16).map(|i| i.wrapping_mul(2_654_435_761) >> 7).collect();
    let mut data = queue.upload(&numbers)?;
    let mut spare = queue.zeroed(numbers.len())?;
    sort(&queue, &mut data, &mut spare)?;
    let sorted = queue.download(&data)?;

    let mut expected = numbers;
    expected.sort_unstable();
    assert_eq!(sorted, expected);
    println!("{}: {} numbers, {} to {}", queue.device(), sorted.len(), sorted[0], sorted[65535]);
    Ok(())
}
