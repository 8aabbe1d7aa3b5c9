//! From CUDA's codes to [`DriverError`].

use std::ffi::{CStr, c_char};

use crosscut_adapter_api::{DriverError, DriverErrorKind};

use crate::abi::{self, Status};
use crate::sys::Api;

/// What a caller can do about a code.
fn kind(code: Status) -> DriverErrorKind {
    match code {
        abi::CUDA_ERROR_OUT_OF_MEMORY => DriverErrorKind::OutOfMemory,
        abi::CUDA_ERROR_INVALID_IMAGE
        | abi::CUDA_ERROR_NO_BINARY_FOR_GPU
        | abi::CUDA_ERROR_INVALID_PTX
        | abi::CUDA_ERROR_UNSUPPORTED_PTX_VERSION
        | abi::CUDA_ERROR_INVALID_SOURCE
        | abi::CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND
        | abi::CUDA_ERROR_NOT_FOUND => DriverErrorKind::Build,
        // After these a context is of no more use.
        abi::CUDA_ERROR_ECC_UNCORRECTABLE
        | abi::CUDA_ERROR_ILLEGAL_ADDRESS
        | abi::CUDA_ERROR_LAUNCH_TIMEOUT
        | abi::CUDA_ERROR_ASSERT
        | abi::CUDA_ERROR_HARDWARE_STACK_ERROR..=abi::CUDA_ERROR_LAUNCH_FAILED => {
            DriverErrorKind::DeviceLost
        }
        _ => DriverErrorKind::Other,
    }
}

impl Api {
    /// The driver's name of a code, and what it says about it.
    pub(crate) fn words(&self, code: Status) -> Option<String> {
        let ask = |get: unsafe extern "system" fn(Status, *mut *const c_char) -> Status| {
            let mut text = std::ptr::null();
            // SAFETY: both functions take any number, and `text` is writable.
            let status = unsafe { get(code, &raw mut text) };
            if status != abi::CUDA_SUCCESS || text.is_null() {
                return None;
            }
            // SAFETY: the driver gave a terminated text, which is a constant of its own.
            Some(unsafe { CStr::from_ptr(text) }.to_string_lossy().into_owned())
        };
        let name = ask(self.cuGetErrorName)?;
        Some(match ask(self.cuGetErrorString) {
            Some(text) => format!("{name}: {text}"),
            None => name,
        })
    }

    /// The error for `code`, which is not success. `call` names the function that returned it.
    pub(crate) fn error(&self, call: &'static str, code: Status) -> DriverError {
        DriverError { kind: kind(code), call, code, log: self.words(code) }
    }

    /// Turns the status of a call into a result.
    pub(crate) fn check(&self, call: &'static str, code: Status) -> Result<(), DriverError> {
        if code == abi::CUDA_SUCCESS { Ok(()) } else { Err(self.error(call, code)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_after_which_a_context_is_of_no_use_are_a_lost_device() {
        for code in [214, 700, 702, 710, 714, 715, 716, 717, 718, 719] {
            assert_eq!(kind(code), DriverErrorKind::DeviceLost, "{code}");
        }
        for (code, meant) in [
            (2, DriverErrorKind::OutOfMemory),
            (218, DriverErrorKind::Build),
            (500, DriverErrorKind::Build),
            (1, DriverErrorKind::Other),
            (4242, DriverErrorKind::Other),
        ] {
            assert_eq!(kind(code), meant, "{code}");
        }
    }
}
