//! Has inline assembly.
use crosscut::prelude::*;

fn increment(mut x: u64) -> u64 {
    // SAFETY: adds one to a register.
    unsafe { std::arch::asm!("inc {}", inout(reg) x) };
    x
}

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    let mut y = queue.zeroed::<u64>(8)?;
    queue.for_each(&mut y, (), |i, y, ()| *y = increment(i as u64))?;
    Ok(())
}
