//! The source text that a diagnostic points at.

use std::fs;
use std::ops::Range;

use crosscut_lower::job::SourceSpan;

/// One line of a source file and the part of it that is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Excerpt {
    /// The line, without its end.
    pub(crate) text: String,
    /// The bytes of `text` that are meant.
    pub(crate) part: Range<usize>,
    /// Where `text` begins in the file, in bytes.
    pub(crate) offset: usize,
}

/// Reads the place; `None` if the file is not there (the standard library's seldom is) or too short.
pub(crate) fn excerpt(span: &SourceSpan) -> Option<Excerpt> {
    cut(&fs::read_to_string(&span.file).ok()?, span.line, span.column)
}

fn cut(source: &str, line: u32, column: u32) -> Option<Excerpt> {
    let index = usize::try_from(line).ok()?.checked_sub(1)?;
    let whole = source.split_inclusive('\n').nth(index)?;
    let offset = whole.as_ptr() as usize - source.as_ptr() as usize;
    let text = whole.trim_end().to_string();
    let part = match usize::try_from(column).ok()?.checked_sub(1) {
        // rustc's debug info counts columns in bytes.
        Some(start) if text.is_char_boundary(start) && start < text.len() => {
            start..start + expression_length(&text[start..])
        }
        _ => text.len() - text.trim_start().len()..text.len(),
    };
    Some(Excerpt { text, part, offset })
}

/// How far the expression that begins here goes. Debug info has only its beginning: a path or name
/// is taken whole, a call with its arguments, as far as they are on the line.
fn expression_length(text: &str) -> usize {
    let name = |c: char| c.is_alphanumeric() || matches!(c, '_' | ':' | '!');
    let path = text.find(|c| !name(c)).unwrap_or(text.len());
    if path > 0 && !matches!(text[path..].chars().next(), Some('(' | '[')) {
        return path;
    }
    let mut depth = 0_usize;
    for (at, c) in text.char_indices().skip_while(|(at, _)| *at < path) {
        match c {
            '(' | '[' => depth += 1,
            ')' | ']' => {
                depth = depth.saturating_sub(1);
                if depth == 0 {
                    return at + c.len_utf8();
                }
            }
            _ if depth == 0 => return (at + c.len_utf8()).max(1),
            _ => {}
        }
    }
    // The call goes on in the next line, or a bracket stands in a string.
    if path > 0 { path } else { text.chars().next().map_or(0, char::len_utf8) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(line: &str, column: u32) -> String {
        let source = format!("fn main() {{\n{line}\n}}\n");
        let excerpt = cut(&source, 2, column).unwrap();
        assert_eq!(excerpt.offset, 12);
        excerpt.text[excerpt.part].to_string()
    }

    #[test]
    fn a_call_is_meant_with_its_arguments() {
        assert_eq!(part("    let t = fs::read(\"a.bin\");", 13), "fs::read(\"a.bin\")");
        assert_eq!(part("    f(g(1), [2])[0] + 1", 5), "f(g(1), [2])");
    }

    #[test]
    fn a_name_is_meant_whole() {
        assert_eq!(part("    total += item;", 5), "total");
        assert_eq!(part("    println!(\"x\");", 5), "println!(\"x\")");
    }

    #[test]
    fn a_call_over_several_lines_is_meant_by_its_name() {
        assert_eq!(part("    long_call(1,", 5), "long_call");
    }

    #[test]
    fn an_operator_is_meant_alone() {
        assert_eq!(part("    *x = 1", 5), "*");
    }

    #[test]
    fn without_a_column_the_line_is_meant() {
        assert_eq!(part("    a + b  ", 0), "a + b");
        assert_eq!(part("    a + b", 40), "a + b");
    }

    #[test]
    fn a_line_beyond_the_end_is_nothing() {
        assert_eq!(cut("one\n", 2, 1), None);
        assert_eq!(cut("one\n", 0, 1), None);
    }
}
