//! Who waits inside of the driver, and who outside.
//!
//! A thread that waits inside of Intel's CPU runtime (2026.22) helps with whatever there is to do, which small machines
//! need: on two cores it is half of the work. Where there are queues out of order, that may be a task which waits for what
//! another such thread is in the middle of, further down on its own stack; then both wait for ever. So from the first
//! queue out of order on one thread at a time waits inside. The others sleep until they are called, or take over when
//! it leaves. As long as all queues are in order nobody is kept outside.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use crosscut_adapter_api::{Completed, DeviceKind};

/// How many wait inside, or are about to find out that they may not. Raised before `ONE_AT_A_TIME` is looked at, and
/// looked at after that is set, all in one order: so nobody enters beside one who did not see the flag.
static INSIDE: AtomicUsize = AtomicUsize::new(0);
/// Whether there has been a queue out of order on a CPU.
static ONE_AT_A_TIME: AtomicBool = AtomicBool::new(false);
/// How many sleep outside.
static OUTSIDE: Mutex<usize> = Mutex::new(0);
/// A command has ended that somebody outside waits for, or the one inside has left.
static CHANGED: Condvar = Condvar::new();

/// To be held while a driver waits for commands.
pub(crate) struct Inside {
    counted: bool,
}

/// Says that a queue out of order is about to be made.
pub(crate) fn expect_out_of_order(device: DeviceKind) {
    if device == DeviceKind::Cpu {
        ONE_AT_A_TIME.store(true, Ordering::SeqCst);
    }
}

/// Leave to wait inside of the driver, unless another thread does where only one may.
pub(crate) fn enter(device: DeviceKind) -> Option<Inside> {
    if device != DeviceKind::Cpu {
        return Some(Inside { counted: false });
    }
    let before = INSIDE.fetch_add(1, Ordering::SeqCst);
    // If it is not to be, this is a thread that leaves again.
    let inside = Inside { counted: true };
    (before == 0 || !ONE_AT_A_TIME.load(Ordering::SeqCst)).then_some(inside)
}

impl Drop for Inside {
    fn drop(&mut self) {
        if !self.counted {
            return;
        }
        let left = INSIDE.fetch_sub(1, Ordering::SeqCst) - 1;
        if left == 0 && ONE_AT_A_TIME.load(Ordering::SeqCst) {
            wake(&OUTSIDE.lock().unwrap_or_else(PoisonError::into_inner));
        }
    }
}

/// Waking somebody is a call of the system's, also where nobody sleeps.
fn wake(sleepers: &usize) {
    if *sleepers > 0 {
        CHANGED.notify_all();
    }
}

/// A thread that waits outside for a command's end.
#[derive(Default)]
pub(crate) struct Outside {
    ended: Arc<AtomicBool>,
}

impl Outside {
    /// What the driver is to call at the command's end.
    pub(crate) fn call(&self) -> Completed {
        let ended = Arc::clone(&self.ended);
        Box::new(move |_| {
            let sleepers = OUTSIDE.lock().unwrap_or_else(PoisonError::into_inner);
            ended.store(true, Ordering::SeqCst);
            wake(&sleepers);
        })
    }

    /// Sleeps until the command has ended, or nobody is inside: then it is this thread's turn.
    pub(crate) fn sleep(self) -> Option<Inside> {
        let mut sleepers = OUTSIDE.lock().unwrap_or_else(PoisonError::into_inner);
        *sleepers += 1;
        let inside = loop {
            if self.ended.load(Ordering::SeqCst) {
                break None;
            }
            let free = INSIDE.compare_exchange(0, 1, Ordering::SeqCst, Ordering::SeqCst);
            if free.is_ok() {
                break Some(Inside { counted: true });
            }
            sleepers = CHANGED.wait(sleepers).unwrap_or_else(PoisonError::into_inner);
        };
        *sleepers -= 1;
        inside
    }
}
