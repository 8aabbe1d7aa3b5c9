//! From OpenCL's codes to [`DriverError`].

use crosscut_adapter_api::{DriverError, DriverErrorKind};

use crate::sys;

/// The error for `code`, which is not success. `call` names the function that returned it.
pub(crate) fn error(call: &'static str, code: i32) -> DriverError {
    let kind = match code {
        sys::CL_MEM_OBJECT_ALLOCATION_FAILURE
        | sys::CL_OUT_OF_RESOURCES
        | sys::CL_OUT_OF_HOST_MEMORY
        | sys::CL_INVALID_BUFFER_SIZE => DriverErrorKind::OutOfMemory,
        sys::CL_BUILD_PROGRAM_FAILURE
        | sys::CL_COMPILE_PROGRAM_FAILURE
        | sys::CL_LINK_PROGRAM_FAILURE
        | sys::CL_INVALID_BINARY
        | sys::CL_INVALID_PROGRAM
        | sys::CL_INVALID_PROGRAM_EXECUTABLE
        | sys::CL_INVALID_KERNEL_NAME => DriverErrorKind::Build,
        _ => DriverErrorKind::Other,
    };
    DriverError { kind, call, code, log: None }
}

/// Turns the status of a call into a result.
pub(crate) fn check(call: &'static str, code: i32) -> Result<(), DriverError> {
    if code == sys::CL_SUCCESS { Ok(()) } else { Err(error(call, code)) }
}

/// The error for a command that was accepted and then failed with `code` on the device.
///
/// The same codes mean something else here: out of resources, for one, is how some drivers report a
/// kernel that touched memory which is not its own.
pub(crate) fn command_failed(call: &'static str, code: i32) -> DriverError {
    DriverError { kind: DriverErrorKind::DeviceLost, call, code, log: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_keeps_the_call_and_the_code() {
        let refusal = check("clCreateBuffer", -61).unwrap_err();
        assert_eq!(refusal.to_string(), "clCreateBuffer returned -61");
        assert_eq!(refusal.kind, DriverErrorKind::OutOfMemory);
    }

    #[test]
    fn an_unknown_code_is_not_given_a_meaning() {
        assert_eq!(error("clFinish", -9999).kind, DriverErrorKind::Other);
    }

    #[test]
    fn a_failed_command_means_a_lost_device_whatever_its_code() {
        assert_eq!(command_failed("clFinish", -5).kind, DriverErrorKind::DeviceLost);
    }
}
