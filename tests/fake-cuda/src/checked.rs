//! What every call does with its arguments: look at them before believing them.

use std::ffi::{CStr, c_char};

use crosscut_adapter_cuda::abi::Status;

/// What a call returns: a code, if it is not success.
pub(crate) type Answer = Result<(), Status>;

/// Says what is wrong with a call, and ends the process: a test that made it has failed.
#[allow(clippy::print_stderr, reason = "the process ends here, and somebody must say why")]
pub(crate) fn misuse(call: &str, what: &str) -> ! {
    eprintln!("fake CUDA driver: {call}: {what}");
    std::process::abort()
}

/// Writes a result.
pub(crate) fn answer<T>(call: &str, place: *mut T, value: T) -> Answer {
    if place.is_null() {
        misuse(call, "the place for the result is null");
    }
    // SAFETY: it is not null, and by CUDA's rules it has room for the result.
    unsafe { place.write(value) };
    Ok(())
}

/// Text that the caller lends.
pub(crate) fn text<'a>(call: &str, start: *const c_char) -> &'a str {
    if start.is_null() {
        misuse(call, "the text is null");
    }
    // SAFETY: it is not null, and by CUDA's rules it is terminated.
    let text = unsafe { CStr::from_ptr(start) };
    text.to_str().unwrap_or_else(|_| misuse(call, "the text is no UTF-8"))
}

/// Bytes that the caller lends.
pub(crate) fn bytes<'a>(call: &str, start: *const u8, length: usize) -> &'a [u8] {
    if start.is_null() || length == 0 {
        misuse(call, "there are no bytes");
    }
    // SAFETY: it is not null, and by CUDA's rules there are as many bytes.
    unsafe { std::slice::from_raw_parts(start, length) }
}
