//! Finds a device global in a captured table.
use crosscut::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

static EVEN: DeviceGlobal<AtomicU32> = DeviceGlobal::zeroed();
static ODD: DeviceGlobal<AtomicU32> = DeviceGlobal::zeroed();

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    let table: [&'static DeviceGlobal<AtomicU32>; 2] = [&EVEN, &ODD];
    queue.parallel_for(8, (), move |i, ()| {
        table[i % 2].fetch_add(1, Relaxed);
    })?;
    Ok(())
}
