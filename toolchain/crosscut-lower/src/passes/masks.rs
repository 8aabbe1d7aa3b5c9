//! Packs vectors of single bits into integers.
//!
//! Expects a kernel in device form. `core` searches text sixteen bytes at a time, and asks for the answers
//! as one number; SPIR-V's booleans have no bits that could be taken for one.
//! Leaves the number put together bit by bit, the first element lowest.
//!
//! `%m = bitcast <2 x i1> %v to i2` becomes extractions, shifts and `%m = or i2 %m.1, %m.2`.

use super::suffixed;
use crate::ir::{Instruction, Ir, tokens};

/// Runs the pass.
pub(crate) fn run(ir: &mut Ir) {
    for function in ir.functions_mut() {
        let mut lines = Vec::with_capacity(function.lines.len());
        let mut stores = 0;
        for line in function.lines.drain(..) {
            match packed(&line, &mut stores) {
                Some(packed) => lines.extend(packed),
                None => lines.push(line),
            }
        }
        function.lines = lines;
    }
}

/// The lines in place of a line that takes a vector of bits for a number.
fn packed(line: &str, stores: &mut usize) -> Option<Vec<String>> {
    if !line.contains(" x i1>") {
        return None;
    }
    let instruction = Instruction::parse(line)?;
    let words: Vec<&str> = tokens(instruction.text).map(|token| token.1).collect();
    let at = words
        .windows(5)
        .position(|run| run[0] == "<" && run[2] == "x" && run[3] == "i1" && run[4] == ">")?;
    let count: usize = words.get(at + 1)?.parse().ok()?;
    let vector = *words.get(at + 5)?;
    match instruction.opcode {
        "bitcast" => {
            let number = format!("i{count}");
            (words.last() == Some(&number.as_str()))
                .then(|| pack(instruction.result?, vector, count))?
        }
        "store" => {
            let (_, place) = instruction.text.split_once(&format!("{vector}, "))?;
            let name = format!("%cc.mask.{stores}");
            *stores += 1;
            let mut lines = pack(&name, vector, count)?;
            lines.push(format!("  store i{count} {name}, {place}"));
            Some(lines)
        }
        _ => None,
    }
}

/// `result` as the number whose bits are the elements of `vector`.
fn pack(result: &str, vector: &str, count: usize) -> Option<Vec<String>> {
    let mut lines = Vec::with_capacity(4 * count);
    let mut sum = "0".to_owned();
    for element in 0..count {
        let name = |part: &str| suffixed(result, &format!(".{part}{element}"));
        let (bit, wide, moved) = (name("bit"), name("wide"), name("moved"));
        let next = if element + 1 == count { result.to_owned() } else { name("sum") };
        lines.push(format!("  {bit} = extractelement <{count} x i1> {vector}, i32 {element}"));
        lines.push(format!("  {wide} = zext i1 {bit} to i{count}"));
        lines.push(format!("  {moved} = shl i{count} {wide}, {element}"));
        lines.push(format!("  {next} = or i{count} {sum}, {moved}"));
        sum = next;
    }
    (count > 0).then_some(lines)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_put_together_first_one_lowest() {
        let mut ir = Ir::parse(
            "define void @k(<2 x i1> %v, ptr %p) {\n  %m = bitcast <2 x i1> %v to i2\n  store <2 x i1> %v, ptr %p, align 1\n  ret void\n}\n",
        );
        run(&mut ir);
        let text = ir.print();
        assert!(text.contains("  %m.bit1 = extractelement <2 x i1> %v, i32 1\n"), "{text}");
        assert!(text.contains("  %m.moved1 = shl i2 %m.wide1, 1\n"), "{text}");
        assert!(text.contains("  %m = or i2 %m.sum0, %m.moved1\n"), "{text}");
        assert!(text.contains("  store i2 %cc.mask.0, ptr %p, align 1\n"), "{text}");
        assert!(!text.contains("bitcast"), "{text}");
    }
}
