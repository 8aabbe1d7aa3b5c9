//! Splits phis of small structs into phis of their fields.
//!
//! Expects a kernel as it is to be written. The optimiser makes such phis of pairs like
//! `{ i32, i1 }`, the answers of checked arithmetic; the SPIR-V writer gives them a wrong type.
//!
//! `%r = phi { i32, i1 } [ %a, %x ], [ %b, %y ]` becomes two phis of fields that are taken out of `%a`
//! and `%b` where these are defined, and two `insertvalue`s behind the phis of the block.

use std::collections::{BTreeMap, BTreeSet};

use crate::ir::{Instruction, Ir, Item, split_at_commas, tokens};

/// Runs the pass.
pub(crate) fn run(ir: &mut Ir) {
    for function in ir.functions_mut() {
        split(function);
    }
}

/// A phi of a struct: its result, type, fields' types, and what comes in from where.
struct Phi {
    kind: String,
    fields: Vec<String>,
    incoming: Vec<(String, String)>,
}

fn parse(line: &str) -> Option<(String, Phi)> {
    let Instruction { result: Some(result), opcode: "phi", text } = Instruction::parse(line)?
    else {
        return None;
    };
    let rest = text.split_once("= phi ")?.1;
    let rest = rest.strip_prefix('{')?;
    let close = rest.find('}')?;
    let fields: Vec<String> = split_at_commas(&rest[..close]).iter().map(|&f| f.into()).collect();
    let mut incoming = Vec::new();
    for piece in split_at_commas(&rest[close + 1..]) {
        let pair = piece.trim().strip_prefix('[').and_then(|pair| pair.strip_suffix(']'));
        if let Some([value, label]) = pair.map(split_at_commas).as_deref() {
            incoming.push((value.trim().to_owned(), label.trim().to_owned()));
        } else if !piece.starts_with('!') {
            return None;
        }
    }
    Some((result.to_owned(), Phi { kind: format!("{{{}}}", &rest[..close]), fields, incoming }))
}

/// A field of a struct: of a value, what was taken out of it; of a constant, its part.
fn field(value: &str, index: usize) -> String {
    if value.starts_with('%') {
        return super::suffixed(value, &format!(".f{index}"));
    }
    let parts = value.strip_prefix('{').and_then(|parts| parts.strip_suffix('}'));
    let part = parts.map(split_at_commas).and_then(|parts| parts.get(index).copied());
    // The part is a type and a constant; `zeroinitializer`, `poison` and `undef` are so of every type.
    let last = part.and_then(|part| tokens(part).last().map(|token| token.1));
    last.unwrap_or(value).to_owned()
}

fn split(function: &mut Item) {
    let phis: BTreeMap<String, Phi> =
        function.lines.iter().filter_map(|line| parse(line)).collect();
    if phis.is_empty() {
        return;
    }
    // What comes in from elsewhere than such a phi is taken apart where it is defined.
    let mut taken: BTreeMap<&str, &Phi> = BTreeMap::new();
    for phi in phis.values() {
        for (value, _) in phi.incoming.iter().filter(|(value, _)| value.starts_with('%')) {
            if !phis.contains_key(value) {
                taken.insert(value, phi);
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
        if let Some((name, phi)) = result.and_then(|result| phis.get_key_value(result)) {
            let mut whole = "poison".to_owned();
            for (index, kind) in phi.fields.iter().enumerate() {
                let incoming: Vec<String> = phi
                    .incoming
                    .iter()
                    .map(|(value, label)| format!("[ {}, {label} ]", field(value, index)))
                    .collect();
                let part = field(name, index);
                lines.push(format!("  {part} = phi {kind} {}", incoming.join(", ")));
                let last = index + 1 == phi.fields.len();
                let next =
                    if last { name.clone() } else { super::suffixed(name, &format!(".i{index}")) };
                let struct_kind = &phi.kind;
                rebuilt.push(format!(
                    "  {next} = insertvalue {struct_kind} {whole}, {kind} {part}, {index}"
                ));
                whole = next;
            }
            continue;
        }
        lines.push(line.clone());
        if let Some((value, phi)) = result.and_then(|result| taken.get_key_value(result))
            && defined.insert(*value)
        {
            for index in 0..phi.fields.len() {
                lines.push(format!(
                    "  {} = extractvalue {} {value}, {index}",
                    field(value, index),
                    phi.kind
                ));
            }
        }
    }
    function.lines = lines;
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
