//! Atomics that devices lack: those of 8 and 16 bits, and "not and".
//!
//! In global memory they become exchanges of the 32 bits around them. A variable of the item itself has no
//! such word around it that is its own, and nobody to share it with: there they are plain code.

use super::memory_scopes;
use crate::ir::{Instruction, pointer_space, split_at_commas, tokens};

/// The address space of an item's own variables.
const PRIVATE: &str = "0";
/// The address space of a work-group's memory.
const LOCAL: &str = "3";

/// An atomic of 8 or 16 bits as a call of the library; `None` for other widths.
pub(crate) fn call(instruction: &Instruction<'_>) -> Option<String> {
    let operands: Vec<&str> =
        split_at_commas(instruction.rest()).into_iter().map(without_order).collect();
    // The result, what is done, with which type, where, and with which values.
    let (result, operation, kind, pointer, values) = match (instruction.opcode, &*operands) {
        ("atomicrmw", [place, value, ..]) => {
            let place = place.strip_prefix("volatile ").unwrap_or(place);
            let (operation, pointer) = place.split_once(' ')?;
            let (kind, _) = value.split_once(' ')?;
            // SPIR-V has no "not and" of any width.
            let kind = if operation == "nand" { kind } else { width(kind)? };
            (instruction.result, operation, kind, pointer, vec![*value])
        }
        ("cmpxchg", [place, expected, new, ..]) => {
            let (kind, _) = expected.split_once(' ')?;
            let pointer = &place[place.find("ptr")?..];
            (instruction.result, "cmpxchg", width(kind)?, pointer, vec![*expected, *new])
        }
        ("load", [what, pointer, ..]) => {
            (instruction.result, "load", width(accessed(what)?)?, *pointer, vec![])
        }
        ("store", [what, pointer, ..]) => {
            let value = accessed(what)?;
            let (kind, _) = value.split_once(' ')?;
            (None, "store", width(kind)?, *pointer, vec![value])
        }
        _ => return None,
    };
    let returned = match operation {
        "store" => "void".to_owned(),
        "cmpxchg" => format!("{{ {kind}, i1 }}"),
        _ => kind.to_owned(),
    };
    let space = pointer_space(pointer)?;
    let strength = strength(instruction.text);
    let arguments = [vec![pointer], values].concat().join(", ");
    let result = result.map_or_else(String::new, |result| format!("{result} = "));
    Some(format!(
        "  {result}call {returned} @__crosscut_narrow.{operation}.{kind}.{space}.{strength}({arguments})"
    ))
}

/// An operand without the scope and the orders behind it. A pointer may be an expression: of the words in it
/// none is to be taken for the whole.
fn without_order(operand: &str) -> &str {
    let end = tokens(operand).find(|it| it.1 == "syncscope" || memory_scopes::is_order(it.1));
    end.map_or(operand, |(at, _)| operand[..at].trim_end())
}

/// What an atomic load or store is of: the type, and of a store the value.
fn accessed(what: &str) -> Option<&str> {
    let what = what.strip_prefix("atomic ")?;
    Some(what.strip_prefix("volatile ").unwrap_or(what))
}

/// How far an atomic reaches and what it orders, `device.monotonic`, as a part of a name.
fn strength(text: &str) -> String {
    let scope = text.split_once("syncscope(\"").and_then(|(_, rest)| rest.split_once('"'));
    let scope = scope.map_or_else(|| memory_scopes::unasked(text), |(scope, _)| scope);
    let has = |order| tokens(text).any(|token| token.1 == order);
    let order = if has("seq_cst") {
        "seq_cst"
    } else if has("acq_rel") || has("acquire") && has("release") {
        // A `cmpxchg` has two orders: of success and of failure.
        "acq_rel"
    } else if has("acquire") {
        "acquire"
    } else if has("release") {
        "release"
    } else {
        "monotonic"
    };
    format!("{scope}.{order}")
}

fn width(kind: &str) -> Option<&str> {
    matches!(kind, "i8" | "i16").then_some(kind)
}

/// An atomic of 8 or 16 bits, by exchange of the 32 bits around it. `rest` is
/// `operation.kind.space.scope.order`.
pub(crate) fn definition(rest: &str) -> Option<String> {
    let mut parts = rest.split('.');
    let (operation, kind, space) = (parts.next()?, parts.next()?, parts.next()?);
    let (scope, order) = (parts.next()?, parts.next()?);
    // What a read alone can have of the order.
    let read = match order {
        "acq_rel" => "acquire",
        "release" => "monotonic",
        order => order,
    };
    let bits: u32 = kind.strip_prefix('i')?.parse().ok()?;
    let pointer = format!("ptr addrspace({space})");
    if bits >= 32 {
        return (operation == "nand").then(|| nand(kind, &pointer, rest, [scope, order, read]));
    }
    if space == PRIVATE {
        return private(operation, kind, rest);
    }
    // Other bytes of the word may be those of other groups, whatever this one is; in the memory of a group, those of
    // its other sub-groups.
    let scope = match (space, scope) {
        (LOCAL, "subgroup") => "workgroup",
        (LOCAL, scope) => scope,
        (_, "subgroup" | "workgroup") => "device",
        (_, scope) => scope,
    };
    let mask = (1u64 << bits) - 1;
    let find = format!(
        "  %address = ptrtoint {pointer} %p to i64
  %low = and i64 %address, 3
  %minus = sub i64 0, %low
  %word = getelementptr i8, {pointer} %p, i64 %minus
  %bytes = trunc i64 %low to i32
  %shift = shl i32 %bytes, 3
  %mask = shl i32 {mask}, %shift
  %keep = xor i32 %mask, -1
"
    );
    let head = "head:
  %seen = phi i32 [ %start.word, %start ], [ %now, %try ]
  %down = lshr i32 %seen, %shift
  %old = trunc i32 %down to KIND
"
    .replace("KIND", kind);
    let swap = format!(
        "  %wide = zext {kind} %new to i32
  %up = shl i32 %wide, %shift
  %others = and i32 %seen, %keep
  %next = or i32 %others, %up
  %pair = cmpxchg {pointer} %word, i32 %seen, i32 %next syncscope(\"{scope}\") {order} {read}, align 4
  %now = extractvalue {{ i32, i1 }} %pair, 0
  %done = extractvalue {{ i32, i1 }} %pair, 1
"
    );
    let load = format!(
        "  %start.word = load atomic i32, {pointer} %word syncscope(\"{scope}\") {read}, align 4\n"
    );
    Some(match operation {
        "load" => format!(
            "define internal {kind} @__crosscut_narrow.{rest}({pointer} %p) alwaysinline {{
start:
{find}{load}  %down = lshr i32 %start.word, %shift
  %old = trunc i32 %down to {kind}
  ret {kind} %old
}}
"
        ),
        "cmpxchg" => format!(
            "define internal {{ {kind}, i1 }} @__crosscut_narrow.{rest}({pointer} %p, {kind} %expected, {kind} %new) alwaysinline {{
start:
{find}{load}  br label %head
{head}  %equal = icmp eq {kind} %old, %expected
  br i1 %equal, label %try, label %exit
try:
{swap}  br i1 %done, label %exit, label %head
exit:
  %r0 = insertvalue {{ {kind}, i1 }} poison, {kind} %old, 0
  %r1 = insertvalue {{ {kind}, i1 }} %r0, i1 %equal, 1
  ret {{ {kind}, i1 }} %r1
}}
"
        ),
        _ => {
            let compute = compute(operation, kind)?;
            let (returned, end) = returned(operation, kind);
            format!(
                "define internal {returned} @__crosscut_narrow.{rest}({pointer} %p, {kind} %value) alwaysinline {{
start:
{find}{load}  br label %head
{head}  br label %try
try:
{compute}{swap}  br i1 %done, label %exit, label %head
exit:
{end}}}
"
            )
        }
    })
}

/// "Not and" of whole words, by exchange.
fn nand(kind: &str, pointer: &str, rest: &str, [scope, order, read]: [&str; 3]) -> String {
    let align = if kind == "i64" { 8 } else { 4 };
    format!(
        "define internal {kind} @__crosscut_narrow.{rest}({pointer} %p, {kind} %value) alwaysinline {{
start:
  %first = load atomic {kind}, {pointer} %p syncscope(\"{scope}\") {read}, align {align}
  br label %try
try:
  %seen = phi {kind} [ %first, %start ], [ %now, %try ]
  %and = and {kind} %seen, %value
  %new = xor {kind} %and, -1
  %pair = cmpxchg {pointer} %p, {kind} %seen, {kind} %new syncscope(\"{scope}\") {order} {read}, align {align}
  %now = extractvalue {{ {kind}, i1 }} %pair, 0
  %done = extractvalue {{ {kind}, i1 }} %pair, 1
  br i1 %done, label %exit, label %try
exit:
  ret {kind} %seen
}}
"
    )
}

/// The new value of an operation that reads, changes and writes: `%new` from `%old` and `%value`.
fn compute(operation: &str, kind: &str) -> Option<String> {
    Some(match operation {
        "xchg" | "store" => format!("  %new = or {kind} %value, 0\n"),
        "add" | "sub" | "and" | "or" | "xor" => {
            format!("  %new = {operation} {kind} %old, %value\n")
        }
        "nand" => format!("  %and = and {kind} %old, %value\n  %new = xor {kind} %and, -1\n"),
        "max" | "min" | "umax" | "umin" => {
            let test = match operation {
                "max" => "sgt",
                "min" => "slt",
                "umax" => "ugt",
                _ => "ult",
            };
            format!(
                "  %test = icmp {test} {kind} %old, %value\n  \
                 %new = select i1 %test, {kind} %old, {kind} %value\n"
            )
        }
        _ => return None,
    })
}

/// The same in the item's own memory.
fn private(operation: &str, kind: &str, rest: &str) -> Option<String> {
    let load = format!("  %old = load {kind}, ptr %p\n");
    Some(match operation {
        "load" => format!(
            "define internal {kind} @__crosscut_narrow.{rest}(ptr %p) alwaysinline {{\n\
             {load}  ret {kind} %old\n}}\n"
        ),
        "cmpxchg" => format!(
            "define internal {{ {kind}, i1 }} @__crosscut_narrow.{rest}(ptr %p, {kind} %expected, {kind} %value) alwaysinline {{\n\
             {load}  %equal = icmp eq {kind} %old, %expected\n  \
             %new = select i1 %equal, {kind} %value, {kind} %old\n  store {kind} %new, ptr %p\n  \
             %r0 = insertvalue {{ {kind}, i1 }} poison, {kind} %old, 0\n  \
             %r1 = insertvalue {{ {kind}, i1 }} %r0, i1 %equal, 1\n  ret {{ {kind}, i1 }} %r1\n}}\n"
        ),
        _ => {
            let (returned, end) = returned(operation, kind);
            format!(
                "define internal {returned} @__crosscut_narrow.{rest}(ptr %p, {kind} %value) alwaysinline {{\n\
                 {load}{}  store {kind} %new, ptr %p\n{end}}}\n",
                compute(operation, kind)?
            )
        }
    })
}

/// What the function of an operation returns, and how it ends: with what was there before. A store returns nothing,
/// so that as many as there are need no names.
fn returned<'a>(operation: &str, kind: &'a str) -> (&'a str, String) {
    match operation {
        "store" => ("void", "  ret void\n".to_owned()),
        _ => (kind, format!("  ret {kind} %old\n")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nand_of_a_word_is_an_exchange() {
        assert!(definition("nand.i64.1.device.monotonic").unwrap().contains("cmpxchg"));
        assert_eq!(definition("add.i64.1.device.monotonic"), None);
    }

    #[test]
    fn a_byte_of_the_items_own_is_changed_in_place() {
        assert_eq!(
            definition("xor.i8.0.device.monotonic").unwrap(),
            "define internal i8 @__crosscut_narrow.xor.i8.0.device.monotonic(ptr %p, i8 %value) alwaysinline {\n  \
             %old = load i8, ptr %p\n  %new = xor i8 %old, %value\n  store i8 %new, ptr %p\n  \
             ret i8 %old\n}\n"
        );
        let shared = definition("add.i8.1.device.monotonic").unwrap();
        assert!(shared.contains("cmpxchg ptr addrspace(1)"));
    }

    #[test]
    fn an_element_of_a_variable_is_not_taken_for_the_first() {
        const PLACE: &str =
            "ptr addrspace(1) getelementptr inbounds nuw (i8, ptr addrspace(1) @F, i64 2)";
        for (line, wanted) in [
            (
                "store atomic i8 7, PLACE monotonic, align 1",
                "  call void @__crosscut_narrow.store.i8.1.device.monotonic(PLACE, i8 7)",
            ),
            (
                "%x = load atomic i16, PLACE syncscope(\"workgroup\") acquire, align 2",
                "  %x = call i16 @__crosscut_narrow.load.i16.1.workgroup.acquire(PLACE)",
            ),
            (
                "%x = atomicrmw umax PLACE, i8 %v seq_cst, align 1",
                "  %x = call i8 @__crosscut_narrow.umax.i8.1.device.seq_cst(PLACE, i8 %v)",
            ),
            (
                "%x = atomicrmw nand PLACE, i32 -1 release, align 4",
                "  %x = call i32 @__crosscut_narrow.nand.i32.1.device.release(PLACE, i32 -1)",
            ),
            (
                "%x = cmpxchg weak PLACE, i8 1, i8 %v acq_rel monotonic, align 1",
                "  %x = call { i8, i1 } @__crosscut_narrow.cmpxchg.i8.1.device.acq_rel(PLACE, i8 1, i8 %v)",
            ),
        ] {
            let line = line.replace("PLACE", PLACE);
            let found = call(&Instruction::parse(&line).unwrap());
            assert_eq!(found.as_deref(), Some(wanted.replace("PLACE", PLACE).as_str()));
        }
        let plain = format!("%x = load i8, {PLACE}, align 1");
        assert_eq!(call(&Instruction::parse(&plain).unwrap()), None);
    }

    #[test]
    fn an_exchange_reaches_as_far_and_orders_as_much_as_it_is_told() {
        let named = |line: &str| {
            let call = call(&Instruction::parse(line).unwrap()).unwrap();
            let name = call.split_once("narrow.").unwrap().1.split_once('(').unwrap().0.to_owned();
            (definition(&name).unwrap(), name)
        };
        let (text, name) = named(
            "  %a = atomicrmw add ptr addrspace(1) %p, i8 1 syncscope(\"system\") acq_rel, align 1",
        );
        assert_eq!(name, "add.i8.1.system.acq_rel");
        assert!(text.contains("i32 %next syncscope(\"system\") acq_rel acquire"), "{text}");
        let (text, name) = named(
            "  %b = cmpxchg ptr addrspace(3) %p, i16 1, i16 2 syncscope(\"workgroup\") release acquire, align 2",
        );
        assert_eq!(name, "cmpxchg.i16.3.workgroup.acq_rel");
        assert!(text.contains("%word syncscope(\"workgroup\") acquire"), "the group's own: {text}");
        let (text, _) = named(
            "  %b = atomicrmw or ptr addrspace(3) %p, i8 1 syncscope(\"subgroup\") monotonic, align 1",
        );
        assert!(text.contains("%word syncscope(\"workgroup\") monotonic"), "{text}");
        let (text, _) = named(
            "  %b = atomicrmw or ptr addrspace(1) %p, i8 1 syncscope(\"workgroup\") monotonic, align 1",
        );
        assert!(
            text.contains("%word syncscope(\"device\") monotonic"),
            "not only the group: {text}"
        );
        let (text, _) = named(
            "  %c = atomicrmw nand ptr addrspace(1) %p, i32 1 syncscope(\"workgroup\") monotonic, align 4",
        );
        assert!(text.contains("syncscope(\"workgroup\") monotonic monotonic"), "{text}");
        let (text, name) = named("  store atomic i8 1, ptr addrspace(1) %p release, align 1");
        assert_eq!(name, "store.i8.1.device.release");
        assert!(text.contains("%word syncscope(\"device\") monotonic"), "{text}");
    }
}
