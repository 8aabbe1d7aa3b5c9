use crosscut::prelude::*;

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    let mut x = queue.zeroed::<u32>(4)?;
    queue.parallel_for(2, (x.chunks_mut(2)?, &x), |i, (chunk, x)| chunk[0] = x[i])?;
    Ok(())
}
