//! A device global of atomics is not passed: it is used by its name.

use crosscut::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

static HITS: DeviceGlobal<AtomicU32> = DeviceGlobal::zeroed();

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    queue.parallel_for(8, &HITS, |_, hits| {
        hits.fetch_add(1, Relaxed);
    })?;
    Ok(())
}
