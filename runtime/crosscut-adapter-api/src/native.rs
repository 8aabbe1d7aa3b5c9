//! Launching native code: what only the host CPU device does.

use std::ops::Range;

use crate::{DriverError, Event, Extent};

/// The address and the length of one kernel argument that lives in memory.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Slot {
    /// Its first byte; aligned for its element type, and not null even if it is empty.
    pub address: *mut u8,
    /// How many elements it has.
    pub length: usize,
}

/// What a native kernel gets: the closure's captures and its arguments.
#[derive(Clone, Copy)]
pub struct NativeLaunch<'a> {
    /// The captures, as the closure's own bytes.
    pub captures: *const u8,
    /// The arguments.
    pub slots: &'a [Slot],
    /// The whole index space.
    pub extent: Extent,
    /// The bytes of memory that each work-group is to have. The address of a slot in it is an offset.
    pub local_memory: usize,
}

/// A panic inside a native kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NativePanic {
    /// The linear index of the item that panicked.
    pub item: u64,
    /// What the panic said.
    pub message: String,
    /// The file of the panic, as rustc names it.
    pub file: String,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1.
    pub column: u32,
}

/// A kernel as native code: runs the items whose linear indices are in the range, in order. Where the
/// extent has work-groups, the range is one of linear indices of groups, each run whole.
///
/// It does not unwind: a panic of the closure ends the range and is the result.
///
/// # Safety
/// The caller promises what [`NativeQueue::launch_native`] is promised, and never has two ranges
/// of one launch overlap.
pub type NativeEntry = unsafe fn(&NativeLaunch<'_>, Range<u64>) -> Result<(), NativePanic>;

/// What came of a native launch: its event, and the panic that ended it.
pub type NativeOutcome = (Box<dyn Event>, Result<(), NativePanic>);

/// A queue that runs native code.
pub trait NativeQueue {
    /// Runs `entry` over every index of `launch.extent`, in pieces, on any number of threads.
    ///
    /// The inner result is the panic of the lowest item that panicked in what was run; the pieces
    /// that had not started by then may be left out.
    ///
    /// # Safety
    /// `launch` fits `entry`: captures and slots have the types it was made for, slots that it
    /// writes are touched by nobody else, and all stay valid until this returns.
    ///
    /// # Errors
    /// An event of `after` that failed.
    unsafe fn launch_native(
        &self,
        entry: NativeEntry,
        launch: &NativeLaunch<'_>,
        after: &[&dyn Event],
    ) -> Result<NativeOutcome, DriverError>;
}
