//! Waits at a barrier that half of the items do not reach.
use crosscut::prelude::*;

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    let mut y = queue.zeroed::<u32>(8)?;
    queue.parallel_for(NdRange::new(8, 4), &mut y, |item, y| {
        if item.local() % 2 == 0 {
            item.barrier();
        }
        *y = 1;
    })?;
    Ok(())
}
