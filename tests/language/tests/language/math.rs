//! Functions of the math library, within the accuracy that `docs/math.md` states for them.

use crosscut_language::{map, map_within};

macro_rules! functions {
    ($($float:ident;)*) => {$(
        mod $float {
            use super::{map, map_within};

            fn arguments() -> Vec<$float> {
                let mut all: Vec<$float> = (-40..=40).map(|i| i as $float * 0.37).collect();
                all.extend([0.0, -0.0, 1.0, -1.0, 0.5, 1e-4, 1e-30, 1e4, $float::INFINITY, $float::NEG_INFINITY, $float::NAN]);
                all
            }

            fn pairs() -> Vec<[$float; 2]> {
                let some: Vec<$float> = arguments().into_iter().step_by(4).collect();
                some.iter().flat_map(|&a| some.iter().map(move |&b| [a, b])).collect()
            }

            #[test]
            fn within_2_ulps() {
                map_within(2, &arguments(), |x| [x.ln_1p(), x.cbrt()]);
            }

            #[test]
            fn within_3_ulps() {
                map_within(3, &arguments(), |x| [x.exp(), x.exp2(), x.exp_m1(), x.ln(), x.log2(), x.log10()]);
            }

            #[test]
            fn within_4_ulps() {
                map_within(4, &arguments(), |x| {
                    let (sin, cos) = x.sin_cos();
                    // Beyond this the answer is infinite or next to it, and where it turns is open.
                    let y = x.clamp(-60.0, 60.0);
                    [x.sin(), x.cos(), sin, cos, x.asin(), x.acos(), y.sinh(), y.cosh()]
                });
                map_within(4, &pairs(), |[a, b]| a.hypot(b));
            }

            #[test]
            fn within_5_ulps() {
                map_within(5, &arguments(), |x| [x.tan(), x.atan(), x.tanh()]);
            }

            #[test]
            fn within_6_ulps() {
                map_within(6, &pairs(), |[a, b]| a.atan2(b));
            }

            #[test]
            fn within_8_ulps() {
                map_within(8, &pairs(), |[a, b]| [a.asinh(), a.acosh(), a.atanh(), a.log(b.abs() + 2.0)]);
            }

            #[test]
            fn within_16_ulps() {
                map_within(16, &pairs(), |[a, b]| [a.powf(b), a.powi(3), a.powi(-2), a.powi(17)]);
            }

            #[test]
            fn the_middle_of_two_numbers_is_exact() {
                map(&pairs(), |[a, b]| if a.is_finite() && b.is_finite() { a.midpoint(b).to_bits() } else { 0 });
            }

            #[test]
            fn square_roots_are_exact() {
                map(&arguments(), |x| if x < 0.0 || x.is_nan() { 0 } else { x.sqrt().to_bits() });
            }

            #[test]
            fn powers_of_two_of_integers() {
                let exponents: Vec<i32> = (-1100..1100).collect();
                map_within(16, &exponents, |n| [(n as $float).exp2(), (2.0 as $float).powf(n as $float), (n as i8 as $float).exp2()]);
            }

            #[test]
            fn constants_and_interpolation() {
                use core::$float::consts::{E, LN_2, PI, SQRT_2};
                map(&arguments(), |x| if x.is_finite() { [x * PI, x / E, x - LN_2, x + SQRT_2].map($float::to_bits) } else { [0; 4] });
            }
        }
    )*};
}

functions! { f32; f64; }
