//! Functions of the math library, within the accuracy that OpenCL promises for them.

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
            fn trigonometry() {
                map_within(6, &arguments(), |x| [x.sin(), x.cos(), x.tan(), x.asin(), x.acos(), x.atan(), x.sin_cos().0]);
            }

            #[test]
            fn hyperbolic_functions() {
                map_within(6, &arguments(), |x| {
                    let x = x.clamp(-60.0, 60.0);
                    [x.sinh(), x.cosh(), x.tanh()]
                });
            }

            #[test]
            fn exponentials_and_logarithms() {
                map_within(5, &arguments(), |x| {
                    [x.exp(), x.exp2(), x.exp_m1(), x.ln(), x.log2(), x.log10(), x.ln_1p()]
                });
            }

            #[test]
            fn powers_and_roots() {
                map_within(16, &pairs(), |[a, b]| [a.powf(b), a.hypot(b), a.atan2(b), a.cbrt(), a.powi(3), a.powi(-2)]);
            }

            #[test]
            fn square_roots_are_exact() {
                map(&arguments(), |x| if x < 0.0 || x.is_nan() { 0 } else { x.sqrt().to_bits() });
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
