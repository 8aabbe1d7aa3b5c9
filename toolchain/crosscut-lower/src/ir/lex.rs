//! Tokens of LLVM's assembly.

/// The tokens of one line, with where each begins. Comments and white space are passed over.
///
/// A name keeps its sigil and quotes (`@f`, `%"a b"`, `!12`, `#3`), a string its prefix (`c"..."`);
/// any other run of letters, digits, `_`, `.`, `$` and `-` is one token, and so is a number with
/// its exponent (`1.000000e+00`); every other character is its own.
pub(crate) fn tokens(line: &str) -> impl Iterator<Item = (usize, &str)> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let bytes = line.as_bytes();
        while bytes.get(at).is_some_and(u8::is_ascii_whitespace) {
            at += 1;
        }
        let start = at;
        match *bytes.get(at)? {
            b';' => return None,
            b'"' => at = end_of_string(bytes, at),
            b'c' if bytes.get(at + 1) == Some(&b'"') => at = end_of_string(bytes, at + 1),
            b'@' | b'%' | b'!' | b'#' | b'$' => {
                at += 1;
                if bytes.get(at) == Some(&b'"') {
                    at = end_of_string(bytes, at);
                } else {
                    at = end_of_word(bytes, at);
                }
            }
            byte if is_word(byte) => {
                at = end_of_word(bytes, at);
                let is_number = byte == b'-' || byte.is_ascii_digit();
                if is_number && bytes[at - 1] == b'e' && bytes.get(at) == Some(&b'+') {
                    at = end_of_word(bytes, at + 1);
                }
            }
            _ => at += line[at..].chars().next().map_or(1, char::len_utf8),
        }
        Some((start, &line[start..at]))
    })
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$' | b'-')
}

fn end_of_word(bytes: &[u8], mut at: usize) -> usize {
    while bytes.get(at).copied().is_some_and(is_word) {
        at += 1;
    }
    at
}

/// The place after the string that opens at `at`. LLVM writes quotes inside strings as `\22`.
fn end_of_string(bytes: &[u8], at: usize) -> usize {
    match bytes[at + 1..].iter().position(|&byte| byte == b'"') {
        Some(length) => at + length + 2,
        None => bytes.len(),
    }
}

/// The line with every token that `replace` answers for replaced.
pub(crate) fn replace_tokens<'a>(
    line: &'a str,
    mut replace: impl FnMut(&'a str) -> Option<String>,
) -> String {
    let mut result = String::with_capacity(line.len());
    let mut copied = 0;
    for (start, token) in tokens(line) {
        if let Some(replacement) = replace(token) {
            result.push_str(&line[copied..start]);
            result.push_str(&replacement);
            copied = start + token.len();
        }
    }
    result.push_str(&line[copied..]);
    result
}

/// The pieces of `text` between commas that stand outside all brackets, trimmed.
pub(crate) fn split_at_commas(text: &str) -> Vec<&str> {
    let (mut pieces, mut depth, mut from) = (Vec::new(), 0usize, 0);
    for (start, token) in tokens(text) {
        match token {
            "(" | "[" | "{" | "<" => depth += 1,
            ")" | "]" | "}" | ">" => depth = depth.saturating_sub(1),
            "," if depth == 0 => {
                pieces.push(text[from..start].trim());
                from = start + 1;
            }
            _ => {}
        }
    }
    let last = text[from..].trim();
    if !last.is_empty() {
        pieces.push(last);
    }
    pieces
}

/// The bytes of a string token: without prefix and quotes, escapes resolved.
pub(crate) fn unescape(token: &str) -> Vec<u8> {
    let Some(open) = token.find('"') else { return Vec::new() };
    let inner = token[open + 1..].strip_suffix('"').unwrap_or(&token[open + 1..]).as_bytes();
    let (mut bytes, mut at) = (Vec::with_capacity(inner.len()), 0);
    while at < inner.len() {
        let escaped = (inner[at] == b'\\')
            .then(|| inner.get(at + 1..at + 3))
            .flatten()
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        match escaped {
            Some(byte) => {
                bytes.push(byte);
                at += 3;
            }
            None if inner[at] == b'\\' && inner.get(at + 1) == Some(&b'\\') => {
                bytes.push(b'\\');
                at += 2;
            }
            None => {
                bytes.push(inner[at]);
                at += 1;
            }
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(line: &str) -> Vec<&str> {
        tokens(line).map(|(_, token)| token).collect()
    }

    #[test]
    fn a_call_falls_into_its_tokens() {
        assert_eq!(
            all("  %x = call i64 @\"a b\"(ptr %1, [2 x i8] c\"p\\22,\") #3, !dbg !7 ; note"),
            [
                "%x",
                "=",
                "call",
                "i64",
                "@\"a b\"",
                "(",
                "ptr",
                "%1",
                ",",
                "[",
                "2",
                "x",
                "i8",
                "]",
                "c\"p\\22,\"",
                ")",
                "#3",
                ",",
                "!dbg",
                "!7"
            ]
        );
    }

    #[test]
    fn a_number_keeps_its_exponent() {
        assert_eq!(
            all("fadd float -1.000000e+00, %e+1"),
            ["fadd", "float", "-1.000000e+00", ",", "%e", "+", "1"]
        );
        assert_eq!(all("double 2.500000e-01"), ["double", "2.500000e-01"]);
    }

    #[test]
    fn commas_inside_brackets_do_not_split() {
        assert_eq!(
            split_at_commas("ptr @a, { i64, i1 } %b, i8 range(i8 0, 2) %c"),
            ["ptr @a", "{ i64, i1 } %b", "i8 range(i8 0, 2) %c"]
        );
    }

    #[test]
    fn strings_lose_their_escapes() {
        assert_eq!(unescape("c\"a\\00\\\\b\\22\""), b"a\0\\b\"");
    }

    #[test]
    fn only_the_tokens_asked_for_are_replaced() {
        let renamed = replace_tokens("store ptr @a, ptr @ab ; @a", |token| {
            (token == "@a").then(|| "@z".to_owned())
        });
        assert_eq!(renamed, "store ptr @z, ptr @ab ; @a");
    }
}
