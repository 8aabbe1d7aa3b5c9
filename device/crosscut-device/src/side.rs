//! Host or device: one static that the toolchain folds.

use core::cell::UnsafeCell;

/// A `bool` that the host compiler must read: a plain static would be folded to `false` before the
/// toolchain sees the code.
#[repr(transparent)]
struct Side(UnsafeCell<bool>);

// SAFETY: nobody ever writes it, so threads only ever read it.
unsafe impl Sync for Side {}

#[unsafe(no_mangle)]
static __CROSSCUT_ON_DEVICE: Side = Side(UnsafeCell::new(false));

/// Whether this code runs on a device.
///
/// False everywhere in the host program, the host CPU device included; a constant in device code,
/// so that the branch not taken is not part of it.
#[inline(always)]
#[must_use]
pub fn on_device() -> bool {
    // SAFETY: the static is initialised and never written.
    unsafe { *__CROSSCUT_ON_DEVICE.0.get() }
}
