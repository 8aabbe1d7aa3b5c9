//! Items count from 0: a range is their number.
use crosscut::prelude::*;

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    queue.parallel_for(0..4, (), |_, ()| ())?;
    Ok(())
}
