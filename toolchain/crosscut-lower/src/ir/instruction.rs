//! Instructions as lines of text.

use super::lex::{split_at_commas, tokens};

/// One instruction: `%result = opcode rest`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Instruction<'a> {
    /// The value it defines, if any.
    pub(crate) result: Option<&'a str>,
    /// What it does; `call` for every kind of call.
    pub(crate) opcode: &'a str,
    /// The whole line, trimmed.
    pub(crate) text: &'a str,
}

impl<'a> Instruction<'a> {
    /// Reads a line of a function's body; `None` for labels and empty lines.
    pub(crate) fn parse(line: &'a str) -> Option<Self> {
        let text = line.trim();
        let mut words = tokens(text).map(|(_, token)| token);
        let first = words.next()?;
        let (result, opcode) = if first.starts_with('%') {
            words.next().filter(|&equals| equals == "=")?;
            (Some(first), words.next()?)
        } else {
            (None, first)
        };
        let opcode = match opcode {
            "tail" | "musttail" | "notail" => "call",
            other => other,
        };
        // A label is a word and a colon.
        if result.is_none() && text[first.len()..].starts_with(':') || first.starts_with('}') {
            return None;
        }
        Some(Self { result, opcode, text })
    }

    /// What stands behind its opcode.
    pub(crate) fn rest(&self) -> &'a str {
        let opcode = tokens(self.text).nth(if self.result.is_some() { 2 } else { 0 });
        opcode.map_or("", |(at, word)| self.text[at + word.len()..].trim_start())
    }

    /// Every value it uses (`%...` and `@...`), its own result not among them.
    pub(crate) fn operands(&self) -> impl Iterator<Item = &'a str> {
        tokens(self.text)
            .map(|(_, token)| token)
            .skip(usize::from(self.result.is_some()))
            .filter(|token| token.starts_with(['%', '@']))
    }

    /// The number of the metadata that says where it comes from: `!12`.
    pub(crate) fn debug_location(&self) -> Option<&'a str> {
        let mut words = tokens(self.text).map(|(_, token)| token);
        words.find(|&word| word == "!dbg")?;
        words.next()
    }
}

/// A call: `%result = call type @callee(arguments) rest`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call<'a> {
    /// The value it defines, if any.
    pub(crate) result: Option<&'a str>,
    /// `@name`, `%value`, or `asm`.
    pub(crate) callee: &'a str,
    /// Each argument with type and attributes.
    pub(crate) arguments: Vec<&'a str>,
    /// What comes before the callee, from `call` on.
    pub(crate) before: &'a str,
    /// What comes after the closing bracket: attributes and metadata.
    pub(crate) after: &'a str,
}

impl<'a> Call<'a> {
    /// Reads a call; `None` for anything else.
    pub(crate) fn parse(line: &'a str) -> Option<Self> {
        let instruction = Instruction::parse(line)?;
        if instruction.opcode != "call" && instruction.opcode != "invoke" {
            return None;
        }
        let text = instruction.text;
        let words: Vec<(usize, &str)> = tokens(text).collect();
        let mut depth = 0usize;
        let mut callee = None;
        for pair in words.windows(2) {
            match pair[0].1 {
                "(" | "[" | "{" | "<" => depth += 1,
                ")" | "]" | "}" | ">" => depth = depth.saturating_sub(1),
                "asm" if depth == 0 => {
                    callee = Some(pair[0]);
                    break;
                }
                name if depth == 0 && name.starts_with(['@', '%']) && pair[1].1 == "(" => {
                    callee = Some(pair[0]);
                    break;
                }
                _ => {}
            }
        }
        let (at, callee) = callee?;
        let opening = words.iter().find(|word| word.0 > at && word.1 == "(")?.0;
        let mut depth = 0usize;
        let mut closing = None;
        for &(start, word) in words.iter().filter(|word| word.0 >= opening) {
            match word {
                "(" => depth += 1,
                ")" => {
                    depth -= 1;
                    if depth == 0 {
                        closing = Some(start);
                        break;
                    }
                }
                _ => {}
            }
        }
        let closing = closing?;
        let begin = match instruction.result {
            Some(_) => text.find('=')? + 1,
            None => 0,
        };
        Some(Self {
            result: instruction.result,
            callee,
            arguments: split_at_commas(&text[opening + 1..closing]),
            before: text[begin..at].trim(),
            after: &text[closing + 1..],
        })
    }

    /// The value of an argument: its last token, which is a name or a plain constant.
    pub(crate) fn value(&self, index: usize) -> Option<&'a str> {
        value_of(self.arguments.get(index)?)
    }

    /// An argument that is a plain number.
    pub(crate) fn number(&self, index: usize) -> Option<u64> {
        parse_number(self.value(index)?)
    }
}

/// The value of a typed operand: its last token, unless that closes an expression.
pub(crate) fn value_of(operand: &str) -> Option<&str> {
    let value = tokens(operand).last()?.1;
    (value != ")").then_some(value)
}

/// The type of an operand that is a pointer: `ptr addrspace(1)` of `ptr addrspace(1) @g`, and of
/// `ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @g, i64 4)`.
pub(crate) fn pointer_type(operand: &str) -> Option<&str> {
    let mut words = tokens(operand);
    let (start, word) = words.next().filter(|word| word.1 == "ptr")?;
    let end = match words.next() {
        // Behind it come a bracket, the number, and the other bracket.
        Some((_, "addrspace")) => words.nth(2)?.0 + 1,
        _ => start + word.len(),
    };
    Some(&operand[start..end])
}

/// The address space of such an operand: `1`, and `0` where it names none.
pub(crate) fn pointer_space(operand: &str) -> Option<&str> {
    let kind = pointer_type(operand)?;
    Some(kind.split_once('(').map_or("0", |(_, number)| number.trim_end_matches(')')))
}

/// A number as LLVM writes it: signed decimal, of which the bits count.
fn parse_number(value: &str) -> Option<u64> {
    value.parse::<u64>().ok().or_else(|| value.parse::<i64>().ok().map(i64::cast_unsigned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_call_is_read_with_its_arguments() {
        let call = Call::parse(
            "  %r = tail call noundef { i64, i1 } @f(i32 noundef 7, ptr align 4 @g) #3, !dbg !1",
        )
        .unwrap();
        assert_eq!(call.result, Some("%r"));
        assert_eq!(call.callee, "@f");
        assert_eq!(call.before, "tail call noundef { i64, i1 }");
        assert_eq!((call.number(0), call.value(1)), (Some(7), Some("@g")));
        assert_eq!(call.after, " #3, !dbg !1");
    }

    #[test]
    fn a_call_through_a_pointer_has_a_value_as_callee() {
        assert_eq!(Call::parse("call void %f(ptr %x)").unwrap().callee, "%f");
        assert_eq!(Call::parse("call void asm \"nop\", \"\"()").unwrap().callee, "asm");
    }

    #[test]
    fn labels_are_no_instructions() {
        assert_eq!(Instruction::parse("start:                    ; preds = %a"), None);
        assert_eq!(Instruction::parse("  ret void").unwrap().opcode, "ret");
    }

    #[test]
    fn what_stands_behind_the_opcode_is_found_whatever_the_result_is_called() {
        let load = Instruction::parse("  %my.load = load atomic i8, ptr %p").unwrap();
        assert_eq!(load.rest(), "atomic i8, ptr %p");
        assert_eq!(Instruction::parse("store i8 1, ptr %p").unwrap().rest(), "i8 1, ptr %p");
    }

    #[test]
    fn the_type_of_a_pointer_ends_where_its_value_begins() {
        for (operand, kind, space) in [
            ("ptr %p", "ptr", "0"),
            ("ptr addrspace(3) %p", "ptr addrspace(3)", "3"),
            ("ptr getelementptr (i8, ptr @g, i64 4)", "ptr", "0"),
            (
                "ptr addrspace(4) addrspacecast (ptr addrspace(1) @g to ptr addrspace(4))",
                "ptr addrspace(4)",
                "4",
            ),
        ] {
            assert_eq!((pointer_type(operand), pointer_space(operand)), (Some(kind), Some(space)));
        }
        assert_eq!(pointer_type("i64 %p"), None);
    }

    #[test]
    fn a_result_is_not_an_operand() {
        let instruction = Instruction::parse("%a = load i32, ptr %b, align 4").unwrap();
        assert_eq!(instruction.operands().collect::<Vec<_>>(), ["%b"]);
    }
}
