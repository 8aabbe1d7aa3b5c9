//! Declares a device global that nobody defines.
use crosscut::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

unsafe extern "Rust" {
    // SAFETY: it would be one, if it were there.
    safe static FORGOTTEN: DeviceGlobal<AtomicU32>;
}

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    queue.parallel_for(8, (), |_, ()| {
        FORGOTTEN.fetch_add(1, Relaxed);
    })?;
    Ok(())
}
