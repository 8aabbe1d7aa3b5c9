//! Prints to the terminal.
use crosscut::prelude::*;

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    queue.parallel_for(8, (), |i, ()| println!("item {i}"))?;
    Ok(())
}
