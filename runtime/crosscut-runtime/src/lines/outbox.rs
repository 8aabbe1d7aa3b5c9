//! Lines of completed launches on their way to standard output.

use std::cell::Cell;
use std::marker::PhantomData;
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

thread_local! {
    /// How many locks this thread holds that are still held where deliveries inside them end.
    static POSTPONED: Cell<usize> = const { Cell::new(0) };
}

/// While it lives this thread's deliveries do nothing: for a lock that is held across several of them. A
/// delivery of its own comes after it.
pub(crate) struct Postponed {
    // Bound to the thread that it counts for.
    thread: PhantomData<*const ()>,
}

impl Postponed {
    pub(crate) fn begin() -> Self {
        POSTPONED.set(POSTPONED.get() + 1);
        Self { thread: PhantomData }
    }
}

impl Drop for Postponed {
    fn drop(&mut self) {
        POSTPONED.set(POSTPONED.get() - 1);
    }
}

/// Empties the outbox when dropped. To be made before the locks under which launches are found to have
/// completed, so that it goes after them.
pub(crate) struct Delivery;

impl Drop for Delivery {
    fn drop(&mut self) {
        if !FULL.load(Ordering::Acquire) || POSTPONED.get() > 0 {
            return;
        }
        // Nothing of ours is held here: whoever has this lock may wait for anything of ours. With it, who
        // finds nothing to do knows that everything has been written, and not just taken by another thread.
        let mut output = std::io::stdout().lock();
        loop {
            let lines = {
                let mut outbox = OUTBOX.lock().unwrap_or_else(PoisonError::into_inner);
                if outbox.is_empty() {
                    FULL.store(false, Ordering::Release);
                    return;
                }
                std::mem::take(&mut *outbox)
            };
            super::write(&mut output, &lines);
        }
    }
}
