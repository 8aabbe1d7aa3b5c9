//! Integers of 128 bits.

use crosscut_language::map;

fn pairs() -> Vec<[u128; 2]> {
    let edges = [
        0,
        1,
        2,
        10,
        u128::from(u64::MAX),
        u128::from(u64::MAX) + 1,
        u128::MAX,
        u128::MAX - 1,
        1 << 127,
        (1 << 127) - 1,
        0x0123_4567_89ab_cdef_fedc_ba98_7654_3210,
        99_999_999_999_999_999_999,
    ];
    edges.iter().flat_map(|&a| edges.map(|b| [a, b])).collect()
}

#[test]
fn sums_and_products_agree() {
    map(&pairs(), |[a, b]| {
        [
            a.wrapping_add(b),
            a.wrapping_sub(b),
            a.wrapping_mul(b),
            a.wrapping_neg(),
            a & b,
            a | b,
            a ^ b,
            !a,
        ]
    });
}

#[test]
fn shifts_and_rotations_agree() {
    let shifts: Vec<[u128; 2]> = pairs()
        .iter()
        .flat_map(|&[a, _]| [0, 1, 31, 63, 64, 65, 100, 127].map(|b| [a, b]))
        .collect();
    map(&shifts, |[a, b]| {
        let n = b as u32;
        [
            a << n,
            a >> n,
            (a.cast_signed() >> n).cast_unsigned(),
            a.rotate_left(n),
            a.rotate_right(n),
        ]
    });
}

#[test]
fn comparing_agrees() {
    map(&pairs(), |[a, b]| {
        let (x, y) = (a.cast_signed(), b.cast_signed());
        [
            a.cmp(&b) as i8,
            x.cmp(&y) as i8,
            i8::from(a < b),
            i8::from(x <= y),
            i8::from(a == b),
            i8::from(x.min(y) == x),
        ]
    });
}

#[test]
fn division_agrees() {
    map(&pairs(), |[a, b]| {
        let b = b.max(1);
        let (x, y) = (a.cast_signed(), b.cast_signed());
        [a / b, a % b, x.wrapping_div(y).cast_unsigned(), x.wrapping_rem(y).cast_unsigned()]
    });
}

#[test]
fn checked_arithmetic_agrees() {
    map(&pairs(), |[a, b]| {
        let (x, y) = (a.cast_signed(), b.cast_signed());
        let signed = |value: Option<i128>| value.map_or(77, i128::cast_unsigned);
        [
            a.checked_add(b).unwrap_or(77),
            a.checked_sub(b).unwrap_or(77),
            a.checked_mul(b).unwrap_or(77),
            signed(x.checked_add(y)),
            signed(x.checked_sub(y)),
            signed(x.checked_mul(y)),
            a.saturating_add(b),
            x.saturating_sub(y).cast_unsigned(),
        ]
    });
}

#[test]
fn counting_and_moving_bits_agrees() {
    map(&pairs(), |[a, _]| {
        let counts = [a.leading_zeros(), a.trailing_zeros(), a.count_ones(), a.leading_ones()];
        [
            a.swap_bytes(),
            a.reverse_bits(),
            counts.into_iter().fold(0, |all, n| all << 8 | u128::from(n)),
        ]
    });
}

#[test]
fn conversions_agree() {
    map(&pairs(), |[a, b]| {
        let signed = b.cast_signed();
        [
            a as u64 as u128,
            a as u8 as u128,
            a as i32 as i128 as u128,
            u128::from((a as f64).to_bits()),
            u128::from((signed as f32).to_bits()),
            a as f64 as u128,
            signed as f32 as i128 as u128,
        ]
    });
}

#[test]
fn wide_captures_arrive() {
    let (factor, offset) = (0x1234_5678_9abc_def0_0fed_cba9_8765_4321u128, -5i128);
    map(&pairs(), move |[a, b]| {
        let sum = a.wrapping_mul(factor).wrapping_add(offset.cast_unsigned());
        if sum > b { sum } else { b }
    });
}

#[test]
fn a_hash_of_128_bits_runs_in_a_loop() {
    map(&[0u64, 1, 99, u64::MAX], |seed| {
        let mut hash = 0x6c62_272e_07bb_0142_62b8_2175_6295_c58du128;
        for byte in seed.to_le_bytes() {
            hash ^= u128::from(byte);
            hash = hash.wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
        }
        hash
    });
}

#[test]
fn checked_arithmetic_in_the_arms_of_a_branch_agrees() {
    let smaller: Vec<[u128; 2]> =
        pairs().into_iter().map(|[a, b]| [a.max(b) >> 2, a.min(b) >> 2]).collect();
    for adds in [true, false] {
        map(&smaller, move |[a, b]| if adds { a + b } else { a - b });
        map(&smaller, move |[a, b]| {
            let (a, b) = (a.cast_signed(), b.cast_signed());
            if adds { a + b } else { a - b }
        });
    }
    for arm in 0..4 {
        map(&smaller, move |[a, b]| match arm {
            0 => a + b,
            1 => a - b,
            2 => (a >> 64) * (b >> 64),
            _ => b + 1,
        });
    }
}

#[test]
fn a_match_on_a_wide_number_agrees() {
    let far = 7 << 70 | 3;
    let wanted = [0u128, 3, 1000, 7_000_000, far, far + 1, u128::MAX, 1000 << 64];
    let all: Vec<[u128; 2]> =
        wanted.iter().flat_map(|&a| pairs().into_iter().map(move |[_, b]| [a, b])).collect();
    map(&all, |[a, b]| {
        let unsigned = match a {
            3 => b.rotate_left(5),
            1000 => b.wrapping_mul(a),
            7_000_000 => b ^ 0xff,
            0x1_c000_0000_0000_0000_0003 => b >> 9,
            u128::MAX => b.wrapping_sub(a),
            _ => 77,
        };
        let signed = match a.cast_signed() {
            -1 => b.count_ones(),
            3 | 1000 => b.leading_zeros(),
            7_000_000 => b.trailing_zeros(),
            _ => 7,
        };
        [unsigned, u128::from(signed)]
    });
}
