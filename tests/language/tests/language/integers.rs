//! Integers of 8 to 64 bits at their edges.

use crosscut_language::map;

macro_rules! widths {
    ($($type:ident)*) => {$(
        mod $type {
            use super::map;

            /// Every pair of numbers where something changes.
            fn pairs() -> Vec<[$type; 2]> {
                let edges = [
                    $type::MIN, $type::MIN + 1, $type::MAX, $type::MAX - 1, $type::MAX / 2,
                    0, 1, 2, 3, 7, 10, 100, $type::MAX / 3, (0 as $type).wrapping_sub(1),
                    (0 as $type).wrapping_sub(2), (0 as $type).wrapping_sub(77),
                ];
                edges.iter().flat_map(|&a| edges.map(|b| [a, b])).collect()
            }

            #[test]
            fn wrapping_arithmetic_agrees() {
                map(&pairs(), |[a, b]| [
                    a.wrapping_add(b), a.wrapping_sub(b), a.wrapping_mul(b), a.wrapping_neg(),
                    if b == 0 { 0 } else { a.wrapping_div(b) },
                    if b == 0 { 0 } else { a.wrapping_rem(b) },
                    a.wrapping_shl(b as u32), a.wrapping_shr(b as u32), a.wrapping_pow(3),
                    a & b, a | b, a ^ b, !a,
                ]);
            }

            #[test]
            fn checked_arithmetic_agrees() {
                map(&pairs(), |[a, b]| {
                    let bits = |value: Option<$type>| value.map_or([0, 0], |value| [1, value]);
                    [
                        bits(a.checked_add(b)), bits(a.checked_sub(b)), bits(a.checked_mul(b)),
                        bits(a.checked_div(b)), bits(a.checked_rem(b)), bits(a.checked_neg()),
                        bits(a.checked_shl(b as u32)), bits(a.checked_shr(b as u32)),
                        bits(a.checked_pow(2)), bits(a.checked_rem_euclid(b)),
                    ]
                });
            }

            #[test]
            fn saturating_and_overflowing_arithmetic_agrees() {
                map(&pairs(), |[a, b]| {
                    let bits = |(value, overflow): ($type, bool)| [value, $type::from(overflow)];
                    [
                        [a.saturating_add(b), a.saturating_sub(b)],
                        [a.saturating_mul(b), a.saturating_pow(3)],
                        bits(a.overflowing_add(b)), bits(a.overflowing_sub(b)),
                        bits(a.overflowing_mul(b)), bits(a.overflowing_neg()),
                        bits(a.overflowing_shl(b as u32)), bits(a.overflowing_pow(2)),
                    ]
                });
            }

            #[test]
            fn counting_and_moving_bits_agrees() {
                map(&pairs(), |[a, b]| [
                    a.leading_zeros(), a.trailing_zeros(), a.leading_ones(), a.trailing_ones(),
                    a.count_ones(), a.count_zeros(),
                ].map(|n| n as $type).into_iter().zip([
                    a.rotate_left(b as u32 & 63), a.rotate_right(b as u32 & 63), a.swap_bytes(),
                    a.reverse_bits(), a.to_be(), a.to_le(),
                ]).fold([0; 12], |mut all, (count, moved)| {
                    all.rotate_right(2);
                    all[0] = count;
                    all[1] = moved;
                    all
                }));
            }

            #[test]
            fn comparing_agrees() {
                map(&pairs(), |[a, b]| [
                    a.cmp(&b) as i8, a.min(b).cmp(&a.max(b)) as i8, i8::from(a < b), i8::from(a <= b),
                    i8::from(a.clamp(b.min(7), b.max(7)) == a), i8::from((a, b) < (b, a)),
                ]);
            }

            #[test]
            fn distances_and_remainders_agree() {
                map(&pairs(), |[a, b]| {
                    let b = if b == 0 { 5 } else { b };
                    [a.abs_diff(b) as u64, a.wrapping_rem_euclid(b) as u64, a.wrapping_div_euclid(b) as u64]
                });
            }

            #[test]
            fn roots_and_logarithms_agree() {
                map(&pairs(), |[a, b]| {
                    let a = if a > 0 { a } else { 1 };
                    let b = if b > 1 { b } else { 2 };
                    [a.isqrt() as u64, u64::from(a.ilog2()), u64::from(a.ilog10()), u64::from(a.ilog(b))]
                });
            }
        }
    )*};
}

widths! { u8 u16 u32 u64 i8 i16 i32 i64 usize }

#[test]
fn signed_integers_have_signs_and_magnitudes() {
    map(&[i32::MIN, -7, -1, 0, 1, 9, i32::MAX], |x: i32| {
        [
            x.signum(),
            x.unsigned_abs().cast_signed(),
            x.wrapping_abs(),
            i32::from(x.is_negative()),
            x.saturating_abs(),
            x.saturating_neg(),
        ]
    });
}

#[test]
fn powers_of_two_are_found() {
    map(&[0u32, 1, 2, 3, 1 << 30, (1 << 31) + 1, u32::MAX], |x| {
        [
            u32::from(x.is_power_of_two()),
            x.checked_next_power_of_two().unwrap_or(77),
            x.midpoint(9),
            x.div_ceil(3),
        ]
    });
}

#[test]
fn carries_go_from_word_to_word() {
    let wide = [[u64::MAX, u64::MAX, 1, 0], [1, 2, u64::MAX, 3], [0, 0, 0, 0], [1 << 63; 4]];
    map(&wide, |[a, b, c, d]| {
        let (low, carry) = a.carrying_add(c, false);
        let (high, carry) = b.carrying_add(d, carry);
        let (low_difference, borrow) = a.borrowing_sub(c, true);
        let (high_difference, borrow) = b.borrowing_sub(d, borrow);
        let (low_product, high_product) = a.carrying_mul(b, c);
        let flags = u64::from(carry) | u64::from(borrow) << 1;
        [low, high, low_difference, high_difference, low_product, high_product, flags]
    });
}

#[test]
fn the_upper_half_of_a_product_is_found_by_wider_arithmetic() {
    map(&[[u32::MAX, u32::MAX], [3, 1 << 31], [0, 9]], |[a, b]| {
        let product = u64::from(a) * u64::from(b);
        [
            (product >> 32) as u32,
            product as u32,
            (i64::from(a as i32) * i64::from(b as i32) >> 32) as u32,
        ]
    });
}
