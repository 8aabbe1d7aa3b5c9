//! Splits choices between small structs into choices between their fields.
//!
//! Expects a kernel as it is to be written. The optimiser makes phis and selects of pairs like
//! `{ i32, i1 }`, the answers of checked arithmetic; the SPIR-V writer gives them a wrong type.
//! Leaves `insertvalue`s and `extractvalue`s around the fields, for LLVM to see through: no step behind this one
//! knows a struct with a number of 128 bits in it.
//!
//! `%r = phi { i32, i1 } [ %a, %x ], [ %b, %y ]` becomes two phis of fields that are taken out of `%a`
//! and `%b` where these are defined, and two `insertvalue`s behind the phis of the block.

use std::collections::{BTreeMap, BTreeSet};

use crate::ir::{Instruction, Ir, Item, split_at_commas};

/// Runs the pass. True if there was something to split.
pub(crate) fn run(ir: &mut Ir) -> bool {
    let mut any = false;
    for function in ir.functions_mut() {
        any |= split(function);
    }
    any
}

/// A choice between structs: their type, their fields' types, and the values.
struct Choice {
    kind: String,
    fields: Vec<String>,
    values: Vec<String>,
    by: By,
}

/// What decides.
enum By {
    /// Of a phi: the label that belongs to each value.
    Way(Vec<String>),
    /// Of a select: the condition, with its type.
    Condition(String),
}

/// A struct's type at the beginning of a text: the types of its fields, and what follows.
fn struct_type(text: &str) -> Option<(&str, &str)> {
    text.strip_prefix('{')?.split_once('}')
}

fn parse(line: &str) -> Option<(String, Choice)> {
    let instruction = Instruction::parse(line)?;
    let rest = instruction.rest();
    let (mut values, mut labels) = (Vec::new(), Vec::new());
    let (fields, by) = match instruction.opcode {
        "phi" => {
            let (fields, incoming) = struct_type(rest)?;
            for piece in split_at_commas(incoming) {
                let pair = piece.strip_prefix('[').and_then(|pair| pair.strip_suffix(']'));
                if let Some([value, label]) = pair.map(split_at_commas).as_deref() {
                    values.push((*value).to_owned());
                    labels.push((*label).to_owned());
                } else if !piece.starts_with('!') {
                    return None;
                }
            }
            (fields, By::Way(labels))
        }
        "select" => {
            let [condition, one, other, ..] = *split_at_commas(rest).as_slice() else {
                return None;
            };
            let ((fields, one), (_, other)) = (struct_type(one)?, struct_type(other)?);
            values.extend([one, other].map(|value| value.trim().to_owned()));
            (fields, By::Condition(condition.to_owned()))
        }
        _ => return None,
    };
    let kind = format!("{{{fields}}}");
    let fields = split_at_commas(fields).into_iter().map(str::to_owned).collect();
    Some((instruction.result?.to_owned(), Choice { kind, fields, values, by }))
}

/// A field of a struct: of a value, what was taken out of it; of a constant, its part.
fn field(value: &str, index: usize, kind: &str) -> String {
    if value.starts_with('%') {
        return super::suffixed(value, &format!(".f{index}"));
    }
    let parts = value.strip_prefix('{').and_then(|parts| parts.strip_suffix('}'));
    let part = parts.map(split_at_commas).and_then(|parts| parts.get(index).copied());
    // The part is a type and a constant; `zeroinitializer`, `poison` and `undef` are so of every type.
    let constant = part.and_then(|part| part.strip_prefix(kind));
    constant.map_or(value, str::trim).to_owned()
}

impl Choice {
    /// The choice between the fields of this number.
    fn of_field(&self, index: usize) -> String {
        let kind = &self.fields[index];
        let values = self.values.iter().map(|value| field(value, index, kind));
        match &self.by {
            By::Way(labels) => {
                let incoming: Vec<String> = values
                    .zip(labels)
                    .map(|(value, label)| format!("[ {value}, {label} ]"))
                    .collect();
                format!("phi {kind} {}", incoming.join(", "))
            }
            By::Condition(condition) => {
                let values: Vec<String> = values.map(|value| format!("{kind} {value}")).collect();
                format!("select {condition}, {}", values.join(", "))
            }
        }
    }
}

/// Splits the choices of one function. True if there were any.
fn split(function: &mut Item) -> bool {
    let choices: BTreeMap<String, Choice> =
        function.lines.iter().filter_map(|line| parse(line)).collect();
    if choices.is_empty() {
        return false;
    }
    // What comes from elsewhere than such a choice is taken apart where it is defined.
    let mut taken: BTreeMap<&str, &Choice> = BTreeMap::new();
    for choice in choices.values() {
        for value in choice.values.iter().filter(|value| value.starts_with('%')) {
            if !choices.contains_key(value) {
                taken.insert(value, choice);
            }
        }
    }
    let mut lines = Vec::with_capacity(function.lines.len());
    let mut rebuilt: Vec<String> = Vec::new();
    let mut defined = BTreeSet::new();
    for line in &function.lines {
        let instruction = Instruction::parse(line);
        if instruction.is_some_and(|instruction| instruction.opcode != "phi") {
            lines.append(&mut rebuilt);
        }
        let result = instruction.and_then(|instruction| instruction.result);
        if let Some((name, choice)) = result.and_then(|result| choices.get_key_value(result)) {
            let mut whole = "poison".to_owned();
            for (index, kind) in choice.fields.iter().enumerate() {
                let part = field(name, index, kind);
                lines.push(format!("  {part} = {}", choice.of_field(index)));
                let last = index + 1 == choice.fields.len();
                let next =
                    if last { name.clone() } else { super::suffixed(name, &format!(".i{index}")) };
                let struct_kind = &choice.kind;
                rebuilt.push(format!(
                    "  {next} = insertvalue {struct_kind} {whole}, {kind} {part}, {index}"
                ));
                whole = next;
            }
            continue;
        }
        lines.push(line.clone());
        if let Some((value, choice)) = result.and_then(|result| taken.get_key_value(result))
            && defined.insert(*value)
        {
            for (index, kind) in choice.fields.iter().enumerate() {
                lines.push(format!(
                    "  {} = extractvalue {} {value}, {index}",
                    field(value, index, kind),
                    choice.kind
                ));
            }
        }
    }
    function.lines = lines;
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_that_come_in_keep_their_values() {
        let mut ir = Ir::parse(
            "define void @k() {\nx:\n  br label %z\ny:\n  br label %z\nz:\n  \
             %r = phi { i64, i1 } [ zeroinitializer, %x ], [ { i64 -5, i1 true }, %y ], [ undef, %w ]\n  ret void\n}\n",
        );
        run(&mut ir);
        let text = ir.print();
        assert!(
            text.contains("%r.f0 = phi i64 [ zeroinitializer, %x ], [ -5, %y ], [ undef, %w ]"),
            "{text}"
        );
        assert!(
            text.contains("%r.f1 = phi i1 [ zeroinitializer, %x ], [ true, %y ], [ undef, %w ]"),
            "{text}"
        );
    }

    #[test]
    fn numbers_that_are_no_integers_come_in_whole() {
        let mut ir = Ir::parse(
            "define void @k() {\nz:\n  \
             %r = phi { float, i64 } [ { float 1.000000e+00, i64 3 }, %x ], [ { float 0x36A0000000000000, i64 ptrtoint (ptr @g to i64) }, %y ]\n  \
             ret void\n}\n",
        );
        assert!(run(&mut ir));
        let text = ir.print();
        assert!(
            text.contains("%r.f0 = phi float [ 1.000000e+00, %x ], [ 0x36A0000000000000, %y ]\n"),
            "{text}"
        );
        assert!(
            text.contains("%r.f1 = phi i64 [ 3, %x ], [ ptrtoint (ptr @g to i64), %y ]\n"),
            "{text}"
        );
    }

    #[test]
    fn a_select_of_pairs_becomes_two_selects() {
        let mut ir = Ir::parse(
            "define void @k(i1 %c) {\nx:\n  %a = call { i64, i1 } @f()\n  \
             %r = select i1 %c, { i64, i1 } %a, { i64, i1 } { i64 7, i1 false }\n  ret void\n}\n",
        );
        assert!(run(&mut ir));
        assert_eq!(
            ir.print(),
            "define void @k(i1 %c) {\nx:\n  %a = call { i64, i1 } @f()\n  \
             %a.f0 = extractvalue { i64, i1 } %a, 0\n  %a.f1 = extractvalue { i64, i1 } %a, 1\n  \
             %r.f0 = select i1 %c, i64 %a.f0, i64 7\n  %r.f1 = select i1 %c, i1 %a.f1, i1 false\n  \
             %r.i0 = insertvalue { i64, i1 } poison, i64 %r.f0, 0\n  \
             %r = insertvalue { i64, i1 } %r.i0, i1 %r.f1, 1\n  ret void\n}\n"
        );
        assert!(!run(&mut Ir::parse("define void @k() {\n  ret void\n}\n")));
    }

    #[test]
    fn a_phi_of_pairs_becomes_two_phis() {
        let mut ir = Ir::parse(
            "define void @k() {\nx:\n  %a = call { i32, i1 } @f()\n  br label %z\ny:\n  br label %z\nz:\n  \
             %r = phi { i32, i1 } [ %a, %x ], [ poison, %y ]\n  %n = phi i32 [ 0, %x ], [ 1, %y ]\n  \
             %v = extractvalue { i32, i1 } %r, 0\n  ret void\n}\n",
        );
        run(&mut ir);
        assert_eq!(
            ir.print(),
            "define void @k() {\nx:\n  %a = call { i32, i1 } @f()\n  \
             %a.f0 = extractvalue { i32, i1 } %a, 0\n  %a.f1 = extractvalue { i32, i1 } %a, 1\n  \
             br label %z\ny:\n  br label %z\nz:\n  %r.f0 = phi i32 [ %a.f0, %x ], [ poison, %y ]\n  \
             %r.f1 = phi i1 [ %a.f1, %x ], [ poison, %y ]\n  %n = phi i32 [ 0, %x ], [ 1, %y ]\n  \
             %r.i0 = insertvalue { i32, i1 } poison, i32 %r.f0, 0\n  \
             %r = insertvalue { i32, i1 } %r.i0, i1 %r.f1, 1\n  \
             %v = extractvalue { i32, i1 } %r, 0\n  ret void\n}\n"
        );
    }
}
