//! Takes expressions of a kernel's device globals apart into instructions.
//!
//! Expects the lines of an entry that still name the statics.
//! Leaves no expression in them that mentions one that becomes a parameter: an expression is made of constants. The
//! instructions need nothing but parameters, so all can stand at the top of the kernel.
//!
//! `store i64 ptrtoint (ptr @G to i64), ptr %p` becomes `%cc.number.0 = ptrtoint ptr @G to i64` and
//! `store i64 %cc.number.0, ptr %p`.

use crate::ir::{split_at_commas, tokens};

/// What LLVM makes expressions with; the second half takes two values of one type.
const CASTS: &[&str] =
    &["getelementptr", "ptrtoint", "ptrtoaddr", "inttoptr", "addrspacecast", "bitcast", "trunc"];
const SUMS: &[&str] = &["add", "sub", "xor", "mul", "shl"];

/// What may stand between the name of an expression and its values.
const FLAGS: &[&str] = &["inbounds", "nuw", "nsw", "nusw"];

/// What values of the instructions are called.
const NUMBER: &str = "%cc.number.";

/// The instructions that the expressions become, each after those it needs, and the lines without them.
pub(super) fn take_apart(
    lines: &[String],
    is_parameter: impl Fn(&str) -> bool,
) -> (Vec<String>, Vec<String>) {
    let mut made: Vec<String> = Vec::new();
    let lines = lines.iter().map(|line| {
        let mut line = line.clone();
        while let Some((start, end, instruction)) = innermost(&line, &is_parameter) {
            let known = made.iter().position(|it| *it == instruction);
            let number = known.unwrap_or_else(|| {
                made.push(instruction);
                made.len() - 1
            });
            line.replace_range(start..end, &format!("{NUMBER}{number}"));
        }
        line
    });
    let lines = lines.collect();
    let named = made.iter().enumerate();
    let named = named.map(|(number, it)| format!("  {NUMBER}{number} = {it}"));
    (named.collect(), lines)
}

/// Where an expression that mentions a parameter and contains no other such begins and ends, and what it is as an
/// instruction.
fn innermost(line: &str, is_parameter: &impl Fn(&str) -> bool) -> Option<(usize, usize, String)> {
    // Where each parenthesis that is open was opened, where the expression begins whose values it has, and whether one
    // of these is a parameter.
    let mut open: Vec<(usize, Option<usize>, bool)> = Vec::new();
    let mut head = None;
    for (at, token) in tokens(line) {
        match token {
            "(" => open.push((at, head, false)),
            ")" => {
                if let (opened, Some(start), true) = open.pop()? {
                    let instruction = instruction(&line[start..opened], &line[opened + 1..at]);
                    return Some((start, at + 1, instruction));
                }
            }
            _ if is_parameter(token) || token.starts_with(NUMBER) => {
                open.last_mut().into_iter().for_each(|last| last.2 = true);
            }
            _ => {}
        }
        head = match token {
            _ if CASTS.contains(&token) || SUMS.contains(&token) => Some(at),
            _ if FLAGS.contains(&token) => head,
            _ => None,
        };
    }
    None
}

/// `add nuw` and `i64 %a, i64 1` are `add nuw i64 %a, 1`.
fn instruction(head: &str, values: &str) -> String {
    let head = head.trim_end();
    let is_sum = head.split(' ').next().is_some_and(|opcode| SUMS.contains(&opcode));
    if is_sum
        && let [first, second] = split_at_commas(values)[..]
        && let Some((kind, _)) = first.split_once(' ')
        && let Some(second) = second.strip_prefix(kind)
    {
        return format!("{head} {first},{second}");
    }
    format!("{head} {values}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apart(lines: &[&str]) -> Vec<String> {
        let lines: Vec<String> = lines.iter().map(|line| (*line).to_owned()).collect();
        let (mut made, rest) = take_apart(&lines, |token| matches!(token, "@G" | "@H"));
        made.extend(rest);
        made
    }

    #[test]
    fn each_expression_of_a_parameter_is_one_instruction_after_those_it_needs() {
        assert_eq!(
            apart(&[
                "  store i64 xor (i64 ptrtoint (ptr @G to i64), i64 ptrtoint (ptr @H to i64)), ptr %p, align 8",
                "  store i64 sub (i64 ptrtoint (ptr @G to i64), i64 ptrtoint (ptr @C to i64)), ptr %p, align 8",
                "  %n = phi i64 [ ptrtoint (ptr @G to i64), %a ], [ add nuw (i64 ptrtoint (ptr getelementptr inbounds nuw (i8, ptr @H, i64 8) to i64), i64 -1), %b ]",
            ]),
            [
                "  %cc.number.0 = ptrtoint ptr @G to i64",
                "  %cc.number.1 = ptrtoint ptr @H to i64",
                "  %cc.number.2 = xor i64 %cc.number.0, %cc.number.1",
                "  %cc.number.3 = sub i64 %cc.number.0, ptrtoint (ptr @C to i64)",
                "  %cc.number.4 = getelementptr inbounds nuw i8, ptr @H, i64 8",
                "  %cc.number.5 = ptrtoint ptr %cc.number.4 to i64",
                "  %cc.number.6 = add nuw i64 %cc.number.5, -1",
                "  store i64 %cc.number.2, ptr %p, align 8",
                "  store i64 %cc.number.3, ptr %p, align 8",
                "  %n = phi i64 [ %cc.number.0, %a ], [ %cc.number.6, %b ]",
            ]
        );
    }

    #[test]
    fn expressions_of_constants_calls_and_instructions_stay() {
        for line in [
            "  store i64 ptrtoint (ptr @C to i64), ptr @G, align 8",
            "  %a = call ptr @f(ptr @G, i64 ptrtoint (ptr @C to i64))",
            "  %n = ptrtoint ptr @G to i64",
            "  %v = add nuw i64 %x, 1",
        ] {
            assert_eq!(apart(&[line]), [line]);
        }
    }
}
