//! Allocates on the heap, through a function.
use crosscut::prelude::*;

fn squares(n: u32) -> Vec<u32> {
    let mut list = Vec::new();
    for i in 0..n {
        list.push(i * i);
    }
    list
}

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    let mut y = queue.zeroed::<u32>(8)?;
    queue.for_each(&mut y, (), |i, y, ()| *y = squares(i as u32).iter().sum())?;
    Ok(())
}
