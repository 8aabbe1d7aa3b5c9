//! Setting a kernel's arguments, and not setting them again.
//!
//! A `cl_kernel` keeps its arguments from launch to launch. Most launches of a kernel have the
//! arguments of the one before, and setting one costs a good part of what a whole launch does.

use crosscut_adapter_api::{Argument, DriverError};

use crate::context::ContextHandle;
use crate::error::check;
use crate::memory::{ClMemory, Place};
use crate::sys::Handle;

/// What one `cl_kernel` has been given for each of its parameters, as far as that is known.
#[derive(Default)]
pub(crate) struct Arguments(Vec<Option<Given>>);

/// An argument as it can be compared. Memory is told apart by its number, because an address or a
/// handle may come again for another allocation, about which the driver must hear.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Given {
    Four([u8; 4]),
    Eight([u8; 8]),
    Memory { number: u64, offset: usize },
    Local(usize),
}

impl Given {
    fn of(argument: &Argument<'_>) -> Option<Self> {
        match *argument {
            Argument::Value(value) => {
                let eight = || value.try_into().ok().map(Self::Eight);
                value.try_into().ok().map(Self::Four).or_else(eight)
            }
            Argument::Memory { memory, offset } => {
                Some(Self::Memory { number: ClMemory::of(memory).number(), offset })
            }
            Argument::Local(size) => Some(Self::Local(size.get())),
        }
    }
}

impl Arguments {
    /// Gives `kernel`, whose lock the caller holds and whose arguments these are, its arguments.
    pub(crate) fn set(
        &mut self,
        context: &ContextHandle,
        kernel: Handle,
        arguments: &[Argument<'_>],
    ) -> Result<(), DriverError> {
        self.0.resize(arguments.len(), None);
        for ((index, argument), known) in (0_u32..).zip(arguments).zip(&mut self.0) {
            let given = Given::of(argument);
            if given.is_some() && *known == given {
                continue;
            }
            // Where the driver refuses, what the kernel has is not known.
            *known = None;
            set(context, kernel, index, argument)?;
            *known = given;
        }
        Ok(())
    }
}

/// Sets one argument of `kernel`, whose lock the caller holds.
fn set(
    context: &ContextHandle,
    kernel: Handle,
    index: u32,
    argument: &Argument<'_>,
) -> Result<(), DriverError> {
    let by_value = |size, value: *const std::ffi::c_void| {
        // SAFETY: the kernel is alive and locked by the caller, and the value is readable for
        // `size` bytes at all places that call this, or null for local memory, as the call wants it.
        let status = unsafe { (context.api.clSetKernelArg)(kernel, index, size, value) };
        check("clSetKernelArg", status)
    };
    match *argument {
        Argument::Value(value) => by_value(value.len(), value.as_ptr().cast()),
        Argument::Local(size) => by_value(size.get(), std::ptr::null()),
        Argument::Memory { memory, offset } => {
            let memory = ClMemory::of(memory);
            match memory.place() {
                Place::Usm { usm, address, .. } => {
                    let address = address.as_ptr().wrapping_add(offset);
                    // SAFETY: the kernel is alive and locked by the caller, and the address is
                    // inside an allocation of the same context.
                    let status =
                        unsafe { (usm.set_kernel_arg_mem_pointer)(kernel, index, address.cast()) };
                    check("clSetKernelArgMemPointerINTEL", status)
                }
                Place::Object { raw, parts } => {
                    let part = memory.part(*raw, parts, offset)?;
                    by_value(size_of::<Handle>(), (&raw const part).cast())
                }
            }
        }
    }
}
