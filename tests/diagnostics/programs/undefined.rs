//! Calls a function of a C library.
use crosscut::prelude::*;

unsafe extern "C" {
    safe fn getpid() -> i32;
}

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    let mut y = queue.zeroed::<i32>(8)?;
    queue.for_each(&mut y, (), |_, y, ()| *y = getpid())?;
    Ok(())
}
