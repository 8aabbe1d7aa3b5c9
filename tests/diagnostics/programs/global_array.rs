//! Chooses one of several device globals of one static by its index.
use crosscut::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

static COUNTS: [DeviceGlobal<AtomicU32>; 4] = [const { DeviceGlobal::zeroed() }; 4];

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    queue.parallel_for(8, (), |i, ()| {
        COUNTS[i % 4].fetch_add(1, Relaxed);
    })?;
    Ok(())
}
