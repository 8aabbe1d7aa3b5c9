//! What happens once the process has begun to end.
//!
//! A driver tears itself down in its own exit handlers, and calls into it after that crash. Objects
//! of ours may still be dropped or used then: by static destructors of other languages, by handlers
//! registered earlier, by threads that outlive `main`. So a handler of ours, registered after the
//! driver's own and therefore run before them, raises a flag; from then on releases do nothing
//! (the process's end frees more thoroughly) and all else is refused.

use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

use crosscut_adapter_api::{DriverError, DriverErrorKind};

use crate::sys;

static EXITING: AtomicBool = AtomicBool::new(false);

unsafe extern "C" {
    /// C's own; it is part of every C library that Rust's standard library links.
    fn atexit(handler: extern "C" fn()) -> i32;
}

extern "C" fn begin_exit() {
    EXITING.store(true, Ordering::Release);
}

/// Registers the handler, once for each `once`.
///
/// To be called when a driver has been loaded, and again when it has made its first context: what
/// drivers set up as late as that is torn down earlier.
pub(crate) fn watch(once: &'static Once) {
    once.call_once(|| {
        // SAFETY: the handler only stores to an atomic, which may be done at any time, and lives as
        // long as the code of this crate. A full table (the only failure) leaves things as if the
        // handler had not been asked for.
        unsafe { atexit(begin_exit) };
    });
}

/// Whether the driver may still be called.
pub(crate) fn driver_is_alive() -> bool {
    !EXITING.load(Ordering::Acquire)
}

/// Refuses `call` if the driver may no longer be called.
pub(crate) fn check(call: &'static str) -> Result<(), DriverError> {
    if driver_is_alive() {
        return Ok(());
    }
    Err(DriverError {
        kind: DriverErrorKind::DeviceLost,
        call,
        code: sys::CL_SUCCESS,
        log: Some("the process is ending: finish device work before `main` returns".to_owned()),
    })
}
