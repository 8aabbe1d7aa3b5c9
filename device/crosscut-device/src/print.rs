//! Lines that kernels print.
//!
//! A kernel does not format: it writes the template and the raw values into memory of its launch, and
//! the host makes text of them. On the host CPU the same function makes the same text at once.

use core::ptr::copy_nonoverlapping;
use core::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::OnceLock;

use crate::{hooks, on_device};

/// The words for the lines of a launch, behind two that count them.
#[doc(hidden)]
pub const WORDS: u32 = (1 << 16) - 2;

/// A value as a line has it: its kind and its bits.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Value {
    /// The bits of its type, and in the next byte what it is.
    pub kind: u32,
    /// Its bits, the lowest first.
    pub bits: u64,
}

/// What a kernel can print: integers, floating-point numbers, `bool` and `char`, and references to them.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be printed by a kernel",
    label = "not a number of up to 64 bits, `bool` or `char`",
    note = "print its parts: of `u128`, for example, the two halves"
)]
pub trait Printable {
    /// It as a line has it.
    #[doc(hidden)]
    fn value(&self) -> Value;
}

macro_rules! printable {
    ($($type:ty: $kind:literal, $value:ident => $bits:expr;)*) => {$(
        impl Printable for $type {
            #[inline(always)]
            fn value(&self) -> Value {
                let $value = *self;
                Value { kind: $kind << 8 | 8 * size_of::<Self>() as u32, bits: $bits }
            }
        }
    )*};
}

printable! {
    u8: 0, value => value as u64;
    u16: 0, value => value as u64;
    u32: 0, value => value as u64;
    u64: 0, value => value;
    usize: 0, value => value as u64;
    i8: 1, value => value as u8 as u64;
    i16: 1, value => value as u16 as u64;
    i32: 1, value => value as u32 as u64;
    i64: 1, value => value as u64;
    isize: 1, value => value as usize as u64;
    f32: 2, value => value.to_bits() as u64;
    f64: 2, value => value.to_bits();
    bool: 3, value => value as u64;
    char: 4, value => value as u64;
}

#[cfg(feature = "half")]
macro_rules! printable_as_f32 {
    ($($type:ty)*) => {$(
        // As `half` formats them.
        impl Printable for $type {
            #[inline(always)]
            fn value(&self) -> Value {
                self.to_f32().value()
            }
        }
    )*};
}

#[cfg(feature = "half")]
printable_as_f32! { half::f16 half::bf16 }

impl<T: Printable + ?Sized> Printable for &T {
    #[inline(always)]
    fn value(&self) -> Value {
        (**self).value()
    }
}

impl<T: Printable + ?Sized> Printable for &mut T {
    #[inline(always)]
    fn value(&self) -> Value {
        (**self).value()
    }
}

/// What prints a line of native code.
#[doc(hidden)]
pub type Printer = fn(&str, &[Value]);

static PRINTER: OnceLock<Printer> = OnceLock::new();

/// Says what prints the lines of native code, unless somebody has.
#[doc(hidden)]
pub fn set_printer(printer: Printer) {
    // Whoever was first is as good.
    let _ = PRINTER.set(printer);
}

/// Refuses, when the program is compiled, what [`device_println!`](crate::device_println) cannot print.
#[doc(hidden)]
pub const fn check(text: &str) {
    let text = text.as_bytes();
    let mut at = 0;
    while at < text.len() {
        let doubled = at + 1 < text.len() && text[at] == text[at + 1];
        if text[at] == b'{' && !doubled {
            at += 1;
            assert!(
                at < text.len() && matches!(text[at], b'}' | b':'),
                "a kernel prints the values behind the text, in their order: device_println!(\"{{}}\", x)"
            );
            // A fill may be any character, also one that means something elsewhere.
            at = behind_fill(text, at);
            while at < text.len() && text[at] != b'}' {
                assert!(
                    !matches!(text[at], b'$' | b'*'),
                    "widths and precisions of what a kernel prints are numbers in the text"
                );
                assert!(text[at] != b'p', "a kernel prints values, and no addresses");
                at += 1;
            }
        } else if matches!(text[at], b'{' | b'}') {
            at += 1;
        }
        at += 1;
    }
}

/// Where a placeholder goes on behind its fill; `at` where it has none, or no colon here.
const fn behind_fill(text: &[u8], at: usize) -> usize {
    if text[at] != b':' {
        return at;
    }
    // Behind the first character of as many bytes as it has.
    let mut behind = at + 2;
    while behind < text.len() && text[behind] & 0xc0 == 0x80 {
        behind += 1;
    }
    if behind < text.len() && matches!(text[behind], b'<' | b'^' | b'>') { behind } else { at }
}

/// Prints a line.
#[doc(hidden)]
#[inline(always)]
pub fn print(text: &'static str, values: &[Value]) {
    if on_device() {
        write(text, values);
    } else {
        print_natively(text, values);
    }
}

#[inline(never)]
fn print_natively(text: &'static str, values: &[Value]) {
    if let Some(printer) = PRINTER.get() {
        printer(text, values);
    }
}

/// Writes a line into the memory of the launch, or counts it if there is no room.
#[inline(always)]
fn write(text: &'static str, values: &[Value]) {
    let area = hooks::__crosscut_lines().cast::<u32>();
    // SAFETY: the area begins with two words that its users only touch as atomics.
    let asked = unsafe { AtomicU32::from_ptr(area) };
    // SAFETY: as above.
    let lost = unsafe { AtomicU32::from_ptr(area.wrapping_add(1)) };
    let text_words = text.len().div_ceil(4);
    let words = (3 + text_words + 3 * values.len()) as u32;
    // Who comes too late does not ask, so that the count cannot overflow.
    let at = if asked.load(Relaxed) < WORDS { asked.fetch_add(words, Relaxed) } else { WORDS };
    if at.saturating_add(words) > WORDS {
        lost.fetch_add(1, Relaxed);
        return;
    }
    let line = area.wrapping_add(2 + at as usize);
    put(line, 1, text.len() as u32);
    put(line, 2, values.len() as u32);
    // SAFETY: the line has so many words for the text, which only this item writes.
    unsafe { copy_nonoverlapping(text.as_ptr(), line.wrapping_add(3).cast(), text.len()) };
    let mut place = 3 + text_words;
    for value in values {
        put(line, place, value.kind);
        put(line, place + 1, value.bits as u32);
        put(line, place + 2, (value.bits >> 32) as u32);
        place += 3;
    }
    put(line, 0, words);
}

/// Writes one word of a line.
#[inline(always)]
fn put(line: *mut u32, at: usize, word: u32) {
    let place = line.wrapping_add(at);
    // SAFETY: inside the words that this item has asked for and got.
    unsafe { place.write(word) };
}

/// Prints a line from a kernel, with the values behind the text in their order. `crosscut::device_println!`, which takes
/// what `println!` takes, brings its own into this form.
///
/// ```
/// crosscut_device::device_println!("{} of {:#x}: {:>8.3} {}", 1usize, 255u8, 0.5f32, true);
/// ```
///
/// Anything else does not compile:
/// ```compile_fail
/// let x = 1;
/// crosscut_device::device_println!("{x}");
/// ```
/// ```compile_fail
/// crosscut_device::device_println!("{} {}", 1);
/// ```
#[macro_export]
macro_rules! device_println {
    ($text:literal $(, $value:expr)* $(,)?) => {{
        // Never called: rustc itself compares the text with the values.
        let _ = || {
            let _ = ::core::format_args!($text $(, $value)*);
        };
        const { $crate::print::check($text) };
        $crate::print::print($text, &[$($crate::print::Printable::value(&$value)),*]);
    }};
}

#[cfg(test)]
mod tests {
    use super::check;

    #[test]
    fn a_fill_is_any_character_and_a_width_only_a_number() {
        for text in
            ["{:*^9}", "{:$^9}", "{:}<9} {{", "{:ß>9}", "{:€>9.3}", "{:>9}", "{:}", "{}", "{:p>9}p"]
        {
            check(text);
        }
        for text in
            ["{:$^1$}", "{:.*}", "{:*^.*}", "{:ß>w$}", "{:1$}", "{0:*^9}", "{:p}", "{:p^9p}"]
        {
            assert!(std::panic::catch_unwind(|| check(text)).is_err(), "{text}");
        }
    }
}
