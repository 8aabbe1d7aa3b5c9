//! The driver and its devices.

use std::ffi::{CStr, c_char};
use std::sync::atomic::{AtomicBool, Ordering};

use crosscut_adapter_cuda::abi::{self, Attribute, DeviceNumber, Status};

use crate::checked::{Answer, answer, misuse};
use crate::context::DEVICES;

static INITIALISED: AtomicBool = AtomicBool::new(false);

/// The most items of a group.
pub(crate) const MOST_ITEMS: u32 = 1024;
/// The most items of a group in each dimension.
pub(crate) const MOST_ITEMS_OF: [u32; 3] = [1024, 1024, 64];
/// The most groups in each dimension.
pub(crate) const MOST_GROUPS: [u32; 3] = [i32::MAX as u32, 65_535, 65_535];
/// The bytes of shared memory of a group.
pub(crate) const SHARED_MEMORY: usize = 48 << 10;
/// The bytes of memory of a device.
pub(crate) const MEMORY: usize = 1 << 30;

/// The generations of the devices: 80 is 8.0.
pub(crate) const GENERATIONS: [u32; DEVICES] = [80, 50];

const NAMES: [&CStr; DEVICES] = [c"Fake GPU", c"Fake GPU without unified addresses"];

pub(crate) fn init(call: &str, flags: u32) -> Answer {
    if flags != 0 {
        misuse(call, "there are no flags");
    }
    INITIALISED.store(true, Ordering::SeqCst);
    Ok(())
}

/// Ends the process if `cuInit` has not been called.
pub(crate) fn initialised(call: &str) {
    if !INITIALISED.load(Ordering::SeqCst) {
        misuse(call, "cuInit was not called");
    }
}

pub(crate) fn version(call: &str, place: *mut i32) -> Answer {
    answer(call, place, 12_040)
}

/// Names of codes, and what they mean.
const CODES: &[(Status, &CStr, &CStr)] = &[
    (abi::CUDA_SUCCESS, c"CUDA_SUCCESS", c"no error"),
    (abi::CUDA_ERROR_INVALID_VALUE, c"CUDA_ERROR_INVALID_VALUE", c"invalid argument"),
    (abi::CUDA_ERROR_OUT_OF_MEMORY, c"CUDA_ERROR_OUT_OF_MEMORY", c"out of memory"),
    (abi::CUDA_ERROR_INVALID_IMAGE, c"CUDA_ERROR_INVALID_IMAGE", c"device kernel image is invalid"),
    (abi::CUDA_ERROR_INVALID_PTX, c"CUDA_ERROR_INVALID_PTX", c"a PTX JIT compilation failed"),
    (abi::CUDA_ERROR_NOT_FOUND, c"CUDA_ERROR_NOT_FOUND", c"named symbol not found"),
    (abi::CUDA_ERROR_NOT_READY, c"CUDA_ERROR_NOT_READY", c"device not ready"),
    (
        abi::CUDA_ERROR_ILLEGAL_ADDRESS,
        c"CUDA_ERROR_ILLEGAL_ADDRESS",
        c"an illegal memory access was encountered",
    ),
    (
        abi::CUDA_ERROR_LAUNCH_TIMEOUT,
        c"CUDA_ERROR_LAUNCH_TIMEOUT",
        c"the launch timed out and was terminated",
    ),
    (716, c"CUDA_ERROR_MISALIGNED_ADDRESS", c"misaligned address"),
    (abi::CUDA_ERROR_LAUNCH_FAILED, c"CUDA_ERROR_LAUNCH_FAILED", c"unspecified launch failure"),
];

fn code(code: Status) -> Result<&'static (Status, &'static CStr, &'static CStr), Status> {
    CODES.iter().find(|(known, ..)| *known == code).ok_or(abi::CUDA_ERROR_INVALID_VALUE)
}

pub(crate) fn error_name(call: &str, status: Status, place: *mut *const c_char) -> Answer {
    answer(call, place, code(status)?.1.as_ptr())
}

pub(crate) fn error_string(call: &str, status: Status, place: *mut *const c_char) -> Answer {
    answer(call, place, code(status)?.2.as_ptr())
}

pub(crate) fn device_count(call: &str, place: *mut i32) -> Answer {
    answer(call, place, DEVICES as i32)
}

pub(crate) fn device(call: &str, place: *mut DeviceNumber, ordinal: i32) -> Answer {
    number(call, ordinal);
    answer(call, place, ordinal)
}

/// The device of a number.
fn number(call: &str, device: DeviceNumber) -> usize {
    match usize::try_from(device) {
        Ok(at) if at < DEVICES => at,
        _ => misuse(call, &format!("there is no device {device}")),
    }
}

pub(crate) fn device_name(
    call: &str,
    place: *mut c_char,
    room: i32,
    device: DeviceNumber,
) -> Answer {
    let name = NAMES[number(call, device)].to_bytes_with_nul();
    let room = usize::try_from(room).unwrap_or(0);
    if room < name.len() {
        misuse(call, "there is no room for the name");
    }
    for (at, byte) in name.iter().enumerate() {
        answer(call, place.wrapping_add(at).cast::<u8>(), *byte)?;
    }
    Ok(())
}

pub(crate) fn total_memory(call: &str, place: *mut usize, device: DeviceNumber) -> Answer {
    number(call, device);
    answer(call, place, MEMORY)
}

pub(crate) fn attribute(
    call: &str,
    place: *mut i32,
    attribute: Attribute,
    device: DeviceNumber,
) -> Answer {
    let at = number(call, device);
    let new = at == 0;
    let value = match attribute {
        abi::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK => MOST_ITEMS,
        abi::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X => MOST_ITEMS_OF[0],
        abi::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y => MOST_ITEMS_OF[1],
        abi::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z => MOST_ITEMS_OF[2],
        abi::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X => MOST_GROUPS[0],
        abi::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y => MOST_GROUPS[1],
        abi::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z => MOST_GROUPS[2],
        abi::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK => SHARED_MEMORY as u32,
        abi::CU_DEVICE_ATTRIBUTE_WARP_SIZE => 32,
        abi::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT => 4,
        abi::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR => GENERATIONS[at] / 10,
        abi::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR => GENERATIONS[at] % 10,
        abi::CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING
        | abi::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS => u32::from(new),
        abi::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY => 1,
        abi::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS => 0,
        _ => return Err(abi::CUDA_ERROR_INVALID_VALUE),
    };
    answer(call, place, value as i32)
}
