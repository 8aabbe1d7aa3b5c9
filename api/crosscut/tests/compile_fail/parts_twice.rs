use crosscut::prelude::*;

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    let mut x = queue.zeroed::<u32>(4)?;
    let (one, two) = (x.slice_mut(0..3)?, x.slice_mut(2..4)?);
    queue.parallel_for(2, (one, two), |_, (one, two)| core::mem::swap(one, two))?;
    Ok(())
}
