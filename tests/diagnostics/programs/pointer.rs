//! Calls a captured function pointer.
use crosscut::prelude::*;

fn twice(x: u32) -> u32 {
    x * 2
}

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    let mut y = queue.zeroed::<u32>(8)?;
    let f: fn(u32) -> u32 = std::hint::black_box(twice);
    queue.for_each(&mut y, (), move |i, y, ()| *y = f(i as u32))?;
    Ok(())
}
