//! Commands, with all that they need until they are over.

use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::sync::Arc;

use crosscut_adapter_api::{Argument, DriverError, Extent, Kernel};

use crate::abi::{DevicePointer, Handle, Status};
use crate::context::{ContextHandle, Current, refused};
use crate::memory::CuMemory;
use crate::program::{CuKernel, KernelHandle};

const LAUNCH: &str = "cuLaunchKernel";
const WRITE: &str = "cuMemcpyHtoDAsync_v2";
const READ: &str = "cuMemcpyDtoHAsync_v2";
const COPY: &str = "cuMemcpyDtoDAsync_v2";

/// What arguments of local memory are aligned to: any element of a kernel's, vectors among them.
const LOCAL_ALIGNMENT: usize = 128;

/// Where there is no better reason for a size, groups have as many items: eight warps.
const USUAL_GROUP: usize = 256;

/// How many bytes of a long pattern are copied from us; the device copies the rest itself.
const SEED: usize = 4096;

/// Something for a device to do.
///
/// Addresses in it are valid for as long as the one who made it has promised: until its event completes.
pub(crate) struct Command(Work);

enum Work {
    Launch {
        kernel: Arc<KernelHandle>,
        extent: Extent,
        /// The bytes of each argument.
        arguments: Vec<Box<[u8]>>,
        /// The bytes of local memory that each group gets.
        local: usize,
    },
    Write {
        target: DevicePointer,
        source: *const u8,
        size: usize,
    },
    Read {
        target: *mut u8,
        source: DevicePointer,
        size: usize,
    },
    Copy {
        target: DevicePointer,
        source: DevicePointer,
        size: usize,
    },
    /// With one of the values that the driver fills with.
    Set {
        target: DevicePointer,
        value: Value,
        count: usize,
    },
    /// With a longer pattern: so many times `seed`, of which the last may be a part.
    Repeat {
        target: DevicePointer,
        seed: Box<[u8]>,
        size: usize,
    },
    Barrier,
}

/// What the driver fills with.
#[derive(Clone, Copy)]
enum Value {
    D8(u8),
    D16(u16),
    D32(u32),
}

// SAFETY: the raw pointers are addresses that are only handed to the driver; all else is `Send`.
unsafe impl Send for Command {}

impl Command {
    /// # Safety
    /// As for [`Queue::launch`](crosscut_adapter_api::Queue::launch).
    pub(crate) unsafe fn launch(
        kernel: &dyn Kernel,
        extent: Extent,
        arguments: &[Argument<'_>],
    ) -> Self {
        let Some(kernel) = kernel.as_any().downcast_ref::<CuKernel>() else {
            panic!("the runtime hands over only kernels of the same context");
        };
        let mut local = 0_usize;
        let mut given = |argument: &Argument<'_>| -> Box<[u8]> {
            match *argument {
                Argument::Value(value) => value.into(),
                Argument::Memory { memory, offset } => {
                    Box::new(CuMemory::address_in(memory, offset).to_ne_bytes())
                }
                // The driver takes as many bytes as the parameter has: 4 of them are the same number.
                Argument::Local(size) => {
                    let offset = local.next_multiple_of(LOCAL_ALIGNMENT);
                    local = offset.saturating_add(size.get());
                    Box::new((offset as u64).to_ne_bytes())
                }
            }
        };
        let arguments = arguments.iter().map(&mut given).collect();
        Self(Work::Launch { kernel: Arc::clone(&kernel.0), extent, arguments, local })
    }

    /// # Safety
    /// Both are valid for `size` bytes until the command's event completes.
    pub(crate) unsafe fn write(
        target: DevicePointer,
        source: *const u8,
        size: NonZeroUsize,
    ) -> Self {
        Self(Work::Write { target, source, size: size.get() })
    }

    /// # Safety
    /// Both are valid for `size` bytes until the command's event completes.
    pub(crate) unsafe fn read(target: *mut u8, source: DevicePointer, size: NonZeroUsize) -> Self {
        Self(Work::Read { target, source, size: size.get() })
    }

    /// # Safety
    /// Both are valid for `size` bytes until the command's event completes, and do not overlap.
    pub(crate) unsafe fn copy(
        target: DevicePointer,
        source: DevicePointer,
        size: NonZeroUsize,
    ) -> Self {
        Self(Work::Copy { target, source, size: size.get() })
    }

    /// # Safety
    /// `target` is valid for `size` bytes until the command's event completes, and both are multiples of
    /// the pattern's length.
    pub(crate) unsafe fn fill(target: DevicePointer, pattern: &[u8], size: NonZeroUsize) -> Self {
        let (pattern, size) = (shortest(pattern), size.get());
        let value = match *pattern {
            [a] => Value::D8(a),
            [a, b] => Value::D16(u16::from_ne_bytes([a, b])),
            [a, b, c, d] => Value::D32(u32::from_ne_bytes([a, b, c, d])),
            _ => {
                let seed = pattern.iter().copied().cycle().take(size.min(SEED)).collect();
                return Self(Work::Repeat { target, seed, size });
            }
        };
        Self(Work::Set { target, value, count: size / pattern.len() })
    }

    pub(crate) fn barrier() -> Self {
        Self(Work::Barrier)
    }

    pub(crate) fn is_barrier(&self) -> bool {
        matches!(self.0, Work::Barrier)
    }

    /// The driver's function that it begins with.
    pub(crate) fn call(&self) -> &'static str {
        match self.0 {
            Work::Launch { .. } => LAUNCH,
            Work::Write { .. } | Work::Repeat { .. } => WRITE,
            Work::Read { .. } => READ,
            Work::Copy { .. } => COPY,
            Work::Set { value: Value::D8(_), .. } => "cuMemsetD8Async",
            Work::Set { value: Value::D16(_), .. } => "cuMemsetD16Async",
            Work::Set { value: Value::D32(_), .. } => "cuMemsetD32Async",
            Work::Barrier => "cuEventRecord",
        }
    }

    /// Puts it on `stream`, which is alive and of `context`, which is current; it lives until it is over.
    pub(crate) fn append(
        &self,
        context: &ContextHandle,
        _current: &Current,
        stream: Handle,
    ) -> Result<(), DriverError> {
        let api = context.api;
        let write = |target, source: *const u8, size| -> Status {
            // SAFETY: the stream is of the current context, and whoever made the command vouches for
            // the addresses.
            unsafe { (api.cuMemcpyHtoDAsync_v2)(target, source.cast(), size, stream) }
        };
        let copy = |target, source, size| -> Status {
            // SAFETY: as above.
            unsafe { (api.cuMemcpyDtoDAsync_v2)(target, source, size, stream) }
        };
        let status = match &self.0 {
            Work::Launch { kernel, extent, arguments, local } => {
                return launch(kernel, extent, arguments, *local, stream);
            }
            Work::Write { target, source, size } => write(*target, *source, *size),
            Work::Copy { target, source, size } => copy(*target, *source, *size),
            Work::Read { target, source, size } => {
                // SAFETY: as for writes.
                unsafe { (api.cuMemcpyDtoHAsync_v2)(target.cast(), *source, *size, stream) }
            }
            Work::Set { target, value, count } => match *value {
                // SAFETY: as for writes; the target is aligned to the value's size.
                Value::D8(value) => unsafe {
                    (api.cuMemsetD8Async)(*target, value, *count, stream)
                },
                // SAFETY: as above.
                Value::D16(value) => unsafe {
                    (api.cuMemsetD16Async)(*target, value, *count, stream)
                },
                // SAFETY: as above.
                Value::D32(value) => unsafe {
                    (api.cuMemsetD32Async)(*target, value, *count, stream)
                },
            },
            Work::Repeat { target, seed, size } => {
                api.check(WRITE, write(*target, seed.as_ptr(), seed.len()))?;
                let mut filled = seed.len();
                while filled < *size {
                    let more = filled.min(*size - filled);
                    api.check(COPY, copy(*target + filled as u64, *target, more))?;
                    filled += more;
                }
                return Ok(());
            }
            Work::Barrier => return Ok(()),
        };
        api.check(self.call(), status)
    }
}

/// Puts a launch on `stream`; the kernel's context is current.
fn launch(
    kernel: &KernelHandle,
    extent: &Extent,
    arguments: &[Box<[u8]>],
    local: usize,
    stream: Handle,
) -> Result<(), DriverError> {
    let context = &kernel.module.context;
    let dimensions = usize::from(extent.dimensions);
    let reversed = |mut sizes: [usize; 3]| {
        sizes[..dimensions].reverse();
        sizes
    };
    let size = reversed(extent.size);
    let limits = &context.info.limits;
    let group = match extent.group {
        Some(group) => reversed(group),
        None => choose_group(size, kernel.largest_group(), limits.work_item_sizes),
    };
    let counts: [usize; 3] = std::array::from_fn(|at| size[at] / group[at]);
    let most = context.most_groups;
    if (0..3).any(|at| counts[at] > most[at] as usize) {
        let [x, y, z] = counts;
        let [most_x, most_y, most_z] = most;
        let why = format!(
            "a launch of {x} by {y} by {z} work-groups, the fastest dimension first, where the device \
             takes {most_x} by {most_y} by {most_z}: launch larger groups, or the long dimension last"
        );
        return Err(refused(context.api, LAUNCH, &why));
    }
    // Below the limits they are narrow, and the runtime has looked at groups and local memory.
    let ([x, y, z], [group_x, group_y, group_z]) =
        (counts.map(|count| count as u32), group.map(|items| items as u32));
    let mut values: Vec<*mut c_void> =
        arguments.iter().map(|argument| argument.as_ptr().cast_mut().cast()).collect();
    // SAFETY: kernel and stream are alive and of the context that is current; there is a value for each
    // parameter, with as many bytes, which the driver reads before it returns.
    let status = unsafe {
        (context.api.cuLaunchKernel)(
            kernel.raw,
            x,
            y,
            z,
            group_x,
            group_y,
            group_z,
            local as u32,
            stream,
            values.as_mut_ptr(),
            std::ptr::null_mut(),
        )
    };
    context.api.check(LAUNCH, status)
}

/// Groups for a launch that does not care about them: they divide it, and are as large as usual if that
/// is possible, from the fastest dimension on.
fn choose_group(size: [usize; 3], largest: usize, most: [usize; 3]) -> [usize; 3] {
    let mut left = largest.min(USUAL_GROUP);
    std::array::from_fn(|at| {
        let items = largest_divisor(size[at], left.min(most[at]));
        left /= items;
        items
    })
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
    fn groups_divide_what_is_launched_and_stay_below_every_limit() {
        let most = [1024, 1024, 64];
        assert_eq!(choose_group([1024, 1, 1], 1024, most), [256, 1, 1]);
        assert_eq!(choose_group([1000, 3, 1], 1024, most), [250, 1, 1]);
        assert_eq!(choose_group([16, 100, 7], 1024, most), [16, 10, 1]);
        assert_eq!(choose_group([2, 2, 512], 1024, most), [2, 2, 64]);
        assert_eq!(choose_group([997, 1, 1], 64, most), [1, 1, 1]);
        assert_eq!(choose_group([64, 64, 64], 0, most), [1, 1, 1]);
    }

    #[test]
    fn a_pattern_is_no_longer_than_it_has_to_be() {
        assert_eq!(shortest(&[7; 128]), [7]);
        assert_eq!(shortest(&[1, 2, 1, 2]), [1, 2]);
        assert_eq!(shortest(&[1, 2, 3, 2]), [1, 2, 3, 2]);
        assert_eq!(shortest(&[1]), [1]);
    }
}
