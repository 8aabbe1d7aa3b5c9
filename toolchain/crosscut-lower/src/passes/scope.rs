//! Device globals with image scope: variables of the image itself.
//!
//! Kernels that name the same one are in one image. The variable starts as the static's initial value,
//! and the host reaches it through two small kernels of the image:
//! `crosscut_get_N(buffer, offset)` and `crosscut_set_N(buffer, offset)` copy one byte per item between
//! the variable that is global `N` of the image and a buffer laid out like it, from `offset` on.
//!
//! `@G = global <{ [8 x i8] }> <{ [8 x i8] c"aaaabbbb" }>` of four bytes, storage and initial value,
//! becomes `@G = linkonce_odr global [4 x i8] c"bbbb"`: all kernels of the image bring it along.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use crosscut_image::global_properties::IMAGE_SCOPE;

use super::globals::{UsedGlobal, used_globals};
use crate::ir::{Ir, Kind, split_at_commas, tokens, unescape};

/// A global by its number in the image.
type Numbered = (u32, String);

/// Which entries belong into one image, each group in the order of the entries.
pub(crate) fn groups(ir: &Ir, entries: &[String]) -> Vec<Vec<usize>> {
    let mut group_of: Vec<usize> = (0..entries.len()).collect();
    let mut first_user: BTreeMap<String, usize> = BTreeMap::new();
    for (number, entry) in entries.iter().enumerate() {
        let Some(function) = ir.find(&format!("@{entry}")) else { continue };
        let used = used_globals(ir, function).unwrap_or_default();
        for global in used.into_iter().filter(has_image_scope) {
            let other = *first_user.entry(global.symbol).or_insert(number);
            let (from, to) = (group_of[number], group_of[other]);
            for group in &mut group_of {
                if *group == from {
                    *group = to;
                }
            }
        }
    }
    let mut groups: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (number, group) in group_of.into_iter().enumerate() {
        groups.entry(group).or_default().push(number);
    }
    groups.into_values().collect()
}

fn has_image_scope(global: &UsedGlobal) -> bool {
    global.properties & IMAGE_SCOPE != 0
}

/// The globals of an image by number: its own variables, and those that become parameters.
pub(crate) fn split(used: &[UsedGlobal]) -> (Vec<Numbered>, Vec<Numbered>) {
    let numbered = (0u32..).zip(used);
    let (own, shared): (Vec<_>, Vec<_>) = numbered.partition(|(_, global)| has_image_scope(global));
    let names = |list: Vec<(u32, &UsedGlobal)>| {
        list.into_iter().map(|(number, global)| (number, global.symbol.clone())).collect()
    };
    (names(own), names(shared))
}

/// Makes variables of the statics with image scope.
pub(crate) fn define(ir: &mut Ir, used: &[UsedGlobal]) {
    for global in used.iter().filter(|global| has_image_scope(global)) {
        for item in &mut ir.items {
            if item.kind == Kind::Variable && item.name == global.symbol {
                item.lines[0] = definition(global, &item.lines[0], "");
            }
        }
    }
}

/// The definition of a variable in this address space, given that of the static.
fn definition(global: &UsedGlobal, line: &str, space: &str) -> String {
    let UsedGlobal { symbol, size, align, .. } = global;
    let value = initial(line, *size).map_or_else(
        || "zeroinitializer".to_owned(),
        |bytes| {
            let mut text = String::from("c\"");
            for byte in bytes {
                let _ = write!(text, "\\{byte:02X}");
            }
            text + "\""
        },
    );
    format!(
        "{symbol} = linkonce_odr {space}externally_initialized global [{size} x i8] {value}, align {align}"
    )
}

/// The initial value of a static of `size` bytes of storage; `None` if it is all zero.
fn initial(line: &str, size: u64) -> Option<Vec<u8>> {
    let (at, word) = tokens(line).find(|token| matches!(token.1, "global" | "constant"))?;
    let value = &line[at + word.len()..];
    // Type and value of a struct or of an array; what has no text is zero.
    let mut bytes = Vec::new();
    let inner = match value.rfind("<{") {
        Some(open) => &value[open + 2..value.rfind("}>")?],
        None => split_at_commas(value).into_iter().next()?,
    };
    for field in split_at_commas(inner) {
        let (count, _) = field.trim_start().strip_prefix('[')?.split_once(" x ")?;
        let count: usize = count.parse().ok()?;
        match tokens(field).map(|token| token.1).find(|token| token.starts_with("c\"")) {
            Some(text) => bytes.extend(unescape(text)),
            None => bytes.resize(bytes.len() + count, 0),
        }
    }
    let size = usize::try_from(size).ok()?;
    // Behind the storage; the static may go on with other things.
    let bytes = bytes.get(size..size.checked_mul(2)?)?;
    bytes.iter().any(|byte| *byte != 0).then(|| bytes.to_vec())
}

/// The kernels through which the host reaches the image's variables, and their names.
pub(crate) fn accessors(module: &Ir, body: &Ir, used: &[UsedGlobal]) -> Option<(Ir, Vec<String>)> {
    let (own, _) = split(used);
    if own.is_empty() {
        return None;
    }
    let mut ir =
        Ir { items: body.items.iter().filter(|item| item.kind == Kind::Other).cloned().collect() };
    let mut text =
        String::from("declare i64 @_Z13get_global_idj(i32) nounwind willreturn memory(none)\n");
    let mut names = Vec::new();
    for (number, symbol) in own {
        let global = used.iter().find(|global| global.symbol == symbol)?;
        let line = &module.find(&symbol)?.lines[0];
        let _ = writeln!(text, "{}", definition(global, line, "addrspace(1) "));
        for (what, copy) in [
            (
                "get",
                "  %value = load i8, ptr addrspace(1) %own, align 1\n  store i8 %value, ptr addrspace(1) %other, align 1\n",
            ),
            (
                "set",
                "  %value = load i8, ptr addrspace(1) %other, align 1\n  store i8 %value, ptr addrspace(1) %own, align 1\n",
            ),
        ] {
            let name = format!("crosscut_{what}_{number}");
            let _ = writeln!(
                text,
                "define spir_kernel void @{name}(ptr addrspace(1) %buffer, i64 %offset) {{\nentry:\n  \
                 %id = call i64 @_Z13get_global_idj(i32 0)\n  \
                 %at = add i64 %id, %offset\n  \
                 %own = getelementptr i8, ptr addrspace(1) {symbol}, i64 %at\n  \
                 %other = getelementptr i8, ptr addrspace(1) %buffer, i64 %at\n\
                 {copy}  ret void\n}}"
            );
            names.push(name);
        }
    }
    ir.items.extend(Ir::parse(&text).items);
    Some((ir, names))
}

/// Makes the variables the image's own, now that its kernels are together.
pub(crate) fn internalise(ir: &mut Ir, used: &[UsedGlobal]) {
    let (own, _) = split(used);
    for item in &mut ir.items {
        if item.kind == Kind::Variable && own.iter().any(|variable| variable.1 == item.name) {
            item.lines[0] = item.lines[0].replacen("linkonce_odr ", "internal ", 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scoped(symbol: &str) -> UsedGlobal {
        UsedGlobal { symbol: symbol.into(), size: 4, align: 4, properties: IMAGE_SCOPE }
    }

    #[test]
    fn a_variable_starts_as_the_initial_value_of_its_static() {
        let line = "@G = externally_initialized global <{ [8 x i8] }> <{ [8 x i8] c\"aaaab\\00b\\22\" }>, align 4";
        assert_eq!(
            definition(&scoped("@G"), line, ""),
            "@G = linkonce_odr externally_initialized global [4 x i8] c\"\\62\\00\\62\\22\", align 4"
        );
        let zero = "@G = global <{ [8 x i8] }> zeroinitializer, align 4";
        assert!(definition(&scoped("@G"), zero, "").contains("[4 x i8] zeroinitializer"));
        let plain = "@G = global [8 x i8] c\"aaaabbbb\", align 4";
        assert!(definition(&scoped("@G"), plain, "").contains("c\"\\62\\62\\62\\62\""));
        let first_of_two = "@G = global [16 x i8] c\"aaaabbbbccccdddd\", align 4";
        assert!(definition(&scoped("@G"), first_of_two, "").contains("c\"\\62\\62\\62\\62\""));
    }

    #[test]
    fn kernels_that_share_a_variable_share_an_image() {
        let call = |entry: &str, symbol: &str, properties: u64| {
            format!(
                "define void @{entry}() {{\n  %p = call ptr @__crosscut_global_address(ptr @{symbol}, i64 4, i64 4, i64 {properties})\n  ret void\n}}\n"
            )
        };
        let text = call("a", "S", 6) + &call("b", "G", 7) + &call("c", "S", 6) + &call("d", "G", 7);
        let entries = ["a", "b", "c", "d"].map(str::to_owned);
        let groups = groups(&Ir::parse(&text), &entries);
        assert_eq!(groups, [vec![0], vec![1, 3], vec![2]]);
    }
}
