//! Calls a function that calls itself.
use crosscut::prelude::*;

fn fibonacci(n: u32) -> u32 {
    if n < 2 { n } else { fibonacci(n - 1) + fibonacci(n - 2) }
}

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    let mut y = queue.zeroed::<u32>(8)?;
    queue.for_each(&mut y, (), |i, y, ()| *y = fibonacci(i as u32))?;
    Ok(())
}
