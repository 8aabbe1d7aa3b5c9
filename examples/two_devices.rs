//! One global, several devices: each has its own instance.
#![allow(clippy::print_stdout, reason = "an example talks to the terminal")]

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crosscut::prelude::*;

static SCALE: DeviceGlobal<u32> = DeviceGlobal::new(1);
static SUMS: DeviceGlobal<[AtomicU32; 2]> = DeviceGlobal::zeroed();

fn main() -> crosscut::Result<()> {
    let mut queues: Vec<Queue> =
        crosscut::devices()?.iter().map(Queue::on).collect::<crosscut::Result<_>>()?;
    // Two instances also where there is one device: another context.
    queues.push(Queue::in_context(&queues[0].device().create_context()?)?);

    crosscut::broadcast(&queues, &SCALE, &10)?;
    for (number, queue) in queues.iter().enumerate() {
        let first = number * 4;
        queue.parallel_for(4, &SCALE, move |i, scale| {
            SUMS[i % 2].fetch_add((first + i) as u32 * scale, Relaxed);
        })?;
    }
    let parts = crosscut::gather(&queues, &SUMS)?;
    let whole = crosscut::reduce(&queues, &SUMS, |one, other| one + other)?;
    let last = 4 * queues.len() as u32;
    assert_eq!(whole[0] + whole[1], 10 * (last * (last - 1) / 2));
    for (queue, part) in queues.iter().zip(parts) {
        println!("{}: {part:?}", queue.device());
    }
    println!("together: {whole:?}");
    Ok(())
}
