//! The host's way to unified shared memory: guards.

use std::fmt;
use std::ops::{Deref, DerefMut};

use crosscut_device::DeviceData;

use super::{HostReachable, Usm};
use crate::{Error, Result};

/// The host reads: a `&[T]`. Kernels may read beside it.
pub struct UsmRead<'a, T>(&'a [T]);

/// The host reads and writes: a `&mut [T]`. No kernel has it meanwhile.
pub struct UsmWrite<'a, T>(&'a mut [T]);

impl<T: DeviceData, K: HostReachable> Usm<T, K> {
    /// Waits for the commands that write it, and lends it to the host. Atomics arrive as atomics.
    ///
    /// # Errors
    /// A command that wrote it failed, or its kernel panicked. Inside a host task: one that writes it is
    /// behind that task, on its queue.
    pub fn read(&self) -> Result<UsmRead<'_, T>> {
        self.memory.wait_to_read()?;
        let first = self.first()?;
        // SAFETY: all elements are there, zeroed when they were made, and aligned. Commands that
        // write them have completed, and while they are borrowed none is submitted that does, except
        // kernels and host tasks that have them as atomics, which they then are for the host too: those
        // tasks have this very memory, not a copy that is written back.
        Ok(UsmRead(unsafe { std::slice::from_raw_parts(first, self.len) }))
    }

    /// Waits for the commands that use it, and lends it to the host.
    ///
    /// # Errors
    /// A command that used it failed, or its kernel panicked. Inside a host task: one that uses it is behind
    /// that task, on its queue.
    pub fn write(&mut self) -> Result<UsmWrite<'_, T>> {
        self.memory.wait_to_write()?;
        let first = self.first()?;
        // SAFETY: as for `read`; commands that use them have completed, and while they are borrowed
        // mutably none is submitted.
        Ok(UsmWrite(unsafe { std::slice::from_raw_parts_mut(first, self.len) }))
    }

    /// Where the host finds the first element.
    fn first(&self) -> Result<*mut T> {
        match self.memory.host_address() {
            Some(address) => Ok(address.cast()),
            None if self.memory.size() == 0 => Ok(std::ptr::dangling_mut()),
            None => Err(Error::invalid(
                "the driver gave the host no address of memory it shares",
                "use a `Buffer`, and report this with the driver's version",
            )),
        }
    }
}

impl<T> Deref for UsmRead<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.0
    }
}

impl<T> Deref for UsmWrite<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        self.0
    }
}

impl<T> DerefMut for UsmWrite<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        self.0
    }
}

impl<T: fmt::Debug> fmt::Debug for UsmRead<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<T: fmt::Debug> fmt::Debug for UsmWrite<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}
