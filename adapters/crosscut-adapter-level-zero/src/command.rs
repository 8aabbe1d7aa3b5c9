//! Commands, with all that they need until they are over.

use std::num::NonZeroUsize;
use std::sync::{Arc, PoisonError};

use crosscut_adapter_api::{Argument, DriverError, Extent, Kernel};

use crate::abi::{self, Handle, ze_group_count_t};
use crate::context::ContextHandle;
use crate::error::{check, error};
use crate::memory::ZeMemory;
use crate::program::{KernelHandle, ZeKernel};

/// Something for a device to do.
///
/// Addresses in it are valid for as long as the one who made it has promised: until its event completes.
pub(crate) struct Command(Work);

enum Work {
    Launch {
        kernel: Arc<KernelHandle>,
        extent: Extent,
        arguments: Vec<Given>,
    },
    Copy {
        target: *mut u8,
        source: *const u8,
        size: usize,
    },
    /// The pattern is ours until the fill is over: drivers read it when they like.
    Fill {
        target: *mut u8,
        pattern: Box<[u8]>,
        size: usize,
    },
    /// What the driver does not fill itself.
    CopyOf {
        target: *mut u8,
        bytes: Box<[u8]>,
    },
    Barrier,
}

// SAFETY: the raw pointers are addresses that are only handed to the driver; all else is `Send`.
unsafe impl Send for Command {}

/// An argument of a kernel, as the driver takes it.
enum Given {
    Value(Box<[u8]>),
    Address(u64),
    Local(usize),
}

impl Command {
    /// # Safety
    /// As for [`Queue::launch`](crosscut_adapter_api::Queue::launch).
    pub(crate) unsafe fn launch(
        kernel: &dyn Kernel,
        extent: Extent,
        arguments: &[Argument<'_>],
    ) -> Self {
        let Some(kernel) = kernel.as_any().downcast_ref::<ZeKernel>() else {
            panic!("the runtime hands over only kernels of the same context");
        };
        let given = |argument: &Argument<'_>| match *argument {
            Argument::Value(value) => Given::Value(value.into()),
            Argument::Memory { memory, offset } => {
                Given::Address(ZeMemory::address_in(memory, offset).expose_provenance() as u64)
            }
            Argument::Local(size) => Given::Local(size.get()),
        };
        let arguments = arguments.iter().map(given).collect();
        Self(Work::Launch { kernel: Arc::clone(&kernel.0), extent, arguments })
    }

    /// # Safety
    /// Both are valid for `size` bytes until the command's event completes.
    pub(crate) unsafe fn copy(target: *mut u8, source: *const u8, size: NonZeroUsize) -> Self {
        Self(Work::Copy { target, source, size: size.get() })
    }

    /// # Safety
    /// `target` is valid for `size` bytes until the command's event completes.
    pub(crate) unsafe fn fill(
        context: &ContextHandle,
        target: *mut u8,
        pattern: &[u8],
        size: NonZeroUsize,
    ) -> Self {
        let (pattern, size) = (shortest(pattern), size.get());
        Self(if pattern.len() <= context.longest_pattern {
            Work::Fill { target, pattern: pattern.into(), size }
        } else {
            let bytes = pattern.iter().copied().cycle().take(size).collect();
            Work::CopyOf { target, bytes }
        })
    }

    pub(crate) fn barrier() -> Self {
        Self(Work::Barrier)
    }

    pub(crate) fn is_barrier(&self) -> bool {
        matches!(self.0, Work::Barrier)
    }

    /// The driver's function that appends it.
    pub(crate) fn call(&self) -> &'static str {
        match self.0 {
            Work::Launch { .. } => "zeCommandListAppendLaunchKernel",
            Work::Copy { .. } | Work::CopyOf { .. } => "zeCommandListAppendMemoryCopy",
            Work::Fill { .. } => "zeCommandListAppendMemoryFill",
            Work::Barrier => "zeCommandListAppendBarrier",
        }
    }

    /// Appends it to `list`, whose lock the caller holds, to run after `waits` and to signal `event`.
    /// All of them are alive and of `context`, and live until the event is signalled, as does this.
    pub(crate) fn append(
        &self,
        context: &ContextHandle,
        list: Handle,
        event: Handle,
        waits: &[Handle],
    ) -> Result<(), DriverError> {
        let api = context.api;
        let (count, waits) = match waits {
            [] => (0, std::ptr::null()),
            some => (some.len() as u32, some.as_ptr()),
        };
        let copy = |target: *mut u8, source: *const u8, size| {
            let (target, source) = (target.cast(), source.cast());
            // SAFETY: list and events are alive and of one context, as many events are given as are
            // announced, and whoever made the command vouches for the addresses.
            unsafe {
                (api.zeCommandListAppendMemoryCopy)(list, target, source, size, event, count, waits)
            }
        };
        let status = match &self.0 {
            Work::Launch { kernel, extent, arguments } => {
                return launch(kernel, extent, arguments, |kernel, groups| {
                    // SAFETY: as for copies; the kernel has all of its arguments and is locked.
                    unsafe {
                        (api.zeCommandListAppendLaunchKernel)(
                            list, kernel, groups, event, count, waits,
                        )
                    }
                });
            }
            Work::Copy { target, source, size } => copy(*target, *source, *size),
            Work::CopyOf { target, bytes } => copy(*target, bytes.as_ptr(), bytes.len()),
            Work::Fill { target, pattern, size } => {
                let (target, bytes) = (target.cast(), pattern.as_ptr().cast());
                // SAFETY: as for copies, and the pattern has as many bytes as are said.
                unsafe {
                    (api.zeCommandListAppendMemoryFill)(
                        list,
                        target,
                        bytes,
                        pattern.len(),
                        *size,
                        event,
                        count,
                        waits,
                    )
                }
            }
            Work::Barrier => {
                // SAFETY: list and events are alive and of one context.
                unsafe { (api.zeCommandListAppendBarrier)(list, event, count, waits) }
            }
        };
        check(self.call(), status)
    }
}

/// Gives a kernel its groups and its arguments, and has `append` append it before anybody else does.
fn launch(
    kernel: &KernelHandle,
    extent: &Extent,
    arguments: &[Given],
    append: impl FnOnce(Handle, *const ze_group_count_t) -> abi::Status,
) -> Result<(), DriverError> {
    const CALL: &str = "zeCommandListAppendLaunchKernel";
    let api = kernel.module.context.api;
    let dimensions = usize::from(extent.dimensions);
    let reversed = |mut sizes: [usize; 3]| {
        sizes[..dimensions].reverse();
        sizes
    };
    let size = reversed(extent.size);
    let _launching = kernel.launching.lock().unwrap_or_else(PoisonError::into_inner);
    let group = match extent.group {
        Some(group) => reversed(group),
        None => choose_group(kernel, size),
    };
    let narrow = |sizes: [usize; 3]| -> Result<[u32; 3], DriverError> {
        let [x, y, z] = sizes.map(u32::try_from);
        match (x, y, z) {
            (Ok(x), Ok(y), Ok(z)) => Ok([x, y, z]),
            _ => Err(error(CALL, abi::ZE_RESULT_ERROR_UNSUPPORTED_SIZE)),
        }
    };
    let counts = narrow(std::array::from_fn(|at| size[at] / group[at]))?;
    let [x, y, z] = narrow(group)?;
    // SAFETY: the kernel is alive and locked.
    check("zeKernelSetGroupSize", unsafe { (api.zeKernelSetGroupSize)(kernel.raw, x, y, z) })?;
    for (index, argument) in (0..).zip(arguments) {
        let (size, value) = match argument {
            Given::Value(value) => (value.len(), value.as_ptr().cast()),
            Given::Address(address) => (size_of::<u64>(), (&raw const *address).cast()),
            Given::Local(size) => (*size, std::ptr::null()),
        };
        // SAFETY: the kernel is alive and locked, and the value is readable for its size, or null for
        // local memory, as the call wants it.
        let status = unsafe { (api.zeKernelSetArgumentValue)(kernel.raw, index, size, value) };
        check("zeKernelSetArgumentValue", status)?;
    }
    let [x, y, z] = counts;
    let counts = ze_group_count_t { groupCountX: x, groupCountY: y, groupCountZ: z };
    check(CALL, append(kernel.raw, &raw const counts))
}

/// Groups for a launch that does not care about them: the driver's choice, as far as it divides.
fn choose_group(kernel: &KernelHandle, size: [usize; 3]) -> [usize; 3] {
    if let Some(required) = kernel.groups.required {
        return required;
    }
    let [x, y, z] = size.map(|size| u32::try_from(size).unwrap_or(u32::MAX));
    let [mut group_x, mut group_y, mut group_z] = [1; 3];
    // SAFETY: the kernel is alive and locked, and all three results are writable.
    let status = unsafe {
        (kernel.module.context.api.zeKernelSuggestGroupSize)(
            kernel.raw,
            x,
            y,
            z,
            &raw mut group_x,
            &raw mut group_y,
            &raw mut group_z,
        )
    };
    if status != abi::ZE_RESULT_SUCCESS {
        return [1; 3];
    }
    let group = [group_x, group_y, group_z];
    std::array::from_fn(|at| largest_divisor(size[at], group[at] as usize))
}

/// The largest divisor of `size` that is not larger than `most`; at least 1.
fn largest_divisor(size: usize, most: usize) -> usize {
    (1..=most.min(size)).rev().find(|group| size.is_multiple_of(*group)).unwrap_or(1)
}

/// The shortest pattern that is the same over and over.
fn shortest(pattern: &[u8]) -> &[u8] {
    let (one, other) = pattern.split_at(pattern.len() / 2);
    if one == other && !one.is_empty() { shortest(one) } else { pattern }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_divide_what_is_launched() {
        assert_eq!(largest_divisor(1024, 256), 256);
        assert_eq!(largest_divisor(1000, 256), 250);
        assert_eq!(largest_divisor(997, 256), 1);
        assert_eq!(largest_divisor(3, 256), 3);
        assert_eq!(largest_divisor(3, 0), 1);
    }

    #[test]
    fn a_pattern_is_no_longer_than_it_has_to_be() {
        assert_eq!(shortest(&[7; 128]), [7]);
        assert_eq!(shortest(&[1, 2, 1, 2]), [1, 2]);
        assert_eq!(shortest(&[1, 2, 3, 2]), [1, 2, 3, 2]);
        assert_eq!(shortest(&[1]), [1]);
    }
}
