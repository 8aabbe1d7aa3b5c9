//! Which types may live in device memory.

use core::sync::atomic;

/// Data that may live in device memory: plain values, atomics, and arrays of either.
///
/// # Safety
/// - Every pattern of bits, all zeros among them, is a valid value.
/// - There is no padding, no pointer and no reference inside, and nothing to drop.
/// - `Host` has the same size and the same meaning of every bit; its alignment is not larger.
/// - The value is a sequence of `Element`s, and so is `Host` of their `Host`s.
/// - `ATOMIC_WIDTH` is the size of the atomics it is made of, 0 if there is none.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot live in device memory",
    label = "not device data",
    note = "plain numbers, atomics, arrays of them, and `#[repr(C)]` structs with `#[derive(DeviceCopy)]` can"
)]
pub unsafe trait DeviceData: Sized + Send + Sync + 'static {
    /// The same data as the host handles it: `[u32; 26]` for `[AtomicU32; 26]`.
    type Host: DeviceCopy;
    /// What arrays of any rank are made of in the end: `AtomicU32` for `[[AtomicU32; 4]; 3]`. Itself
    /// where it is no array.
    type Element: DeviceData;
    /// The bytes of one atomic if this is made of atomics, otherwise 0.
    const ATOMIC_WIDTH: usize;

    /// For the derive macro, which reaches it by way of this trait. It has a name that no trait of a user's has.
    #[doc(hidden)]
    const CROSSCUT_SIZE: usize = size_of::<Self>();

    /// For the derive macro: compiles for plain values.
    #[doc(hidden)]
    fn crosscut_is_plain()
    where
        Self: DeviceCopy,
    {
    }
}

/// Plain values that host and device copy to each other byte for byte.
///
/// Derive it for your own structs: `#[derive(Clone, Copy, DeviceCopy)] #[repr(C)]`.
///
/// # Safety
/// The type has no atomics and no interior mutability: `ATOMIC_WIDTH` is 0.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be copied to and from a device",
    label = "not plain device data",
    note = "plain numbers and arrays of them can; for your own `#[repr(C)]` struct use `#[derive(Clone, Copy, DeviceCopy)]`",
    note = "atomics are shared and not copied: in a kernel, use a device global of them by its name"
)]
pub unsafe trait DeviceCopy: Copy + DeviceData<Host = Self> {}

/// Data that kernels share by name: atomics and arrays of atomics of any rank.
///
/// # Safety
/// Through a shared reference the data changes by atomic operations of `ATOMIC_WIDTH` bytes only: a
/// kernel may keep such a reference for ever, and the host writes the data meanwhile.
#[diagnostic::on_unimplemented(
    message = "a device global of `{Self}` cannot be used by name",
    note = "atomics are used by name; pass plain values as an argument (`&GLOBAL`), copy them by `GLOBAL.get()`, or use `GLOBAL.exclusive()` in a single task"
)]
pub unsafe trait ByName: DeviceData {}

macro_rules! plain {
    ($($type:ty)*) => {$(
        // SAFETY: a number, or transparent over one: any bits, no padding, no pointer, nothing to drop.
        unsafe impl DeviceData for $type {
            type Host = $type;
            type Element = $type;
            const ATOMIC_WIDTH: usize = 0;
        }
        // SAFETY: numbers have no interior mutability.
        unsafe impl DeviceCopy for $type {}
    )*};
}

plain! { i8 i16 i32 i64 i128 isize u8 u16 u32 u64 u128 usize f32 f64 }

#[cfg(feature = "half")]
plain! { half::f16 half::bf16 }

macro_rules! atomics {
    ($($atomic:ident $plain:ty;)*) => {$(
        // SAFETY: std gives the atomic the size and the bits of its plain type.
        unsafe impl DeviceData for atomic::$atomic {
            type Host = $plain;
            type Element = Self;
            const ATOMIC_WIDTH: usize = size_of::<$plain>();
        }
        // SAFETY: an atomic of that many bytes.
        unsafe impl ByName for atomic::$atomic {}
    )*};
}

atomics! {
    AtomicI8 i8; AtomicI16 i16; AtomicI32 i32; AtomicI64 i64; AtomicIsize isize;
    AtomicU8 u8; AtomicU16 u16; AtomicU32 u32; AtomicU64 u64; AtomicUsize usize;
}

// SAFETY: an array has its elements' bits and no gaps between them, and so has the host's array.
unsafe impl<T: DeviceData, const N: usize> DeviceData for [T; N] {
    type Host = [T::Host; N];
    type Element = T::Element;
    const ATOMIC_WIDTH: usize = T::ATOMIC_WIDTH;
}

// SAFETY: the elements have no interior mutability, so the array has none.
unsafe impl<T: DeviceCopy, const N: usize> DeviceCopy for [T; N] {}

// SAFETY: the elements are atomics, and the array has their width.
unsafe impl<T: ByName, const N: usize> ByName for [T; N] {}
