//! Floating point: every bit that IEEE 754 and Rust promise.

use crosscut_language::map;

macro_rules! floats {
    ($($float:ident, $bits:ident;)*) => {$(
        mod $float {
            use super::map;

            fn edges() -> Vec<$float> {
                let tiny = $float::from_bits(1);
                let mut edges = vec![
                    0.0, tiny, tiny * 5.0, $float::MIN_POSITIVE, $float::MIN_POSITIVE - tiny, $float::EPSILON, 0.1, 0.5,
                    0.49999997, 1.0, 1.5, 2.5, 3.0, 1e6 + 0.5, 8388607.5, 4503599627370495.5, 1e15, $float::MAX,
                    $float::MAX / 2.0, $float::INFINITY,
                ];
                edges.extend(edges.clone().iter().map(|x| -x));
                edges
            }

            fn pairs() -> Vec<[$float; 2]> {
                let edges = edges();
                edges.iter().flat_map(|&a| edges.iter().map(move |&b| [a, b])).collect()
            }

            /// The bits, all NaNs being equal: Rust leaves theirs open.
            fn bits(x: $float) -> u64 {
                if x.is_nan() { u64::MAX - 1 } else { u64::from(x.to_bits()) }
            }

            #[test]
            fn arithmetic_agrees() {
                map(&pairs(), |[a, b]| [a + b, a - b, a * b, a / b, a % b, -a, a * a + b].map(bits));
            }

            #[test]
            fn comparing_agrees() {
                let mut pairs = pairs();
                pairs.extend([[$float::NAN, 1.0], [1.0, $float::NAN], [$float::NAN, $float::NAN]]);
                map(&pairs, |[a, b]| [
                    u64::from(a < b), u64::from(a <= b), u64::from(a == b), u64::from(a != b),
                    a.partial_cmp(&b).map_or(7, |order| order as i8 as u64), a.total_cmp(&b) as i8 as u64,
                    bits(a.max(b)) & !(1 << 63) & !(1 << 31), bits(a.min(b)) & !(1 << 63) & !(1 << 31),
                    bits(a.clamp(-1.0, 2.0)),
                ]);
            }

            #[test]
            fn rounding_agrees() {
                map(&edges(), |x| [
                    x.floor(), x.ceil(), x.trunc(), x.round(), x.round_ties_even(), x.fract(), x.abs(),
                    x.signum(), x.sqrt(), x.recip(),
                ].map(bits));
            }

            #[test]
            fn signs_and_classes_agree() {
                let mut pairs = pairs();
                pairs.extend([[$float::NAN, -1.0], [-$float::NAN, 1.0]]);
                map(&pairs, |[a, b]| [
                    u64::from(a.copysign(b).to_bits()), u64::from(a.is_nan()), u64::from(a.is_finite()),
                    u64::from(a.is_infinite()), u64::from(a.is_normal()), u64::from(a.is_subnormal()),
                    u64::from(a.is_sign_negative()), a.classify() as u64,
                ]);
            }

            #[test]
            fn fused_and_euclidean_operations_agree() {
                map(&pairs(), |[a, b]| [
                    a.mul_add(b, 1.0), a.mul_add(b, -a), a.rem_euclid(b), a.div_euclid(b),
                    a.to_degrees(), a.to_radians(),
                ].map(bits));
            }

            #[test]
            fn bits_and_neighbours_agree() {
                map(&edges(), |x| [
                    u64::from(x.to_bits()), u64::from($float::from_bits(x.to_bits() ^ 1).to_bits()),
                    u64::from(x.next_up().to_bits()), u64::from(x.next_down().to_bits()),
                ]);
            }

            #[test]
            fn sums_are_added_in_order() {
                let x: Vec<$float> = (0..64).map(|i| (i as $float * 0.37 - 9.0).powi(3)).collect();
                map(&[x.first_chunk::<64>().copied().unwrap()], |x| {
                    [x.iter().sum::<$float>(), x.iter().product(), x.iter().copied().fold($float::MIN, $float::max)].map(bits)
                });
            }
        }
    )*};
}

floats! { f32, u32; f64, u64; }

#[test]
fn widening_and_narrowing_round_to_nearest() {
    map(
        &[1.0f64, 1.0 + 2f64.powi(-24), 1.0 + 3.0 * 2f64.powi(-24), 1e39, -1e-46, 1e-40, 0.1],
        |x| [u64::from((x as f32).to_bits()), f64::from(x as f32).to_bits()],
    );
}

#[test]
fn nan_stays_nan_through_arithmetic() {
    map(&[[f32::NAN, 1.0], [f32::INFINITY, f32::NEG_INFINITY], [0.0, 0.0]], |[a, b]| {
        [a + b, a * 0.0, a / b, (a - a) * b, b.sqrt() + a].map(|x| u32::from(x.is_nan()))
    });
}
