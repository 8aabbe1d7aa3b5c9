//! Carries the values of a panic's text from `format_args!` to the panic, without memory and without
//! formatting code.
//!
//! Expects `core`'s `Argument::new_display`, `Argument::new_debug` and `Arguments::new` as rustc writes them.
//! Leaves arguments that hold a value itself and the number of its [`KINDS`], 0 where the host cannot
//! format it, and `Arguments` whose second pointer is a token that names the first two of them:
//! `%t = call ptr @__crosscut_panic_values(i64 %value, i64 3, i64 0, i64 0)`.
//! [`sites`](super::sites) looks for the token in the panic's operands. Nothing else can make sense of it:
//! who formats on the device calls by a pointer, and is refused for that.

use std::collections::HashMap;

use crate::ir::{Call, Ir, Item, Kind, tokens};
use crate::names;

/// The function whose results are tokens.
pub(crate) const VALUES: &str = "@__crosscut_panic_values";

/// A pure function, so that tokens die with the panics they are for, and no memory is kept for them.
const DECLARATION: &str = "declare noundef nonnull align 8 ptr @__crosscut_panic_values(i64, i64, i64, i64) \
    nounwind willreturn memory(none)";

/// The types whose values travel: their names, as a site's message says them too, and how to make 64 bits.
/// Floats go by their bits.
const KINDS: &[(&str, &str, &str)] = &[
    ("i8", "i8", "sext"),
    ("i16", "i16", "sext"),
    ("i32", "i32", "sext"),
    ("i64", "i64", ""),
    ("isize", "i64", ""),
    ("u8", "i8", "zext"),
    ("u16", "i16", "zext"),
    ("u32", "i32", "zext"),
    ("u64", "i64", ""),
    ("usize", "i64", ""),
    ("bool", "i8", "zext"),
    ("char", "i32", "zext"),
    ("f32", "i32", "zext"),
    ("f64", "i64", ""),
];

/// Added to the number of a kind for `{:?}`.
const DEBUG: u32 = 32;

/// A value in a panic's text: its kind, as a site's message says it, and its operand.
pub(crate) struct Value<'a> {
    pub(crate) kind: String,
    pub(crate) operand: &'a str,
}

/// Runs the pass.
pub(crate) fn run(ir: &mut Ir) {
    let mut found = false;
    let counts = counts(ir);
    for function in ir.functions_mut() {
        if !function.name.contains("4core3fmt") {
            continue;
        }
        let name = names::display(&names::symbol(&function.name));
        let is_argument = ["<core::fmt::rt::Argument>::new_", "core::fmt::rt::Argument::new_"]
            .iter()
            .any(|prefix| name.starts_with(prefix));
        if is_argument {
            hold_value(function);
        } else if let Some(&count) = counts.get(&function.name) {
            found |= name_values(function, count).is_some();
        }
    }
    if found && ir.find(VALUES).is_none() {
        ir.items.push(Item {
            kind: Kind::Declaration,
            name: VALUES.into(),
            lines: vec![DECLARATION.into()],
        });
    }
}

/// The two values of a token, `None` for one that the host cannot format.
pub(crate) fn values<'a>(lines: &'a [String], token: &str) -> [Option<Value<'a>>; 2] {
    let call = lines
        .iter()
        .filter(|line| line.contains(VALUES))
        .filter_map(|line| Call::parse(line))
        .find(|call| call.result == Some(token));
    [0, 2].map(|index| {
        let call = call.as_ref()?;
        Some(Value { kind: kind(call.number(index + 1)?)?, operand: call.value(index)? })
    })
}

/// The kind with this number, as a site's message says it: `i16`, or `i16?` for `{:?}`.
pub(crate) fn kind(number: u64) -> Option<String> {
    let index = usize::try_from(number % u64::from(DEBUG)).ok()?.checked_sub(1)?;
    let debug = if number >= DEBUG.into() { "?" } else { "" };
    Some(format!("{}{debug}", KINDS.get(index)?.0))
}

/// Makes of tokens, which have been read, pointers that nobody reads.
pub(crate) fn forget(lines: &mut [String]) {
    for line in lines.iter_mut().filter(|line| line.contains(VALUES)) {
        let forgotten = Call::parse(line)
            .filter(|call| call.callee == VALUES)
            .and_then(|call| Some(format!("  {} = inttoptr i64 8 to ptr", call.result?)));
        if let Some(forgotten) = forgotten {
            *line = forgotten;
        }
    }
}

/// The type and the trait of the formatting function that an argument is made with.
fn formatted(function: &Item) -> Option<(String, bool)> {
    let mentioned = function.lines[1..].iter().filter(|line| line.contains("store ptr @"));
    let mut names = mentioned.flat_map(|line| tokens(line).map(|token| token.1));
    let name = names.find(|token| token.starts_with('@'))?;
    let name = names::display(&names::symbol(name));
    let (rest, is_debug) = match name.strip_suffix(">::fmt") {
        Some(rest) => (rest, rest.contains("core::fmt::Debug")),
        None => return None,
    };
    let new_form = [" as core::fmt::Display", " as core::fmt::Debug"]
        .iter()
        .find_map(|end| rest.strip_suffix(end)?.strip_prefix('<'));
    let old_form = || {
        ["<impl core::fmt::Display for ", "<impl core::fmt::Debug for "]
            .iter()
            .find_map(|begin| Some(rest.split_once(begin)?.1))
    };
    Some((new_form.or_else(old_form)?.to_owned(), is_debug))
}

/// A value that is there to be recorded: the number of its kind, 0 if there is none, and its 64 bits.
pub(crate) struct Loaded {
    pub(crate) kind: u32,
    pub(crate) operand: String,
}

/// Adds to `lines` what loads a value of this type, or what references of that type lead to.
pub(crate) fn load(
    ty: &str,
    is_debug: bool,
    address: &str,
    prefix: &str,
    lines: &mut Vec<String>,
) -> Loaded {
    let plain = ty.trim_start_matches('&');
    let known = KINDS.iter().zip(1..).find(|(known, _)| known.0 == plain);
    let Some(((_, bits, widen), number)) = known else {
        return Loaded { kind: 0, operand: "0".to_owned() };
    };
    let mut address = address.to_owned();
    for depth in 0..ty.len() - plain.len() {
        lines.push(format!("  {prefix}.at{depth} = load ptr, ptr {address}, align 8"));
        address = format!("{prefix}.at{depth}");
    }
    lines.push(format!("  {prefix}.value = load {bits}, ptr {address}"));
    let mut operand = format!("{prefix}.value");
    if !widen.is_empty() {
        lines.push(format!("  {prefix}.wide = {widen} {bits} {operand} to i64"));
        operand = format!("{prefix}.wide");
    }
    Loaded { kind: number + if is_debug { DEBUG } else { 0 }, operand }
}

/// `new_display::<T>(result, &value)`: the result becomes the value and its kind.
fn hold_value(function: &mut Item) -> Option<()> {
    let [result, value] = parameters(&function.lines[0]).try_into().ok()?;
    let (ty, is_debug) = formatted(function).unwrap_or_default();
    let mut body = vec!["start:".to_owned()];
    let Loaded { kind, operand } = load(&ty, is_debug, &value, "%cc", &mut body);
    body.push(format!("  store i64 {operand}, ptr {result}, align 8"));
    body.push(format!("  %cc.kind = getelementptr inbounds i8, ptr {result}, i64 8"));
    body.push(format!("  store i64 {kind}, ptr %cc.kind, align 8"));
    body.push("  ret void".to_owned());
    replace_body(function, body);
    Some(())
}

/// How many arguments each form of `Arguments::new::<BYTES, COUNT>` takes. Symbols of the old form, which
/// `core` itself has, do not say so; there the name in the debug information does.
fn counts(ir: &Ir) -> HashMap<String, usize> {
    let is_new = |name: &str| {
        name.starts_with("<core::fmt::Arguments>::new::<") || name == "core::fmt::Arguments::new"
    };
    let functions = ir.functions().filter(|function| function.name.contains("4core3fmt"));
    functions
        .filter_map(|function| {
            let mut name = names::display(&names::symbol(&function.name));
            if !is_new(&name) {
                return None;
            }
            if !name.ends_with('>') {
                name = debug_name(ir, function)?;
            }
            let count = name.strip_suffix('>')?.rsplit_once(", ")?.1.parse().ok()?;
            (count > 0).then(|| (function.name.clone(), count))
        })
        .collect()
}

/// What the debug information calls a function: `new<8, 2>`.
pub(super) fn debug_name(ir: &Ir, function: &Item) -> Option<String> {
    let described = function.lines.first()?.split_once("!dbg ")?.1.split([' ', ',']).next()?;
    let line = ir.find(described)?.lines.first()?;
    let name = line.split_once("name: \"")?.1.split_once('"')?.0;
    Some(name.to_owned())
}

/// `Arguments::new::<BYTES, COUNT>(template, arguments)`: the arguments become a token.
fn name_values(function: &mut Item, count: usize) -> Option<()> {
    let [template, arguments] = parameters(&function.lines[0]).try_into().ok()?;
    let mut body = vec!["start:".to_owned()];
    let mut operands = ["i64 0".to_owned(), "i64 0".into(), "i64 0".into(), "i64 0".into()];
    for (word, operand) in operands.iter_mut().enumerate().take(count * 2) {
        body.push(format!(
            "  %cc.at{word} = getelementptr inbounds i8, ptr {arguments}, i64 {}",
            word * 8
        ));
        body.push(format!("  %cc.word{word} = load i64, ptr %cc.at{word}, align 8"));
        *operand = format!("i64 %cc.word{word}");
    }
    body.push(format!("  %cc.token = call ptr {VALUES}({})", operands.join(", ")));
    body.push(format!("  %cc.half = insertvalue {{ ptr, ptr }} poison, ptr {template}, 0"));
    body.push("  %cc.whole = insertvalue { ptr, ptr } %cc.half, ptr %cc.token, 1".to_owned());
    body.push("  ret { ptr, ptr } %cc.whole".to_owned());
    replace_body(function, body);
    Some(())
}

fn replace_body(function: &mut Item, body: Vec<String>) {
    function.lines.truncate(1);
    function.lines.extend(body);
    function.lines.push("}".to_owned());
}

/// The names of a function's parameters.
fn parameters(head: &str) -> Vec<String> {
    let names = tokens(head).map(|token| token.1).filter(|token| token.starts_with('%'));
    names.map(str::to_owned).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEW_DISPLAY: &str =
        "@_RINvMNtNtCsgEmfK2I1SDS_4core3fmt2rtNtB3_8Argument11new_displaysECs4Q2Qx8jI5j6_1a";

    #[test]
    fn an_argument_holds_its_value_and_its_kind() {
        let mut ir = Ir::parse(&format!(
            "define void {NEW_DISPLAY}(ptr sret([16 x i8]) align 8 %_0, ptr align 2 %x) {{\nstart:\n  store ptr @_RNvXs4_NtNtNtCsgEmfK2I1SDS_4core3fmt3num3impsNtB9_7Display3fmt, ptr %_0\n  ret void\n}}\n"
        ));
        run(&mut ir);
        assert_eq!(
            ir.find(NEW_DISPLAY).unwrap().lines[1..],
            [
                "start:",
                "  %cc.value = load i16, ptr %x",
                "  %cc.wide = sext i16 %cc.value to i64",
                "  store i64 %cc.wide, ptr %_0, align 8",
                "  %cc.kind = getelementptr inbounds i8, ptr %_0, i64 8",
                "  store i64 2, ptr %cc.kind, align 8",
                "  ret void",
                "}",
            ]
        );
    }

    #[test]
    fn a_token_tells_values_and_kinds() {
        let mut lines =
            ["  %t = call ptr @__crosscut_panic_values(i64 %v, i64 44, i64 7, i64 0)".to_owned()];
        let [first, second] = values(&lines, "%t");
        assert!(second.is_none());
        let first = first.map(|value| (value.kind, value.operand));
        assert_eq!(first, Some(("char?".to_owned(), "%v")));
        forget(&mut lines);
        assert_eq!(lines[0], "  %t = inttoptr i64 8 to ptr");
    }
}
