//! Replaces a zero extension of a truncation by a mask.
//!
//! LLVM's SPIR-V writer merges the two itself, and forgets the conversion between the first width and
//! the last if these differ.

use std::collections::HashMap;

use super::parse::{Form, bits, parse};
use super::suffixed;
use crate::ir::{Instruction, Item};

/// Runs the step on one function.
pub(super) fn run(function: &mut Item) {
    let mut sources: HashMap<String, (u32, String)> = HashMap::new();
    for instruction in function.instructions().filter(|instruction| instruction.opcode == "trunc") {
        if let (Some(result), Some(Form::Cast { from, value, .. })) =
            (instruction.result, parse(&instruction))
            && let Some(width) = bits(from)
        {
            sources.insert(result.to_owned(), (width, value.to_owned()));
        }
    }
    let lines = std::mem::take(&mut function.lines);
    for line in lines {
        match replacement(&line, &sources) {
            Some(replacement) => function.lines.extend(replacement),
            None => function.lines.push(line),
        }
    }
}

fn replacement(line: &str, sources: &HashMap<String, (u32, String)>) -> Option<Vec<String>> {
    let instruction = Instruction::parse(line).filter(|found| found.opcode == "zext")?;
    let Form::Cast { from, value, to } = parse(&instruction)? else { return None };
    let (kept, wanted) = (bits(from)?, bits(to)?);
    let first = sources.get(value)?;
    let (mut width, mut source) = (first.0, &first.1);
    let mut narrowest = kept;
    while let Some((wider, before)) = sources.get(source) {
        narrowest = narrowest.min(width);
        (width, source) = (*wider, before);
    }
    let result = instruction.result?;
    let between = suffixed(result, ".cc");
    let mask = (1u64 << narrowest) - 1;
    Some(match width.cmp(&wanted) {
        std::cmp::Ordering::Equal => vec![format!("  {result} = and {to} {source}, {mask}")],
        order => {
            let cast = if order.is_gt() { "trunc" } else { "zext" };
            vec![
                format!("  {between} = {cast} i{width} {source} to {to}"),
                format!("  {result} = and {to} {between}, {mask}"),
            ]
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Ir;

    #[test]
    fn a_truncated_product_is_masked() {
        let mut ir = Ir::parse(
            "define void @k(i64 %w) {\n  %t = trunc i64 %w to i8\n  %z = zext i8 %t to i16\n  ret void\n}\n",
        );
        run(&mut ir.items[0]);
        assert_eq!(
            ir.items[0].lines[2..4],
            ["  %z.cc = trunc i64 %w to i16", "  %z = and i16 %z.cc, 255"]
        );
    }
}
