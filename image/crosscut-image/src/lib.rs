//! The one contract between compile time and run time.
//!
//! - [`hooks`]: the names by which device code asks for what only a device has; the toolchain
//!   replaces them, the device crate defines their host twins.
//! - [`global_properties`]: what a device global's type says about it, as bits.
//! - [`Image`]: one piece of device code with what the runtime must know to launch it.
//! - [`encode`] and [`decode`]: images as the bytes that travel inside a program.
//! - [`spirv`]: a checked walk over SPIR-V, because drivers crash on what they do not expect.
//!
//! The bytes are untrusted input: [`decode`] accepts only what [`encode`] could have written, and
//! neither LLVM nor a driver is known here.

mod addresses;
mod codec;
pub mod global_properties;
pub mod hooks;
mod model;
mod property;
pub mod registration;
pub mod spirv;

pub use addresses::{ADDRESSES, Addresses};
pub use codec::{DecodeError, FORMAT_VERSION, MAGIC, decode, encode};
pub use model::{AssumedKernel, Global, Image, Kernel, PanicSite, Parameter, SpecConstant, Target};
pub use property::{
    DEVICE_GLOBAL_LAYOUTS, DEVICE_GLOBALS, Property, PropertySet, device_global_value,
};
