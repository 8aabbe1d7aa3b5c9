use crosscut::prelude::*;

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    let mut x = queue.zeroed::<u32>(4)?;
    queue.single_task(x.chunks_mut(2)?, |chunk| chunk[0] = 1)?;
    Ok(())
}
