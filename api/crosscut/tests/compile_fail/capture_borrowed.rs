use crosscut::prelude::*;

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    let numbers = [1, 2, 3];
    queue.single_task((), |()| drop(numbers.len()))?;
    Ok(())
}
