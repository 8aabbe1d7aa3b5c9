//! Declares a device global of another crate with another property.
use crosscut::prelude::*;
use crosscut::property::DeviceImageScope;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

unsafe extern "Rust" {
    // SAFETY: a lie: it is shared by all images.
    safe static WRONG_COUNT: DeviceGlobal<AtomicU32, DeviceImageScope>;
}

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    wrong::count(&queue)?;
    queue.parallel_for(8, (), |_, ()| {
        WRONG_COUNT.fetch_add(1, Relaxed);
    })?;
    Ok(())
}
