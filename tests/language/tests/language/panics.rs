//! Panics of every kind, with their places.

use core::cell::RefCell;
use core::convert::Infallible;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crosscut::prelude::*;
use crosscut_language::{Message, panics, targets};

const INPUTS: &[u32] = &[1, 2, 3, 99, 4, 5];

/// One kernel per kind of panic; only the input 99 panics.
macro_rules! panicking {
    ($($(#[$attribute:meta])* $name:ident, $message:expr, |$x:ident| $body:expr;)*) => {$(
        $(#[$attribute])*
        #[test]
        fn $name() {
            let panic = panics($message, INPUTS, |$x: u32| -> u64 { $body });
            assert_eq!(panic.linear_item, 3);
            assert!(panic.file.ends_with("panics.rs"), "{}", panic.file);
        }
    )*};
}

use Message::{Contains, Equal};

panicking! {
    an_index_out_of_bounds, Equal, |x| [1u64; 10][x as usize];
    a_division_by_zero, Equal, |x| u64::from(100 / (99 - x));
    a_remainder_by_zero, Equal, |x| u64::from(100 % (99 - x));
    a_division_that_overflows, Equal, |x| (i32::MIN / if x == 99 { -1 } else { 1 }) as u64;
    #[cfg(debug_assertions)]
    an_addition_that_overflows, Equal, |x| u64::from(u32::MAX - 98 + x.min(99) / 99 * x);
    #[cfg(debug_assertions)]
    a_subtraction_that_overflows, Equal, |x| u64::from(98 - x);
    #[cfg(debug_assertions)]
    a_multiplication_that_overflows, Equal, |x| u64::from(x * 50_000_000);
    #[cfg(debug_assertions)]
    a_negation_that_overflows, Equal, |x| (-(i32::MIN + 99 - x as i32)) as u64;
    #[cfg(debug_assertions)]
    a_shift_that_overflows, Equal, |x| 1u64 << x;
    none_unwrapped, Equal, |x| (x != 99).then_some(7).unwrap();
    none_expected, Equal, |x| (x != 99).then_some(7).expect("less than 99");
    an_error_unwrapped, Contains("called `Result::unwrap()` on an `Err` value"), |x| u8::try_from(x * 3).unwrap().into();
    an_error_expected, Contains("too large"), |x| u8::try_from(x * 3).expect("too large").into();
    an_explicit_panic, Equal, |x| if x == 99 { panic!() } else { 0 };
    an_explicit_panic_with_text, Equal, |x| if x == 99 { panic!("with {{braces}} and \"quotes\"") } else { 0 };
    an_explicit_panic_with_values, Contains(" is not what I want"), |x| if x == 99 { panic!("{x} is not what I want") } else { 0 };
    an_assertion, Equal, |x| { assert!(x < 99); 0 };
    an_assertion_with_text, Equal, |x| { assert!(x < 99, "no more than that"); 0 };
    an_assertion_of_equality, Equal, |x| { assert_eq!(x / 99, 0); 0 };
    an_assertion_of_difference, Contains("assertion"), |x| { assert_ne!(x, 99, "never {}", x); 0 };
    unreachable_code, Equal, |x| if x < 99 { 0 } else { unreachable!() };
    unreachable_code_with_text, Equal, |x| if x < 99 { 0 } else { unreachable!("not here") };
    something_not_implemented, Equal, |x| if x < 99 { 0 } else { unimplemented!() };
    a_range_too_long, Contains("range"), |x| [1u64; 10][..x as usize / 9].iter().sum();
    a_range_backwards, Contains("slice index"), |x| [1u64; 10][x as usize / 30..2.max(3 - x as usize / 40)].len() as u64;
    two_borrows_at_once, Contains("already"), |x| {
        let cell = RefCell::new(x);
        let first = cell.borrow_mut();
        if x == 99 { u64::from(*cell.borrow()) } else { u64::from(*first) }
    };
    no_character, Equal, |x| char::from_u32(if x == 99 { 0xd800 } else { x }).unwrap().into();
    lengths_that_differ, Contains("copy_from_slice"), |x| {
        let mut out = [0u8; 4];
        out[..if x == 99 { 3 } else { 2 }].copy_from_slice(&[1, 2]);
        out[0].into()
    };
    chunks_of_nothing, Contains("chunk"), |x| [1u8; 8].chunks(99 - x as usize).count() as u64;
    a_logarithm_of_zero, Contains("logarithm"), |x| (99 - x).ilog2().into();
    a_parse_of_no_number, Contains("unwrap"), |x| if x == 99 { "ninety".parse::<u64>().unwrap() } else { 3 };
}

#[test]
fn a_panic_in_a_nested_function_has_its_own_place() {
    fn outer(x: u32) -> u64 {
        inner(x) + 1
    }
    fn inner(x: u32) -> u64 {
        let table = [3u64; 50];
        table[x as usize]
    }
    let panic = panics(Equal, INPUTS, outer);
    assert_eq!(panic.line, line!() - 3);
}

#[test]
fn a_tracked_caller_is_the_place() {
    #[track_caller]
    fn must_be_small(x: u32) -> u64 {
        if x >= 99 {
            panic!("not small");
        }
        x.into()
    }
    let panic = panics(Equal, INPUTS, |x| must_be_small(x) + 1);
    assert_eq!(panic.line, line!() - 1);
}

#[test]
fn a_panic_deep_in_loops_ends_only_its_item() {
    let panic = panics(Equal, INPUTS, |x| {
        let mut sum = 0u64;
        for i in 0..100 {
            for j in 0..i {
                assert!(!(x == 99 && i == 70 && j == 69), "here");
                sum += u64::from(j ^ x);
            }
        }
        sum
    });
    assert_eq!(panic.message, "here");
}

/// What the user has on a type of `core` is no panic of `core`'s.
trait Fail {
    fn fail(self, text: &str) -> !;

    fn fail_as_ever(self) -> !
    where
        Self: Sized,
    {
        self.fail("as ever")
    }
}

static SEEN: DeviceGlobal<AtomicU32> = DeviceGlobal::zeroed();

impl Fail for Option<u32> {
    #[inline(never)]
    fn fail(self, text: &str) -> ! {
        SEEN.store(self.unwrap_or(9), Relaxed);
        assert!(text.is_empty(), "failed as meant");
        panic!("not as meant")
    }
}

fn never(seen: u32) -> Result<Infallible, u32> {
    Err(seen)
}

#[test]
fn what_is_done_before_a_panic_is_done_also_on_types_of_core() {
    type Kernel = fn(&Queue) -> crosscut::Result<Event>;
    let kernels: [(Kernel, &str); 3] = [
        (
            |queue| queue.parallel_for(1, (), |i, ()| Some(i as u32 + 5).fail("now")),
            "failed as meant",
        ),
        (
            |queue| queue.parallel_for(1, (), |i, ()| Some(i as u32 + 5).fail_as_ever()),
            "failed as meant",
        ),
        (
            |queue| {
                queue.parallel_for(1, (), |i, ()| {
                    match never(i as u32 + 5).unwrap_or_else(|seen| {
                        SEEN.store(seen, Relaxed);
                        panic!("my own text")
                    }) {}
                })
            },
            "my own text",
        ),
    ];
    for target in targets() {
        for (kernel, text) in kernels {
            let queue = &target.queue;
            queue.write(&SEEN, &0).unwrap();
            let error = kernel(queue).unwrap().wait().unwrap_err().to_string();
            assert!(
                error.contains(text) && error.contains("panics.rs"),
                "{}: {error}",
                target.name
            );
            assert_eq!(queue.read(&SEEN).unwrap(), 5, "{}", target.name);
        }
    }
}
