//! Gives integer divisions a divisor that is never zero.
//!
//! Expects a kernel as it is to be written. A division by zero is behind a branch there, or the program
//! has no meaning. But a driver that runs both ways of a branch for a vector of items divides in all of
//! them, and Intel's then takes the divisor for non-zero, the check before included.
//! Leaves divisors that are 1 where they would be 0, told so that nobody sees through it.
//!
//! `%q = udiv i32 %a, %b` becomes `%q.divisor = call i32 @llvm.umax.i32(i32 %b, i32 1)` and
//! `%q = udiv i32 %a, %q.divisor`.

use std::collections::BTreeSet;

use super::suffixed;
use crate::ir::{Instruction, Ir, Item, Kind};

/// Runs the pass.
pub(crate) fn run(ir: &mut Ir) {
    let mut kinds: BTreeSet<String> = BTreeSet::new();
    for function in ir.functions_mut() {
        let mut lines = Vec::with_capacity(function.lines.len());
        for line in function.lines.drain(..) {
            match guarded(&line) {
                Some((kind, replacement)) => {
                    kinds.insert(kind);
                    lines.extend(replacement);
                }
                None => lines.push(line),
            }
        }
        function.lines = lines;
    }
    for kind in kinds {
        let name = format!("@llvm.umax.{kind}");
        if ir.find(&name).is_none() {
            let lines = vec![format!("declare {kind} {name}({kind}, {kind})")];
            ir.items.push(Item { kind: Kind::Declaration, name, lines });
        }
    }
}

/// The type of a division by a value, and the lines that take its place.
fn guarded(line: &str) -> Option<(String, [String; 2])> {
    let instruction = Instruction::parse(line)?;
    if !matches!(instruction.opcode, "udiv" | "urem" | "sdiv" | "srem") {
        return None;
    }
    let result = instruction.result?;
    // The operands stand last, and metadata does not stand on divisions.
    let (rest, divisor) = instruction.text.rsplit_once(", ")?;
    let (_, operation) = rest.split_once(" = ")?;
    let mut words = operation.split_whitespace().skip(1);
    let kind = words.find(|word| *word != "exact")?;
    let is_integer = matches!(kind, "i8" | "i16" | "i32" | "i64");
    if !is_integer || !divisor.starts_with('%') {
        return None;
    }
    let safe = suffixed(result, ".divisor");
    let lines = [
        format!("  {safe} = call {kind} @llvm.umax.{kind}({kind} {divisor}, {kind} 1)"),
        format!("  {rest}, {safe}"),
    ];
    Some((kind.to_owned(), lines))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_divisor_that_may_be_zero_is_one_then() {
        let mut ir = Ir::parse(
            "define void @k(i32 %a, i32 %b) {\n  %q = udiv exact i32 %a, %b\n  %r = srem i32 %a, 7\n  ret void\n}\n",
        );
        run(&mut ir);
        assert_eq!(
            ir.print(),
            "define void @k(i32 %a, i32 %b) {\n\
             \x20 %q.divisor = call i32 @llvm.umax.i32(i32 %b, i32 1)\n\
             \x20 %q = udiv exact i32 %a, %q.divisor\n\
             \x20 %r = srem i32 %a, 7\n  ret void\n}\n\
             declare i32 @llvm.umax.i32(i32, i32)\n"
        );
    }
}
