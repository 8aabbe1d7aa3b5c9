//! Specialization constants: constants of kernels that each launch may set.

use core::any::TypeId;
use core::fmt;
use core::mem::MaybeUninit;

use crate::{DeviceCopy, hooks, on_device, place};

/// A constant of kernels that each launch may set; put it in a `static`.
///
/// Where a launch does not set it, it has its default. On a device every value makes a program of its
/// own in which the value is a literal: loops over it are unrolled, branches on it disappear, as if
/// it had been written into the source. So a value costs a compilation once (kept on disk between
/// runs) and nothing at all in the kernel.
///
/// It holds numbers, `bool`, arrays, and `#[repr(C)]` structs with `#[derive(DeviceCopy)]`, up to
/// [`LARGEST`](Self::LARGEST) bytes.
///
/// Inside kernels [`get`](Self::get) reads it. The static is named where it is read: which constant
/// that is must be known when the program is linked.
///
/// ```
/// use crosscut::prelude::*;
///
/// static POWER: SpecConstant<u32> = SpecConstant::new(2);
///
/// let queue = Queue::new()?;
/// let power = |launch: crosscut::Launch<'_>, x: &mut Buffer<u64>| {
///     launch.for_each(x, (), |_, x, ()| *x = x.pow(POWER.get()))
/// };
/// let mut x = queue.upload(&[3u64])?;
/// power(queue.launch(), &mut x)?;
/// power(queue.launch().with(&POWER, 3), &mut x)?;
/// assert_eq!(queue.download(&x)?, [729]);
/// assert_eq!(POWER.default_value(), 2);
/// # Ok::<(), crosscut::Error>(())
/// ```
pub struct SpecConstant<T: SpecValue> {
    // First, and alone: the address of the static is that of the value, and the constant's identity.
    default: T,
}

impl<T: SpecValue> Drop for SpecConstant<T> {
    /// Does nothing, and by being there keeps constants out of `const`: of a value that needs to be
    /// dropped, `&CONSTANT` is no `&'static`. A `const` has no address of its own, and two of them
    /// could have the same.
    fn drop(&mut self) {}
}

/// What a specialization constant may hold: `bool`, and all that is [`DeviceCopy`].
///
/// # Safety
/// There is no padding, no pointer and no interior mutability inside, and nothing to drop. The bytes
/// of one value are a value wherever they are copied to.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the value of a specialization constant",
    label = "not plain data",
    note = "numbers, `bool`, arrays of numbers, and `#[repr(C)]` structs with `#[derive(Clone, Copy, DeviceCopy)]` can"
)]
pub unsafe trait SpecValue: Copy + Send + Sync + 'static {}

// SAFETY: plain data is all of that.
unsafe impl<T: DeviceCopy> SpecValue for T {}

// SAFETY: one byte, of which host and device make the same truth value.
unsafe impl SpecValue for bool {}

impl<T: SpecValue> SpecConstant<T> {
    /// The most bytes a constant may have.
    pub const LARGEST: usize = 128;

    /// A constant that is `default` wherever nobody sets it.
    #[must_use]
    pub const fn new(default: T) -> Self {
        const { assert!(size_of::<T>() <= Self::LARGEST, "a specialization constant this large") };
        // Its address is what it is known by: no other may have the same.
        const { assert!(size_of::<T>() > 0, "a specialization constant without a value") };
        Self { default }
    }

    /// The value where nobody sets it.
    #[must_use]
    pub const fn default_value(&self) -> T {
        self.default
    }

    /// The value of this launch, inside a kernel.
    ///
    /// # Panics
    /// Outside a kernel, where there is no launch: use [`default_value`](Self::default_value).
    #[inline(always)]
    #[track_caller]
    #[must_use]
    pub fn get(&'static self) -> T {
        if on_device() {
            return self.on_device();
        }
        match place::host_setting(self.address(), TypeId::of::<T>()) {
            None => self.default,
            // SAFETY: whoever entered the place promised a value of that type there.
            Some(value) => unsafe { value.cast::<T>().read_unaligned() },
        }
    }

    /// What the runtime knows the constant by.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub fn address(&'static self) -> *const u8 {
        core::ptr::from_ref(self).cast()
    }

    /// The value, in pieces of at most eight bytes.
    ///
    /// Written out, because a loop would be unrolled too late for each piece to be known by then.
    #[inline(always)]
    fn on_device(&'static self) -> T {
        let mut value = MaybeUninit::<T>::uninit();
        macro_rules! eights {
            ($($at:literal)*) => {$(
                if size_of::<T>() >= $at + 8 {
                    // SAFETY: the piece ends inside the value.
                    unsafe { self.piece::<u64>(&mut value, $at) };
                }
            )*};
        }
        eights! { 0 8 16 24 32 40 48 56 64 72 80 88 96 104 112 120 }
        let rest = size_of::<T>() % 8;
        let at = size_of::<T>() - rest;
        if rest & 4 != 0 {
            // SAFETY: as above.
            unsafe { self.piece::<u32>(&mut value, at) };
        }
        if rest & 2 != 0 {
            // SAFETY: as above.
            unsafe { self.piece::<u16>(&mut value, at + (rest & 4)) };
        }
        if rest & 1 != 0 {
            // SAFETY: as above.
            unsafe { self.piece::<u8>(&mut value, at + (rest & 6)) };
        }
        // SAFETY: every byte was written, with those of the default or of a value of this type.
        unsafe { value.assume_init() }
    }

    /// Copies the piece at byte `at`.
    ///
    /// # Safety
    /// The piece ends inside the value.
    #[inline(always)]
    unsafe fn piece<P: Piece>(&'static self, value: &mut MaybeUninit<T>, at: usize) {
        let preset = self.address().wrapping_add(at).cast::<P>();
        // SAFETY: inside the default, which has no padding, by the caller's promise.
        let preset = unsafe { preset.read_unaligned() };
        let (constant, width) = (self.address(), size_of::<P>() as u32);
        let bits = hooks::__crosscut_spec_constant(constant, at as u64, width, preset.widened());
        let target = value.as_mut_ptr().cast::<u8>().wrapping_add(at).cast::<P>();
        // SAFETY: inside the value, by the caller's promise.
        unsafe { target.write_unaligned(P::narrowed(bits)) };
    }
}

/// A number that a piece of a constant is.
trait Piece: Copy {
    fn widened(self) -> u64;
    fn narrowed(bits: u64) -> Self;
}

macro_rules! pieces {
    ($($number:ty)*) => {$(
        impl Piece for $number {
            #[inline(always)]
            fn widened(self) -> u64 {
                self as u64
            }

            #[inline(always)]
            fn narrowed(bits: u64) -> Self {
                bits as Self
            }
        }
    )*};
}

pieces! { u8 u16 u32 u64 }

impl<T: SpecValue + fmt::Debug> fmt::Debug for SpecConstant<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SpecConstant").field("default", &self.default).finish()
    }
}

#[cfg(test)]
mod tests {
    use core::any::TypeId;

    use super::SpecConstant;
    use crate::place::{Place, enter, enter_with};

    static TILE: SpecConstant<u32> = SpecConstant::new(16);
    static FLAG: SpecConstant<bool> = SpecConstant::new(false);

    #[test]
    fn a_constant_is_its_default_or_what_the_launch_says() {
        {
            // SAFETY: nothing here is a global.
            let _inside = unsafe { enter(Place::Statics) };
            assert_eq!((TILE.get(), FLAG.get()), (16, false));
        }
        let value = 32u32.to_ne_bytes();
        let settings = [(TILE.address(), TypeId::of::<u32>(), value.as_ptr())];
        // SAFETY: as above, and the value is a `u32` for a constant of that type.
        let _inside = unsafe { enter_with(Place::Statics, &settings) };
        assert_eq!((TILE.get(), FLAG.get()), (32, false));
    }

    #[test]
    fn a_value_of_another_type_is_no_value_of_the_constant() {
        let settings = [(FLAG.address(), TypeId::of::<u8>(), [2u8].as_ptr())];
        // SAFETY: as above, and the value is a `u8`, as is said.
        let _inside = unsafe { enter_with(Place::Statics, &settings) };
        assert!(!FLAG.get());
    }

    #[test]
    fn outside_a_kernel_there_is_only_the_default() {
        assert_eq!(TILE.default_value(), 16);
        assert!(std::panic::catch_unwind(|| TILE.get()).is_err());
    }
}
