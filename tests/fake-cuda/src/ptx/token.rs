//! Words and signs, with their lines.

use std::rc::Rc;

/// A word or a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) text: &'a str,
    pub(super) line: usize,
}

fn is_word(sign: char) -> bool {
    sign.is_ascii_alphanumeric() || matches!(sign, '.' | '%' | '$' | '_')
}

/// All tokens of a text, comments left out.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let (mut rest, mut line, mut found) = (text, 1, Vec::new());
    while let Some(first) = rest.chars().next() {
        let length = if first.is_whitespace() {
            first.len_utf8()
        } else if rest.starts_with("//") {
            rest.find('\n').unwrap_or(rest.len())
        } else if rest.starts_with("/*") {
            rest.find("*/").map_or(rest.len(), |at| at + 2)
        } else {
            let word = rest.find(|sign| !is_word(sign)).unwrap_or(rest.len());
            let length = if word == 0 { first.len_utf8() } else { word };
            found.push(Token { text: &rest[..length], line });
            length
        };
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    found
}

/// What is wrong with a text.
pub(super) type Fault = String;

/// Goes through tokens.
pub(super) struct Cursor<'a> {
    tokens: Rc<[Token<'a>]>,
    at: usize,
}

impl<'a> Cursor<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self { tokens: tokens(text).into(), at: 0 }
    }

    /// Another one, at the same place.
    pub(super) fn clone_here(&self) -> Self {
        Self { tokens: Rc::clone(&self.tokens), at: self.at }
    }

    pub(super) fn peek(&self) -> &'a str {
        self.tokens.get(self.at).map_or("", |token| token.text)
    }

    pub(super) fn peek_second(&self) -> &'a str {
        self.tokens.get(self.at + 1).map_or("", |token| token.text)
    }

    pub(super) fn line(&self) -> usize {
        self.tokens.get(self.at).or(self.tokens.last()).map_or(1, |token| token.line)
    }

    /// The next token; nothing at the end.
    pub(super) fn next(&mut self) -> &'a str {
        let text = self.peek();
        self.at += 1;
        text
    }

    /// Whether the next token is this one, which is then taken.
    pub(super) fn takes(&mut self, text: &str) -> bool {
        let there = self.peek() == text;
        self.at += usize::from(there);
        there
    }

    pub(super) fn expect(&mut self, text: &str) -> Result<(), Fault> {
        if self.takes(text) { Ok(()) } else { Err(self.fault(&format!("no `{text}`"))) }
    }

    pub(super) fn fault(&self, what: &str) -> Fault {
        format!("line {}: {what} at `{}`", self.line(), self.peek())
    }

    /// A whole number, perhaps with a sign.
    pub(super) fn number(&mut self) -> Result<u64, Fault> {
        let negative = self.takes("-");
        let Some(number) = literal(self.peek()) else { return Err(self.fault("no number")) };
        self.next();
        Ok(if negative { number.wrapping_neg() } else { number })
    }

    pub(super) fn size(&mut self) -> Result<usize, Fault> {
        let number = self.number()?;
        usize::try_from(number)
            .ok()
            .filter(|size| *size < 1 << 24)
            .ok_or_else(|| self.fault("a number that is too large"))
    }
}

/// The bits of a literal.
pub(super) fn literal(text: &str) -> Option<u64> {
    let text = text.strip_suffix('U').unwrap_or(text);
    let based = |prefix: &str, base| {
        let digits = text.strip_prefix(prefix)?;
        u64::from_str_radix(digits, base).ok()
    };
    based("0x", 16)
        .or_else(|| based("0f", 16))
        .or_else(|| based("0d", 16))
        .or_else(|| text.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_are_no_tokens_and_lines_are_counted() {
        let text = "add.u32 %r1, /* a\n b */ -2; // c\nret;";
        let found: Vec<_> = tokens(text).iter().map(|token| (token.text, token.line)).collect();
        let expected = [
            ("add.u32", 1),
            ("%r1", 1),
            (",", 1),
            ("-", 2),
            ("2", 2),
            (";", 2),
            ("ret", 3),
            (";", 3),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn literals_are_their_bits() {
        assert_eq!(literal("0x1F"), Some(31));
        assert_eq!(literal("0f3F800000"), Some(u64::from(1_f32.to_bits())));
        assert_eq!((literal("12U"), literal("%r1"), literal("")), (Some(12), None, None));
    }
}
