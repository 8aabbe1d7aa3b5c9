//! Values in the texts of panics: devices hand over the first two, and the text is the host's.

use crosscut_language::{Message, panics};

use Message::{Contains, Equal};

const INPUTS: &[u32] = &[1, 2, 3, 99, 4, 5];

/// One kernel per text; only the input 99 panics.
macro_rules! texts {
    ($($name:ident, $expected:expr, $text:expr, |$x:ident| $($value:expr),+;)*) => {$(
        #[test]
        fn $name() {
            let panic = panics($expected, INPUTS, |$x: u32| -> u64 {
                assert!($x != 99, $text, $($value),+);
                0
            });
            assert_eq!(panic.linear_item, 3);
        }
    )*};
}

texts! {
    a_value_alone, Equal, "{}", |x| x;
    a_float_alone, Equal, "{}", |x| x as f32 / 4.0;
    one_value, Equal, "{} is not what I want", |x| x;
    two_values_in_another_order, Equal, "{1} of {{{0:?}}}, {1}", |x| x as usize, -(x as i16);
    a_reference_and_a_float, Equal, "{} is {:?}", |x| &&x, x as f32 / 2.0;
    a_character_and_a_truth, Equal, "{:?} {}", |x| (x as u8 - 60) as char, x > 5;
    a_letter_and_a_double, Equal, "{} {}", |x| x as u8 as char, f64::from(x) / 8.0;
    large_numbers_of_every_sign, Equal, "{} {}", |x| u64::from(x) | 1 << 63, i64::MIN + i64::from(x);
    small_numbers_of_every_sign, Equal, "{} {}", |x| x as u8 + 100, x as i8 - 110;
    more_values_than_are_recorded, Contains("99 100 "), "{} {} {}", |x| x, x + 1, x + 2;
    a_width_and_a_plain_value, Contains(" wide, 98"), "{:4} wide, {}", |x| x, x - 1;
    a_text_and_a_value, Contains(" and 99"), "{} and {}", |x| if x > 7 { "large" } else { "small" }, x;
    a_value_in_hexadecimal, Contains("0x"), "0x{:x}", |x| x;
}

/// One kernel per assertion; only the input 99 fails.
macro_rules! assertions {
    ($($name:ident, $expected:expr, |$x:ident| $assertion:expr;)*) => {$(
        #[test]
        fn $name() {
            let panic = panics($expected, INPUTS, |$x: u32| -> u64 {
                $assertion;
                0
            });
            assert_eq!(panic.linear_item, 3);
        }
    )*};
}

assertions! {
    both_sides_of_an_equality, Equal, |x| assert_eq!(x / 99, 0);
    both_sides_of_an_inequality, Equal, |x| assert_ne!(u64::from(x) << 40, 99 << 40);
    sides_with_signs, Equal, |x| assert_eq!(if x == 99 { -1i8 } else { 5 }, 5);
    sides_that_are_places, Equal, |x| assert_eq!(x as usize / 99, 0usize);
    sides_that_are_references, Equal, |x| assert_ne!(&&x, &&99);
    sides_that_are_floats, Equal, |x| assert_eq!((x / 99) as f32 * 0.5, 0.0);
    sides_that_are_characters, Equal, |x| assert_ne!(x as u8 as char, 'c');
    sides_that_are_truths, Equal, |x| assert_eq!(x == 99, false);
    an_assertion_with_a_text, Equal, |x| assert_eq!(x / 99, 0, "of {{x}}");
    an_assertion_with_a_text_with_values, Contains("assertion `left == right` failed: x is "),
        |x| assert_eq!(x / 99, 0, "x is {x}");
    sides_that_only_the_device_can_format, Contains("assertion `left == right` failed"),
        |x| assert_eq!([x / 99, 0], [0, 0]);
}
