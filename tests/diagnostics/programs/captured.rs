//! Captures a reference to host memory.
use crosscut::prelude::*;

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    let mut y = queue.zeroed::<u32>(8)?;
    let table: &'static [u32] = Vec::from([1, 2, 3]).leak();
    queue.for_each(&mut y, (), move |i, y, ()| *y = table[i % 3])?;
    Ok(())
}
