//! Uses a thread local.
use crosscut::prelude::*;
use std::cell::Cell;

thread_local! {
    static COUNT: Cell<u32> = const { Cell::new(0) };
}

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    let mut y = queue.zeroed::<u32>(8)?;
    queue.for_each(&mut y, (), |_, y, ()| *y = COUNT.get())?;
    Ok(())
}
