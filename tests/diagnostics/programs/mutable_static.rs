//! Counts in a plain static.
use crosscut::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

static HITS: AtomicU32 = AtomicU32::new(0);

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    queue.parallel_for(8, (), |_, ()| {
        HITS.fetch_add(1, Relaxed);
    })?;
    Ok(())
}
