//! Reads the instructions in which the width of an integer matters.

use crate::ir::{Instruction, split_at_commas, tokens};

/// What an instruction does with integers. Values are names or constants as LLVM writes them.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Form<'a> {
    /// `add i24 a, b` and its like, flags left out.
    Binary { kind: &'a str, a: &'a str, b: &'a str },
    /// `icmp ult i24 a, b`.
    Compare { test: &'a str, kind: &'a str, a: &'a str, b: &'a str },
    /// `select i1 c, i24 a, i24 b`.
    Select { choice: &'a str, kind: &'a str, a: &'a str, b: &'a str },
    /// `phi i24 [ a, %x ], [ b, %y ]`.
    Phi { kind: &'a str, incoming: Vec<(&'a str, &'a str)> },
    /// `zext i24 a to i32` and its like.
    Cast { from: &'a str, value: &'a str, to: &'a str },
    /// `load i24, ptr p, align 4`; the pointer with its type.
    Load { kind: &'a str, pointer: &'a str, align: u64 },
    /// `store i24 a, ptr p, align 4`.
    Store { kind: &'a str, value: &'a str, pointer: &'a str, align: u64 },
    /// `freeze i24 a`.
    Freeze { kind: &'a str, value: &'a str },
}

/// The bits of an integer type: 24 of `i24`.
pub(super) fn bits(kind: &str) -> Option<u32> {
    let digits = kind.strip_prefix('i')?;
    digits.bytes().all(|digit| digit.is_ascii_digit()).then(|| digits.parse().ok())?
}

/// Reads an instruction; `None` for all others, and for operands that are expressions.
pub(super) fn parse<'a>(instruction: &Instruction<'a>) -> Option<Form<'a>> {
    let pieces: Vec<&str> = split_at_commas(instruction.text)
        .into_iter()
        .filter(|piece| !piece.starts_with('!'))
        .collect();
    let words: Vec<&str> = tokens(pieces.first()?).map(|token| token.1).collect();
    // Type and value stand at the end of the first piece.
    let [.., kind, value] = *words.as_slice() else { return None };
    if value == ")" {
        return None;
    }
    let typed = |piece: usize| {
        let mut words = tokens(pieces.get(piece)?).map(|token| token.1);
        Some((words.next()?, words.next()?)).filter(|_| words.next().is_none())
    };
    let plain = |piece: usize| {
        let mut words = tokens(pieces.get(piece)?).map(|token| token.1);
        words.next().filter(|_| words.next().is_none())
    };
    let align =
        || pieces.iter().find_map(|piece| piece.strip_prefix("align ")?.trim().parse().ok());
    Some(match instruction.opcode {
        "add" | "sub" | "mul" | "udiv" | "sdiv" | "urem" | "srem" | "and" | "or" | "xor"
        | "shl" | "lshr" | "ashr" => Form::Binary { kind, a: value, b: plain(1)? },
        "icmp" => Form::Compare { test: words.get(words.len() - 3)?, kind, a: value, b: plain(1)? },
        "select" => {
            let ((kind, a), (_, b)) = (typed(1)?, typed(2)?);
            Form::Select { choice: value, kind, a, b }
        }
        "phi" => {
            let at = words.iter().position(|&word| word == "phi")?;
            let kind = words.get(at + 1)?;
            let mut incoming = Vec::new();
            for (number, piece) in pieces.iter().enumerate() {
                let piece = if number == 0 { &piece[piece.find('[')?..] } else { piece };
                let inside: Vec<&str> = tokens(piece).map(|token| token.1).collect();
                let ["[", value, ",", label, "]"] = *inside.as_slice() else { return None };
                incoming.push((value, label));
            }
            Form::Phi { kind, incoming }
        }
        "zext" | "sext" | "trunc" | "uitofp" | "sitofp" | "fptoui" | "fptosi" => {
            let at = words.iter().position(|&word| word == "to")?;
            let value = Some(words[at - 1]).filter(|&value| value != ")")?;
            Form::Cast { from: words.get(at - 2)?, value, to: words.get(at + 1)? }
        }
        "load" if !words.contains(&"atomic") => {
            Form::Load { kind: value, pointer: pieces.get(1)?, align: align().unwrap_or(1) }
        }
        "store" if !words.contains(&"atomic") => {
            Form::Store { kind, value, pointer: pieces.get(1)?, align: align().unwrap_or(1) }
        }
        "freeze" => Form::Freeze { kind, value },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn form(line: &str) -> Option<Form<'_>> {
        parse(&Instruction::parse(line)?)
    }

    #[test]
    fn flags_and_metadata_are_passed_over() {
        assert_eq!(
            form("%r = add nuw nsw i24 %a, -1, !x !3"),
            Some(Form::Binary { kind: "i24", a: "%a", b: "-1" })
        );
        assert_eq!(
            form("%r = icmp samesign ult i128 %a, 5"),
            Some(Form::Compare { test: "ult", kind: "i128", a: "%a", b: "5" })
        );
        assert_eq!(
            form("%r = zext nneg i33 %a to i64"),
            Some(Form::Cast { from: "i33", value: "%a", to: "i64" })
        );
    }

    #[test]
    fn memory_is_read_with_its_pointer_and_alignment() {
        assert_eq!(
            form("%r = load i128, ptr addrspace(1) %p, align 8, !noalias !2"),
            Some(Form::Load { kind: "i128", pointer: "ptr addrspace(1) %p", align: 8 })
        );
        assert_eq!(
            form("store i24 %v, ptr %p, align 4"),
            Some(Form::Store { kind: "i24", value: "%v", pointer: "ptr %p", align: 4 })
        );
    }

    #[test]
    fn a_pointer_may_be_an_expression_and_a_number_may_not() {
        let place = "ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @g, i64 8)";
        let line = format!("%r = load i128, {place}, align 8");
        assert_eq!(form(&line), Some(Form::Load { kind: "i128", pointer: place, align: 8 }));
        assert_eq!(form(&format!("store i128 ptrtoint ({place} to i128), ptr %p")), None);
        assert_eq!(form(&format!("%r = add i128 ptrtoint ({place} to i128), 5")), None);
        assert_eq!(form(&format!("%r = zext i64 ptrtoint ({place} to i64) to i128")), None);
    }

    #[test]
    fn a_phi_has_values_and_labels() {
        assert_eq!(
            form("%r = phi i7 [ 0, %a ], [ %x, %b ]"),
            Some(Form::Phi { kind: "i7", incoming: vec![("0", "%a"), ("%x", "%b")] })
        );
    }
}
