//! Declares a device global of another crate with another type.
use crosscut::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

unsafe extern "Rust" {
    // SAFETY: a lie: it has four bytes.
    safe static WRONG_COUNT: DeviceGlobal<AtomicU64>;
}

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    wrong::count(&queue)?;
    queue.parallel_for(8, (), |_, ()| {
        WRONG_COUNT.fetch_add(1, Relaxed);
    })?;
    Ok(())
}
