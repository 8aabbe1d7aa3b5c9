//! The size beyond which the system lets this process write no file.
//!
//! A write beyond it is not refused: it ends the process by a signal (`ulimit -f`, SIGXFSZ). So
//! whoever writes looks first.

/// The bytes that a file may have.
#[cfg(all(unix, target_pointer_width = "64"))]
pub(super) fn bytes() -> u64 {
    use std::ffi::c_int;

    /// C's `struct rlimit`: on 64-bit systems both are that wide.
    #[repr(C)]
    struct Limits {
        soft: u64,
        hard: u64,
    }
    /// The number of this limit is the same on every Unix.
    const RLIMIT_FSIZE: c_int = 1;
    unsafe extern "C" {
        /// C's own; it is part of every C library that Rust's standard library links.
        fn getrlimit(resource: c_int, limits: *mut Limits) -> c_int;
    }

    let mut limits = Limits { soft: u64::MAX, hard: u64::MAX };
    // SAFETY: the structure is the one that the call fills, and it is writable.
    match unsafe { getrlimit(RLIMIT_FSIZE, &raw mut limits) } {
        0 => limits.soft.min(limits.hard),
        _ => u64::MAX,
    }
}

#[cfg(not(all(unix, target_pointer_width = "64")))]
pub(super) fn bytes() -> u64 {
    u64::MAX
}
