//! Integers of odd widths in the next larger one, their upper bits kept zero.
//!
//! They come from rustc (`[u8; 3]` travels as `i24`) and from LLVM, which makes tables of bits and
//! joins neighbouring loads.

use std::cmp::Ordering;

use super::parse::{Form, bits, parse};
use super::{align_at, suffixed};
use crate::ir::{Instruction, Item, pointer_type, tokens};

/// The width that an integer of `width` bits is kept in.
fn container(width: u32) -> u32 {
    if width == 1 { 1 } else { width.next_power_of_two().max(8) }
}

fn is_odd(kind: &str) -> bool {
    bits(kind).is_some_and(|width| width <= 128 && container(width) != width)
}

/// Runs the step on one function.
pub(super) fn run(function: &mut Item) {
    let mut lines = Vec::with_capacity(function.lines.len());
    for line in &function.lines {
        if !tokens(line).any(|token| is_odd(token.1)) {
            lines.push(line.clone());
            continue;
        }
        let mut emitter = Emitter { lines: &mut lines, result: "%cc.odd", fresh: 0 };
        if emitter.rewrite(line).is_none() {
            lines.push(line.clone());
        }
    }
    function.lines = lines;
}

struct Emitter<'a> {
    lines: &'a mut Vec<String>,
    result: &'a str,
    fresh: u32,
}

/// A constant in a container: its bits, the upper ones zero. Names stay.
fn constant(value: &str, width: u32) -> String {
    match value {
        "poison" | "undef" | "zeroinitializer" => "0".into(),
        _ => match value.parse::<i128>() {
            Ok(number) => (number & mask(width)).to_string(),
            Err(_) => value.into(),
        },
    }
}

fn mask(width: u32) -> i128 {
    if width >= 128 { -1 } else { (1 << width) - 1 }
}

impl<'a> Emitter<'a> {
    fn push(&mut self, text: String) {
        self.lines.push(format!("  {text}"));
    }

    /// Computes `text` and returns the name of the value.
    fn value(&mut self, text: &str) -> String {
        self.fresh += 1;
        let name = suffixed(self.result, &format!(".cc{}", self.fresh));
        self.push(format!("{name} = {text}"));
        name
    }

    fn finish(&mut self, text: &str) {
        let result = self.result;
        self.push(format!("{result} = {text}"));
    }

    /// The value with its sign in the upper bits of the container.
    fn signed(&mut self, value: &str, width: u32) -> String {
        let kept = container(width);
        let value = constant(value, width);
        if kept == width {
            return value;
        }
        let up = self.value(&format!("shl i{kept} {value}, {}", kept - width));
        self.value(&format!("ashr i{kept} {up}, {}", kept - width))
    }

    /// Ends with `value`, which is in the container of `from` or wider, as an integer of `width` bits.
    fn fit(&mut self, value: &str, from: u32, width: u32) {
        let kept = container(width);
        let value = match from.cmp(&kept) {
            Ordering::Greater => self.value(&format!("trunc i{from} {value} to i{kept}")),
            Ordering::Less => self.value(&format!("zext i{from} {value} to i{kept}")),
            Ordering::Equal => value.to_owned(),
        };
        if kept == width {
            self.finish(&format!("or i{kept} {value}, 0"));
        } else {
            self.finish(&format!("and i{kept} {value}, {}", mask(width)));
        }
    }

    fn rewrite(&mut self, line: &'a str) -> Option<()> {
        let instruction = Instruction::parse(line)?;
        self.result = instruction.result.unwrap_or("%cc.odd");
        let opcode = instruction.opcode;
        if matches!(opcode, "alloca" | "getelementptr") {
            // In memory both take as much room: what is read and written are the bytes of the odd one. Only
            // types: an index, behind the pointer, would have a sign.
            let (mut text, mut copied) = (String::new(), 0);
            let kinds = tokens(line).take_while(|token| token.1 != "ptr");
            for (start, word) in kinds.filter(|token| is_odd(token.1)) {
                text.push_str(&line[copied..start]);
                text.push_str(&format!("i{}", container(bits(word)?)));
                copied = start + word.len();
            }
            self.lines.push(text + &line[copied..]);
            return Some(());
        }
        // A switch and its cases: `switch i7 %x, label %d [` and `i7 3, label %a`.
        if opcode == "switch" || is_odd(opcode) {
            let (mut text, mut copied) = (String::new(), 0);
            let words: Vec<(usize, &str)> = tokens(line).collect();
            for pair in words.windows(2).filter(|pair| is_odd(pair[0].1)) {
                let width = bits(pair[0].1)?;
                text.push_str(&line[copied..pair[0].0]);
                text.push_str(&format!("i{} {}", container(width), constant(pair[1].1, width)));
                copied = pair[1].0 + pair[1].1.len();
            }
            self.lines.push(text + &line[copied..]);
            return Some(());
        }
        match parse(&instruction)? {
            Form::Binary { kind, a, b } => self.binary(opcode, bits(kind)?, a, b),
            Form::Compare { test, kind, a, b } => {
                let width = bits(kind)?;
                let (a, b) = if test.starts_with('s') {
                    (self.signed(a, width), self.signed(b, width))
                } else {
                    (constant(a, width), constant(b, width))
                };
                self.finish(&format!("icmp {test} i{} {a}, {b}", container(width)));
            }
            Form::Select { choice, kind, a, b } => {
                let width = bits(kind)?;
                let (kept, a, b) = (container(width), constant(a, width), constant(b, width));
                self.finish(&format!("select i1 {choice}, i{kept} {a}, i{kept} {b}"));
            }
            Form::Phi { kind, incoming } => {
                let width = bits(kind)?;
                let incoming: Vec<String> = incoming
                    .iter()
                    .map(|(value, label)| format!("[ {}, {label} ]", constant(value, width)))
                    .collect();
                self.finish(&format!("phi i{} {}", container(width), incoming.join(", ")));
            }
            Form::Freeze { kind, value } => {
                let width = bits(kind)?;
                self.finish(&format!("freeze i{} {}", container(width), constant(value, width)));
            }
            Form::Cast { from, value, to } => self.cast(opcode, from, value, to)?,
            Form::Load { kind, pointer, align } => self.load(bits(kind)?, pointer, align),
            Form::Store { kind, value, pointer, align } => {
                let width = bits(kind)?;
                self.store(width, &constant(value, width), pointer, align);
            }
        }
        Some(())
    }

    fn binary(&mut self, opcode: &str, width: u32, a: &str, b: &str) {
        let kept = container(width);
        match opcode {
            "ashr" | "sdiv" | "srem" => {
                let a = self.signed(a, width);
                let b = if opcode == "ashr" { constant(b, width) } else { self.signed(b, width) };
                let value = self.value(&format!("{opcode} i{kept} {a}, {b}"));
                self.fit(&value, kept, width);
            }
            _ => {
                let (a, b) = (constant(a, width), constant(b, width));
                let text = format!("{opcode} i{kept} {a}, {b}");
                if matches!(opcode, "add" | "sub" | "mul" | "shl") {
                    let value = self.value(&text);
                    self.fit(&value, kept, width);
                } else {
                    self.finish(&text);
                }
            }
        }
    }

    fn cast(&mut self, opcode: &str, from: &str, value: &str, to: &str) -> Option<()> {
        match (opcode, bits(from), bits(to)) {
            ("zext" | "trunc", Some(from), Some(to)) => {
                self.fit(&constant(value, from), container(from), to);
            }
            ("sext", Some(from), Some(to)) => {
                let value = self.signed(value, from);
                let (narrow, kept) = (container(from), container(to));
                let value = if narrow == kept {
                    value
                } else {
                    self.value(&format!("sext i{narrow} {value} to i{kept}"))
                };
                self.fit(&value, kept, to);
            }
            ("uitofp", Some(from), None) => {
                self.finish(&format!("uitofp i{} {value} to {to}", container(from)));
            }
            ("sitofp", Some(from), None) => {
                let value = self.signed(value, from);
                self.finish(&format!("sitofp i{} {value} to {to}", container(from)));
            }
            ("fptoui" | "fptosi", None, Some(to)) => {
                let kept = container(to);
                let value = self.value(&format!("{opcode} {from} {value} to i{kept}"));
                self.fit(&value, kept, to);
            }
            _ => return None,
        }
        Some(())
    }

    /// The pieces an integer lies in: offset and bits, both in what one load can take.
    fn pieces(width: u32) -> Vec<(u32, u32)> {
        let (mut pieces, mut at, mut left) = (Vec::new(), 0, width.div_ceil(8));
        while left > 0 {
            let bytes = (1 << left.ilog2()).min(8);
            pieces.push((at, bytes * 8));
            at += bytes;
            left -= bytes;
        }
        pieces
    }

    fn at(&mut self, pointer: &str, offset: u32) -> String {
        if offset == 0 {
            return pointer.to_owned();
        }
        let kind = pointer_type(pointer).unwrap_or("ptr");
        let name = self.value(&format!("getelementptr i8, {pointer}, i64 {offset}"));
        format!("{kind} {name}")
    }

    fn load(&mut self, width: u32, pointer: &str, align: u64) {
        let kept = container(width);
        let mut sum: Option<String> = None;
        for (offset, piece) in Self::pieces(width) {
            let place = self.at(pointer, offset);
            let align = align_at(align, offset.into());
            let part = self.value(&format!("load i{piece}, {place}, align {align}"));
            let part = if piece == kept {
                part
            } else {
                self.value(&format!("zext i{piece} {part} to i{kept}"))
            };
            let part = if offset == 0 {
                part
            } else {
                self.value(&format!("shl i{kept} {part}, {}", offset * 8))
            };
            sum = Some(match sum {
                Some(sum) => self.value(&format!("or i{kept} {sum}, {part}")),
                None => part,
            });
        }
        self.fit(&sum.unwrap_or_else(|| "0".into()), kept, width);
    }

    fn store(&mut self, width: u32, value: &str, pointer: &str, align: u64) {
        let kept = container(width);
        // A store has no result to name values by; the line's number makes the names unique.
        let unique = format!("%cc.odd.{}", self.lines.len());
        for (offset, piece) in Self::pieces(width) {
            let align = align_at(align, offset.into());
            let name = |what: &str| format!("{unique}.{what}.{offset}");
            let shifted = if offset == 0 {
                value.to_owned()
            } else {
                self.push(format!("{} = lshr i{kept} {value}, {}", name("s"), offset * 8));
                name("s")
            };
            let part = if piece == kept {
                shifted
            } else {
                self.push(format!("{} = trunc i{kept} {shifted} to i{piece}", name("t")));
                name("t")
            };
            let place = if offset == 0 {
                pointer.to_owned()
            } else {
                let kind = pointer_type(pointer).unwrap_or("ptr");
                self.push(format!("{} = getelementptr i8, {pointer}, i64 {offset}", name("p")));
                format!("{kind} {}", name("p"))
            };
            self.push(format!("store i{piece} {part}, {place}, align {align}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Ir;

    fn lowered(body: &str) -> String {
        let mut ir = Ir::parse(&format!("define void @k(ptr %p) {{\n{body}}}\n"));
        run(&mut ir.items[0]);
        ir.items[0].lines[1..].join("\n")
    }

    #[test]
    fn sums_are_masked_and_constants_lose_their_sign() {
        assert_eq!(
            lowered("  %r = add nsw i24 %a, -1\n"),
            "  %r.cc1 = add i32 %a, 16777215\n  %r = and i32 %r.cc1, 16777215\n}"
        );
    }

    #[test]
    fn signed_comparisons_see_the_sign() {
        assert_eq!(
            lowered("  %r = icmp slt i7 %a, 0\n"),
            "  %r.cc1 = shl i8 %a, 1\n  %r.cc2 = ashr i8 %r.cc1, 1\n  %r.cc3 = shl i8 0, 1\n  \
             %r.cc4 = ashr i8 %r.cc3, 1\n  %r = icmp slt i8 %r.cc2, %r.cc4\n}"
        );
    }

    #[test]
    fn three_bytes_are_loaded_as_two_and_one() {
        assert_eq!(
            lowered("  %r = load i24, ptr %p, align 4\n"),
            "  %r.cc1 = load i16, ptr %p, align 4\n  %r.cc2 = zext i16 %r.cc1 to i32\n  \
             %r.cc3 = getelementptr i8, ptr %p, i64 2\n  %r.cc4 = load i8, ptr %r.cc3, align 2\n  \
             %r.cc5 = zext i8 %r.cc4 to i32\n  %r.cc6 = shl i32 %r.cc5, 16\n  \
             %r.cc7 = or i32 %r.cc2, %r.cc6\n  %r = and i32 %r.cc7, 16777215\n}"
        );
    }

    #[test]
    fn an_element_of_a_variable_is_read_and_written_in_pieces() {
        let place = "ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @g, i64 4)";
        let loaded = lowered(&format!("  %r = load i24, {place}, align 4\n"));
        assert!(loaded.contains(&format!("%r.cc3 = getelementptr i8, {place}, i64 2\n")));
        assert!(loaded.contains("load i8, ptr addrspace(1) %r.cc3, align 2\n"), "{loaded}");
        let stored = lowered(&format!("  store i24 %v, {place}, align 4\n"));
        assert!(stored.contains(&format!("%cc.odd.1.p.2 = getelementptr i8, {place}, i64 2\n")));
        assert!(stored.contains("ptr addrspace(1) %cc.odd.1.p.2, align 2\n"), "{stored}");
    }

    #[test]
    fn memory_for_odd_ones_is_that_of_the_next_larger() {
        assert_eq!(
            lowered("  %m = alloca i56, align 8\n  %n = alloca [3 x i24], align 4\n"),
            "  %m = alloca i64, align 8\n  %n = alloca [3 x i32], align 4\n}"
        );
        assert_eq!(
            lowered("  %q = getelementptr inbounds i24, ptr %p, i64 %i\n"),
            "  %q = getelementptr inbounds i32, ptr %p, i64 %i\n}"
        );
        let index = "  %q = getelementptr i8, ptr %p, i24 %i\n";
        assert_eq!(lowered(index), format!("{index}}}"));
    }

    #[test]
    fn a_switch_keeps_its_cases() {
        assert_eq!(
            lowered("  switch i7 %x, label %d [\n    i7 -1, label %a\n  ]\n"),
            "  switch i8 %x, label %d [\n    i8 127, label %a\n  ]\n}"
        );
    }

    #[test]
    fn a_table_of_bits_is_shifted_and_cut() {
        assert_eq!(
            lowered("  %s = lshr i26 12345, %x\n  %b = trunc i26 %s to i1\n"),
            "  %s = lshr i32 12345, %x\n  %b.cc1 = trunc i32 %s to i1\n  %b = or i1 %b.cc1, 0\n}"
        );
    }
}
