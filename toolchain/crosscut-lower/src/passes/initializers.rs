//! First values of variables, taken apart and spelled again.
//!
//! How a constant is written, as bytes, as numbers, in structs or in arrays, is nothing that code sees: it
//! reads memory. So a pass may spell one in another way, as long as every byte stays where it is.

use std::borrow::Cow;
use std::fmt::Write as _;

use crate::ir::{split_at_commas, tokens, unescape};

/// A variable's line, with the first value taken apart.
pub(super) struct Initializer<'a> {
    /// Up to the type.
    head: &'a str,
    pub(super) value: Value<'a>,
    /// From the comma behind the value on.
    tail: &'a str,
}

/// A constant with its type.
pub(super) enum Value<'a> {
    /// What has no parts that anybody asks about: a number, an address, a float, zeros.
    Plain { kind: Cow<'a, str>, text: Cow<'a, str> },
    /// An array of bytes.
    Bytes(Vec<u8>),
    /// An array, or a struct without padding: one element after the other.
    List(Vec<Self>),
}

impl<'a> Initializer<'a> {
    /// Reads the line of a variable; `None` if it has no first value, or one that is not understood.
    pub(super) fn parse(line: &'a str) -> Option<Self> {
        let (at, word) = tokens(line).find(|token| matches!(token.1, "global" | "constant"))?;
        let start = at + word.len();
        let rest = &line[start..];
        let value = *split_at_commas(rest).first()?;
        let tail = &rest[rest.find(value)? + value.len()..];
        Some(Self { head: &line[..start], value: Value::parse(value)?, tail })
    }

    /// The line.
    pub(super) fn print(&self) -> String {
        let (kind, text) = self.value.spell();
        format!("{} {kind} {text}{}", self.head, self.tail)
    }
}

impl<'a> Value<'a> {
    /// Reads type and value.
    fn parse(text: &'a str) -> Option<Self> {
        let (kind, value) = text.split_at(end_of_type(text)?);
        let value = value.trim_start();
        let elements = match (kind.as_bytes().first()?, value.as_bytes().first()?) {
            (b'[', b'c') if kind.ends_with(" x i8]") => return Some(Self::Bytes(unescape(value))),
            (b'[', b'[') => value.strip_prefix('[')?.strip_suffix(']')?,
            (b'<', b'<') if kind.starts_with("<{") => {
                value.strip_prefix("<{")?.strip_suffix("}>")?
            }
            _ => return Some(Self::Plain { kind: kind.into(), text: value.into() }),
        };
        split_at_commas(elements)
            .into_iter()
            .map(Self::parse)
            .collect::<Option<_>>()
            .map(Self::List)
    }

    /// Type and value. Elements that are all of one type are an array.
    fn spell(&self) -> (String, String) {
        match self {
            Self::Plain { kind, text } => (kind.to_string(), text.to_string()),
            Self::Bytes(bytes) => {
                let mut text = String::with_capacity(bytes.len() * 3 + 3);
                text.push_str("c\"");
                for byte in bytes {
                    let _ = write!(text, "\\{byte:02X}");
                }
                text.push('"');
                (format!("[{} x i8]", bytes.len()), text)
            }
            Self::List(elements) => {
                let (kinds, texts): (Vec<String>, Vec<String>) =
                    elements.iter().map(Self::spell).unzip();
                let typed: Vec<String> =
                    kinds.iter().zip(&texts).map(|(kind, text)| format!("{kind} {text}")).collect();
                match kinds.first() {
                    Some(first) if kinds.iter().all(|kind| kind == first) => {
                        (format!("[{} x {first}]", kinds.len()), format!("[{}]", typed.join(", ")))
                    }
                    _ => (
                        format!("<{{ {} }}>", kinds.join(", ")),
                        format!("<{{ {} }}>", typed.join(", ")),
                    ),
                }
            }
        }
    }
}

/// Where the type ends that `text` begins with.
fn end_of_type(text: &str) -> Option<usize> {
    let mut words = tokens(text).peekable();
    let (_, first) = words.next()?;
    let mut depth = match first {
        "[" | "{" | "<" => 1usize,
        "ptr" if words.peek().is_some_and(|next| next.1 == "addrspace") => 0,
        _ => return Some(first.len()),
    };
    for (at, word) in words {
        match word {
            "[" | "{" | "<" | "(" => depth += 1,
            "]" | "}" | ">" | ")" => depth = depth.checked_sub(1)?,
            _ => continue,
        }
        if depth == 0 {
            return Some(at + word.len());
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn again(line: &str) -> Option<String> {
        Some(Initializer::parse(line)?.print())
    }

    #[test]
    fn what_is_taken_apart_is_spelled_with_every_byte_in_its_place() {
        let mixed = "@T = private unnamed_addr addrspace(1) constant <{ ptr addrspace(4), [2 x i8] }> <{ ptr addrspace(4) addrspacecast (ptr addrspace(1) @u to ptr addrspace(4)), [2 x i8] c\"\\01\\22\" }>, align 8";
        assert_eq!(again(mixed).as_deref(), Some(mixed));
        for same in [
            "@N = constant [2 x i32] [i32 7, i32 -5]",
            "@Z = global [2 x i8] zeroinitializer, align 1",
            "@F = constant float 1.000000e+00, align 4",
            "@A = constant [2 x [1 x i64]] [[1 x i64] [i64 1], [1 x i64] [i64 2]], align 8",
        ] {
            assert_eq!(again(same).as_deref(), Some(same));
        }
        assert_eq!(
            again("@T = constant <{ ptr, ptr }> <{ ptr @a, ptr null }>, align 8").as_deref(),
            Some("@T = constant [2 x ptr] [ptr @a, ptr null], align 8")
        );
    }

    #[test]
    fn a_variable_without_first_value_is_left_alone() {
        assert_eq!(again("@E = external global i32, align 4"), None);
    }
}
