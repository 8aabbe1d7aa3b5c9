//! `assert_eq!` and `assert_ne!`: the two sides are loaded where they are compared, and recorded.
//!
//! `call void @core::panicking::assert_failed::<u32, u32>(i8 0, ptr %l, ptr %r, ptr null, ptr undef, ptr @place)`
//! becomes loads of both sides and a [`PANIC`] of a shape that says how they were compared and what they are.
//! A side that the host cannot format is shown as `_`.
//!
//! Which types are compared, the symbol says; or, where it has the old form, the debug information of its
//! definition. Such a definition is mostly that of another crate: rustc has one crate use the functions that
//! another has made, and crates that know nothing of kernels keep the form of symbols they are built with.

use std::collections::{BTreeSet, HashMap};

use super::panic_values::{self, Loaded};
use super::panics::{self, PANIC};
use crate::ir::{Call, Ir, Item, Kind, value_of};
use crate::names;

/// The function that fails with two sides.
const ASSERT_FAILED: &str = "core::panicking::assert_failed";

/// The types of both sides, by the name of the function that fails with them.
pub(crate) type Sides = HashMap<String, [String; 2]>;

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

/// The functions that fail with two sides, and the types of these; empty where nothing says them.
pub(crate) fn sides(ir: &Ir) -> Sides {
    failing(ir).map(|item| (item.name.clone(), types(ir, item).unwrap_or_default())).collect()
}

/// The symbols among them that are declared only and do not tell their types: whoever defines one has debug
/// information that does.
pub(crate) fn untold(ir: &Ir) -> BTreeSet<String> {
    failing(ir)
        .filter(|item| item.kind == Kind::Declaration && types(ir, item).is_none())
        .map(|item| names::symbol(&item.name))
        .collect()
}

/// Whether an assertion is left that shows neither side.
pub(crate) fn any_shows_nothing(ir: &Ir) -> bool {
    let shows_nothing = |call: Call<'_>| {
        let number = call.number(0).and_then(|number| u32::try_from(number).ok());
        number.and_then(Assertion::from_number).is_some_and(|assertion| assertion.kinds == [0, 0])
    };
    ir.functions().flat_map(Item::calls).any(|call| call.callee == PANIC && shows_nothing(call))
}

fn failing(ir: &Ir) -> impl Iterator<Item = &Item> {
    ir.items
        .iter()
        .filter(|item| matches!(item.kind, Kind::Declaration | Kind::Function))
        // Most symbols need not be read for that.
        .filter(|item| item.name.contains("assert_failed"))
        .filter(|item| names::path_of(&names::symbol(&item.name)) == ASSERT_FAILED)
}

/// The types in `core::panicking::assert_failed::<u32, u32>`, or in `assert_failed<u32, u32>`.
fn types(ir: &Ir, function: &Item) -> Option<[String; 2]> {
    let name = names::display(&names::symbol(&function.name));
    let told = match name.strip_prefix(ASSERT_FAILED)?.strip_prefix("::") {
        Some(arguments) => arguments.to_owned(),
        None => panic_values::debug_name(ir, function)?.strip_prefix("assert_failed")?.to_owned(),
    };
    let (left, right) = told.strip_prefix('<')?.strip_suffix('>')?.split_once(", ")?;
    Some([left.to_owned(), right.to_owned()])
}

/// The lines that take the place of a failed assertion, if the call is one; `number` tells it from others
/// of its function.
pub(crate) fn replacement(
    call: &Call<'_>,
    sides: &Sides,
    debug: &str,
    number: usize,
) -> Option<Vec<String>> {
    let types = sides.get(call.callee)?;
    let [compared, left, right, text, arguments, place] = call.arguments.as_slice() else {
        return None;
    };
    let (mut lines, mut assertion, mut operands) = (Vec::new(), Assertion::default(), Vec::new());
    assertion.compared = value_of(compared).and_then(|it| it.parse().ok()).unwrap_or(2).min(2);
    for (side, (ty, address)) in types.iter().zip([left, right]).enumerate() {
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

#[cfg(test)]
mod tests {
    use super::*;

    const OLD: &str = "@_ZN4core9panicking13assert_failed17h0123456789abcdefE";

    #[test]
    fn a_symbol_tells_the_types_that_are_compared() {
        let name = "@_RINvNtCsgEmfK2I1SDS_4core9panicking13assert_failedhRhECsgbTIekHar5R_1p";
        let ir = Ir::parse(&format!("declare void {name}(i8, ptr, ptr, ptr, ptr, ptr)\n"));
        assert_eq!(sides(&ir)[name], ["u8", "&u8"]);
        assert!(untold(&ir).is_empty());
    }

    #[test]
    fn a_symbol_of_the_old_form_is_wanted_for_the_types_in_its_debug_information() {
        let declared = Ir::parse(&format!("declare void {OLD}(i8, ptr, ptr, ptr, ptr, ptr)\n"));
        assert_eq!(sides(&declared)[OLD], ["", ""]);
        assert_eq!(untold(&declared), BTreeSet::from([OLD[1..].to_owned()]));
        let defined = Ir::parse(&format!(
            "define void {OLD}(i8 %k, ptr %l) !dbg !7 {{\n  unreachable\n}}\n\
             !7 = distinct !DISubprogram(name: \"assert_failed<u16, u16>\", scope: !8)\n"
        ));
        assert_eq!(sides(&defined)[OLD], ["u16", "u16"]);
        assert!(untold(&defined).is_empty());
    }

    #[test]
    fn an_assertion_shows_nothing_if_neither_side_has_a_kind() {
        let shown = |kinds| {
            let number = Assertion { compared: 1, kinds }.number();
            let call = format!(
                "call void {PANIC}(i32 {number}, ptr null, ptr null, ptr null, i64 0, i64 0)"
            );
            !any_shows_nothing(&Ir::parse(&format!(
                "define void @f() {{\n  {call}\n  unreachable\n}}\n"
            )))
        };
        assert_eq!([[0, 0], [3, 0], [0, 3], [3, 3]].map(shown), [false, true, true, true]);
    }
}
