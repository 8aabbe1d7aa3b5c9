//! Variables of built programs that the driver knows by name.

use std::any::Any;
use std::num::NonZeroUsize;

use crate::{DriverError, Event};

/// A variable of a built program, from [`Program::variable`](crate::Program::variable). It keeps its
/// program alive.
pub trait Variable: Send + Sync {
    /// Its size in bytes.
    fn size(&self) -> NonZeroUsize;

    /// Where the device has it, if the driver tells.
    fn device_address(&self) -> Option<u64>;

    /// For the adapter to find its own type again.
    fn as_any(&self) -> &dyn Any;
}

/// The ability to copy between host memory and variables of programs, reached by
/// [`Queue::as_variables`](crate::Queue::as_variables).
///
/// The runtime copies only in directions that the variable's decoration in the code allows.
pub trait VariableQueue {
    /// Copies `size` bytes from host memory to `target` at `offset`.
    ///
    /// # Safety
    /// `source` is readable for `size` bytes and unchanged, and `target` lives, until the event
    /// completes.
    ///
    /// # Errors
    /// The driver's refusal; the command then does not run.
    unsafe fn write_variable(
        &self,
        target: &dyn Variable,
        offset: usize,
        source: *const u8,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError>;

    /// Copies `size` bytes of `source` at `offset` to host memory.
    ///
    /// # Safety
    /// `target` is writable for `size` bytes and touched by nobody else, and `source` lives, until
    /// the event completes.
    ///
    /// # Errors
    /// The driver's refusal; the command then does not run.
    unsafe fn read_variable(
        &self,
        source: &dyn Variable,
        offset: usize,
        target: *mut u8,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError>;
}
