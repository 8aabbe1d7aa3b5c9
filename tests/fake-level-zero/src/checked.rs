//! What every call does with its arguments: look at them before believing them.

use std::ffi::{CStr, c_char};

use crosscut_adapter_level_zero::abi::{Status, Typed, ZE_RESULT_SUCCESS};

/// Says what is wrong with a call, and ends the process: a test that made it has failed.
#[allow(clippy::print_stderr, reason = "the process ends here, and somebody must say why")]
pub(crate) fn misuse(call: &str, what: &str) -> ! {
    eprintln!("fake Level Zero driver: {call}: {what}");
    std::process::abort()
}

/// A structure that the caller fills.
pub(crate) fn description<'a, T: Typed>(call: &str, pointer: *const T) -> &'a T {
    if pointer.is_null() {
        misuse(call, "the description is null");
    }
    // SAFETY: it is not null, and by Level Zero's rules it points to a structure, which says its type.
    let stype = unsafe { pointer.cast::<u32>().read() };
    if stype != T::STYPE {
        misuse(call, &format!("the description has type {stype:#x}, not {:#x}", T::STYPE));
    }
    // SAFETY: as above, and it has the right type.
    unsafe { &*pointer }
}

/// A structure that the caller wants filled: all but its first two fields are ours.
pub(crate) fn properties<'a, T: Typed>(call: &str, pointer: *mut T) -> &'a mut T {
    description(call, pointer.cast_const());
    // SAFETY: it has just been looked at, and by Level Zero's rules nobody else does meanwhile.
    unsafe { &mut *pointer }
}

/// Writes a result.
pub(crate) fn answer<T>(call: &str, place: *mut T, value: T) {
    if place.is_null() {
        misuse(call, "the place for the result is null");
    }
    // SAFETY: it is not null, and by Level Zero's rules it has room for the result.
    unsafe { place.write(value) }
}

/// Writes a list: the number alone where there is no place for more, else as many as fit.
pub(crate) fn answer_list<T>(call: &str, count: *mut u32, places: *mut T, values: &[T]) -> Status
where
    T: Copy,
{
    if count.is_null() {
        misuse(call, "the count is null");
    }
    // SAFETY: it is not null, and by Level Zero's rules it is a number.
    let room = unsafe { count.read() } as usize;
    if room != 0 && !places.is_null() {
        for (at, value) in values.iter().take(room).enumerate() {
            answer(call, places.wrapping_add(at), *value);
        }
    }
    let told = if room == 0 { values.len() } else { values.len().min(room) };
    answer(call, count, told as u32);
    ZE_RESULT_SUCCESS
}

/// Bytes that the caller lends.
pub(crate) fn bytes<'a>(call: &str, start: *const u8, length: usize) -> &'a [u8] {
    if start.is_null() || length == 0 {
        misuse(call, "there are no bytes");
    }
    // SAFETY: it is not null, and by Level Zero's rules there are as many bytes.
    unsafe { std::slice::from_raw_parts(start, length) }
}

/// Text that the caller lends.
pub(crate) fn text<'a>(call: &str, start: *const c_char) -> &'a CStr {
    if start.is_null() {
        misuse(call, "the text is null");
    }
    // SAFETY: it is not null, and by Level Zero's rules it is terminated.
    unsafe { CStr::from_ptr(start) }
}

/// Writes bytes with their number: the number alone where there is no place for more.
pub(crate) fn answer_bytes(call: &str, size: *mut usize, place: *mut u8, value: &[u8]) -> Status {
    if !place.is_null() {
        // SAFETY: by Level Zero's rules the size is a number wherever it is not null.
        if size.is_null() || unsafe { size.read() } < value.len() {
            misuse(call, "there is less room than was asked for");
        }
        for (at, byte) in value.iter().enumerate() {
            answer(call, place.wrapping_add(at), *byte);
        }
    }
    answer(call, size, value.len());
    ZE_RESULT_SUCCESS
}
