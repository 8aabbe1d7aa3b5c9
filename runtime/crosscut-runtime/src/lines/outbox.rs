//! Lines of completed launches on their way to standard output.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

/// All of the process: there is one standard output.
static OUTBOX: Mutex<String> = Mutex::new(String::new());

/// Whether there is anything: most programs never print from a device.
static FULL: AtomicBool = AtomicBool::new(false);

/// Adds lines, each with its end.
pub(super) fn post(lines: &str) {
    let mut outbox = OUTBOX.lock().unwrap_or_else(PoisonError::into_inner);
    outbox.push_str(lines);
    FULL.store(true, Ordering::Release);
}

/// Empties the outbox when dropped. To be made before the locks under which launches are found to have
/// completed, so that it goes after them.
pub(crate) struct Delivery;

impl Drop for Delivery {
    fn drop(&mut self) {
        if !FULL.load(Ordering::Acquire) {
            return;
        }
        let lines = {
            let mut outbox = OUTBOX.lock().unwrap_or_else(PoisonError::into_inner);
            FULL.store(false, Ordering::Release);
            std::mem::take(&mut *outbox)
        };
        // Nothing is held here: whoever has the lock of standard output may wait for anything of ours.
        super::write(&lines);
    }
}
