//! Work-groups of a launch: whether they fit, and where their memory goes.

use std::num::NonZeroUsize;

use crosscut_adapter_api::{self as adapter, DeviceInfo, Extent, KernelGroups, whole_words};

use crate::Error;
use crate::device::Device;
use crate::launch::{Binding, Source};
use crate::work_group::LocalMemory;

/// Refuses groups that do not divide the range or that the device has no room for.
#[inline]
pub(crate) fn check(
    device: &Device,
    extent: &Extent,
    bindings: &[Binding<'_>],
) -> Result<(), Error> {
    let Some(group) = extent.group else {
        if bindings.iter().any(|binding| matches!(binding.source, Source::Local { .. })) {
            return Err(Error::invalid(
                "local memory for a kernel that has no work-groups",
                "launch it over `NdRange::new(range, group)`",
            ));
        }
        return Ok(());
    };
    let used = usize::from(extent.dimensions);
    // The limits first: a group that divides the range may still be too large.
    check_limits(device.info(), &group[..used])?;
    check_shape(&extent.size[..used], &group[..used])?;
    check_memory(device.info(), bindings)
}

/// Groups have items, and divide the range.
fn check_shape(size: &[usize], group: &[usize]) -> Result<(), Error> {
    if group.contains(&0) {
        return Err(Error::invalid(
            format!("work-groups of {} items", shown(group)),
            "a group has at least one item in every dimension",
        ));
    }
    let parts = size.iter().zip(group);
    let Some((&size, &group)) = parts.into_iter().find(|(size, group)| *size % *group != 0) else {
        return Ok(());
    };
    let help = match largest_divisor(size, group) {
        1 => String::new(),
        divisor => format!(", or take groups of {divisor}"),
    };
    Err(Error::invalid(
        format!("a range of {size} items in work-groups of {group}: they do not divide it"),
        format!(
            "make the range {0}, and what the kernel takes by `&mut` as long, and let the items beyond \
             {size} only wait at barriers{help}",
            // No extent is larger than the runtime's limit, so this cannot overflow.
            size.next_multiple_of(group)
        ),
    ))
}

/// Groups are not larger than the device's.
fn check_limits(info: &DeviceInfo, group: &[usize]) -> Result<(), Error> {
    let limits = &info.limits;
    let items = group.iter().try_fold(1usize, |items, &extent| items.checked_mul(extent));
    let most = limits.work_group_size;
    if items.is_none_or(|items| items > most) {
        return Err(Error::invalid(
            format!("work-groups of {} items on `{}`, which takes {most}", shown(group), info.name),
            format!("make groups of at most {most} items"),
        ));
    }
    // The device counts from the fastest dimension.
    for (&extent, &most) in group.iter().rev().zip(&limits.work_item_sizes) {
        if extent > most {
            return Err(Error::invalid(
                format!(
                    "work-groups of {} items on `{}`, which takes {most} in that dimension",
                    shown(group),
                    info.name
                ),
                format!("make groups of at most {most} items there"),
            ));
        }
    }
    Ok(())
}

/// Groups are such that this kernel runs in them.
pub(crate) fn check_kernel(
    kernel: &dyn adapter::Kernel,
    name: &str,
    extent: &Extent,
) -> Result<(), Error> {
    let KernelGroups { largest, required } = kernel.groups();
    let used = usize::from(extent.dimensions);
    let group = extent.group.as_ref().map(|group| &group[..used]);
    if let Some(required) = required {
        // The same shape, whatever the number of dimensions; the kernel counts from the fastest.
        let fits = group.is_some_and(|group| {
            let given = group.iter().rev().copied().chain(std::iter::repeat(1));
            required.iter().copied().eq(given.take(required.len()))
        });
        if !fits {
            let mut required = required;
            required.reverse();
            return Err(Error::invalid(
                format!(
                    "work-groups of {} items for kernel `{name}`, which is compiled for groups of {required:?}",
                    group.map_or("any number of".into(), shown)
                ),
                "launch it over an `NdRange` with groups of that shape",
            ));
        }
    }
    let (Some(group), Some(most)) = (group, largest) else { return Ok(()) };
    // The product fits: the device's limit has been checked.
    if group.iter().product::<usize>() > most.get() {
        return Err(Error::invalid(
            format!(
                "work-groups of {} items for kernel `{name}`, which runs in groups of {most}",
                shown(group)
            ),
            format!("make groups of at most {most} items"),
        ));
    }
    Ok(())
}

/// Their memory is not more than the device's.
fn check_memory(info: &DeviceInfo, bindings: &[Binding<'_>]) -> Result<(), Error> {
    let too_strict = |binding: &&Binding<'_>| {
        matches!(binding.source, Source::Local { .. }) && binding.align > LocalMemory::ALIGN
    };
    if let Some(binding) = bindings.iter().find(too_strict) {
        return Err(Error::invalid(
            format!("local memory of elements aligned to {} bytes", binding.align),
            format!("use elements aligned to at most {} bytes", LocalMemory::ALIGN),
        ));
    }
    check_room(info, layout(bindings).size())
}

fn check_room(info: &DeviceInfo, bytes: usize) -> Result<(), Error> {
    let most = info.limits.local_memory;
    if bytes as u64 > most {
        return Err(Error::invalid(
            format!(
                "{bytes} bytes of local memory for each work-group on `{}`, which has {most}",
                info.name
            ),
            "make groups, and what they share, smaller",
        ));
    }
    Ok(())
}

/// The bytes in which a group's items compute together, `bytes` for each item, if there is room beside
/// the arguments.
pub(crate) fn scratch_size(
    info: &DeviceInfo,
    extent: &Extent,
    bytes: usize,
    bindings: &[Binding<'_>],
) -> Result<NonZeroUsize, Error> {
    let items = extent.group.map_or(1, |group| group.iter().product());
    let size = bytes.saturating_mul(items);
    let mut layout = layout(bindings);
    layout.reserve(size);
    check_room(info, layout.size())?;
    Ok(NonZeroUsize::new(size).unwrap_or(NonZeroUsize::MIN))
}

/// Where the arguments in local memory go.
fn layout(bindings: &[Binding<'_>]) -> Layout {
    let mut layout = Layout::default();
    for binding in bindings {
        if let Source::Local { size } = binding.source {
            layout.reserve(size);
        }
    }
    layout
}

fn shown(numbers: &[usize]) -> String {
    match numbers {
        [number] => number.to_string(),
        numbers => format!("{numbers:?}"),
    }
}

/// The largest group of at most `group` items that divides `size`.
fn largest_divisor(size: usize, group: usize) -> usize {
    // No device has groups in the thousands, so the search is short.
    (1..=group.min(4096)).rev().find(|&part| size.is_multiple_of(part)).unwrap_or(1)
}

/// The bytes of local memory behind a binding: whole words, as of all memory, and there is always an address, so at
/// least one.
pub(crate) fn local_size(binding: &Binding<'_>) -> NonZeroUsize {
    let size = match binding.source {
        Source::Local { size } => size,
        _ => 0,
    };
    let size = NonZeroUsize::new(size).unwrap_or(NonZeroUsize::MIN);
    whole_words(size).and_then(NonZeroUsize::new).unwrap_or(size)
}

/// Where local memory of a native launch goes: arguments one after the other, each on lines of its own.
#[derive(Default)]
pub(crate) struct Layout(usize);

impl Layout {
    /// The offset of the next `size` bytes, as the address that a slot has. No two are equal, not even
    /// with nothing at them: items that wait tell memories apart by it.
    pub(crate) fn reserve(&mut self, size: usize) -> *mut u8 {
        // Beyond the last multiple no launch gets: no device has so much.
        let offset = self.0.checked_next_multiple_of(LocalMemory::ALIGN).unwrap_or(self.0);
        self.0 = offset.saturating_add(size.max(1));
        std::ptr::without_provenance_mut(offset)
    }

    /// All bytes.
    pub(crate) fn size(&self) -> usize {
        self.0
    }
}
