//! Gives every panic one form, so that no formatting code is linked.
//!
//! Expects host functions that call `core`'s panic functions.
//! Leaves, at each such call, `call void @__crosscut_panic(shape, place, text, arguments, a, b)`,
//! whose operands [`sites`](super::sites) reads once they have become constants.
//!
//! `call void @core::panicking::panic_bounds_check(i64 %i, i64 %n, ptr @place)` becomes
//! `call void @__crosscut_panic(i32 3, ptr @place, ptr null, ptr null, i64 %i, i64 %n)`.

use std::collections::{HashMap, HashSet};

use super::assertions::{self, Assertion, Sides};
use crate::ir::{Call, Ir, Item, Kind, tokens, value_of};
use crate::names;

/// The function that all panics become.
pub(crate) const PANIC: &str = "@__crosscut_panic";

/// `arguments` is not read, so that what is built only for it dies; `nomerge` keeps places apart.
const DECLARATION: &str = "declare void @__crosscut_panic(i32, ptr readonly, ptr readonly, \
    ptr readnone captures(none), i64, i64) cold noreturn nomerge nounwind";

/// How a panic function tells what went wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shape {
    /// By its own name: see [`Shape::fixed_text`].
    Fixed(u32),
    /// By a string: text and length.
    Text,
    /// By `fmt::Arguments`: template and arguments.
    Format,
    /// By two sides, and perhaps `fmt::Arguments`.
    Compared(Assertion),
}

/// The panics whose text is known, with `{0}` and `{1}` for their integer operands.
const FIXED: &[(&str, &str)] = &[
    (
        "core::panicking::panic_bounds_check",
        "index out of bounds: the len is {1} but the index is {0}",
    ),
    ("core::slice::index::slice_index_fail", "slice index {0}..{1} is out of range"),
    ("core::option::unwrap_failed", "called `Option::unwrap()` on a `None` value"),
    ("core::panicking::panic_const::panic_const_add_overflow", "attempt to add with overflow"),
    ("core::panicking::panic_const::panic_const_sub_overflow", "attempt to subtract with overflow"),
    ("core::panicking::panic_const::panic_const_mul_overflow", "attempt to multiply with overflow"),
    ("core::panicking::panic_const::panic_const_div_overflow", "attempt to divide with overflow"),
    (
        "core::panicking::panic_const::panic_const_rem_overflow",
        "attempt to calculate the remainder with overflow",
    ),
    ("core::panicking::panic_const::panic_const_neg_overflow", "attempt to negate with overflow"),
    (
        "core::panicking::panic_const::panic_const_shr_overflow",
        "attempt to shift right with overflow",
    ),
    (
        "core::panicking::panic_const::panic_const_shl_overflow",
        "attempt to shift left with overflow",
    ),
    ("core::panicking::panic_const::panic_const_div_by_zero", "attempt to divide by zero"),
    (
        "core::panicking::panic_const::panic_const_rem_by_zero",
        "attempt to calculate the remainder with a divisor of zero",
    ),
    // One whose call does not look as expected.
    ("core::panicking::assert_failed", "assertion failed: `assert_eq!` or `assert_ne!`"),
    ("core::panicking::unreachable_display", "internal error: entered unreachable code"),
    ("core::cell::panic_already_borrowed", "already borrowed"),
    ("core::cell::panic_already_mutably_borrowed", "already mutably borrowed"),
    ("core::str::slice_error_fail", "string index is out of range or not at a character boundary"),
    (
        "core::slice::copy_from_slice_impl::len_mismatch_fail",
        "copy_from_slice: source and destination differ in length",
    ),
    (
        "core::num::int_log10::panic_for_nonpositive_argument",
        "argument of integer logarithm must be positive",
    ),
    ("abort", "the kernel aborted"),
    ("", "the kernel panicked"),
];

impl Shape {
    /// The shape of the panic function with this path.
    fn of(path: &str) -> Self {
        match path {
            "core::panicking::panic"
            | "core::panicking::panic_nounwind"
            | "core::option::expect_failed"
            | "core::result::unwrap_failed" => Self::Text,
            "core::panicking::panic_fmt"
            | "core::panicking::panic_nounwind_fmt"
            | "core::panicking::panic_nounwind_fmt::runtime" => Self::Format,
            _ => {
                let known = FIXED.iter().position(|(name, _)| *name == path);
                Self::Fixed(known.unwrap_or(FIXED.len() - 1).try_into().unwrap_or(u32::MAX))
            }
        }
    }

    /// Whether the function with this path is there to panic, and for nothing else.
    fn is_known(path: &str) -> bool {
        // Of one that shows a value the code counts, too: it says which.
        path.starts_with("core::panicking::") && path != "core::panicking::panic_display"
            || path.starts_with("std::panicking::")
            || Self::of(path) != Self::of("")
    }

    /// The number that stands for it in the call.
    fn number(self) -> u32 {
        match self {
            Self::Text => 0,
            Self::Format => 1,
            Self::Fixed(index) => index + 2,
            Self::Compared(assertion) => assertion.number(),
        }
    }

    /// The shape with this number.
    pub(crate) fn from_number(number: u64) -> Self {
        match number {
            0 => Self::Text,
            1 => Self::Format,
            other => {
                let number = u32::try_from(other).unwrap_or(u32::MAX);
                Assertion::from_number(number).map_or(Self::Fixed(number - 2), Self::Compared)
            }
        }
    }

    /// The text of a fixed shape.
    pub(crate) fn fixed_text(index: u32) -> &'static str {
        FIXED.get(index as usize).map_or("the kernel panicked", |fixed| fixed.1)
    }
}

/// Runs the pass.
pub(crate) fn run(ir: &mut Ir) {
    let shapes = panic_functions(ir);
    let sides = assertions::sides(ir);
    for function in ir.functions_mut() {
        let mut lines = Vec::with_capacity(function.lines.len());
        for line in std::mem::take(&mut function.lines) {
            match replacement(&line, &shapes, &sides, lines.len()) {
                Some(replacement) => lines.extend(replacement),
                None => lines.push(line),
            }
        }
        function.lines = lines;
    }
    if ir.find(PANIC).is_none() {
        ir.items.push(Item {
            kind: Kind::Declaration,
            name: PANIC.into(),
            lines: vec![DECLARATION.into()],
        });
    }
}

/// The functions that never return and do nothing but panic, as far as the standard library has them, and traps.
fn panic_functions(ir: &Ir) -> HashMap<String, Shape> {
    let noreturn: HashSet<&str> = ir
        .items
        .iter()
        .filter(|item| item.kind == Kind::Attributes)
        .filter(|item| tokens(&item.lines[0]).any(|token| token.1 == "noreturn"))
        .map(|item| item.name.as_str())
        .collect();
    let mut shapes = HashMap::new();
    for item in &ir.items {
        if !matches!(item.kind, Kind::Declaration | Kind::Function) {
            continue;
        }
        let name = item.name.trim_start_matches('@');
        let ends = tokens(&item.lines[0])
            .any(|(_, token)| noreturn.contains(token) || token == "noreturn");
        if matches!(name, "llvm.trap" | "llvm.ubsantrap" | "abort") {
            shapes.insert(item.name.clone(), Shape::of("abort"));
        } else if ends && names::is_of_std(name) {
            let path = names::path_of(name);
            // Of another one the code counts, which ends in one of these: it may call what is the user's. If it is not here,
            // it comes from the crate that has this instance, or from `core` itself, or is what only a host can do.
            let counts = item.kind == Kind::Function
                || names::is_generic_of_core(name)
                || names::crate_of(name).is_some_and(|name| name == "std");
            if !counts || Shape::is_known(&path) {
                shapes.insert(item.name.clone(), Shape::of(&path));
            }
        }
    }
    shapes
}

/// What takes a line's place, if that panics; `number` is one that no other line of its function has.
fn replacement(
    line: &str,
    shapes: &HashMap<String, Shape>,
    sides: &Sides,
    number: usize,
) -> Option<Vec<String>> {
    if !line.contains("call ") {
        return None;
    }
    let call = Call::parse(line)?;
    let shape = *shapes.get(call.callee)?;
    let debug = call.after.find("!dbg").map_or("", |at| &call.after[at..]);
    let comma = if debug.is_empty() { "" } else { ", " };
    let debug = format!("{comma}{debug}");
    if let Some(assertion) = assertions::replacement(&call, sides, &debug, number) {
        return Some(assertion);
    }
    let pointers = |index: usize| pointer(call.arguments.get(index)?);
    let place = call.arguments.len().checked_sub(1).and_then(pointers).unwrap_or("null");
    let (mut text, mut arguments) = ("null", "null");
    let mut numbers = ["0"; 2];
    match shape {
        Shape::Text => {
            text = pointers(0).unwrap_or("null");
            numbers[0] = call.value(1).unwrap_or("0");
        }
        Shape::Format => {
            text = pointers(0).unwrap_or("null");
            arguments = pointers(1).unwrap_or("null");
        }
        Shape::Fixed(_) | Shape::Compared(_) => {
            let values = call.arguments.iter().filter(|argument| argument.starts_with("i64"));
            for (number, argument) in numbers.iter_mut().zip(values) {
                *number = value_of(argument).unwrap_or("0");
            }
        }
    }
    Some(vec![format!(
        "  call void {PANIC}(i32 {}, ptr {place}, ptr {text}, ptr {arguments}, i64 {}, i64 {}){debug}",
        shape.number(),
        numbers[0],
        numbers[1],
    )])
}

/// The value of an argument that is a pointer.
pub(super) fn pointer(argument: &str) -> Option<&str> {
    let value = || value_of(argument).or_else(|| number_as_pointer(argument));
    argument.starts_with("ptr").then(value).flatten()
}

/// A plain text's length is handed over as a pointer that is a number: `inttoptr (i64 57 to ptr)`.
fn number_as_pointer(argument: &str) -> Option<&str> {
    argument.find("inttoptr (").map(|at| &argument[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bounds_check_keeps_its_numbers_and_its_place() {
        let mut ir = Ir::parse(
            "define void @f(i64 %i) {\n  call void @_RNvNtCsgEmfK2I1SDS_4core9panicking18panic_bounds_check(i64 %i, i64 4, ptr align 8 @p) #1, !dbg !3\n  unreachable\n}\n\
             declare void @_RNvNtCsgEmfK2I1SDS_4core9panicking18panic_bounds_check(i64, i64, ptr) #1\n\
             attributes #1 = { noreturn }\n",
        );
        run(&mut ir);
        assert_eq!(
            ir.find("@f").unwrap().lines[1],
            "  call void @__crosscut_panic(i32 2, ptr @p, ptr null, ptr null, i64 %i, i64 4), !dbg !3"
        );
    }

    #[test]
    fn the_length_of_a_plain_text_is_kept() {
        let mut ir = Ir::parse(
            "define void @f() {\n  call void @_RNvNtCsgEmfK2I1SDS_4core9panicking9panic_fmt(ptr @t, ptr nonnull inttoptr (i64 57 to ptr), ptr align 8 @p)\n  unreachable\n}\n\
             declare void @_RNvNtCsgEmfK2I1SDS_4core9panicking9panic_fmt(ptr, ptr, ptr) #1\n\
             attributes #1 = { noreturn }\n",
        );
        run(&mut ir);
        assert_eq!(
            ir.find("@f").unwrap().lines[1],
            "  call void @__crosscut_panic(i32 1, ptr @p, ptr @t, ptr inttoptr (i64 57 to ptr), i64 0, i64 0)"
        );
    }

    #[test]
    fn a_method_of_the_user_on_a_type_of_core_keeps_what_it_does_before_it_panics() {
        let text = "define void @f() {\n  call void @_RNvXCsgbTIekHar5R_1pINtNtCsgEmfK2I1SDS_4core6option6OptionmENtB2_4Fail4fail() #1\n  unreachable\n}\n\
                    declare void @_RNvXCsgbTIekHar5R_1pINtNtCsgEmfK2I1SDS_4core6option6OptionmENtB2_4Fail4fail() #1\n\
                    define void @_RNvMNtCsgEmfK2I1SDS_4core6optionINtB2_6OptionmE6unwrapCsgbTIekHar5R_1p() #1 {\n  unreachable\n}\n\
                    attributes #1 = { noreturn }\n";
        let mut ir = Ir::parse(text);
        run(&mut ir);
        assert!(ir.print().starts_with(text), "{}", ir.print());
    }

    #[test]
    fn an_instance_of_another_crate_stays_as_it_may_call_what_is_the_users() {
        // <core::option::Option<u32>>::unwrap, as if it never returned.
        let name = "@_RNvMNtCsgEmfK2I1SDS_4core6optionINtB2_6OptionmE6unwrapCsgbTIekHar5R_1p";
        let text = format!(
            "define void @f() {{\n  call void {name}() #1\n  unreachable\n}}\n\
             declare void {name}() #1\nattributes #1 = {{ noreturn }}\n"
        );
        let mut ir = Ir::parse(&text);
        run(&mut ir);
        assert!(ir.print().starts_with(&text), "{}", ir.print());
    }

    #[test]
    fn a_function_of_the_user_that_never_returns_stays() {
        let text = "define void @f() {\n  call void @_RNvCsgbTIekHar5R_1p3die() #1\n  unreachable\n}\n\
                    declare void @_RNvCsgbTIekHar5R_1p3die() #1\nattributes #1 = { noreturn }\n";
        let mut ir = Ir::parse(text);
        run(&mut ir);
        assert!(ir.print().starts_with(text));
    }
}
