//! Replaces what devices do not take by what they do.
//!
//! Expects an optimised kernel in device form.
//! Leaves calls of [`library`](super::library) functions for what the SPIR-V writer or drivers lack,
//! OpenCL's names for the math functions of C, and atomics of device scope.
//!
//! `call { i32, i1 } @llvm.smul.with.overflow.i32(i32 %a, i32 %b)` becomes
//! `call { i32, i1 } @__crosscut_smul.with.overflow.i32(i32 %a, i32 %b)`.

use std::collections::{HashMap, HashSet};

use super::{library, memory_scopes, narrow};
use crate::ir::{Call, Instruction, Ir, Item, Kind, replace_tokens, split_at_commas, tokens};

/// Intrinsics that are there only for the optimiser, or for the host's CPU to wait in comfort.
pub(crate) const DROPPED: &[&str] = &[
    "@llvm.lifetime.start",
    "@llvm.lifetime.end",
    "@llvm.assume",
    "@llvm.experimental.noalias.scope.decl",
    "@llvm.invariant.start",
    "@llvm.invariant.end",
    "@llvm.donothing",
    "@llvm.prefetch",
    "@llvm.x86.sse2.pause",
];

/// Runs the pass.
pub(crate) fn run(ir: &mut Ir) {
    for function in ir.functions_mut() {
        let mut lines = Vec::with_capacity(function.lines.len());
        for line in &function.lines {
            if let Some(line) = legalise(line) {
                lines.push(line);
            }
        }
        function.lines = lines;
    }
    for item in &mut ir.items {
        if item.kind == Kind::Attributes {
            // The optimiser adds it to what it takes for C's functions; the SPIR-V writer then takes a
            // call of one for a call through a pointer.
            item.lines[0] = replace_tokens(&item.lines[0], |token| {
                (token == "nonlazybind").then(|| "nounwind".to_owned())
            });
        }
        // Local memory has no first value.
        if item.kind == Kind::Variable && !item.lines[0].contains(" addrspace(3) ") {
            // Padding: the SPIR-V writer stops at a constant that leaves part of itself open.
            item.lines[0] = replace_tokens(&item.lines[0], |token| {
                matches!(token, "undef" | "poison").then(|| "zeroinitializer".to_owned())
            });
        }
        if item.kind == Kind::Declaration
            && let Some(name) = renamed(&item.name)
        {
            item.lines[0] =
                replace_tokens(&item.lines[0], |token| (token == item.name).then(|| name.clone()));
            item.name = name;
        }
    }
    link_library(ir);
}

fn legalise(line: &str) -> Option<String> {
    let Some(instruction) = Instruction::parse(line) else { return Some(line.to_owned()) };
    match instruction.opcode {
        "call" => {
            let call = Call::parse(line)?;
            if DROPPED.iter().any(|dropped| call.callee.starts_with(dropped)) {
                return None;
            }
            Some(replace_tokens(line, renamed))
        }
        "atomicrmw" | "cmpxchg" | "fence" => Some(atomic(line, &instruction)),
        "load" | "store" if line.contains(" atomic ") => Some(atomic(line, &instruction)),
        "freeze" => Some(freeze(line, &instruction)),
        "udiv" | "urem" | "sdiv" | "srem" | "uitofp" | "sitofp" | "fptoui" | "fptosi"
            if tokens(line).any(|token| token.1 == "i128") =>
        {
            Some(wide(&instruction).unwrap_or_else(|| line.to_owned()))
        }
        "sitofp" => Some(signed_bit(&instruction).unwrap_or_else(|| line.to_owned())),
        _ => Some(line.to_owned()),
    }
}

/// A bit as a number with a sign is 0 or -1, of which the SPIR-V writer makes 0 or 1.
fn signed_bit(instruction: &Instruction<'_>) -> Option<String> {
    let (operand, to) = instruction.rest().split_once(" to ")?;
    let (from, bit) = operand.rsplit_once(' ')?;
    let to = split_at_commas(to).first()?.trim();
    let minus_one = if from == "i1" {
        "-1.000000e+00".to_owned()
    } else {
        let (count, kind) = to.strip_prefix('<')?.strip_suffix('>')?.split_once(" x ")?;
        let element = format!("{kind} -1.000000e+00");
        if from != format!("<{count} x i1>") {
            return None;
        }
        format!("<{}>", vec![element; count.parse().ok()?].join(", "))
    };
    let result = instruction.result?;
    Some(format!("  {result} = select {from} {bit}, {to} {minus_one}, {to} zeroinitializer"))
}

/// A constant that contains its own address, directly or through others: SPIR-V has no way to write
/// one.
pub(crate) fn self_reference(ir: &Ir) -> Option<&str> {
    let variables: HashMap<&str, &Item> = ir
        .items
        .iter()
        .filter(|item| item.kind == Kind::Variable)
        .map(|item| (item.name.as_str(), item))
        .collect();
    variables.keys().copied().find(|&name| {
        let (mut seen, mut queue) = (HashSet::new(), vec![name]);
        while let Some(next) = queue.pop() {
            let mentioned = variables[next].lines[0].as_str();
            for (_, token) in tokens(mentioned).skip(1) {
                if token == name {
                    return true;
                }
                if variables.contains_key(token) && seen.insert(token) {
                    queue.push(token);
                }
            }
        }
        false
    })
}

/// The name of the function that stands in for a symbol.
fn renamed(symbol: &str) -> Option<String> {
    let name = symbol.strip_prefix('@')?;
    if let Some(intrinsic) = name.strip_prefix("llvm.") {
        let replacement = format!("__crosscut_{intrinsic}");
        return library::definition(&replacement).map(|_| format!("@{replacement}"));
    }
    if let Some(math) = library::math_function(name) {
        return Some(format!("@{math}"));
    }
    let replacement = format!("__crosscut_{name}");
    library::definition(&replacement).map(|_| format!("@{replacement}"))
}

/// An atomic with device scope; one of 8 or 16 bits as a call.
fn atomic(line: &str, instruction: &Instruction<'_>) -> String {
    if let Some(call) = narrow::call(instruction) {
        return call;
    }
    memory_scopes::scoped(line, memory_scopes::unasked(line))
}

/// A 128-bit operation that is too long to be split in place, as a call.
fn wide(instruction: &Instruction<'_>) -> Option<String> {
    let (result, opcode) = (instruction.result?, instruction.opcode);
    let pieces = split_at_commas(instruction.text);
    let words: Vec<&str> = tokens(pieces.first()?).map(|token| token.1).collect();
    if opcode.ends_with("div") || opcode.ends_with("rem") {
        let (a, b) = (words.last()?, pieces.get(1)?);
        return Some(format!(
            "  {result} = call i128 @__crosscut_{opcode}.i128(i128 {a}, i128 {b})"
        ));
    }
    let at = words.iter().position(|&word| word == "to")?;
    let (from, value, to) = (words.get(at - 2)?, words.get(at - 1)?, words.get(at + 1)?);
    let float = if opcode.ends_with("fp") { to } else { from };
    let kind = match *float {
        "float" => "f32",
        "double" => "f64",
        _ => return None,
    };
    Some(if opcode.ends_with("fp") {
        format!("  {result} = call {to} @__crosscut_{opcode}.{kind}(i128 {value})")
    } else {
        format!("  {result} = call i128 @__crosscut_{opcode}.sat.i128.{kind}({from} {value})")
    })
}

/// A freeze of nothing in particular is any value; the SPIR-V writer stops at it.
fn freeze(line: &str, instruction: &Instruction<'_>) -> String {
    let text = instruction.text;
    let words: Vec<&str> = tokens(text).map(|token| token.1).collect();
    if !matches!(words.last(), Some(&("poison" | "undef"))) {
        return line.to_owned();
    }
    let kind = text.split_once("freeze ").map_or("", |split| split.1);
    let kind = kind.trim_end_matches("poison").trim_end_matches("undef").trim();
    let result = instruction.result.unwrap_or("%cc.unused");
    format!("  {result} = select i1 true, {kind} zeroinitializer, {kind} zeroinitializer")
}

/// Adds the definitions of the library functions that are called, and of those that they call.
fn link_library(ir: &mut Ir) {
    loop {
        let mut wanted: Vec<String> = ir
            .functions()
            .flat_map(|function| function.calls())
            .map(|call| call.callee.to_owned())
            .filter(|callee| {
                !ir.items.iter().any(|item| item.kind == Kind::Function && item.name == *callee)
            })
            .filter(|callee| library::definition(callee.trim_start_matches('@')).is_some())
            .collect();
        wanted.sort();
        wanted.dedup();
        if wanted.is_empty() {
            return;
        }
        for symbol in wanted {
            let text = library::definition(symbol.trim_start_matches('@')).unwrap_or_default();
            ir.items.retain(|item| item.name != symbol);
            for item in Ir::parse(&text).items {
                let known = ir.items.iter().any(|known: &Item| known.name == item.name);
                if !known {
                    ir.items.push(item);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_of_c_lose_what_makes_them_pointers() {
        let mut ir = Ir::parse(
            "declare double @sinh(double) #0\nattributes #0 = { willreturn nonlazybind }\n",
        );
        run(&mut ir);
        assert_eq!(
            ir.print(),
            "declare double @_Z4sinhd(double) #0\nattributes #0 = { willreturn nounwind }\n"
        );
    }

    #[test]
    fn padding_of_constants_is_zero() {
        let mut ir = Ir::parse("@c = constant <{ i8, [7 x i8] }> <{ i8 1, [7 x i8] undef }>\n");
        run(&mut ir);
        assert_eq!(
            ir.print(),
            "@c = constant <{ i8, [7 x i8] }> <{ i8 1, [7 x i8] zeroinitializer }>\n"
        );
    }

    #[test]
    fn a_constant_that_points_to_itself_is_found() {
        let chain = "@a = constant ptr @b\n@b = constant ptr @c\n@c = constant i8 1\n";
        assert_eq!(self_reference(&Ir::parse(chain)), None);
        let ring = "@a = constant ptr @b\n@b = constant ptr @b\n";
        assert_eq!(self_reference(&Ir::parse(ring)), Some("@b"));
    }

    #[test]
    fn a_bit_with_a_sign_is_minus_one() {
        let legal = |line: &str| legalise(line).unwrap();
        assert_eq!(
            legal("  %f = sitofp i1 %b to double, !dbg !3"),
            "  %f = select i1 %b, double -1.000000e+00, double zeroinitializer"
        );
        assert_eq!(
            legal("  %f = sitofp <2 x i1> %b to <2 x float>"),
            "  %f = select <2 x i1> %b, <2 x float> <float -1.000000e+00, float -1.000000e+00>, \
             <2 x float> zeroinitializer"
        );
        for other in ["  %f = sitofp i8 %i1 to float", "  %f = sitofp <2 x i8> %b to <2 x float>"] {
            assert_eq!(legal(other), other);
        }
    }

    #[test]
    fn only_a_type_makes_a_division_wide() {
        let narrow = "  %q.i128 = udiv i64 %a.i128, %b";
        assert_eq!(legalise(narrow).as_deref(), Some(narrow));
        assert_eq!(
            legalise("  %q = sdiv i128 %a, -3, !x !1").as_deref(),
            Some("  %q = call i128 @__crosscut_sdiv.i128(i128 %a, i128 -3)")
        );
        assert_eq!(
            legalise("  %f = uitofp nneg i128 %a to double").as_deref(),
            Some("  %f = call double @__crosscut_uitofp.f64(i128 %a)")
        );
    }
}
