use crosscut::prelude::*;

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    let numbers = vec![1, 2, 3];
    queue.parallel_for(3, &numbers, |_, _| ())?;
    Ok(())
}
