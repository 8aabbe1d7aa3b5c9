//! Mathematics of 16-bit floating-point numbers.

use half::{bf16, f16};

/// The functions of `f32` for [`half::f16`] and [`half::bf16`], in kernels and on the host.
///
/// A function is that of `f32`, of which the result is rounded to 16 bits: next to the exact value, and the
/// nearest in all but the closest cases. No device needs half precision of its own for it. What `half` itself has
/// (`min`, `max`, `clamp`, `copysign`, `signum`, classes, operators) is used as it is.
///
/// ```
/// use crosscut_device::HalfMath;
/// use half::{bf16, f16};
///
/// assert_eq!(f16::from_f32(2.0).sqrt(), f16::SQRT_2);
/// assert_eq!(f16::ONE.exp(), f16::E);
/// assert_eq!(bf16::from_f32(-2.5).floor(), bf16::from_f32(-3.0));
/// let (sin, cos) = f16::ZERO.sin_cos();
/// assert_eq!((sin, cos), (f16::ZERO, f16::ONE));
/// ```
pub trait HalfMath: Wide {
    /// The number rounded towards negative infinity.
    #[must_use]
    #[inline(always)]
    fn floor(self) -> Self {
        Self::narrow(self.wide().floor())
    }

    /// The number rounded towards positive infinity.
    #[must_use]
    #[inline(always)]
    fn ceil(self) -> Self {
        Self::narrow(self.wide().ceil())
    }

    /// The nearest integer, of two that are as near the one away from zero.
    #[must_use]
    #[inline(always)]
    fn round(self) -> Self {
        Self::narrow(self.wide().round())
    }

    /// The nearest integer, of two that are as near the even one.
    #[must_use]
    #[inline(always)]
    fn round_ties_even(self) -> Self {
        Self::narrow(self.wide().round_ties_even())
    }

    /// The number rounded towards zero.
    #[must_use]
    #[inline(always)]
    fn trunc(self) -> Self {
        Self::narrow(self.wide().trunc())
    }

    /// What [`trunc`](Self::trunc) cuts off.
    #[must_use]
    #[inline(always)]
    fn fract(self) -> Self {
        Self::narrow(self.wide().fract())
    }

    /// The number without its sign.
    #[must_use]
    #[inline(always)]
    fn abs(self) -> Self {
        Self::of_bits(self.bits() & 0x7fff)
    }

    /// `self * a + b`. Only the sum is rounded, first to 32 and then to 16 bits.
    #[must_use]
    #[inline(always)]
    fn mul_add(self, a: Self, b: Self) -> Self {
        Self::narrow(self.wide().mul_add(a.wide(), b.wide()))
    }

    /// The quotient, an integer, that leaves [`rem_euclid`](Self::rem_euclid).
    #[must_use]
    #[inline(always)]
    fn div_euclid(self, other: Self) -> Self {
        Self::narrow(self.wide().div_euclid(other.wide()))
    }

    /// The remainder that is never negative.
    #[must_use]
    #[inline(always)]
    fn rem_euclid(self, other: Self) -> Self {
        Self::narrow(self.wide().rem_euclid(other.wide()))
    }

    /// The power to an integer.
    #[must_use]
    #[inline(always)]
    fn powi(self, n: i32) -> Self {
        Self::narrow(self.wide().powi(n))
    }

    /// The power to any number.
    #[must_use]
    #[inline(always)]
    fn powf(self, n: Self) -> Self {
        Self::narrow(self.wide().powf(n.wide()))
    }

    /// The square root, the nearest number there is.
    #[must_use]
    #[inline(always)]
    fn sqrt(self) -> Self {
        Self::narrow(self.wide().sqrt())
    }

    /// The cube root.
    #[must_use]
    #[inline(always)]
    fn cbrt(self) -> Self {
        Self::narrow(self.wide().cbrt())
    }

    /// The length of the hypotenuse over the legs `self` and `other`.
    #[must_use]
    #[inline(always)]
    fn hypot(self, other: Self) -> Self {
        Self::narrow(self.wide().hypot(other.wide()))
    }

    /// One divided by the number, the nearest number there is.
    #[must_use]
    #[inline(always)]
    fn recip(self) -> Self {
        Self::narrow(self.wide().recip())
    }

    /// e to the power of the number.
    #[must_use]
    #[inline(always)]
    fn exp(self) -> Self {
        Self::narrow(self.wide().exp())
    }

    /// 2 to the power of the number.
    #[must_use]
    #[inline(always)]
    fn exp2(self) -> Self {
        Self::narrow(self.wide().exp2())
    }

    /// `exp() - 1`, also of numbers close to 0.
    #[must_use]
    #[inline(always)]
    fn exp_m1(self) -> Self {
        Self::narrow(self.wide().exp_m1())
    }

    /// The natural logarithm.
    #[must_use]
    #[inline(always)]
    fn ln(self) -> Self {
        Self::narrow(self.wide().ln())
    }

    /// The natural logarithm of one more, also of numbers close to 0.
    #[must_use]
    #[inline(always)]
    fn ln_1p(self) -> Self {
        Self::narrow(self.wide().ln_1p())
    }

    /// The logarithm to any base.
    #[must_use]
    #[inline(always)]
    fn log(self, base: Self) -> Self {
        Self::narrow(self.wide().log(base.wide()))
    }

    /// The logarithm to base 2.
    #[must_use]
    #[inline(always)]
    fn log2(self) -> Self {
        Self::narrow(self.wide().log2())
    }

    /// The logarithm to base 10.
    #[must_use]
    #[inline(always)]
    fn log10(self) -> Self {
        Self::narrow(self.wide().log10())
    }

    /// The sine.
    #[must_use]
    #[inline(always)]
    fn sin(self) -> Self {
        Self::narrow(self.wide().sin())
    }

    /// The cosine.
    #[must_use]
    #[inline(always)]
    fn cos(self) -> Self {
        Self::narrow(self.wide().cos())
    }

    /// The sine and the cosine.
    #[must_use]
    #[inline(always)]
    fn sin_cos(self) -> (Self, Self) {
        let (sin, cos) = self.wide().sin_cos();
        (Self::narrow(sin), Self::narrow(cos))
    }

    /// The tangent.
    #[must_use]
    #[inline(always)]
    fn tan(self) -> Self {
        Self::narrow(self.wide().tan())
    }

    /// The angle with this sine.
    #[must_use]
    #[inline(always)]
    fn asin(self) -> Self {
        Self::narrow(self.wide().asin())
    }

    /// The angle with this cosine.
    #[must_use]
    #[inline(always)]
    fn acos(self) -> Self {
        Self::narrow(self.wide().acos())
    }

    /// The angle with this tangent.
    #[must_use]
    #[inline(always)]
    fn atan(self) -> Self {
        Self::narrow(self.wide().atan())
    }

    /// The angle of the point with this ordinate and the abscissa `other`.
    #[must_use]
    #[inline(always)]
    fn atan2(self, other: Self) -> Self {
        Self::narrow(self.wide().atan2(other.wide()))
    }

    /// The hyperbolic sine.
    #[must_use]
    #[inline(always)]
    fn sinh(self) -> Self {
        Self::narrow(self.wide().sinh())
    }

    /// The hyperbolic cosine.
    #[must_use]
    #[inline(always)]
    fn cosh(self) -> Self {
        Self::narrow(self.wide().cosh())
    }

    /// The hyperbolic tangent.
    #[must_use]
    #[inline(always)]
    fn tanh(self) -> Self {
        Self::narrow(self.wide().tanh())
    }

    /// The inverse of the hyperbolic sine.
    #[must_use]
    #[inline(always)]
    fn asinh(self) -> Self {
        let wide = self.wide();
        Self::narrow(match large_area(wide.abs()) {
            Some(area) => area.copysign(wide),
            None => wide.asinh(),
        })
    }

    /// The inverse of the hyperbolic cosine.
    #[must_use]
    #[inline(always)]
    fn acosh(self) -> Self {
        let wide = self.wide();
        Self::narrow(large_area(wide).unwrap_or_else(|| wide.acosh()))
    }

    /// The inverse of the hyperbolic tangent.
    #[must_use]
    #[inline(always)]
    fn atanh(self) -> Self {
        Self::narrow(self.wide().atanh())
    }

    /// An angle in radians, in degrees.
    #[must_use]
    #[inline(always)]
    fn to_degrees(self) -> Self {
        Self::narrow(self.wide().to_degrees())
    }

    /// An angle in degrees, in radians.
    #[must_use]
    #[inline(always)]
    fn to_radians(self) -> Self {
        Self::narrow(self.wide().to_radians())
    }

    /// The middle between two numbers, without overflow.
    #[must_use]
    #[inline(always)]
    fn midpoint(self, other: Self) -> Self {
        // Halves of 16-bit numbers are exact in 32 bits.
        Self::narrow(self.wide() * 0.5 + other.wide() * 0.5)
    }

    /// The smallest number that is larger.
    #[must_use]
    #[inline(always)]
    fn next_up(self) -> Self {
        let bits = self.bits();
        let magnitude = bits & 0x7fff;
        Self::of_bits(if magnitude > Self::INFINITE || bits == Self::INFINITE {
            bits
        } else if magnitude == 0 {
            1
        } else if bits == magnitude {
            bits + 1
        } else {
            bits - 1
        })
    }

    /// The largest number that is smaller.
    #[must_use]
    #[inline(always)]
    fn next_down(self) -> Self {
        Self::of_bits(Self::of_bits(self.bits() ^ 0x8000).next_up().bits() ^ 0x8000)
    }

    /// Whether the number is too small for all the digits of its type, and not zero.
    #[must_use]
    #[inline(always)]
    fn is_subnormal(self) -> bool {
        let magnitude = self.bits() & 0x7fff;
        magnitude > 0 && magnitude < Self::SMALLEST_NORMAL
    }
}

/// The inverse of the hyperbolic sine and cosine alike where they differ in no digit of 16 bits. `f32`'s own double
/// the number, which the largest `bf16` does not bear.
#[inline(always)]
fn large_area(wide: f32) -> Option<f32> {
    (wide > 1e4).then(|| wide.ln() + core::f32::consts::LN_2)
}

/// What a 16-bit number is in 32 bits, and back.
#[doc(hidden)]
pub trait Wide: Copy {
    /// The bits of infinity.
    const INFINITE: u16;
    /// The bits of the smallest number with all digits.
    const SMALLEST_NORMAL: u16;
    /// The same number.
    fn wide(self) -> f32;
    /// The nearest number.
    fn narrow(wide: f32) -> Self;
    /// Its bits.
    fn bits(self) -> u16;
    /// The number with these bits.
    fn of_bits(bits: u16) -> Self;
}

macro_rules! halves {
    ($($half:ident)*) => {$(
        impl Wide for $half {
            const INFINITE: u16 = $half::INFINITY.to_bits();
            const SMALLEST_NORMAL: u16 = $half::MIN_POSITIVE.to_bits();

            #[inline(always)]
            fn wide(self) -> f32 {
                self.to_f32()
            }

            #[inline(always)]
            fn narrow(wide: f32) -> Self {
                $half::from_f32(wide)
            }

            #[inline(always)]
            fn bits(self) -> u16 {
                self.to_bits()
            }

            #[inline(always)]
            fn of_bits(bits: u16) -> Self {
                $half::from_bits(bits)
            }
        }

        impl HalfMath for $half {}
    )*};
}

halves! { f16 bf16 }
