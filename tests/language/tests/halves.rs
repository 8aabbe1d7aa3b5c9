//! Mathematics of `half::f16` and `half::bf16`, held against `f64`: every answer of every device is next to the
//! exact one, as `docs/math.md` states.

use crosscut::HalfMath as _;
use crosscut_language::{Ulps, agree, map, targets};

macro_rules! one {
    ($name:ident: $($function:ident)*) => {
        #[test]
        fn $name() {
            hold(
                &arguments(),
                |x| [$(x.$function()),*],
                |x| {
                    let x = x.to_f64();
                    [$(x.$function()),*]
                },
            );
        }
    };
}

macro_rules! halves {
    ($($half:ident;)*) => {$(
        mod $half {
            use half::$half;

            use super::*;

            fn arguments() -> Vec<$half> {
                let mut all: Vec<$half> = (-60..=60).map(|i| $half::from_f32(i as f32 * 0.137)).collect();
                all.extend([0.0, -0.0, 1.0, -1.0, 0.5, -2.5, 3.5, 1e-4, -1e-7, 300.0, 5e4, -6e4].map($half::from_f32));
                all.extend([$half::MAX, $half::MIN, $half::MIN_POSITIVE, $half::INFINITY, $half::NEG_INFINITY, $half::NAN]);
                all.extend([$half::from_bits(1), $half::from_bits(0x8003)]);
                all
            }

            fn pairs() -> Vec<[$half; 2]> {
                let some: Vec<$half> = arguments().into_iter().step_by(5).collect();
                some.iter().flat_map(|&a| some.iter().map(move |&b| [a, b])).collect()
            }

            /// Every device answers within one unit of what `f64` says.
            fn hold<I, const N: usize>(
                inputs: &[I],
                kernel: impl Fn(I) -> [$half; N] + Copy + Send + 'static,
                exact: impl Fn(I) -> [f64; N],
            ) where
                I: crosscut::DeviceCopy + std::fmt::Debug,
            {
                for target in targets() {
                    let x = target.queue.upload(inputs).unwrap();
                    let mut y = target.queue.zeroed::<[$half; N]>(inputs.len()).unwrap();
                    target.queue.for_each(&mut y, &x, move |i, y, x| *y = kernel(x[i])).unwrap();
                    for (&input, answer) in inputs.iter().zip(target.queue.download(&y).unwrap()) {
                        let exact = exact(input).map($half::from_f64);
                        let name = &target.name;
                        assert!(answer.distance(&exact) <= 1, "{name}: {input:?}: {answer:?} is not {exact:?}");
                    }
                }
            }

            one! { exponentials_are_next_to_the_exact_ones: exp exp2 exp_m1 }
            one! { logarithms_are_next_to_the_exact_ones: ln ln_1p log2 log10 }
            one! { trigonometry_is_next_to_the_exact: sin cos tan asin acos atan }
            one! { hyperbolic_functions_are_next_to_the_exact_ones: sinh cosh tanh asinh acosh atanh }
            one! { cube_roots_and_angles_are_next_to_the_exact_ones: cbrt to_degrees to_radians }

            #[test]
            fn sine_and_cosine_come_together() {
                hold(
                    &arguments(),
                    |x| { let (sin, cos) = x.sin_cos(); [sin, cos] },
                    |x| { let (sin, cos) = x.to_f64().sin_cos(); [sin, cos] },
                );
            }

            #[test]
            fn functions_of_two_numbers_are_next_to_the_exact_ones() {
                hold(
                    &pairs(),
                    |[a, b]| [a.atan2(b), a.hypot(b), a.powf(b), a.mul_add(b, a), a.log(b.abs() + $half::from_f32(2.0))],
                    |[a, b]| {
                        // The base is a sum, which is rounded.
                        let base = (b.abs() + $half::from_f32(2.0)).to_f64();
                        let [a, b] = [a, b].map($half::to_f64);
                        [a.atan2(b), a.hypot(b), a.powf(b), a.mul_add(b, a), a.log(base)]
                    },
                );
            }

            #[test]
            fn integer_powers_are_next_to_the_exact_ones() {
                hold(
                    &arguments(),
                    |x| [x.powi(0), x.powi(3), x.powi(-2), x.powi(7)],
                    |x| [0, 3, -2, 7].map(|n| x.to_f64().powi(n)),
                );
            }

            /// The bits, all NaNs being equal.
            fn bits(x: $half) -> u16 {
                if x.is_nan() { 0x7fff } else { x.to_bits() }
            }

            #[test]
            fn rounding_roots_and_neighbours_are_exact() {
                let arguments = arguments();
                let answers = map(&arguments, |x| [
                    x.floor(), x.ceil(), x.round(), x.round_ties_even(), x.trunc(), x.fract(), x.abs(), x.sqrt(),
                    x.recip(), x.next_up().next_down(), x.next_down(),
                ].map(bits));
                for (x, answer) in arguments.into_iter().zip(answers) {
                    let wide = x.to_f64();
                    let exact = [
                        wide.floor(), wide.ceil(), wide.round(), wide.round_ties_even(), wide.trunc(), wide.fract(),
                        wide.abs(), wide.sqrt(), wide.recip(),
                    ].map($half::from_f64).map(bits);
                    assert_eq!(answer[..9], exact, "{x:?}");
                    if x.is_finite() && x.to_f32() != 0.0 && x != $half::MAX {
                        assert_eq!(answer[9], bits(x), "{x:?}");
                    }
                    assert!(x.is_nan() || x == $half::NEG_INFINITY || $half::from_bits(answer[10]) < x, "{x:?}");
                }
            }

            #[test]
            fn remainders_and_middles_are_exact() {
                let pairs = pairs();
                let answers = map(&pairs, |[a, b]| [a.rem_euclid(b), a.midpoint(b)].map(bits));
                let quotients = map(&pairs, |[a, b]| bits(a.div_euclid(b)));
                assert_eq!(quotients.len(), answers.len());
                for ([a, b], answer) in pairs.into_iter().zip(answers) {
                    let [wide, other] = [a, b].map($half::to_f64);
                    let exact = [wide.rem_euclid(other), wide.midpoint(other)].map($half::from_f64).map(bits);
                    assert_eq!(answer, exact, "{a:?} {b:?}");
                }
            }

            #[test]
            fn subnormal_numbers_are_known() {
                let found = map(&[$half::from_bits(1), $half::MIN_POSITIVE, $half::ZERO, -$half::from_bits(2)], |x| {
                    u32::from(x.is_subnormal())
                });
                assert_eq!(found, [1, 0, 0, 1]);
            }

            #[test]
            fn sums_products_and_extremes_reduce() {
                use crosscut::Reduction;
                let found = agree(|queue| {
                    // Sums without rounding: drivers may add in another order.
                    let mut sum = Reduction::sum(queue)?;
                    let mut product = Reduction::product(queue)?;
                    let mut smallest = Reduction::min(queue)?;
                    let mut largest = Reduction::max(queue)?;
                    let all = (&mut sum, &mut product, &mut smallest, &mut largest);
                    queue.parallel_for(100, all, |i, (sum, product, smallest, largest)| {
                        let x = $half::from_f32((i % 5) as f32 - 2.0);
                        sum.combine(x * $half::from_f32(0.5) + $half::ONE);
                        product.combine(if i < 3 { $half::from_f32(2.0) } else { $half::ONE });
                        smallest.combine(x);
                        largest.combine(x);
                    })?;
                    Ok(vec![sum.get()?, product.get()?, smallest.get()?, largest.get()?])
                });
                assert_eq!(found, [100.0, 8.0, -2.0, 2.0].map($half::from_f32));
            }

            #[test]
            fn work_groups_and_constants_take_them() {
                use crosscut::prelude::*;
                static SCALE: SpecConstant<$half> = SpecConstant::new($half::ONE);
                let found = agree(|queue| {
                    let mut y = queue.zeroed::<$half>(8)?;
                    let launch = queue.launch().with(&SCALE, $half::from_f32(0.5));
                    launch.parallel_for(NdRange::new(8, 4), &mut y, |item, y| {
                        let x = $half::from_f32(item.local() as f32) * SCALE.get();
                        *y = item.work_group().reduce(x, |one, other| one + other);
                    })?;
                    queue.download(&y)
                });
                assert_eq!(found, [3.0; 8].map($half::from_f32));
            }
        }
    )*};
}

halves! { f16; bf16; }
