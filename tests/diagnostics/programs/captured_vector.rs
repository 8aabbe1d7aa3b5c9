//! Captures a reference to a vector of the host.
use crosscut::prelude::*;

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    let mut y = queue.zeroed::<u32>(8)?;
    let table: &'static Vec<u32> = Box::leak(Box::new(vec![1, 2, 3]));
    queue.for_each(&mut y, (), move |i, y, ()| *y = table[i % 3])?;
    Ok(())
}
