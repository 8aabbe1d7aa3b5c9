//! Values of specialization constants and sizes of sub-groups, for launches and bundles.

use std::any::TypeId;
use std::mem::MaybeUninit;

use crosscut_device::{SpecConstant, SpecValue};
use crosscut_runtime::Specialization;

/// Gives a constant its value.
pub(crate) fn set<T: SpecValue>(
    values: &mut Specialization,
    constant: &'static SpecConstant<T>,
    value: T,
) {
    let mut bytes = [MaybeUninit::<u8>::uninit(); 128];
    const { assert!(size_of::<T>() <= 128, "`SpecConstant::new` takes no larger values") };
    // SAFETY: there is room for a value, whose size was just checked.
    unsafe { bytes.as_mut_ptr().cast::<T>().write_unaligned(value) };
    // SAFETY: these are the bytes of the value, which has no padding: all were written.
    let bytes = unsafe { std::slice::from_raw_parts(bytes.as_ptr().cast(), size_of::<T>()) };
    // SAFETY: a static of a constant of this type, and the bytes of a value of it.
    unsafe { values.set(constant.address(), TypeId::of::<T>(), bytes) };
}

/// Asks for sub-groups of so many items. No device has more than fit: such a size is refused as any other that is not
/// there.
pub(crate) fn set_sub_group_size(values: &mut Specialization, items: usize) {
    values.set_sub_group_size(u32::try_from(items).unwrap_or(u32::MAX));
}
