use crosscut::prelude::*;

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    let mut y = queue.zeroed::<u32>(4)?;
    queue.parallel_for(4, (&mut y, &y), |_, _| ())?;
    Ok(())
}
