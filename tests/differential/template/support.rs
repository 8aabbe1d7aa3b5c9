//! What generated kernels call.

pub use std::marker::PhantomData;
pub use std::sync::atomic::Ordering::{AcqRel, Relaxed, SeqCst};
use std::sync::atomic::{AtomicI16, AtomicI64, AtomicU8, AtomicU32};

use crosscut::DeviceCopy;

/// What a kernel answers for one item.
#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
pub struct Out {
    pub words: [u64; 4],
    pub narrow: [f32; 2],
    pub wide: [f64; 2],
}

/// Atomics that all items share, one operation per cell.
pub struct Cells<'a> {
    pub c8: &'a [AtomicU8],
    pub c16: &'a [AtomicI16],
    pub c32: &'a [AtomicU32],
    pub c64: &'a [AtomicI64],
}

/// Makes a word part of a hash.
pub fn absorb(hash: &mut u64, word: u64) {
    *hash = (*hash ^ word).wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
}

/// `clamp` for ends in any order.
pub fn clamped<T: Ord>(value: T, one: T, other: T) -> T {
    if one <= other { value.clamp(one, other) } else { value.clamp(other, one) }
}

/// Calls `step` up to `times` times, until it says so.
pub fn until(times: u32, mut step: impl FnMut(u32) -> bool) {
    for n in 0..times {
        if step(n) {
            return;
        }
    }
}

/// The elements, each some places further.
pub fn turned<T: Copy, const N: usize>(from: [T; N], by: u64) -> [T; N] {
    let mut to = from;
    for (n, x) in from.iter().enumerate() {
        to[(n as u64).wrapping_add(by) as usize % N] = *x;
    }
    to
}

/// The largest of what the elements give.
pub fn largest<T: Copy, U: Copy + Ord>(from: &[T], by: impl Fn(T) -> U) -> Option<U> {
    let mut found = None;
    for &x in from {
        let x = by(x);
        if found.is_none_or(|before| before < x) {
            found = Some(x);
        }
    }
    found
}

/// Why there is no number.
#[derive(Clone, Copy)]
pub enum Failure {
    Large,
    Odd(u16),
    Pair(u8, u8),
}

macro_rules! floats {
    ($($float:ident $bits:ident $of:ident $sign:ident $as:ident;)*) => {$(
        /// The bits, all NaNs being equal: Rust leaves theirs open.
        pub fn $bits(x: $float) -> u64 {
            if x.is_nan() { 77 } else { x.to_bits() as u64 }
        }
        /// Any number, and one NaN only.
        pub fn $of(bits: u64) -> $float {
            let x = $float::from_bits(bits as $as);
            if x.is_nan() { $float::NAN } else { x }
        }
        /// `copysign`, except from a NaN, whose sign is open.
        pub fn $sign(x: $float, from: $float) -> $float {
            if from.is_nan() { x } else { x.copysign(from) }
        }
    )*};
}
floats! { f32 bits_f32 f32_of sign_f32 u32; f64 bits_f64 f64_of sign_f64 u64; }

macro_rules! pairs {
    ($($name:ident $int:ident;)*) => {$(
        /// What an overflowing operation gives, as one number.
        pub fn $name((value, overflowed): ($int, bool)) -> $int {
            if overflowed { value.rotate_left(3) } else { value }
        }
    )*};
}
pairs! {
    pair_i8 i8; pair_i16 i16; pair_i32 i32; pair_i64 i64; pair_i128 i128;
    pair_u8 u8; pair_u16 u16; pair_u32 u32; pair_u64 u64; pair_u128 u128;
}
