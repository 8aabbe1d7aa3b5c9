//! From Level Zero's codes to [`DriverError`].

use crosscut_adapter_api::{DriverError, DriverErrorKind};

use crate::abi::{self, Status};

/// The error for `code`, which is not success. `call` names the function that returned it.
pub(crate) fn error(call: &'static str, code: Status) -> DriverError {
    let kind = match code {
        abi::ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY
        | abi::ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY
        | abi::ZE_RESULT_ERROR_UNSUPPORTED_SIZE => DriverErrorKind::OutOfMemory,
        abi::ZE_RESULT_ERROR_MODULE_BUILD_FAILURE
        | abi::ZE_RESULT_ERROR_MODULE_LINK_FAILURE
        | abi::ZE_RESULT_ERROR_INVALID_MODULE_UNLINKED
        | abi::ZE_RESULT_ERROR_INVALID_NATIVE_BINARY
        | abi::ZE_RESULT_ERROR_INVALID_KERNEL_NAME => DriverErrorKind::Build,
        abi::ZE_RESULT_ERROR_DEVICE_LOST => DriverErrorKind::DeviceLost,
        _ => DriverErrorKind::Other,
    };
    // Codes are large numbers that nobody knows by heart. All of them fit into 31 bits.
    DriverError { kind, call, code: code.cast_signed(), log: abi::name(code).map(str::to_owned) }
}

/// Turns the status of a call into a result.
pub(crate) fn check(call: &'static str, code: Status) -> Result<(), DriverError> {
    if code == abi::ZE_RESULT_SUCCESS { Ok(()) } else { Err(error(call, code)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_the_call_and_the_code_and_tells_its_name() {
        let refusal = check("zeMemAllocDevice", 0x7000_0003).unwrap_err();
        assert_eq!(
            refusal.to_string(),
            "zeMemAllocDevice returned 1879048195\nZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY"
        );
        assert_eq!(refusal.kind, DriverErrorKind::OutOfMemory);
    }

    #[test]
    fn an_unknown_code_is_not_given_a_meaning() {
        let unknown = error("zeEventQueryStatus", 0x7000_4444);
        assert_eq!((unknown.kind, unknown.log), (DriverErrorKind::Other, None));
    }
}
