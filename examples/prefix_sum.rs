//! Prefix sums: each work-group scans its part, the sums of the parts are scanned, and added.
#![allow(clippy::print_stdout, reason = "an example talks to the terminal")]

use crosscut::prelude::*;

const GROUP: usize = 256;

/// Makes each element the sum of all up to it. The length is a power of [`GROUP`].
fn prefix_sum(queue: &Queue, data: &mut Buffer<u64>) -> crosscut::Result<()> {
    let groups = data.len() / GROUP;
    queue.parallel_for(NdRange::new(data.len(), GROUP), &mut *data, |item, value| {
        *value = item.work_group().inclusive_scan(*value, |a, b| a + b);
    })?;
    if groups <= 1 {
        return Ok(());
    }
    // What each group came to is its last element.
    let mut sums = queue.zeroed::<u64>(groups)?;
    queue.for_each(&mut sums, &*data, |i, sum, data| *sum = data[(i + 1) * GROUP - 1])?;
    prefix_sum(queue, &mut sums)?;
    queue.for_each(data, &sums, |i, value, sums| {
        if i >= GROUP {
            *value += sums[i / GROUP - 1];
        }
    })?;
    Ok(())
}

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    let numbers: Vec<u64> = (0..1u64 << 16).map(|i| i % 7).collect();
    let mut data = queue.upload(&numbers)?;
    prefix_sum(&queue, &mut data)?;
    let sums = queue.download(&data)?;

    let mut sum = 0;
    for (i, number) in numbers.iter().enumerate() {
        sum += number;
        assert_eq!(sums[i], sum, "at {i}");
    }
    println!("{}: {sum} in all", queue.device());
    Ok(())
}
