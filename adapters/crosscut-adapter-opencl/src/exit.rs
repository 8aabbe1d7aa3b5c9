//! What happens once the process has begun to end.
//!
//! A driver tears itself down in its own exit handlers, and calls into it after that crash. Objects
//! of ours may still be dropped or used then: by static destructors of other languages, by handlers
//! registered earlier, by threads that outlive `main`. So a handler of ours, registered after the
//! driver's own and therefore run before them, raises a flag; from then on releases do nothing
//! (the process's end frees more thoroughly) and all else is refused. Calls that other threads are
//! in the middle of are let finish first.
//!
//! Some of a driver's handlers are younger than ours: its compiler registers them when it is first
//! used, in the middle of a call. The main thread's thread locals go before any handler runs, so one
//! of those does the same where the main thread has called us and is the one to end the process; and
//! the handler is registered again after the first program. What is left is an `exit` from another
//! thread during the very first build.
//!
//! Waiting for a command is not counted among those: it could hold up the end of the process for as
//! long as the command takes.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crosscut_adapter_api::{DriverError, DriverErrorKind};

use crate::sys;

/// How long calls in other threads may hold up the end of the process: longer than a driver builds a
/// program on a machine that has much else to do.
const PATIENCE: Duration = Duration::from_secs(30);

static EXITING: AtomicBool = AtomicBool::new(false);

/// How many threads are inside of calls. Raised before `EXITING` is looked at, looked at after that
/// is set, all in one order: so the handler sees every call that did not see the flag.
static CALLS: AtomicUsize = AtomicUsize::new(0);

unsafe extern "C" {
    /// C's own; it is part of every C library that Rust's standard library links.
    fn atexit(handler: extern "C" fn()) -> i32;
}

extern "C" fn begin_exit() {
    EXITING.store(true, Ordering::SeqCst);
    // The clock matters only where somebody ends the process from inside of a call.
    let started = Instant::now();
    while CALLS.load(Ordering::SeqCst) != 0 && started.elapsed() < PATIENCE {
        std::thread::yield_now();
    }
}

/// Registers the handler, once for each `once`.
///
/// To be called when a driver has been loaded, and again when it has made its first context and built
/// its first program: what drivers set up as late as that is torn down earlier.
pub(crate) fn watch(once: &'static Once) {
    once.call_once(|| {
        // SAFETY: the handler only uses atomics and the clock, which may be done at any time, and
        // lives as long as the code of this crate. A full table (the only failure) leaves things as
        // if the handler had not been asked for.
        unsafe { atexit(begin_exit) };
    });
}

/// Begins the end when the main thread's thread locals go.
struct OfMainThread;

thread_local! {
    static OF_MAIN_THREAD: OfMainThread = const { OfMainThread };
}

impl Drop for OfMainThread {
    fn drop(&mut self) {
        if is_main_thread() {
            begin_exit();
        }
    }
}

#[cfg(target_os = "linux")]
fn is_main_thread() -> bool {
    unsafe extern "C" {
        /// C's own, as above.
        safe fn gettid() -> i32;
    }
    // The first thread of a process has its number.
    u32::try_from(gettid()) == Ok(std::process::id())
}

/// Elsewhere nothing cheap tells: the handler alone must do.
#[cfg(not(target_os = "linux"))]
fn is_main_thread() -> bool {
    false
}

/// Shows that the driver is there, and keeps it there until dropped.
pub(crate) struct Alive(());

impl Drop for Alive {
    fn drop(&mut self) {
        CALLS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The driver, if it may still be called: for releases, which then are not needed.
pub(crate) fn driver() -> Option<Alive> {
    // Gone already where a thread is ending, which is as good.
    let _ = OF_MAIN_THREAD.try_with(|_| ());
    CALLS.fetch_add(1, Ordering::SeqCst);
    let alive = Alive(());
    (!EXITING.load(Ordering::SeqCst)).then_some(alive)
}

/// The driver, or the refusal of `call`.
pub(crate) fn enter(call: &'static str) -> Result<Alive, DriverError> {
    driver().ok_or_else(|| refusal(call))
}

/// Refuses `call`, which may block for long, if the driver may no longer be called.
pub(crate) fn check(call: &'static str) -> Result<(), DriverError> {
    if EXITING.load(Ordering::SeqCst) { Err(refusal(call)) } else { Ok(()) }
}

fn refusal(call: &'static str) -> DriverError {
    DriverError {
        kind: DriverErrorKind::DeviceLost,
        call,
        code: sys::CL_SUCCESS,
        log: Some("the process is ending: finish device work before `main` returns".to_owned()),
    }
}
