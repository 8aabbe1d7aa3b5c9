//! Integers of 128 bits as two of 64: `%x` becomes `%x.lo` and `%x.hi`.
//!
//! Divisions and conversions to and from floating point have become calls of the library before.

use super::parse::{Form, bits, parse};
use super::{align_at, suffixed};
use crate::ir::{Instruction, Item, pointer_type, tokens};

const WIDE: &str = "i128";

/// Runs the step on one function.
pub(super) fn run(function: &mut Item) {
    let mut lines = Vec::with_capacity(function.lines.len());
    let mut rest = function.lines.iter().peekable();
    while let Some(line) = rest.next() {
        if let Some((value, otherwise)) = wide_switch(line) {
            let cases = std::iter::from_fn(|| rest.next_if(|line| line.trim().starts_with(WIDE)));
            switch(&mut lines, value, otherwise, cases);
            continue;
        }
        if !tokens(line).any(|token| token.1 == WIDE) {
            lines.push(line.clone());
            continue;
        }
        let mut splitter = Splitter { lines: &mut lines, result: "", fresh: 0 };
        if splitter.rewrite(line).is_none() {
            lines.push(line.clone());
        }
    }
    function.lines = lines;
}

/// What a switch over a wide value is about, and what follows it: `%x` and `label %d [`.
fn wide_switch(line: &str) -> Option<(&str, &str)> {
    let instruction = Instruction::parse(line).filter(|found| found.opcode == "switch")?;
    instruction.rest().strip_prefix("i128 ")?.split_once(", ")
}

/// A switch over the number of the case: where it goes to, and from where, stays as it is.
fn switch<'l>(
    lines: &mut Vec<String>,
    value: &str,
    otherwise: &str,
    cases: impl Iterator<Item = &'l String>,
) {
    // A switch has no result to name values by; the line's number makes the names unique.
    let unique = format!("%cc.switch.{}", lines.len());
    let (mut chosen, mut ways) = ("0".to_owned(), Vec::new());
    for (number, case) in (1..).zip(cases) {
        let Some((constant, way)) = case.trim().trim_start_matches(WIDE).split_once(", ") else {
            continue;
        };
        let is = format!("{unique}.{number}");
        let mut splitter = Splitter { lines, result: &is, fresh: 0 };
        splitter.compare("eq", &halves(value), &halves(constant.trim()));
        let next = format!("{is}.chosen");
        lines.push(format!("  {next} = select i1 {is}, i32 {number}, i32 {chosen}"));
        ways.push(format!("    i32 {number}, {way}"));
        chosen = next;
    }
    lines.push(format!("  switch i32 {chosen}, {otherwise}"));
    lines.extend(ways);
}

/// Replaces the type where it only describes memory: two words have the same bytes.
pub(super) fn in_memory(item: &mut Item) {
    for line in &mut item.lines {
        *line = memory_form(line);
    }
}

fn memory_form(line: &str) -> String {
    let words: Vec<(usize, &str)> = tokens(line).collect();
    let (mut text, mut copied) = (String::new(), 0);
    for (index, &(start, word)) in words.iter().enumerate() {
        if word != WIDE {
            continue;
        }
        text.push_str(&line[copied..start]);
        text.push_str("[2 x i64]");
        copied = start + word.len();
        if let Some(&(at, value)) = words.get(index + 1)
            && let Some((low, high)) = halves_of_constant(value)
        {
            text.push_str(&format!(" [i64 {low}, i64 {high}]"));
            copied = at + value.len();
        }
    }
    text + &line[copied..]
}

fn halves_of_constant(value: &str) -> Option<(i64, i64)> {
    // LLVM writes the bits as a signed number.
    let number: i128 = value.parse().ok()?;
    Some((number as i64, (number >> 64) as i64))
}

/// The names or constants of a value's halves.
fn halves(value: &str) -> (String, String) {
    match (value, halves_of_constant(value)) {
        (_, Some((low, high))) => (low.to_string(), high.to_string()),
        ("poison" | "undef" | "zeroinitializer", None) => ("0".into(), "0".into()),
        _ => (suffixed(value, ".lo"), suffixed(value, ".hi")),
    }
}

struct Splitter<'a> {
    lines: &'a mut Vec<String>,
    result: &'a str,
    fresh: u32,
}

impl<'a> Splitter<'a> {
    fn value(&mut self, text: &str) -> String {
        self.fresh += 1;
        let name = suffixed(self.result, &format!(".w{}", self.fresh));
        self.lines.push(format!("  {name} = {text}"));
        name
    }

    /// Ends with the two halves.
    fn finish(&mut self, low: &str, high: &str) {
        let result = self.result;
        self.lines.push(format!("  {} = {low}", suffixed(result, ".lo")));
        self.lines.push(format!("  {} = {high}", suffixed(result, ".hi")));
    }

    /// Ends with one value that is not wide.
    fn finish_one(&mut self, text: &str) {
        self.lines.push(format!("  {} = {text}", self.result));
    }

    fn rewrite(&mut self, line: &'a str) -> Option<()> {
        let instruction = Instruction::parse(line)?;
        let opcode = instruction.opcode;
        self.result = instruction.result.unwrap_or("%cc.wide");
        if matches!(opcode, "getelementptr" | "alloca") {
            self.lines.push(memory_form(line));
            return Some(());
        }
        match parse(&instruction)? {
            Form::Binary { a, b, .. } => self.binary(opcode, &halves(a), &halves(b))?,
            Form::Compare { test, a, b, .. } => self.compare(test, &halves(a), &halves(b)),
            Form::Select { choice, a, b, .. } => {
                let ((al, ah), (bl, bh)) = (halves(a), halves(b));
                self.finish(
                    &format!("select i1 {choice}, i64 {al}, i64 {bl}"),
                    &format!("select i1 {choice}, i64 {ah}, i64 {bh}"),
                );
            }
            Form::Phi { incoming, .. } => {
                let side = |high: bool| {
                    let list: Vec<String> = incoming
                        .iter()
                        .map(|(value, label)| {
                            let (low, up) = halves(value);
                            format!("[ {}, {label} ]", if high { up } else { low })
                        })
                        .collect();
                    format!("phi i64 {}", list.join(", "))
                };
                self.finish(&side(false), &side(true));
            }
            Form::Freeze { value, .. } => {
                let (low, high) = halves(value);
                self.finish(&format!("freeze i64 {low}"), &format!("freeze i64 {high}"));
            }
            Form::Cast { from, value, to } => self.cast(opcode, from, value, to)?,
            Form::Load { pointer, align, .. } => {
                let kind = pointer_type(pointer)?;
                let place = self.value(&format!("getelementptr i8, {pointer}, i64 8"));
                self.finish(
                    &format!("load i64, {pointer}, align {align}"),
                    &format!("load i64, {kind} {place}, align {}", align_at(align, 8)),
                );
            }
            Form::Store { value, pointer, align, .. } => {
                let (low, high) = halves(value);
                let kind = pointer_type(pointer)?;
                // A store has no result to name the address by.
                let place = format!("%cc.wide.{}", self.lines.len());
                self.lines.push(format!("  {place} = getelementptr i8, {pointer}, i64 8"));
                self.lines.push(format!("  store i64 {low}, {pointer}, align {align}"));
                let align = align_at(align, 8);
                self.lines.push(format!("  store i64 {high}, {kind} {place}, align {align}"));
            }
        }
        Some(())
    }

    fn binary(
        &mut self,
        opcode: &str,
        (al, ah): &(String, String),
        (bl, bh): &(String, String),
    ) -> Option<()> {
        match opcode {
            "and" | "or" | "xor" => {
                self.finish(
                    &format!("{opcode} i64 {al}, {bl}"),
                    &format!("{opcode} i64 {ah}, {bh}"),
                );
            }
            "add" => {
                let low = self.value(&format!("add i64 {al}, {bl}"));
                let carry = self.value(&format!("icmp ult i64 {low}, {al}"));
                let carry = self.value(&format!("zext i1 {carry} to i64"));
                let high = self.value(&format!("add i64 {ah}, {bh}"));
                self.finish(&format!("or i64 {low}, 0"), &format!("add i64 {high}, {carry}"));
            }
            "sub" => {
                let borrow = self.value(&format!("icmp ult i64 {al}, {bl}"));
                let borrow = self.value(&format!("zext i1 {borrow} to i64"));
                let high = self.value(&format!("sub i64 {ah}, {bh}"));
                self.finish(&format!("sub i64 {al}, {bl}"), &format!("sub i64 {high}, {borrow}"));
            }
            "mul" => {
                let upper = self.value(&format!("call i64 @_Z6mul_himm(i64 {al}, i64 {bl})"));
                let one = self.value(&format!("mul i64 {al}, {bh}"));
                let other = self.value(&format!("mul i64 {ah}, {bl}"));
                let cross = self.value(&format!("add i64 {one}, {other}"));
                self.finish(&format!("mul i64 {al}, {bl}"), &format!("add i64 {cross}, {upper}"));
            }
            "shl" | "lshr" | "ashr" => self.shift(opcode, al, ah, bl),
            _ => return None,
        }
        Some(())
    }

    /// A shift by less than a word crosses over; one by more moves words.
    fn shift(&mut self, opcode: &str, low: &str, high: &str, amount: &str) {
        let within = self.value(&format!("and i64 {amount}, 63"));
        let rest = self.value(&format!("xor i64 {within}, 63"));
        let far = self.value(&format!("and i64 {amount}, 64"));
        let far = self.value(&format!("icmp ne i64 {far}, 0"));
        let (from, to, cross, back) = match opcode {
            "shl" => (low, high, "shl", "lshr"),
            _ => (high, low, opcode, "shl"),
        };
        // Whole shifts of each word, and what crosses from one to the other: in two steps, because
        // a shift by 64 is not defined.
        let moved = self.value(&format!("{cross} i64 {from}, {within}"));
        let logical = if opcode == "shl" { "shl" } else { "lshr" };
        let kept = self.value(&format!("{logical} i64 {to}, {within}"));
        let crossing = self.value(&format!("{back} i64 {from}, 1"));
        let crossing = self.value(&format!("{back} i64 {crossing}, {rest}"));
        let joined = self.value(&format!("or i64 {kept}, {crossing}"));
        let empty =
            if opcode == "ashr" { self.value(&format!("ashr i64 {high}, 63")) } else { "0".into() };
        let near = format!("select i1 {far}, i64 {moved}, i64 {joined}");
        let end = format!("select i1 {far}, i64 {empty}, i64 {moved}");
        if opcode == "shl" { self.finish(&end, &near) } else { self.finish(&near, &end) }
    }

    fn compare(&mut self, test: &str, (al, ah): &(String, String), (bl, bh): &(String, String)) {
        if matches!(test, "eq" | "ne") {
            let low = self.value(&format!("xor i64 {al}, {bl}"));
            let high = self.value(&format!("xor i64 {ah}, {bh}"));
            let any = self.value(&format!("or i64 {low}, {high}"));
            self.finish_one(&format!("icmp {test} i64 {any}, 0"));
            return;
        }
        let unsigned = format!("u{}", &test[1..]);
        let equal = self.value(&format!("icmp eq i64 {ah}, {bh}"));
        let high = self.value(&format!("icmp {test} i64 {ah}, {bh}"));
        let low = self.value(&format!("icmp {unsigned} i64 {al}, {bl}"));
        self.finish_one(&format!("select i1 {equal}, i1 {low}, i1 {high}"));
    }

    fn cast(&mut self, opcode: &str, from: &str, value: &str, to: &str) -> Option<()> {
        match opcode {
            "zext" | "sext" => {
                let low = match bits(from)? {
                    64 => format!("or i64 {value}, 0"),
                    _ => format!("{opcode} {from} {value} to i64"),
                };
                let low = self.value(&low);
                let high = if opcode == "zext" {
                    "or i64 0, 0".to_owned()
                } else {
                    format!("ashr i64 {low}, 63")
                };
                self.finish(&format!("or i64 {low}, 0"), &high);
            }
            "trunc" => {
                let low = halves(value).0;
                match bits(to)? {
                    64 => self.finish_one(&format!("or i64 {low}, 0")),
                    _ => self.finish_one(&format!("trunc i64 {low} to {to}")),
                }
            }
            _ => return None,
        }
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Ir;

    fn split(body: &str) -> String {
        let mut ir = Ir::parse(&format!("define void @k(ptr %p) {{\n{body}}}\n"));
        run(&mut ir.items[0]);
        ir.items[0].lines[1..].join("\n")
    }

    #[test]
    fn a_sum_carries() {
        assert_eq!(
            split("  %r = add i128 %a, -1\n"),
            "  %r.w1 = add i64 %a.lo, -1\n  %r.w2 = icmp ult i64 %r.w1, %a.lo\n  \
             %r.w3 = zext i1 %r.w2 to i64\n  %r.w4 = add i64 %a.hi, -1\n  %r.lo = or i64 %r.w1, 0\n  \
             %r.hi = add i64 %r.w4, %r.w3\n}"
        );
    }

    #[test]
    fn a_comparison_looks_at_the_upper_words_first() {
        assert_eq!(
            split("  %r = icmp slt i128 %a, %b\n"),
            "  %r.w1 = icmp eq i64 %a.hi, %b.hi\n  %r.w2 = icmp slt i64 %a.hi, %b.hi\n  \
             %r.w3 = icmp ult i64 %a.lo, %b.lo\n  %r = select i1 %r.w1, i1 %r.w3, i1 %r.w2\n}"
        );
    }

    #[test]
    fn memory_has_two_words() {
        assert_eq!(
            split("  store i128 18446744073709551616, ptr %p, align 16\n"),
            "  %cc.wide.1 = getelementptr i8, ptr %p, i64 8\n  store i64 0, ptr %p, align 16\n  \
             store i64 1, ptr %cc.wide.1, align 8\n}"
        );
        let place = "ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @g, i64 32)";
        assert_eq!(
            split(&format!(
                "  %r = load i128, {place}, align 16\n  store i128 %r, {place}, align 8\n"
            )),
            format!(
                "  %r.w1 = getelementptr i8, {place}, i64 8\n  %r.lo = load i64, {place}, align 16\n  \
                 %r.hi = load i64, ptr addrspace(1) %r.w1, align 8\n  \
                 %cc.wide.4 = getelementptr i8, {place}, i64 8\n  store i64 %r.lo, {place}, align 8\n  \
                 store i64 %r.hi, ptr addrspace(1) %cc.wide.4, align 8\n}}"
            )
        );
        assert_eq!(
            memory_form("@t = constant [2 x i128] [i128 1, i128 -1], align 16"),
            "@t = constant [2 x [2 x i64]] [[2 x i64] [i64 1, i64 0], [2 x i64] [i64 -1, i64 -1]], align 16"
        );
    }

    #[test]
    fn a_switch_is_one_over_the_numbers_of_its_cases() {
        assert_eq!(
            split(
                "  switch i128 %x, label %d [\n    i128 -1, label %a\n    \
                 i128 18446744073709551619, label %b\n  ]\n"
            ),
            "  %cc.switch.1.1.w1 = xor i64 %x.lo, -1\n  %cc.switch.1.1.w2 = xor i64 %x.hi, -1\n  \
             %cc.switch.1.1.w3 = or i64 %cc.switch.1.1.w1, %cc.switch.1.1.w2\n  \
             %cc.switch.1.1 = icmp eq i64 %cc.switch.1.1.w3, 0\n  \
             %cc.switch.1.1.chosen = select i1 %cc.switch.1.1, i32 1, i32 0\n  \
             %cc.switch.1.2.w1 = xor i64 %x.lo, 3\n  %cc.switch.1.2.w2 = xor i64 %x.hi, 1\n  \
             %cc.switch.1.2.w3 = or i64 %cc.switch.1.2.w1, %cc.switch.1.2.w2\n  \
             %cc.switch.1.2 = icmp eq i64 %cc.switch.1.2.w3, 0\n  \
             %cc.switch.1.2.chosen = select i1 %cc.switch.1.2, i32 2, i32 %cc.switch.1.1.chosen\n  \
             switch i32 %cc.switch.1.2.chosen, label %d [\n    i32 1, label %a\n    \
             i32 2, label %b\n  ]\n}"
        );
    }
}
