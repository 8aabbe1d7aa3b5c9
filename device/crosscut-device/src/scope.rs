//! How far atomics and fences reach.

use crate::{hooks, on_device};

/// Who must see an atomic operation or a fence: SYCL's memory scopes.
///
/// ```
/// use crosscut::prelude::*;
/// use crosscut::{Scope, in_scope};
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
///
/// let queue = Queue::new()?;
/// let counts = queue.zeroed::<AtomicU32>(2)?;
/// queue.parallel_for(NdRange::new(8, 4), &counts, |item, counts| {
///     // Nobody outside the work-group counts here before the kernel has ended.
///     in_scope(Scope::WorkGroup, || counts[item.group()].fetch_add(1, Relaxed));
/// })?;
/// assert_eq!(queue.download(&counts)?, [4, 4]);
/// # Ok::<(), crosscut::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u32)]
pub enum Scope {
    /// The items of the sub-group.
    SubGroup = 0,
    /// The items of the work-group.
    WorkGroup = 1,
    /// All items of the device: what atomics have without a scope.
    #[default]
    Device = 2,
    /// All devices and the host.
    System = 3,
}

/// Runs `atomics`, whose atomic operations and fences reach as far as `scope` says.
///
/// A narrower scope can be faster and is never required; the host's atomics reach everybody. A device that has not
/// the scope refuses the kernel when it is submitted: its features tell.
///
/// Atomics of 8 and 16 bits reach the device at least, and in local memory the work-group, because devices change the
/// four bytes around them: where the system is to see one, it is to see all of those four bytes.
///
/// ```
/// use crosscut_device::{Scope, in_scope};
/// use core::sync::atomic::{AtomicU32, Ordering::{AcqRel, Relaxed}, fence};
///
/// let count = AtomicU32::new(1);
/// let before = in_scope(Scope::WorkGroup, || count.fetch_add(1, Relaxed));
/// in_scope(Scope::System, || fence(AcqRel));
/// assert_eq!(before, 1);
/// ```
#[inline(always)]
pub fn in_scope<R>(scope: Scope, atomics: impl FnOnce() -> R) -> R {
    if !on_device() {
        return atomics();
    }
    hooks::__crosscut_scope_begin(scope as u32);
    let result = atomics();
    hooks::__crosscut_scope_end();
    result
}
