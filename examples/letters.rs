//! Counts letters. The counts live on the device, between launches and across kernels.
#![allow(clippy::print_stdout, reason = "an example talks to the terminal")]

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crosscut::prelude::*;

static COUNTS: DeviceGlobal<[AtomicU32; 26]> = DeviceGlobal::zeroed();

fn main() -> crosscut::Result<()> {
    let lines = ["the quick brown fox", "jumps over the lazy dog"];
    let queue = Queue::new()?; // the best device; CROSSCUT_DEVICE chooses another
    for line in lines {
        let text = queue.upload(line.as_bytes())?;
        queue.parallel_for(text.len(), &text, |i, text| {
            let letter = text[i].wrapping_sub(b'a') as usize;
            if letter < 26 {
                COUNTS[letter].fetch_add(1, Relaxed); // atomics: by name, from anywhere
            }
        })?;
    }
    let counts: [u32; 26] = queue.read(&COUNTS)?; // waits for what it must wait for
    println!("{}: {counts:?}", queue.device());

    for (letter, &count) in ('a'..='z').zip(&counts) {
        let expected = lines.concat().chars().filter(|&c| c == letter).count();
        assert_eq!(count as usize, expected, "{letter}");
    }
    queue.write(&COUNTS, &[0; 26])?;
    assert_eq!(queue.read(&COUNTS)?, [0; 26]);
    Ok(())
}
