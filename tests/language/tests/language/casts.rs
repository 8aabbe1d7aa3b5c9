//! `as`, `From`, `TryFrom`: every number into every other.

use crosscut_language::map;

macro_rules! casts {
    ($($name:ident: $from:ty = $values:expr;)*) => {$(
        #[test]
        fn $name() {
            let values: &[$from] = &$values;
            map(values, |x: $from| [
                x as u8 as u64, x as i8 as u64, x as u16 as u64, x as i16 as u64, x as u32 as u64,
                x as i32 as u64, x as u64, x as i64 as u64, x as usize as u64, x as isize as u64,
                (x as f32).to_bits() as u64, (x as f64).to_bits(),
            ]);
        }
    )*};
}

casts! {
    from_u8: u8 = [0, 1, 127, 128, 255];
    from_i8: i8 = [0, 1, 127, -128, -1];
    from_u16: u16 = [0, 255, 256, 32767, 32768, 65535];
    from_i16: i16 = [0, -1, 255, -256, 32767, -32768];
    from_u32: u32 = [0, 1, 16_777_217, 1 << 31, u32::MAX, u32::MAX - 128];
    from_i32: i32 = [0, -1, 16_777_217, -16_777_219, i32::MIN, i32::MAX];
    from_u64: u64 = [0, 1, (1 << 53) + 1, 1 << 63, u64::MAX, u64::MAX - 1024, 0x7fff_ff40_0000_0001];
    from_i64: i64 = [0, -1, (1 << 53) + 1, i64::MIN, i64::MAX, i64::MIN + 513];
    from_f32: f32 = [
        0.0, -0.0, 0.5, -0.5, 0.99999994, 1.5, -1.5, 127.9, 128.0, -128.9, 255.5, 256.0, 1e9, -1e9, 2147483600.0,
        2147483648.0, -2147483648.0, 4294967300.0, 1.8446743e19, 1.8446744e19, -9.223372e18, 9.223372e18, 1e30, -1e30,
        f32::INFINITY, f32::NEG_INFINITY, f32::NAN, f32::MIN_POSITIVE, 1e-45, f32::MAX,
    ];
    from_f64: f64 = [
        0.0, -0.0, 0.5, -0.5, 0.9999999999999999, 1.5, -1.5, 127.9, 128.0, -128.9, 255.5, 256.0, 65535.9, -32768.9,
        2147483647.5, 2147483648.0, -2147483649.0, 4294967295.9, 4294967296.0, 1.8446744073709550e19,
        1.8446744073709552e19, -9.223372036854775808e18, 9.223372036854775e18, 1e300, -1e300,
        f64::INFINITY, f64::NEG_INFINITY, f64::NAN, f64::MIN_POSITIVE, 5e-324, 16777217.0, 1e-46,
        3.4028235677973366e38, 1.1754943508222875e-38,
    ];
}

#[test]
fn characters_and_truth_values_are_numbers() {
    map(&[0u32, 65, 0xe9, 0xd7ff, 0xd800, 0xdfff, 0xe000, 0x1_f600, 0x10_ffff, 0x11_0000], |x| {
        let letter = char::from_u32(x);
        [
            letter.map_or(0, |letter| letter as u32 + 1),
            letter.map_or(9, |letter| letter.len_utf8() as u32),
            u32::from(letter.is_some_and(|letter| letter.is_ascii_alphabetic())),
            u32::from(x as u8 as char),
            u32::from(x > 100) + (x == 65) as u32 * 2,
            letter.map_or(0, |letter| u32::from(letter.to_ascii_lowercase())),
            letter.and_then(|letter| letter.to_digit(16)).unwrap_or(99),
            char::from_digit(x % 36, 36).map_or(0, u32::from),
        ]
    });
}

#[test]
fn conversions_that_may_fail_say_so() {
    map(
        &[
            i64::MIN,
            -129,
            -128,
            -1,
            0,
            127,
            128,
            255,
            256,
            65535,
            65536,
            1 << 31,
            1 << 32,
            i64::MAX,
        ],
        |x| {
            [
                u8::try_from(x).map_or(-1, i64::from),
                i8::try_from(x).map_or(-1000, i64::from),
                u16::try_from(x).map_or(-1, i64::from),
                i16::try_from(x).map_or(-100_000, i64::from),
                u32::try_from(x).map_or(-1, i64::from),
                i32::try_from(x).map_or(-1 << 40, i64::from),
                u64::try_from(x).is_ok().into(),
                usize::try_from(x).map_or(-1, |x| x as i64),
            ]
        },
    );
}

#[test]
fn signed_bits_to_floats() {
    // Of each the optimiser makes a bit, which as a number with a sign is -1.
    let values: Vec<u8> = (0..=255).collect();
    map(&values, |x| {
        [
            -((x > 7) as i64) as f32,
            ((x > 5) as i8 - 1) as f32,
            (if x > 3 { -1i32 } else { 0 }) as f32,
            -((x > 9) as i128) as f32,
            (-((x & 4 != 0) as i32) as f32 * 3.0) as i8 as f32,
            -((x & 1 == 0) as i16) as f64 as f32,
            ((x > 100) as u8) as f32 - ((x < 50) as i32) as f32,
        ]
        .map(f32::to_bits)
    });
    let rows: Vec<[u8; 16]> = (0..9u8)
        .map(|row| core::array::from_fn(|i| (i as u32 * 31 ^ u32::from(row) * 77) as u8))
        .collect();
    map(&rows, |row| {
        let (mut sum, mut count) = (0.0f32, 0i32);
        for i in 0..16 {
            sum += -((row[i] > 128) as i32) as f32;
            count -= (row[i] > row[15 - i]) as i32;
        }
        (sum + count as f32).to_bits()
    });
}
