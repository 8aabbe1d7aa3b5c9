//! Captures more than a device takes.
use crosscut::prelude::*;

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    let mut y = queue.zeroed::<f32>(8)?;
    let table = [0.5_f32; 1000];
    queue.for_each(&mut y, (), move |i, y, ()| *y = table[i + 7])?;
    Ok(())
}
