//! Text: strings, bytes, characters, and tables of them.

use crosscut_language::map;

/// Sixteen bytes, padded by blanks.
fn texts() -> Vec<[u8; 16]> {
    [
        "",
        "0",
        "42",
        "007",
        "4294967295",
        "4294967296",
        "-12",
        "+5",
        "12a",
        "3.5",
        "héllo wörld",
        "a,bb,,ccc",
        "key = value",
        "true",
        "日本語",
    ]
    .map(|text| {
        let mut bytes = [b' '; 16];
        bytes[..text.len()].copy_from_slice(text.as_bytes());
        bytes
    })
    .to_vec()
}

#[test]
fn numbers_are_parsed() {
    map(&texts(), |bytes| {
        let text = core::str::from_utf8(&bytes).unwrap_or("").trim();
        [
            text.parse::<u32>().map_or(-1, i64::from),
            text.parse::<i16>().map_or(-100_000, i64::from),
            text.parse::<u8>().map_or(-1, i64::from),
            text.parse::<bool>().map_or(-1, i64::from),
            i64::from_str_radix(text, 16).unwrap_or(-1),
        ]
    });
}

#[test]
fn text_is_trimmed_and_split() {
    map(&texts(), |bytes| {
        let text = core::str::from_utf8(&bytes).unwrap_or("");
        let trimmed = text.trim_ascii_end();
        let fields = trimmed.split(',').map(str::len).fold(0, |all, len| all * 10 + len);
        let (key, value) = trimmed.split_once(" = ").unwrap_or(("", ""));
        [
            trimmed.len(),
            fields,
            key.len(),
            value.len(),
            trimmed.bytes().filter(u8::is_ascii_digit).count(),
            trimmed.find('l').unwrap_or(99),
            trimmed.as_bytes().first().copied().map_or(0, usize::from),
        ]
        .map(|n| n as u32)
    });
}

#[test]
fn characters_are_decoded() {
    map(&texts(), |bytes| {
        let Ok(text) = core::str::from_utf8(&bytes) else { return [u32::MAX; 5] };
        [
            text.chars().count() as u32,
            text.chars().map(u32::from).sum(),
            text.chars().rev().find(|letter| !letter.is_ascii_whitespace()).map_or(0, u32::from),
            text.char_indices()
                .filter(|(_, letter)| letter.len_utf8() > 1)
                .map(|(i, _)| i as u32)
                .sum(),
            text.chars().filter(char::is_ascii_alphabetic).count() as u32,
        ]
    });
}

#[test]
fn broken_text_is_refused() {
    let broken: Vec<[u8; 4]> = vec![
        *b"abcd",
        [0xff, b'a', b'b', b'c'],
        [b'a', 0xc3, b'b', b'c'],
        [0xe2, 0x82, 0xac, b'!'],
        [0xf0, 0x9f, 0x98, 0x80],
        [b'x', 0xed, 0xa0, 0x80],
    ];
    map(&broken, |bytes| match core::str::from_utf8(&bytes) {
        Ok(text) => [0, text.len() as u32],
        Err(error) => [1 + error.valid_up_to() as u32, error.error_len().unwrap_or(9) as u32],
    });
}

#[test]
fn text_is_compared_and_matched() {
    map(&texts(), |bytes| {
        let text = core::str::from_utf8(&bytes).unwrap_or("").trim();
        let word = match text {
            "true" | "yes" => 1,
            "42" => 2,
            "" => 3,
            text if text.starts_with("key") => 4,
            text if text.ends_with("rld") => 5,
            _ => 6,
        };
        [
            word,
            u32::from(text < "b"),
            u32::from(text.eq_ignore_ascii_case("TRUE")),
            u32::from(text.contains("bb")),
        ]
    });
}

#[test]
fn tables_of_strings() {
    const NAMES: [&str; 5] = ["zero", "one", "two", "three", "a longer name"];
    map(&(0..20).collect::<Vec<u32>>(), |i| {
        let name = NAMES[i as usize % 5];
        let other = NAMES[i as usize / 4];
        [
            name.len() as u32,
            name.bytes().map(u32::from).sum(),
            u32::from(name == other),
            name.cmp(other) as i32 as u32,
        ]
    });
}

#[test]
fn tables_of_structs() {
    #[derive(Clone, Copy)]
    struct Element {
        symbol: &'static str,
        number: u8,
        masses: &'static [f32],
        next: Option<&'static Element>,
    }
    static HYDROGEN: Element =
        Element { symbol: "H", number: 1, masses: &[1.0, 2.0, 3.0], next: None };
    static HELIUM: Element =
        Element { symbol: "He", number: 2, masses: &[3.0, 4.0], next: Some(&HYDROGEN) };
    static TABLE: [Element; 3] = [
        HYDROGEN,
        HELIUM,
        Element { symbol: "Li", number: 3, masses: &[6.0, 7.0], next: Some(&HELIUM) },
    ];
    map(&(0..9).collect::<Vec<u32>>(), |i| {
        let mut element = &TABLE[i as usize % 3];
        let masses: f32 = element.masses.iter().sum();
        let first = [u32::from(element.number), element.symbol.len() as u32, masses as u32];
        let mut steps = 0;
        while let Some(next) = element.next {
            element = next;
            steps += 1;
        }
        [first[0], first[1], first[2], steps, u32::from(element.symbol.as_bytes()[0])]
    });
}

#[test]
fn letters_change_case() {
    map(&texts(), |mut bytes| {
        bytes.make_ascii_uppercase();
        bytes.reverse();
        let hex = bytes.map(|byte| b"0123456789abcdef"[usize::from(byte >> 4)]);
        [bytes, hex]
    });
}
