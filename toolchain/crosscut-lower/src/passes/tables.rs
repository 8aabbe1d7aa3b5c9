//! Makes constants that hold addresses of device globals.
//!
//! Expects an optimised entry in host form.
//! Leaves the same without such constants: where a global is, only a launch knows, so each item makes
//! its own copy when it starts.
//!
//! `@T = constant [1 x ptr] [ptr @A]` and `load ptr, ptr @T` become
//! `%cc.table.0 = alloca [8 x i8]`, `store ptr @A, ptr %cc.table.0` and `load ptr, ptr %cc.table.0`.

use std::collections::{BTreeMap, BTreeSet};

use super::globals::{UsedGlobal, constant};
use crate::ir::{Instruction, Ir, Item, split_at_commas, tokens};

/// A table may be no larger: every item has its own.
const LARGEST: u64 = 16 << 10;

/// Runs the pass on `entry`, which uses these globals.
///
/// # Errors
/// Says which constant cannot be made, and why.
pub(crate) fn run(ir: &mut Ir, entry: &str, used: &[UsedGlobal]) -> Result<(), String> {
    let Some(function) = ir.find(entry) else { return Ok(()) };
    let tables = tables_of(ir, function, used);
    if tables.is_empty() {
        return Ok(());
    }
    let mut rewriter = Rewriter { tables: &tables, hoisted: Vec::new() };
    let mut start = Vec::new();
    for (name, number) in &tables {
        let fields = ir.find(name).and_then(fields).ok_or_else(|| {
            format!("the constant `{name}` holds device globals in a way that cannot be followed")
        })?;
        let size: u64 = fields.iter().map(|field| field.size).sum();
        if size > LARGEST {
            return Err(format!(
                "a constant of {size} bytes holds device globals; {LARGEST} bytes are possible"
            ));
        }
        start.push(format!("  %cc.table.{number} = alloca [{size} x i8], align 16"));
    }
    let mut stores = Vec::new();
    for (name, number) in &tables {
        let mut offset = 0;
        for (index, field) in ir.find(name).and_then(fields).unwrap_or_default().iter().enumerate()
        {
            let place = format!("%cc.table.{number}.{index}");
            stores.push(format!(
                "  {place} = getelementptr i8, ptr %cc.table.{number}, i64 {offset}"
            ));
            let value = rewriter.line(field.text);
            stores.push(format!("  store {value}, ptr {place}, align 1"));
            offset += field.size;
        }
    }
    let body = &function.lines[1..];
    let label = usize::from(body.first().is_some_and(|line| Instruction::parse(line).is_none()));
    let rest: Vec<String> = body[label..].iter().map(|line| rewriter.line(line)).collect();
    let mut lines = vec![function.lines[0].clone()];
    lines.extend_from_slice(&body[..label]);
    lines.extend(start);
    lines.append(&mut rewriter.hoisted);
    lines.extend(stores);
    lines.extend(rest);
    if let Some(function) = ir.functions_mut().find(|function| function.name == entry) {
        function.lines = lines;
    }
    Ok(())
}

/// The constants that the function reaches and that lead to a device global, each with a number.
fn tables_of(ir: &Ir, function: &Item, used: &[UsedGlobal]) -> BTreeMap<String, usize> {
    let mut reached: BTreeSet<&str> = BTreeSet::new();
    let mut queue: Vec<&Item> = function.lines[1..]
        .iter()
        .flat_map(|line| tokens(line))
        .filter_map(|(_, token)| constant(ir, token))
        .collect();
    while let Some(item) = queue.pop() {
        if reached.insert(item.name.as_str()) {
            let words = tokens(&item.lines[0]).skip(1);
            queue.extend(words.filter_map(|(_, token)| constant(ir, token)));
        }
    }
    // Whatever leads to one of these is one of them; each round goes one step back.
    let mut leading: BTreeSet<&str> = used.iter().map(|global| global.symbol.as_str()).collect();
    let globals = leading.len();
    loop {
        let more: Vec<&str> = reached
            .iter()
            .copied()
            .filter(|name| !leading.contains(name))
            .filter(|name| {
                constant(ir, name).is_some_and(|item| {
                    tokens(&item.lines[0]).skip(1).any(|(_, token)| leading.contains(token))
                })
            })
            .collect();
        if more.is_empty() {
            break;
        }
        leading.extend(more);
    }
    debug_assert!(leading.len() >= globals);
    let tables = leading.into_iter().filter(|name| reached.contains(name));
    tables.enumerate().map(|(number, name)| (name.to_owned(), number)).collect()
}

struct Field<'a> {
    /// Type and value.
    text: &'a str,
    size: u64,
}

/// The fields of a constant: a struct or an array of addresses and bytes.
fn fields(item: &Item) -> Option<Vec<Field<'_>>> {
    let line = &item.lines[0];
    let (at, word) = tokens(line).find(|token| token.1 == "constant")?;
    let rest = line[at + word.len()..].trim();
    // The type, and then the value in brackets of the same kind.
    let (open, close) = if rest.starts_with("<{") { ("<{", "}>") } else { ("[", "]") };
    if rest.starts_with("ptr ") {
        return Some(vec![Field { text: split_at_commas(rest).first()?, size: 8 }]);
    }
    let type_end = matching(rest, open, close)?;
    let value = rest[type_end..].trim_start();
    if !value.starts_with(open) {
        return None;
    }
    let value_end = matching(value, open, close)?;
    let inner = &value[open.len()..value_end - close.len()];
    split_at_commas(inner)
        .into_iter()
        .map(|text| Some(Field { text, size: size_of(text)? }))
        .collect()
}

/// The end of the bracket that `text` begins with.
fn matching(text: &str, open: &str, close: &str) -> Option<usize> {
    let mut depth = 0usize;
    let (open, close) = (open.trim_start_matches('<'), close.trim_end_matches('>'));
    for (at, token) in tokens(text) {
        if token == open {
            depth += 1;
        } else if token == close {
            depth = depth.checked_sub(1)?;
            if depth == 0 {
                let end = at + token.len();
                return Some(end + usize::from(text[end..].starts_with('>')));
            }
        }
    }
    None
}

fn size_of(field: &str) -> Option<u64> {
    if field.starts_with("ptr ") {
        return Some(8);
    }
    if let Some(inner) = field.strip_prefix('[') {
        let (count, rest) = inner.split_once(" x ")?;
        let element = size_of(rest)?;
        return count.parse::<u64>().ok()?.checked_mul(element);
    }
    let bits = field.strip_prefix('i')?;
    let digits = bits.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(bits.len());
    let bits: u64 = bits[..digits].parse().ok()?;
    bits.is_multiple_of(8).then_some(bits / 8)
}

/// Puts tables in the place of constants.
struct Rewriter<'a> {
    tables: &'a BTreeMap<String, usize>,
    /// Addresses inside tables, which as constants cannot name a value of the function.
    hoisted: Vec<String>,
}

impl Rewriter<'_> {
    fn line(&mut self, line: &str) -> String {
        let mut text = line.to_owned();
        // Innermost first: the last expression that mentions a table contains no other.
        while let Some((from, to)) = self.expression(&text) {
            let name = format!("%cc.table.part.{}", self.hoisted.len());
            let expression = &text[from..to];
            let plain = expression.replacen('(', "", 1);
            let plain = plain.strip_suffix(')').unwrap_or(&plain);
            let plain = self.names(plain);
            self.hoisted.push(format!("  {name} = {plain}"));
            text.replace_range(from..to, &name);
        }
        self.names(&text)
    }

    fn names(&self, text: &str) -> String {
        crate::ir::replace_tokens(text, |token| {
            self.tables.get(token).map(|number| format!("%cc.table.{number}"))
        })
    }

    /// Where a constant expression with the address of a table stands.
    fn expression(&self, text: &str) -> Option<(usize, usize)> {
        let words: Vec<(usize, &str)> = tokens(text).collect();
        let mut found = None;
        for (index, &(start, word)) in words.iter().enumerate() {
            if word != "getelementptr" {
                continue;
            }
            // `getelementptr inbounds nuw (i8, ptr @T, i64 8)`: an instruction has no bracket there.
            let open = words[index + 1..]
                .iter()
                .position(|word| !matches!(word.1, "inbounds" | "nuw" | "nusw"))
                .map(|skipped| index + 1 + skipped)?;
            if words.get(open)?.1 != "(" {
                continue;
            }
            let end = start + words[open].0 - start + matching(&text[words[open].0..], "(", ")")?;
            let mentions = tokens(&text[start..end]).any(|token| self.tables.contains_key(token.1));
            if mentions {
                found = Some((start, end));
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_of_tables_becomes_copies_of_each_item() {
        let mut ir = Ir::parse(
            "@A = global [8 x i8] zeroinitializer, align 4\n\
             @T = constant <{ ptr, [8 x i8], ptr }> <{ ptr @A, [8 x i8] c\"\\01\\00\\00\\00\\00\\00\\00\\00\", ptr @B }>, align 8\n\
             @U = constant [2 x ptr] [ptr @T, ptr getelementptr inbounds (i8, ptr @T, i64 8)], align 8\n\
             @B = constant [1 x i8] zeroinitializer\n\
             define void @k(i64 %i) {\n\
             start:\n\
             \x20 %p = getelementptr inbounds ptr, ptr @U, i64 %i\n\
             \x20 %q = load ptr, ptr getelementptr inbounds nuw (i8, ptr @U, i64 8), align 8\n\
             \x20 ret void\n}\n",
        );
        let used = [UsedGlobal { symbol: "@A".into(), size: 4, align: 4, properties: 6 }];
        run(&mut ir, "@k", &used).unwrap();
        let lines = &ir.find("@k").unwrap().lines;
        let expected = [
            "define void @k(i64 %i) {",
            "start:",
            "  %cc.table.0 = alloca [24 x i8], align 16",
            "  %cc.table.1 = alloca [16 x i8], align 16",
            "  %cc.table.part.0 = getelementptr inbounds i8, ptr %cc.table.0, i64 8",
            "  %cc.table.part.1 = getelementptr inbounds nuw i8, ptr %cc.table.1, i64 8",
            "  %cc.table.0.0 = getelementptr i8, ptr %cc.table.0, i64 0",
            "  store ptr @A, ptr %cc.table.0.0, align 1",
            "  %cc.table.0.1 = getelementptr i8, ptr %cc.table.0, i64 8",
            "  store [8 x i8] c\"\\01\\00\\00\\00\\00\\00\\00\\00\", ptr %cc.table.0.1, align 1",
            "  %cc.table.0.2 = getelementptr i8, ptr %cc.table.0, i64 16",
            "  store ptr @B, ptr %cc.table.0.2, align 1",
            "  %cc.table.1.0 = getelementptr i8, ptr %cc.table.1, i64 0",
            "  store ptr %cc.table.0, ptr %cc.table.1.0, align 1",
            "  %cc.table.1.1 = getelementptr i8, ptr %cc.table.1, i64 8",
            "  store ptr %cc.table.part.0, ptr %cc.table.1.1, align 1",
            "  %p = getelementptr inbounds ptr, ptr %cc.table.1, i64 %i",
            "  %q = load ptr, ptr %cc.table.part.1, align 8",
            "  ret void",
            "}",
        ];
        for (line, expected) in lines.iter().zip(expected) {
            assert_eq!(line.replace("(i8", " i8").replace("  i8", " i8"), expected);
        }
        assert_eq!(lines.len(), expected.len());
    }
}
