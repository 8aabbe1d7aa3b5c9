//! A queue: runs each command at once.

use std::num::NonZeroUsize;

use crosscut_adapter_api::{
    Argument, DriverError, Event, Extent, Kernel, Location, Memory, NativeEntry, NativeLaunch,
    NativeOutcome, NativeQueue, Queue,
};

use crate::event::Completed;
use crate::fill;
use crate::pool;

pub(crate) struct HostQueue;

/// Events of another queue may only be this adapter's, which are complete; asking keeps the
/// contract's order of errors.
fn wait_all(after: &[&dyn Event]) -> Result<(), DriverError> {
    after.iter().try_for_each(|event| event.wait())
}

fn address(memory: &dyn Memory, offset: usize) -> *mut u8 {
    let Some(base) = memory.host_address() else {
        unreachable!("memory of another adapter was given to the host CPU")
    };
    // The runtime keeps offsets inside the allocation; wrapping arithmetic needs no promise here.
    base.as_ptr().wrapping_add(offset)
}

impl Queue for HostQueue {
    unsafe fn launch(
        &self,
        _kernel: &dyn Kernel,
        _extent: Extent,
        _arguments: &[Argument<'_>],
        _after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        unreachable!("the host CPU has no built programs to launch from")
    }

    unsafe fn write(
        &self,
        target: &dyn Memory,
        offset: usize,
        source: *const u8,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        wait_all(after)?;
        // SAFETY: the caller promises a readable source and a live target, and that the range lies
        // inside the target; host memory never overlaps an allocation of ours. (`copy` would allow
        // even that.)
        unsafe { source.copy_to(address(target, offset), size.get()) };
        Ok(Box::new(Completed))
    }

    unsafe fn read(
        &self,
        source: &dyn Memory,
        offset: usize,
        target: *mut u8,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        wait_all(after)?;
        // SAFETY: the caller promises a writable target and a live source, and that the range lies
        // inside the source.
        unsafe { target.copy_from(address(source, offset), size.get()) };
        Ok(Box::new(Completed))
    }

    unsafe fn fill(
        &self,
        target: &dyn Memory,
        offset: usize,
        pattern: &[u8],
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        wait_all(after)?;
        // SAFETY: the caller promises a live target and that the range lies inside it.
        unsafe { fill::repeat(address(target, offset), pattern, size.get()) };
        Ok(Box::new(Completed))
    }

    unsafe fn copy(
        &self,
        target: Location<'_>,
        source: Location<'_>,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        wait_all(after)?;
        let target = address(target.memory, target.offset);
        // SAFETY: the caller promises that both live, and that both ranges lie inside them.
        unsafe { target.copy_from(address(source.memory, source.offset), size.get()) };
        Ok(Box::new(Completed))
    }

    fn wait(&self) -> Result<(), DriverError> {
        Ok(())
    }

    fn as_native(&self) -> Option<&dyn NativeQueue> {
        Some(self)
    }
}

impl NativeQueue for HostQueue {
    unsafe fn launch_native(
        &self,
        entry: NativeEntry,
        launch: &NativeLaunch<'_>,
        after: &[&dyn Event],
    ) -> Result<NativeOutcome, DriverError> {
        wait_all(after)?;
        // SAFETY: the caller's promise is passed on unchanged.
        let outcome = unsafe { pool::run(entry, launch) };
        Ok((Box::new(Completed), outcome))
    }
}
