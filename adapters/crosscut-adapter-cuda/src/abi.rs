//! CUDA's own types and numbers, as `cuda.h` has them.
//!
//! Public for the driver that the tests have in place of a real one.

#![allow(missing_docs, reason = "the vendor's names, which its documentation explains")]

use std::ffi::c_void;

/// Any of CUDA's handles.
pub type Handle = *mut c_void;

/// `CUresult`.
pub type Status = i32;

/// `CUdeviceptr`.
pub type DevicePointer = u64;

/// `CUdevice`.
pub type DeviceNumber = i32;

/// Success, and the codes that mean something to us. The driver knows the names of all.
pub const CUDA_SUCCESS: Status = 0;
pub const CUDA_ERROR_INVALID_VALUE: Status = 1;
pub const CUDA_ERROR_OUT_OF_MEMORY: Status = 2;
pub const CUDA_ERROR_NO_DEVICE: Status = 100;
pub const CUDA_ERROR_INVALID_IMAGE: Status = 200;
pub const CUDA_ERROR_NO_BINARY_FOR_GPU: Status = 209;
pub const CUDA_ERROR_ECC_UNCORRECTABLE: Status = 214;
pub const CUDA_ERROR_INVALID_PTX: Status = 218;
pub const CUDA_ERROR_UNSUPPORTED_PTX_VERSION: Status = 222;
pub const CUDA_ERROR_INVALID_SOURCE: Status = 300;
pub const CUDA_ERROR_SHARED_OBJECT_SYMBOL_NOT_FOUND: Status = 302;
pub const CUDA_ERROR_NOT_FOUND: Status = 500;
pub const CUDA_ERROR_NOT_READY: Status = 600;
pub const CUDA_ERROR_ILLEGAL_ADDRESS: Status = 700;
pub const CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES: Status = 701;
pub const CUDA_ERROR_LAUNCH_TIMEOUT: Status = 702;
pub const CUDA_ERROR_ASSERT: Status = 710;
pub const CUDA_ERROR_HARDWARE_STACK_ERROR: Status = 714;
pub const CUDA_ERROR_LAUNCH_FAILED: Status = 719;
pub const CUDA_ERROR_UNKNOWN: Status = 999;

/// `CUdevice_attribute`.
pub type Attribute = i32;
pub const CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK: Attribute = 1;
pub const CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X: Attribute = 2;
pub const CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y: Attribute = 3;
pub const CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z: Attribute = 4;
pub const CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X: Attribute = 5;
pub const CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y: Attribute = 6;
pub const CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z: Attribute = 7;
pub const CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK: Attribute = 8;
pub const CU_DEVICE_ATTRIBUTE_WARP_SIZE: Attribute = 10;
pub const CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT: Attribute = 16;
pub const CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING: Attribute = 41;
pub const CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR: Attribute = 75;
pub const CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR: Attribute = 76;
pub const CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY: Attribute = 83;
pub const CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS: Attribute = 88;
pub const CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS: Attribute = 89;

/// `CUfunction_attribute`.
pub const CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: i32 = 0;

pub const CU_MEMHOSTALLOC_PORTABLE: u32 = 1;
pub const CU_MEMHOSTALLOC_DEVICEMAP: u32 = 2;
pub const CU_MEM_ATTACH_GLOBAL: u32 = 1;
pub const CU_STREAM_NON_BLOCKING: u32 = 1;
/// A thread that waits sleeps meanwhile.
pub const CU_EVENT_BLOCKING_SYNC: u32 = 1;
pub const CU_EVENT_DISABLE_TIMING: u32 = 2;

/// `CUjit_option`.
pub type JitOption = i32;
pub const CU_JIT_ERROR_LOG_BUFFER: JitOption = 5;
pub const CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: JitOption = 6;

/// `CUjitInputType`.
pub const CU_JIT_INPUT_PTX: u32 = 1;
