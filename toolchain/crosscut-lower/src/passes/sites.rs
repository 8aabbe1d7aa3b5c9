//! Numbers the places where a kernel can panic.
//!
//! Expects an optimised kernel: the operands of [`PANIC`] calls are constants now.
//! Leaves `call void @__crosscut_panic_site(i32 site, i64 a, i64 b)` and the list of sites;
//! [`outline`](super::outline) adds the address of the record as first argument.

use crosscut_image::PanicSite;

use super::panic_values::{self, VALUES, Value};
use super::panics::{PANIC, Shape};
use crate::ir::{Call, Ir, Item, Kind, split_at_commas, tokens, unescape};

/// The function that panics with a numbered place become.
pub(crate) const PANIC_SITE: &str = "@__crosscut_panic_site";

/// Runs the pass on the function `entry`, appending to `sites`.
pub(crate) fn run(ir: &mut Ir, entry: &str, sites: &mut Vec<PanicSite>) {
    let Some(function) = ir.find(entry) else { return };
    let mut lines = function.lines.clone();
    for line in lines.iter_mut().skip(1) {
        if !line.contains(PANIC) {
            continue;
        }
        let Some(call) = Call::parse(line).filter(|call| call.callee == PANIC) else { continue };
        let shape = Shape::from_number(call.number(0).unwrap_or(u64::MAX));
        let values = match (shape, call.value(3)) {
            (Shape::Format, Some(token)) => panic_values::values(&function.lines, token),
            _ => [None, None],
        };
        let site = site_of(ir, &call, shape, &values);
        let number = sites.iter().position(|known| *known == site).unwrap_or_else(|| {
            sites.push(site);
            sites.len() - 1
        });
        let (a, b) = match shape {
            Shape::Fixed(_) | Shape::Compared(_) => {
                (call.value(4).unwrap_or("0"), call.value(5).unwrap_or("0"))
            }
            Shape::Format => {
                let [a, b] = values.map(|value| value.map_or("0", |value| value.operand));
                (a, b)
            }
            Shape::Text => ("0", "0"),
        };
        *line = format!("  call void {PANIC_SITE}(i32 {number}, i64 {a}, i64 {b})");
    }
    panic_values::forget(&mut lines);
    ir.items.retain(|item| item.name != VALUES);
    for item in &mut ir.items {
        if item.name == entry {
            item.lines.clone_from(&lines);
        }
        if item.name == PANIC {
            *item = Item {
                kind: Kind::Declaration,
                name: PANIC_SITE.into(),
                lines: vec![format!(
                    "declare void {PANIC_SITE}(ptr addrspace(1), i32, i64, i64) cold noreturn nomerge nounwind"
                )],
            };
        }
    }
}

fn site_of(ir: &Ir, call: &Call<'_>, shape: Shape, values: &[Option<Value<'_>>; 2]) -> PanicSite {
    let (file, line, column) = call
        .value(1)
        .and_then(|place| location(ir, place))
        .unwrap_or_else(|| ("<unknown>".into(), 0, 0));
    let formatted = |values: &[Option<Value<'_>>; 2]| {
        let bytes = call.value(2).and_then(|template| bytes_of(ir, template))?;
        Some(format_text(&bytes, call.arguments.get(3).copied(), values))
    };
    let message = match shape {
        Shape::Fixed(index) => Shape::fixed_text(index).to_owned(),
        Shape::Text => {
            let length = call.number(4).and_then(|length| usize::try_from(length).ok());
            call.value(2)
                .and_then(|text| string(ir, text, length))
                .map_or_else(|| "explicit panic".to_owned(), |text| escape_braces(&text))
        }
        Shape::Format => formatted(values).unwrap_or_else(|| "explicit panic".to_owned()),
        Shape::Compared(assertion) => assertion.message(formatted(&[None, None]).as_deref()),
    };
    PanicSite { message, file, line, column }
}

/// Braces mean operands in a site's message; a user's own braces are shown as they are by doubling.
fn escape_braces(text: &str) -> String {
    text.replace('{', "{{").replace('}', "}}")
}

/// A `core::panic::Location`: file name (address and length), line, column.
fn location(ir: &Ir, place: &str) -> Option<(String, u32, u32)> {
    let line = &ir.find(place)?.lines[0];
    let pointers: Vec<&str> =
        tokens(line).map(|token| token.1).filter(|token| token.starts_with('@')).collect();
    let numbers = tokens(line).map(|token| token.1).filter(|token| token.starts_with("c\""));
    let rest = unescape(numbers.last()?);
    let length = usize::try_from(u64::from_le_bytes(rest.get(..8)?.try_into().ok()?)).ok()?;
    let line_number = u32::from_le_bytes(rest.get(8..12)?.try_into().ok()?);
    let column = u32::from_le_bytes(rest.get(12..16)?.try_into().ok()?);
    Some((string(ir, pointers.get(1)?, Some(length))?, line_number, column))
}

fn string(ir: &Ir, variable: &str, length: Option<usize>) -> Option<String> {
    let bytes = bytes_of(ir, variable)?;
    let bytes = bytes.get(..length.unwrap_or(bytes.len()))?;
    Some(String::from_utf8_lossy(bytes).trim_end_matches('\0').to_owned())
}

/// The bytes of a constant that is one string.
fn bytes_of(ir: &Ir, variable: &str) -> Option<Vec<u8>> {
    let line = &ir.find(variable)?.lines[0];
    let value = split_at_commas(line).first().copied()?;
    tokens(value).map(|token| token.1).find(|token| token.starts_with("c\"")).map(unescape)
}

/// What a `fmt::Arguments` would print: `{0:u32}` stands for a value that is recorded, `_` for others.
///
/// With an odd number in place of the arguments it is a plain string of half that length. Otherwise
/// the template is a list of pieces: a byte below 128 is the length of literal text that follows,
/// 128 a length of two bytes, 0 the end, and anything from 192 a value, whose low four bits say
/// which of four options follow (of four, two, two and two bytes). The last of them is the number of
/// the argument, if it is not the one after the argument before.
fn format_text(
    template: &[u8],
    arguments: Option<&str>,
    values: &[Option<Value<'_>>; 2],
) -> String {
    let number = arguments.filter(|argument| argument.contains("inttoptr")).and_then(|argument| {
        tokens(argument).map(|token| token.1).find_map(|token| token.parse::<usize>().ok())
    });
    if let Some(length) = number.filter(|number| number % 2 == 1).map(|number| number / 2) {
        let text = template.get(..length).unwrap_or(template);
        return escape_braces(&String::from_utf8_lossy(text));
    }
    let two_bytes = |at: usize| match template.get(at..at + 2) {
        Some(&[low, high]) => Some(usize::from(u16::from_le_bytes([low, high]))),
        _ => None,
    };
    let (mut text, mut at, mut argument) = (String::new(), 0, 0);
    while let Some(&byte) = template.get(at).filter(|&&byte| byte != 0) {
        at += 1;
        let length = match byte {
            0..128 => usize::from(byte),
            128 => {
                let Some(length) = two_bytes(at) else { break };
                at += 2;
                length
            }
            _ => {
                let sizes = [4, 2, 2, 2];
                at +=
                    (0..4).filter(|bit| byte >> bit & 1 == 1).map(|bit| sizes[bit]).sum::<usize>();
                if byte & 8 != 0 {
                    argument = two_bytes(at - 2).unwrap_or(usize::MAX - 1);
                }
                // The host formats values as they are, without width and the like.
                match values.get(argument).and_then(Option::as_ref).filter(|_| byte & 7 == 0) {
                    Some(Value { kind, .. }) => text.push_str(&format!("{{{argument}:{kind}}}")),
                    None => text.push('_'),
                }
                argument += 1;
                continue;
            }
        };
        let Some(literal) = template.get(at..at + length) else { break };
        text.push_str(&escape_braces(&String::from_utf8_lossy(literal)));
        at += length;
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_panic_gets_its_text_and_its_place() {
        let mut ir = Ir::parse(
            "@f = private constant [5 x i8] c\"p.rs\\00\", align 1\n\
             @p = private constant <{ ptr, [16 x i8] }> <{ ptr @f, [16 x i8] c\"\\04\\00\\00\\00\\00\\00\\00\\00\\08\\00\\00\\00\\09\\00\\00\\00\" }>, align 8\n\
             @m = private constant [3 x i8] c\"{!}\", align 1\n\
             define void @k() {\n  call void @__crosscut_panic(i32 0, ptr @p, ptr @m, ptr null, i64 3, i64 0)\n  unreachable\n}\n",
        );
        let mut sites = Vec::new();
        run(&mut ir, "@k", &mut sites);
        assert_eq!(
            sites,
            [PanicSite { message: "{{!}}".into(), file: "p.rs".into(), line: 8, column: 9 }]
        );
        assert_eq!(
            ir.find("@k").unwrap().lines[1],
            "  call void @__crosscut_panic_site(i32 0, i64 0, i64 0)"
        );
    }

    #[test]
    fn a_panic_records_the_values_that_its_token_names() {
        let mut ir = Ir::parse(
            "@m = private constant [4 x i8] c\"\\01x\\C0\\00\", align 1\n\
             define void @k(i64 %v) {\n  %t = tail call ptr @__crosscut_panic_values(i64 %v, i64 2, i64 0, i64 0)\n  call void @__crosscut_panic(i32 1, ptr null, ptr @m, ptr nonnull %t, i64 0, i64 0)\n  unreachable\n}\n",
        );
        let mut sites = Vec::new();
        run(&mut ir, "@k", &mut sites);
        assert_eq!((sites.len(), sites[0].message.as_str()), (1, "x{0:i16}"));
        assert_eq!(
            ir.find("@k").unwrap().lines[1..3],
            [
                "  %t = inttoptr i64 8 to ptr",
                "  call void @__crosscut_panic_site(i32 0, i64 %v, i64 0)"
            ]
        );
    }

    #[test]
    fn a_template_shows_its_literals() {
        let none = [None, None];
        assert_eq!(format_text(b"\x08too big \xc0\x00", None, &none), "too big _");
        let number = Some("ptr nonnull inttoptr (i64 7 to ptr)");
        assert_eq!(format_text(b"abc", number, &none), "abc");
    }

    #[test]
    fn a_template_names_the_values_that_are_recorded() {
        let value = |kind: &str| Some(Value { kind: kind.into(), operand: "%v" });
        let values = [value("u8"), value("char?")];
        assert_eq!(
            format_text(b"\x01{\xc0\x01 \xc0\x01 \xc0\x00", None, &values),
            "{{{0:u8} {1:char?} _"
        );
        // The first again, then with a width of 4, then the one after it.
        assert_eq!(
            format_text(b"\xc0\xc8\x00\x00\xca\x04\x00\x00\x00\xc0\x00", None, &values),
            "{0:u8}{0:u8}_{1:char?}"
        );
    }
}
