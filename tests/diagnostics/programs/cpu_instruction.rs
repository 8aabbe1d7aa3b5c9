//! Uses an instruction of the host's CPU.
use crosscut::prelude::*;
use std::arch::x86_64::{_mm_cvtsi128_si64, _mm_sad_epu8, _mm_set1_epi8};

fn distance(a: u8, b: u8) -> i64 {
    // SAFETY: every such CPU has it.
    unsafe { _mm_cvtsi128_si64(_mm_sad_epu8(_mm_set1_epi8(a.cast_signed()), _mm_set1_epi8(b.cast_signed()))) }
}

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    let mut y = queue.zeroed::<i64>(8)?;
    queue.for_each(&mut y, (), |i, y, ()| *y = distance(i as u8, 3))?;
    Ok(())
}
