//! What some of the programs use, as a crate of its own.
use crosscut::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

/// Counted by [`count`], and by its symbol in programs.
#[unsafe(no_mangle)]
pub static WRONG_COUNT: DeviceGlobal<AtomicU32> = DeviceGlobal::zeroed();

/// Counts to eight.
pub fn count(queue: &Queue) -> crosscut::Result<()> {
    queue.parallel_for(8, (), |_, ()| {
        WRONG_COUNT.fetch_add(1, Relaxed);
    })?;
    Ok(())
}
