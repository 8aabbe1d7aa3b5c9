//! Ends the process.
use crosscut::prelude::*;

fn give_up() -> ! {
    std::process::abort()
}

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    queue.parallel_for(8, (), |i, ()| {
        if i == 3 {
            std::process::exit(3);
        }
    })?;
    queue.parallel_for(8, (), |i, ()| {
        if i == 3 {
            give_up();
        }
    })?;
    Ok(())
}
