//! Makes a text, as one does on the host.
use crosscut::prelude::*;

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    let mut y = queue.zeroed::<u32>(8)?;
    queue.for_each(&mut y, (), |i, y, ()| *y = format!("item {i}").len() as u32)?;
    Ok(())
}
