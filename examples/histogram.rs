//! Counts how often each byte occurs: atomics in a buffer, and the same in a device global.
#![allow(clippy::print_stdout, reason = "an example talks to the terminal")]

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crosscut::prelude::*;

static TOTAL: DeviceGlobal<[AtomicU32; 256]> = DeviceGlobal::zeroed();

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    // A generator of numbers that is enough to look random.
    let mut state = 1u64;
    let data: Vec<u8> = std::iter::repeat_with(|| {
        state = state.wrapping_mul(0x5851_f42d_4c95_7f2d).wrapping_add(1);
        (state >> 56) as u8 & (state >> 48) as u8
    })
    .take(1 << 20)
    .collect();

    let bytes = queue.upload(&data)?;
    let counts = queue.zeroed::<AtomicU32>(256)?;
    for _ in 0..2 {
        queue.parallel_for(bytes.len(), (&bytes, &counts), |i, (bytes, counts)| {
            let byte = usize::from(bytes[i]);
            counts[byte].fetch_add(1, Relaxed);
            TOTAL[byte].fetch_add(1, Relaxed);
        })?;
    }
    let counts = queue.download(&counts)?;

    let mut expected = [0u32; 256];
    data.iter().for_each(|&byte| expected[usize::from(byte)] += 2);
    assert_eq!(counts, expected);
    assert_eq!(queue.read(&TOTAL)?, expected);
    println!("{}: {} zeros, {} times 255", queue.device(), counts[0], counts[255]);
    Ok(())
}
