//! What code inside kernels may use, and its host twin.
//!
//! - [`hooks`]: functions that the toolchain gives a meaning in device code; on the host a call is a
//!   bug and ends the process.
//! - [`on_device`]: whether this code runs on a device, known when the program is linked.
//! - [`DeviceData`] and [`DeviceCopy`]: which types may live in device memory.
//! - [`AtomicF32`] and [`AtomicF64`]: floating-point numbers that kernels share.
//! - `HalfMath`, with the feature `half`: mathematics of 16-bit floating-point numbers.
//! - [`NdItem`] and [`Tile`]: an item of a work-group, and memory that its items share.
//! - [`WorkGroup`] and [`SubGroup`]: what items compute together.
//! - [`mod@print`]: lines that kernels print.
//! - [`in_scope`]: who must see atomics and fences.
//! - [`DeviceGlobal`]: a static with one instance per device and context.
//! - [`Symbol`]: a value of the host and one of each device.
//! - [`property`]: what host and device may do with a global, by type.
//! - [`SpecConstant`]: a constant of kernels that each launch may set.
//! - [`place`]: on the host, which context's instances the code of this thread sees.
//!
//! Nothing here depends on the runtime or on a driver: this crate is part of every device image.

mod collective;
mod data;
mod float;
mod global;
#[cfg(feature = "half")]
mod half_math;
pub mod hooks;
mod nd;
pub mod place;
mod pointer;
pub mod print;
pub mod property;
mod scope;
mod side;
mod spec_constant;
mod sub_group;
mod symbol;
mod tile;

pub use collective::{LEFT_STEP, WorkGroup};
pub use data::{ByName, DeviceCopy, DeviceData};
pub use float::{AtomicF32, AtomicF64};
pub use global::{DeviceGlobal, Exclusive, GlobalDescription};
#[cfg(feature = "half")]
pub use half_math::HalfMath;
pub use nd::{Groups, Index, Members, NdItem, Waiter};
pub use pointer::DevicePtr;
pub use scope::{Scope, in_scope};
pub use side::on_device;
pub use spec_constant::{SpecConstant, SpecValue};
pub use sub_group::{HOST_SUB_GROUP, SUB_GROUP_STEP, SubGroup};
pub use symbol::{Constant, Global, Space, Symbol};
pub use tile::Tile;

/// Waits until every item of the work-group has come here, on a device.
#[inline(always)]
pub(crate) fn device_barrier() {
    // SAFETY: empty assembly touches nothing. It is here so that no optimiser copies the barrier
    // into the branches around it: all items must meet at one and the same place.
    unsafe { core::arch::asm!("", options(nostack)) };
    hooks::__crosscut_barrier();
    // SAFETY: as above.
    unsafe { core::arch::asm!("", options(nostack)) };
}
