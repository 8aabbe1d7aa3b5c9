//! Comparing answers with the host's.

use std::fmt::Debug;

use crosscut::{DeviceCopy, Queue, Result};

use crate::targets;

/// Runs `kernels` on every device. All must give the host's bits.
///
/// # Panics
/// A device fails or differs; the message has the first difference.
pub fn agree<T: DeviceCopy + Debug>(kernels: impl Fn(&Queue) -> Result<Vec<T>>) -> Vec<T> {
    compare(kernels, |expected, found| bytes(expected) == bytes(found))
}

/// Runs `kernels` on every device. Each number must be within `ulps` of the host's.
///
/// # Panics
/// A device fails or differs; the message has the first difference.
pub fn agree_within<T: Ulps>(ulps: u64, kernels: impl Fn(&Queue) -> Result<Vec<T>>) -> Vec<T> {
    compare(kernels, |expected, found| expected.distance(found) <= ulps)
}

fn compare<T: DeviceCopy + Debug>(
    kernels: impl Fn(&Queue) -> Result<Vec<T>>,
    same: impl Fn(&T, &T) -> bool,
) -> Vec<T> {
    let mut answers = targets().into_iter().map(|target| {
        let answer = kernels(&target.queue);
        let answer = answer.unwrap_or_else(|error| panic!("{}: {error}", target.name));
        (target, answer)
    });
    let (_, expected) = answers.next().expect("the host is always there");
    for (target, found) in answers {
        assert_eq!(expected.len(), found.len(), "{}", target.name);
        let differs =
            expected.iter().zip(&found).position(|(expected, found)| !same(expected, found));
        if let Some(at) = differs {
            panic!(
                "{} differs at {at}:\n  host:   {:?}\n  device: {:?}",
                target.name, expected[at], found[at]
            );
        }
    }
    expected
}

fn bytes<T: DeviceCopy>(value: &T) -> &[u8] {
    // SAFETY: device data has no padding, so that all its bytes are initialised.
    unsafe { std::slice::from_raw_parts(std::ptr::from_ref(value).cast(), size_of::<T>()) }
}

/// Floating-point answers, whose distance is counted in units in the last place.
pub trait Ulps: DeviceCopy + Debug {
    /// How many representable numbers apart; 0 for two NaNs.
    fn distance(&self, other: &Self) -> u64;
}

macro_rules! ulps {
    ($($float:ty, $signed:ty;)*) => {$(
        impl Ulps for $float {
            fn distance(&self, other: &Self) -> u64 {
                if self.is_nan() || other.is_nan() {
                    return if self.is_nan() && other.is_nan() { 0 } else { u64::MAX };
                }
                // Numbers in order: negative ones count down from zero.
                let place = |value: Self| {
                    let bits = value.to_bits().cast_signed();
                    i128::from(if bits < 0 { <$signed>::MIN - bits } else { bits })
                };
                u64::try_from((place(*self) - place(*other)).unsigned_abs()).unwrap_or(u64::MAX)
            }
        }
    )*};
}

ulps! { f32, i32; f64, i64; half::f16, i16; half::bf16, i16; }

impl<T: Ulps, const N: usize> Ulps for [T; N] {
    fn distance(&self, other: &Self) -> u64 {
        self.iter().zip(other).map(|(one, other)| one.distance(other)).max().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::Ulps as _;

    #[test]
    fn neighbours_are_one_apart_across_zero_too() {
        assert_eq!(1.0f32.distance(&1.0f32.next_up()), 1);
        assert_eq!(0.0f64.distance(&-0.0), 0);
        assert_eq!(0.0f64.next_up().distance(&0.0f64.next_down()), 2);
        assert_eq!(half::f16::ONE.distance(&half::f16::from_f32(0.99951)), 1);
        assert_eq!(f32::NAN.distance(&1.0), u64::MAX);
    }
}
