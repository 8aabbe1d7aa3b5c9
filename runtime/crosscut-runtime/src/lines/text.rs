//! The text of a line, from its template and its values: what Rust's `format!` makes of them.

/// One value of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineValue {
    /// The kind: see [`LINE_WORDS`](crosscut_image::registration::LINE_WORDS).
    pub kind: u32,
    /// Its bits, the lowest first.
    pub bits: u64,
}

/// The words of a line before its text.
const FIXED: usize = 3;

/// The text of all lines in an area, and of how many had no room.
///
/// Nothing in the area is trusted: a kernel may have ended in the middle of a line.
pub(super) fn lines(mut words: &[u32], lost: u32) -> String {
    let mut all = String::new();
    while let Some((line, rest)) = words.first().and_then(|&length| {
        (length as usize >= FIXED).then_some(())?;
        words.split_at_checked(length as usize)
    }) {
        if let Some(line) = line_of(line) {
            all.push_str(&line);
            all.push('\n');
        }
        words = rest;
    }
    if lost > 0 {
        let plural = if lost == 1 { "" } else { "s" };
        all.push_str(&format!("... and {lost} line{plural} more, for which there was no room\n"));
    }
    all
}

fn line_of(line: &[u32]) -> Option<String> {
    let [_, bytes, count, rest @ ..] = line else { return None };
    let (text, values) = rest.split_at_checked((*bytes as usize).div_ceil(4))?;
    let text: Vec<u8> = text.iter().flat_map(|word| word.to_ne_bytes()).collect();
    let text = String::from_utf8_lossy(text.get(..*bytes as usize)?);
    let (values, _) = values.as_chunks::<3>();
    let values: Vec<LineValue> = values
        .iter()
        .take(*count as usize)
        .map(|&[kind, low, high]| LineValue { kind, bits: u64::from(high) << 32 | u64::from(low) })
        .collect();
    Some(format(&text, &values))
}

/// A template with its values; a value that is missing leaves its braces.
pub(super) fn format(template: &str, values: &[LineValue]) -> String {
    let mut text = String::with_capacity(template.len());
    let mut values = values.iter();
    let mut rest = template;
    while let Some(at) = rest.find(['{', '}']) {
        text.push_str(&rest[..at]);
        rest = &rest[at..];
        if rest.starts_with("{{") || rest.starts_with("}}") {
            text.push_str(&rest[..1]);
            rest = &rest[2..];
            continue;
        }
        let Some(end) = end_of(rest) else { break };
        match values.next() {
            Some(value) if rest.starts_with('{') => {
                let options = rest[1..end].strip_prefix(':').unwrap_or("");
                text.push_str(&Options::of(options).apply(*value));
            }
            _ => text.push_str(&rest[..=end]),
        }
        rest = &rest[end + 1..];
    }
    text + rest
}

/// Where the placeholder that a text begins with ends. A brace behind its colon may be a fill.
fn end_of(placeholder: &str) -> Option<usize> {
    let brace = placeholder.find('}')?;
    let Some(colon) = placeholder[..brace].find(':') else { return Some(brace) };
    let mut options = placeholder[colon + 1..].chars();
    match (options.next(), options.next()) {
        (Some(_), Some('<' | '^' | '>')) => {
            let behind = placeholder.len() - options.as_str().len();
            options.as_str().find('}').map(|at| behind + at)
        }
        _ => Some(brace),
    }
}

/// What stands behind the colon: `[[fill]align][sign][#][0][width][.precision][type]`.
#[derive(Debug, Default)]
struct Options<'t> {
    fill: Option<char>,
    align: Option<char>,
    plus: bool,
    prefix: bool,
    zeros: bool,
    width: usize,
    precision: Option<usize>,
    kind: &'t str,
}

impl<'t> Options<'t> {
    fn of(text: &'t str) -> Self {
        let mut options = Self::default();
        let is_align = |c: char| matches!(c, '<' | '^' | '>');
        let mut rest = text;
        let mut chars = rest.chars();
        match (chars.next(), chars.next()) {
            (Some(fill), Some(align)) if is_align(align) => {
                (options.fill, options.align) = (Some(fill), Some(align));
                rest = chars.as_str();
            }
            (Some(align), _) if is_align(align) => {
                options.align = Some(align);
                rest = &rest[1..];
            }
            _ => {}
        }
        let mut flag = |sign: char| match rest.strip_prefix(sign) {
            Some(after) => {
                rest = after;
                true
            }
            None => false,
        };
        // A minus means nothing, to Rust too.
        options.plus = !flag('-') && flag('+');
        options.prefix = flag('#');
        options.zeros = flag('0');
        options.width = number(&mut rest).unwrap_or(0);
        if let Some(after) = rest.strip_prefix('.') {
            rest = after;
            options.precision = number(&mut rest);
        }
        // Rust takes spaces behind it.
        options.kind = rest.trim_end();
        options
    }

    fn apply(&self, LineValue { kind, bits }: LineValue) -> String {
        let width = kind & 0xff;
        match kind >> 8 {
            0 => self.integer(bits, false, bits),
            1 => {
                // Sign extended from its own width.
                let unused = 64u32.saturating_sub(width).min(63);
                let value = (bits << unused).cast_signed() >> unused;
                let own = bits << unused >> unused;
                self.integer(value.unsigned_abs(), value < 0, own)
            }
            2 if width == 32 => {
                // Its bits are the lower half.
                let value = f32::from_bits(u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(0));
                self.number(value.is_sign_negative(), "", &self.digits(value.abs()))
            }
            2 => {
                let value = f64::from_bits(bits);
                self.number(value.is_sign_negative(), "", &self.digits(value.abs()))
            }
            3 => self.pad(self.cut((bits != 0).to_string()), '<'),
            _ => {
                let value = u32::try_from(bits).ok().and_then(char::from_u32);
                let value = value.unwrap_or(char::REPLACEMENT_CHARACTER);
                match self.kind {
                    // Rust pads no character between quotes.
                    "?" => format!("{value:?}"),
                    _ => self.pad(self.cut(value.to_string()), '<'),
                }
            }
        }
    }

    fn integer(&self, magnitude: u64, negative: bool, bits: u64) -> String {
        let (prefix, digits) = match self.kind {
            "x" | "x?" => ("0x", format!("{bits:x}")),
            "X" | "X?" => ("0x", format!("{bits:X}")),
            "o" => ("0o", format!("{bits:o}")),
            "b" => ("0b", format!("{bits:b}")),
            "e" | "E" => return self.number(negative, "", &self.digits(magnitude)),
            _ => return self.number(negative, "", &magnitude.to_string()),
        };
        self.number(false, if self.prefix { prefix } else { "" }, &digits)
    }

    fn digits(
        &self,
        value: impl std::fmt::Display + std::fmt::Debug + std::fmt::LowerExp + std::fmt::UpperExp,
    ) -> String {
        match (self.kind, self.precision) {
            ("?", None) => format!("{value:?}"),
            ("e", None) => format!("{value:e}"),
            ("E", None) => format!("{value:E}"),
            ("e", Some(precision)) => format!("{value:.precision$e}"),
            ("E", Some(precision)) => format!("{value:.precision$E}"),
            ("?", Some(precision)) => format!("{value:.precision$?}"),
            (_, None) => format!("{value}"),
            (_, Some(precision)) => format!("{value:.precision$}"),
        }
    }

    fn number(&self, negative: bool, prefix: &str, digits: &str) -> String {
        let sign = match (negative, self.plus) {
            // No sign is shown of NaN.
            _ if digits == "NaN" => "",
            (true, _) => "-",
            (false, true) => "+",
            (false, false) => "",
        };
        let length = sign.len() + prefix.len() + digits.len();
        if self.zeros && length < self.width {
            return format!("{sign}{prefix}{}{digits}", "0".repeat(self.width - length));
        }
        self.pad(format!("{sign}{prefix}{digits}"), '>')
    }

    /// As many characters as the precision says.
    fn cut(&self, text: String) -> String {
        match self.precision {
            Some(precision) => text.chars().take(precision).collect(),
            None => text,
        }
    }

    fn pad(&self, text: String, default: char) -> String {
        let missing = self.width.saturating_sub(text.chars().count());
        let before = match self.align.unwrap_or(default) {
            '<' => 0,
            '^' => missing / 2,
            _ => missing,
        };
        let fill = |count: usize| self.fill.unwrap_or(' ').to_string().repeat(count);
        format!("{}{text}{}", fill(before), fill(missing - before))
    }
}

/// The number at the beginning of a text, which it is taken off. Not so large that padding takes all memory.
fn number(text: &mut &str) -> Option<usize> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at(end);
    *text = rest;
    digits.parse().ok().map(|number: usize| number.min(u16::MAX.into()))
}

#[cfg(test)]
mod tests {
    use super::{LineValue, format, lines};

    fn unsigned(value: u64) -> LineValue {
        LineValue { kind: 64, bits: value }
    }

    fn signed(value: i32) -> LineValue {
        LineValue { kind: 1 << 8 | 32, bits: u64::from(value.cast_unsigned()) }
    }

    fn single(value: f32) -> LineValue {
        LineValue { kind: 2 << 8 | 32, bits: value.to_bits().into() }
    }

    fn double(value: f64) -> LineValue {
        LineValue { kind: 2 << 8 | 64, bits: value.to_bits() }
    }

    macro_rules! same {
        ($($template:literal, $encode:ident, $($value:expr),*;)*) => {$(
            $(assert_eq!(format($template, &[$encode($value)]), std::format!($template, $value));)*
        )*};
    }

    #[test]
    fn every_option_means_what_it_means_to_rust() {
        same! {
            "{}", unsigned, 0u64, u64::MAX;
            "{:?} {{}}", unsigned, 7u64;
            "[{:5}] [{{", unsigned, 42u64;
            "{:<5}|", unsigned, 42u64;
            "{:*^7}|", unsigned, 42u64;
            "{:}^7}|{{", unsigned, 42u64;
            "{:{>7}|{{", unsigned, 42u64;
            "{:-5}|", unsigned, 2u64;
            "{:-<-#6x}|", unsigned, 2u64;
            "{:ß^7}|", unsigned, 2u64;
            "{:#010x}", unsigned, 0xbeefu64;
            "{:X}", unsigned, 0xbeefu64;
            "{:#b}", unsigned, 5u64;
            "{:o}", unsigned, 8u64;
            "{:e}", unsigned, 1500u64;
            "{:.2e}|{{", unsigned, 123456u64, 1500u64;
            "{:.1E}", signed, -1999, 25;
            "{:x }", unsigned, 255u64;
            "{:? }", single, 1.0f32;
            "{}", signed, i32::MIN, -1, 0, i32::MAX;
            "{:+05}", signed, -7, 7;
            "{:x}", signed, -1, 255;
            "{}", single, 0.1f32, -0.0, 1e30, f32::NAN, f32::INFINITY, f32::NEG_INFINITY;
            "{:?}", single, 1.0f32, 1e30, 1e-30;
            "{:8.3}|", single, 1.23456f32, -1.0;
            "{:+.2e}", double, 123456.0f64, -0.001;
            "{:08.2}", double, -1.5f64, f64::INFINITY, f64::NAN;
            "{:+}", double, f64::NAN, f64::INFINITY, 0.5f64;
            "{:>+9.1}", double, 2.25f64, -2.35;
        }
        let truth = LineValue { kind: 3 << 8 | 8, bits: 1 };
        assert_eq!(format("{:6}|{:?}|{:.2}", &[truth, truth, truth]), "true  |true|tr");
        let letter = LineValue { kind: 4 << 8 | 32, bits: 'ß'.into() };
        assert_eq!(format("{}|{:?}|{:>3}", &[letter, letter, letter]), "ß|'ß'|  ß");
        let padded = std::format!("{:5?}|{:>5?}|{:#5?}|{:5}", 'ß', 'ß', 'ß', 'ß');
        assert_eq!(format("{:5?}|{:>5?}|{:#5?}|{:5}", &[letter; 4]), padded);
    }

    #[test]
    fn what_is_missing_or_torn_is_left_out() {
        assert_eq!(format("{} and {}", &[unsigned(1)]), "1 and {}");
        assert_eq!(format("open {", &[unsigned(1)]), "open {");
        let text = u32::from_ne_bytes(*b"x={}");
        let whole = [7, 4, 1, text, 64, 5, 0];
        assert_eq!(lines(&whole, 0), "x=5\n");
        assert_eq!(
            lines(&[&whole[..], &[9, 4, 1]].concat(), 2),
            "x=5\n... and 2 lines more, for which there was no room\n"
        );
        assert_eq!(lines(&[3, 400, 1, 0, 0], 0), "");
        assert_eq!(lines(&[1, 2, 3], 1), "... and 1 line more, for which there was no room\n");
    }
}
