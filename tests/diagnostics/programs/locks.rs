//! Locks as threads do, and asks what time it is.
use crosscut::prelude::*;
use std::sync::Mutex;
use std::time::Instant;

static TOTAL: Mutex<u32> = Mutex::new(0);

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    let mut y = queue.zeroed::<u32>(8)?;
    queue.for_each(&mut y, (), |_, y, ()| {
        *TOTAL.lock().unwrap() += 1;
        *y = Instant::now().elapsed().subsec_nanos();
    })?;
    Ok(())
}
