//! Waits at a barrier that half of the items do not reach.
use crosscut::prelude::*;

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    let mut y = queue.zeroed::<u32>(8)?;
    queue.for_each(&mut y, (), |i, y, ()| {
        if i % 2 == 0 {
            crosscut::barrier();
        }
        *y = 1;
    })?;
    Ok(())
}
