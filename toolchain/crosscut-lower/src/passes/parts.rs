//! Gives each device global that is a part of a static a symbol of its own.
//!
//! A static may be a pair, a struct or an array of globals. The one that begins 8 bytes into `@PAIR`
//! is written `getelementptr inbounds (i8, ptr @PAIR, i64 8)`; here it becomes `@"PAIR+8"`, and
//! every later step knows a global by its symbol alone. The host's side finds `PAIR`, and adds the 8.
//!
//! A global with image scope stays as it is, and is refused: its first value would have to be cut out of
//! the static's.

use std::collections::{BTreeMap, BTreeSet};

use crosscut_image::{global_properties::IMAGE_SCOPE, hooks};

use super::globals::extent;
use crate::ir::{Call, Instruction, Ir, Item, Kind, tokens};

/// Renames the parts whose addresses reach an access hook, directly or by a choice.
pub(crate) fn run(ir: &mut Ir) {
    let statics: BTreeMap<String, (u64, u64)> = ir
        .items
        .iter()
        .filter(|item| item.kind == Kind::Variable)
        .filter_map(|item| Some((item.name.clone(), extent(item)?)))
        .collect();
    let mut parts = BTreeMap::new();
    for function in ir.functions_mut() {
        for number in lines_with_addresses(function) {
            let line = &mut function.lines[number];
            while let Some(changed) = with_first_part_named(line, &statics, &mut parts) {
                *line = changed;
            }
        }
    }
    for (name, (size, align)) in parts {
        if ir.find(&name).is_none() {
            let line = format!(
                "{name} = externally_initialized global [{size} x i8] zeroinitializer, align {align}"
            );
            let at = ir.items.iter().position(|item| item.kind == Kind::Variable).unwrap_or(0);
            ir.items.insert(at, Item { kind: Kind::Variable, name, lines: vec![line] });
        }
    }
}

/// The lines that say which global a hook is asked for: the hooks' own, and the choices before them.
fn lines_with_addresses(function: &Item) -> BTreeSet<usize> {
    let mut found = BTreeSet::new();
    let mut names: Vec<&str> = Vec::new();
    for (number, line) in function.lines.iter().enumerate().skip(1) {
        if !line.contains(hooks::GLOBAL_ADDRESS) {
            continue;
        }
        let Some(call) = Call::parse(line) else { continue };
        let own = call.callee.strip_prefix('@') == Some(hooks::GLOBAL_ADDRESS);
        if own && call.number(3).is_some_and(|properties| properties & IMAGE_SCOPE == 0) {
            found.insert(number);
            names.extend(call.value(0));
        }
    }
    while let Some(name) = names.pop() {
        let definition = function.lines.iter().enumerate().skip(1).find_map(|(number, line)| {
            let instruction = Instruction::parse(line)?;
            let chosen = matches!(instruction.opcode, "select" | "phi");
            (chosen && instruction.result == Some(name)).then_some((number, line))
        });
        if let Some((number, line)) = definition
            && found.insert(number)
        {
            names.extend(tokens(line).map(|token| token.1).filter(|token| token.starts_with('%')));
        }
    }
    found
}

/// The line with the first address inside a static replaced by a symbol, which is added to `parts` with the
/// bytes and the alignment that are left for it.
fn with_first_part_named(
    line: &str,
    statics: &BTreeMap<String, (u64, u64)>,
    parts: &mut BTreeMap<String, (u64, u64)>,
) -> Option<String> {
    let start = line.find("getelementptr ")?;
    let (_, rest) = line[start..].split_once("(i8, ptr ")?;
    let (name, rest) = rest.split_once(", i64 ")?;
    let (offset, rest) = rest.split_once(')')?;
    let offset: u64 = offset.parse().ok()?;
    let (size, align) = *statics.get(name)?;
    let left = size.checked_sub(offset).filter(|left| *left > 0)?;
    let plain = name.strip_prefix('@')?.trim_matches('"');
    let part = format!("@\"{plain}+{offset}\"");
    // The largest power of two that divides both.
    let align = 1 << (align | offset).trailing_zeros();
    let changed = format!("{}{part}{rest}", &line[..start]);
    parts.insert(part, (left, align));
    Some(changed)
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAIR: &str = "\
@PAIR = global [24 x i8] zeroinitializer, align 8
define void @k(i1 %c) {
  %s = select i1 %c, ptr @PAIR, ptr getelementptr inbounds nuw (i8, ptr @PAIR, i64 4)
  %f = call ptr @__crosscut_global_address(ptr %s, i64 4, i64 4, i64 6)
  %g = call ptr @__crosscut_global_address(ptr getelementptr inbounds (i8, ptr @PAIR, i64 8), i64 8, i64 8, i64 6)
  ret void
}
";

    #[test]
    fn parts_of_a_static_get_symbols_with_the_room_that_is_left() {
        let mut ir = Ir::parse(PAIR);
        run(&mut ir);
        let text = ir.print();
        assert!(text.contains("select i1 %c, ptr @PAIR, ptr @\"PAIR+4\"\n"), "{text}");
        assert!(text.contains("(ptr @\"PAIR+8\", i64 8, i64 8, i64 6)"), "{text}");
        assert!(text.contains("@\"PAIR+4\" = externally_initialized global [20 x i8]"), "{text}");
        assert!(text.contains("[16 x i8] zeroinitializer, align 8"), "{text}");
        assert!(!text.contains("getelementptr"), "{text}");
    }

    #[test]
    fn a_part_with_image_scope_or_beyond_the_end_stays_as_it_is() {
        for text in [PAIR.replace("i64 6", "i64 7"), PAIR.replace("[24 x i8]", "[4 x i8]")] {
            let mut ir = Ir::parse(&text);
            let before = ir.print();
            run(&mut ir);
            assert_eq!(ir.print(), before);
        }
    }
}
