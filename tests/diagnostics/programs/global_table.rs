//! Finds a device global in a table.
use crosscut::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

static EVEN: DeviceGlobal<AtomicU32> = DeviceGlobal::zeroed();
static ODD: DeviceGlobal<AtomicU32> = DeviceGlobal::zeroed();
static TABLE: [&DeviceGlobal<AtomicU32>; 2] = [&EVEN, &ODD];

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    queue.parallel_for(8, (), |i, ()| {
        TABLE[i % 2].fetch_add(1, Relaxed);
    })?;
    Ok(())
}
