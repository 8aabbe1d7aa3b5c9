//! The thread that looks after what nobody waits for.
//!
//! Some drivers call nobody back, or only where nothing may be asked of them. Who wants to be called when
//! a command has ended, and what may be released only then, is looked after here, in one thread that there
//! is from the first such wish on.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Duration;

use crate::exit;

/// How long to leave things alone before looking again, at first and at most.
const PAUSES: (Duration, Duration) = (Duration::from_micros(20), Duration::from_millis(1));

/// Something to look after.
pub trait Watched: Send {
    /// Whether it is over. It is then not looked at again. The driver is alive.
    fn is_over(&mut self) -> bool;

    /// What is to be done when it is over: nothing more than letting go of it, if it does not say. The
    /// driver may be gone.
    fn end(self: Box<Self>) {}
}

struct Watcher {
    watched: Vec<Box<dyn Watched>>,
    /// Whether the thread is there.
    started: bool,
}

static WATCHER: Mutex<Watcher> = Mutex::new(Watcher { watched: Vec::new(), started: false });
static CHANGED: Condvar = Condvar::new();

/// Looks after `watched` until that is over.
///
/// # Errors
/// The system gives no thread: `watched` is given back.
pub fn over(watched: Box<dyn Watched>) -> Result<(), Box<dyn Watched>> {
    let mut watcher = WATCHER.lock().unwrap_or_else(PoisonError::into_inner);
    if !watcher.started {
        let thread = std::thread::Builder::new().name("crosscut-watch".to_owned());
        if thread.spawn(watch).is_err() {
            return Err(watched);
        }
        watcher.started = true;
    }
    watcher.watched.push(watched);
    drop(watcher);
    CHANGED.notify_one();
    Ok(())
}

fn watch() {
    let (first, longest) = PAUSES;
    let mut pause = first;
    let mut mine: Vec<Box<dyn Watched>> = Vec::new();
    loop {
        let mut watcher = WATCHER.lock().unwrap_or_else(PoisonError::into_inner);
        if mine.is_empty() {
            while watcher.watched.is_empty() {
                watcher = CHANGED.wait(watcher).unwrap_or_else(PoisonError::into_inner);
            }
        } else if watcher.watched.is_empty() {
            let woken = CHANGED.wait_timeout(watcher, pause);
            watcher = woken.unwrap_or_else(PoisonError::into_inner).0;
        }
        mine.append(&mut watcher.watched);
        drop(watcher);
        let Some(alive) = exit::driver() else {
            // The process is ending, and nobody may touch the driver's things any more.
            std::mem::forget(mine);
            return;
        };
        let over: Vec<_> = mine.extract_if(.., |watched| watched.is_over()).collect();
        // Not during a call: somebody may end the process, which waits for calls.
        drop(alive);
        pause = if over.is_empty() { longest.min(pause * 2) } else { first };
        for watched in over {
            // It does not unwind, by contract; but others rely on this thread.
            if let Err(payload) = catch_unwind(AssertUnwindSafe(|| watched.end())) {
                std::mem::forget(payload);
            }
        }
    }
}
