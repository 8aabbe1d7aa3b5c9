//! Atomic floating-point numbers: an integer atomic that holds the bits.
//!
//! Sums, minima and maxima are loops of compare-and-exchange, which every device has. No atomic of 64 bits
//! means no [`AtomicF64`] either.

use core::fmt;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::{ByName, DeviceData};

macro_rules! atomic_floats {
    ($($(#[$attribute:meta])* $name:ident $float:ident $atomic:ident;)*) => {$(
        $(#[$attribute])*
        #[derive(Default)]
        #[repr(transparent)]
        pub struct $name {
            bits: $atomic,
        }

        impl $name {
            /// An atomic with this value.
            #[must_use]
            pub const fn new(value: $float) -> Self {
                Self { bits: $atomic::new(value.to_bits()) }
            }

            /// The value.
            ///
            /// # Panics
            /// `order` is `Release` or `AcqRel`.
            #[inline]
            pub fn load(&self, order: Ordering) -> $float {
                $float::from_bits(self.bits.load(order))
            }

            /// Sets the value.
            ///
            /// # Panics
            /// `order` is `Acquire` or `AcqRel`.
            #[inline]
            pub fn store(&self, value: $float, order: Ordering) {
                self.bits.store(value.to_bits(), order);
            }

            /// Sets the value and returns the one before.
            #[inline]
            pub fn swap(&self, value: $float, order: Ordering) -> $float {
                $float::from_bits(self.bits.swap(value.to_bits(), order))
            }

            /// Sets the value to `new` if it is `current`, bit for bit: a NaN equals itself, and -0.0 is not
            /// 0.0. Returns the value before, in an `Err` if nothing was set.
            ///
            /// # Errors
            /// The value is not `current`.
            ///
            /// # Panics
            /// `failure` is `Release` or `AcqRel`.
            #[inline]
            pub fn compare_exchange(
                &self,
                current: $float,
                new: $float,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$float, $float> {
                self.bits
                    .compare_exchange(current.to_bits(), new.to_bits(), success, failure)
                    .map($float::from_bits)
                    .map_err($float::from_bits)
            }

            /// As [`compare_exchange`](Self::compare_exchange), and may fail for no reason: for loops.
            ///
            /// # Errors
            /// The value is not `current`, or no reason.
            ///
            /// # Panics
            /// `failure` is `Release` or `AcqRel`.
            #[inline]
            pub fn compare_exchange_weak(
                &self,
                current: $float,
                new: $float,
                success: Ordering,
                failure: Ordering,
            ) -> Result<$float, $float> {
                self.bits
                    .compare_exchange_weak(current.to_bits(), new.to_bits(), success, failure)
                    .map($float::from_bits)
                    .map_err($float::from_bits)
            }

            /// Applies `change` until nobody came between, or until it answers `None`. Returns the value
            /// before, in an `Err` if `change` answered `None`.
            ///
            /// # Errors
            /// `change` answered `None`.
            ///
            /// # Panics
            /// `fetch` is `Release` or `AcqRel`.
            #[inline]
            pub fn fetch_update(
                &self,
                set: Ordering,
                fetch: Ordering,
                mut change: impl FnMut($float) -> Option<$float>,
            ) -> Result<$float, $float> {
                self.bits
                    .fetch_update(set, fetch, |bits| {
                        change($float::from_bits(bits)).map($float::to_bits)
                    })
                    .map($float::from_bits)
                    .map_err($float::from_bits)
            }

            #[inline]
            fn change(&self, order: Ordering, change: impl Fn($float) -> $float) -> $float {
                let mut seen = self.bits.load(Ordering::Relaxed);
                loop {
                    let value = $float::from_bits(seen);
                    let new = change(value).to_bits();
                    match self.bits.compare_exchange_weak(seen, new, order, Ordering::Relaxed) {
                        Ok(_) => return value,
                        Err(now) => seen = now,
                    }
                }
            }

            /// Adds to the value and returns the one before. The order of additions is open, so a sum of
            /// many is only as exact as its rounding.
            #[inline]
            pub fn fetch_add(&self, value: $float, order: Ordering) -> $float {
                self.change(order, |seen| seen + value)
            }

            /// Subtracts from the value and returns the one before.
            #[inline]
            pub fn fetch_sub(&self, value: $float, order: Ordering) -> $float {
                self.change(order, |seen| seen - value)
            }

            /// Sets the value to the larger one and returns the one before; a NaN counts as missing.
            #[inline]
            pub fn fetch_max(&self, value: $float, order: Ordering) -> $float {
                self.change(order, |seen| seen.max(value))
            }

            /// Sets the value to the smaller one and returns the one before; a NaN counts as missing.
            #[inline]
            pub fn fetch_min(&self, value: $float, order: Ordering) -> $float {
                self.change(order, |seen| seen.min(value))
            }

            /// The value, of which nobody else knows any more.
            #[must_use]
            pub const fn into_inner(self) -> $float {
                $float::from_bits(self.bits.into_inner())
            }
        }

        impl From<$float> for $name {
            fn from(value: $float) -> Self {
                Self::new(value)
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Debug::fmt(&self.load(Ordering::Relaxed), f)
            }
        }

        // SAFETY: transparent over an integer atomic, which has the size of the number and whose bits are
        // the number's; all bits are valid.
        unsafe impl DeviceData for $name {
            type Host = $float;
            type Element = Self;
            const ATOMIC_WIDTH: usize = size_of::<$float>();
        }

        // SAFETY: every access is one of the integer atomic inside.
        unsafe impl ByName for $name {}
    )*};
}

atomic_floats! {
    /// An `f32` that kernels share: in a [`DeviceGlobal`](crate::DeviceGlobal) or in a buffer.
    ///
    /// ```
    /// use crosscut_device::AtomicF32;
    /// use core::sync::atomic::Ordering::Relaxed;
    ///
    /// let sum = AtomicF32::new(1.5);
    /// assert_eq!(sum.fetch_add(2.0, Relaxed), 1.5);
    /// assert_eq!(sum.fetch_sub(0.5, Relaxed), 3.5);
    /// assert_eq!(sum.swap(9.0, Relaxed), 3.0);
    /// assert_eq!(sum.compare_exchange(9.0, 1.0, Relaxed, Relaxed), Ok(9.0));
    /// assert_eq!(sum.fetch_update(Relaxed, Relaxed, |it| (it < 0.0).then_some(0.0)), Err(1.0));
    /// assert_eq!(sum.into_inner(), 1.0);
    /// ```
    AtomicF32 f32 AtomicU32;
    /// An `f64` that kernels share: in a [`DeviceGlobal`](crate::DeviceGlobal) or in a buffer.
    ///
    /// ```
    /// use crosscut_device::AtomicF64;
    /// use core::sync::atomic::Ordering::Relaxed;
    ///
    /// let least = AtomicF64::new(f64::INFINITY);
    /// least.fetch_min(0.25, Relaxed);
    /// assert_eq!(least.fetch_max(-1.0, Relaxed), 0.25);
    /// least.store(least.load(Relaxed) * 2.0, Relaxed);
    /// assert_eq!(least.into_inner(), 0.5);
    /// ```
    ///
    /// Kernels share it by a device global or a buffer:
    ///
    /// ```
    /// use crosscut::AtomicF64;
    /// use crosscut::prelude::*;
    /// use std::sync::atomic::Ordering::Relaxed;
    ///
    /// static SUM: DeviceGlobal<AtomicF64> = DeviceGlobal::zeroed();
    ///
    /// let queue = Queue::new()?;
    /// queue.parallel_for(8, (), |i, ()| { SUM.fetch_add(0.5 * i as f64, Relaxed); })?;
    /// assert_eq!(queue.read(&SUM)?, 14.0);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    AtomicF64 f64 AtomicU64;
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed};

    use super::AtomicF64;

    #[test]
    fn values_are_compared_by_their_bits() {
        let cell = AtomicF64::new(f64::NAN);
        assert!(cell.compare_exchange(f64::NAN, -0.0, AcqRel, Acquire).is_ok());
        assert_eq!(
            cell.compare_exchange(0.0, 1.0, AcqRel, Acquire).map_err(f64::to_bits),
            Err(1 << 63)
        );
        assert_eq!(
            cell.fetch_update(Relaxed, Relaxed, |_| None).map_err(f64::to_bits),
            Err(1 << 63)
        );
    }

    #[test]
    fn a_nan_counts_as_missing_for_minima_and_maxima() {
        let cell = AtomicF64::new(f64::NAN);
        cell.fetch_max(2.0, Relaxed);
        cell.fetch_min(f64::NAN, Relaxed);
        assert_eq!(cell.into_inner(), 2.0);
    }
}
