//! The properties of a device global as bits of one number.
//!
//! The device crate hands the number to the access hook, the link step writes it into images, the
//! runtime compares and obeys it.

/// A variable of the image itself rather than shared by all images of a device.
pub const IMAGE_SCOPE: u64 = 1;
/// The host reads it.
pub const HOST_READS: u64 = 1 << 1;
/// The host writes it.
pub const HOST_WRITES: u64 = 1 << 2;
/// An FPGA initialises it by programming the device again.
pub const INIT_REPROGRAM: u64 = 1 << 3;
/// An FPGA initialises it by a reset signal.
pub const INIT_RESET: u64 = 1 << 4;
/// An FPGA has it outside its control and status registers.
pub const CSR_OFF: u64 = 1 << 5;
/// An FPGA has it in its control and status registers.
pub const CSR_ON: u64 = 1 << 6;
/// It starts as zeros; there are no initial bytes behind its storage.
pub const LAZY: u64 = 1 << 7;
/// It starts as anything; there are no initial bytes behind its storage.
pub const NO_INIT: u64 = 1 << 8;
/// A symbol's device value: every kernel bundle has one of its own.
pub const BUNDLE_SCOPE: u64 = 1 << 9;

/// What a global without properties has.
pub const DEFAULT: u64 = HOST_READS | HOST_WRITES;
/// Every bit that means something.
pub const ALL: u64 = (1 << 10) - 1;
