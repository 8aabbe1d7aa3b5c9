//! `assert_eq!` and `assert_ne!`: the two sides are loaded where they are compared, and recorded.
//!
//! `call void @core::panicking::assert_failed::<u32, u32>(i8 0, ptr %l, ptr %r, ptr null, ptr undef, ptr @place)`
//! becomes loads of both sides and a [`PANIC`] of a shape that says how they were compared and what they are.
//! A side that the host cannot format is shown as `_`.

use super::panic_values::{self, Loaded};
use super::panics::{self, PANIC};
use crate::ir::{Call, value_of};
use crate::names;

/// The function that fails with two sides.
const ASSERT_FAILED: &str = "core::panicking::assert_failed";

/// Shapes from here on are assertions; others are fewer.
const FIRST_SHAPE: u32 = 1 << 16;

/// How two sides were compared, and the numbers of the kinds of both.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Assertion {
    compared: u32,
    kinds: [u32; 2],
}

impl Assertion {
    /// The assertion that a shape's number stands for.
    pub(crate) fn from_number(number: u32) -> Option<Self> {
        let packed = number.checked_sub(FIRST_SHAPE)?;
        Some(Self { compared: packed >> 12, kinds: [packed >> 6 & 63, packed & 63] })
    }

    /// The number of its shape.
    pub(crate) fn number(self) -> u32 {
        FIRST_SHAPE | self.compared << 12 | self.kinds[0] << 6 | self.kinds[1]
    }

    /// The message of a site, with the user's text, whose braces are doubled, if there is one.
    pub(crate) fn message(self, text: Option<&str>) -> String {
        let operator = match self.compared {
            0 => "==",
            1 => "!=",
            _ => "matches",
        };
        let [left, right] = [0, 1].map(|side| {
            panic_values::kind(self.kinds[side].into())
                .map_or_else(|| "_".to_owned(), |kind| format!("{{{side}:{kind}}}"))
        });
        let text = text.map_or_else(String::new, |text| format!(": {text}"));
        format!("assertion `left {operator} right` failed{text}\n  left: {left}\n right: {right}")
    }
}

/// The lines that take the place of a failed assertion, if the call is one; `number` tells it from others
/// of its function.
pub(crate) fn replacement(call: &Call<'_>, debug: &str, number: usize) -> Option<Vec<String>> {
    let symbol = names::symbol(call.callee);
    if names::path_of(&symbol) != ASSERT_FAILED {
        return None;
    }
    let [compared, left, right, text, arguments, place] = call.arguments.as_slice() else {
        return None;
    };
    let name = names::display(&symbol);
    let types = name.strip_prefix(ASSERT_FAILED)?.strip_prefix("::<").unwrap_or_default();
    let types = types.strip_suffix('>').and_then(|types| types.split_once(", "));
    let types = types.map_or(["", ""], |(left, right)| [left, right]);
    let (mut lines, mut assertion, mut operands) = (Vec::new(), Assertion::default(), Vec::new());
    assertion.compared = value_of(compared).and_then(|it| it.parse().ok()).unwrap_or(2).min(2);
    for (side, (ty, address)) in types.into_iter().zip([left, right]).enumerate() {
        let prefix = format!("%cc.side{number}.{side}");
        let Loaded { kind, operand } =
            panic_values::load(ty, true, value_of(address)?, &prefix, &mut lines);
        assertion.kinds[side] = kind;
        operands.push(operand);
    }
    lines.push(format!(
        "  call void {PANIC}(i32 {}, ptr {}, ptr {}, ptr {}, i64 {}, i64 {}){debug}",
        assertion.number(),
        value_of(place)?,
        panics::pointer(text).unwrap_or("null"),
        panics::pointer(arguments).unwrap_or("null"),
        operands[0],
        operands[1],
    ));
    Some(lines)
}
