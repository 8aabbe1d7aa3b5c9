//! Finds the device globals that a function uses.
//!
//! A global is the static whose address reaches the access hook: directly, by a choice between
//! several, or out of a constant that holds the addresses of several. In the last case every static
//! that such a constant leads to and that has the layout that a hook asks for is one.
//!
//! Changes nothing.

use std::collections::BTreeSet;

use crosscut_image::{global_properties, hooks};

use crate::ir::{Call, Instruction, Ir, Item, Kind, split_at_commas, tokens};

/// Why a global inside a static is not known, where `parts` gave it no symbol.
pub(crate) const ONE_OF_SEVERAL: &str = "it is one of several in a static";

/// A device global that a kernel reaches.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct UsedGlobal {
    /// The static's symbol, with sigil.
    pub(crate) symbol: String,
    /// Its size in bytes.
    pub(crate) size: u64,
    /// Its alignment in bytes.
    pub(crate) align: u64,
    /// Its properties: bits of `crosscut_image::global_properties`.
    pub(crate) properties: u64,
}

/// What a hook says about the global it asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Layout {
    size: u64,
    align: u64,
    properties: u64,
}

impl Layout {
    fn of(call: &Call<'_>) -> Result<Self, String> {
        Ok(Self {
            size: call.number(1).ok_or("its size is not known")?,
            align: call.number(2).ok_or("its alignment is not known")?,
            properties: call.number(3).ok_or("its properties are not known")?,
        })
    }

    /// How often a static has the size: without initial bytes once.
    fn copies(self) -> u64 {
        let without = global_properties::LAZY | global_properties::NO_INIT;
        if self.properties & without == 0 { 2 } else { 1 }
    }

    /// Whether a static of this extent has room for it.
    pub(crate) fn has_room(self, size: u64, align: u64) -> bool {
        size >= self.copies().saturating_mul(self.size) && align >= self.align
    }

    /// What part of a static of `size` bytes is storage.
    pub(crate) fn storage_of(self, size: u64) -> u64 {
        size / self.copies()
    }

    /// In words, for people.
    pub(crate) fn describe(self) -> String {
        use global_properties::{
            BUNDLE_SCOPE, CSR_OFF, CSR_ON, HOST_READS, HOST_WRITES, IMAGE_SCOPE,
        };
        use global_properties::{INIT_REPROGRAM, INIT_RESET, LAZY, NO_INIT};
        let Self { size, align, properties } = self;
        let mut text = format!("{size} bytes aligned to {align}, ");
        text.push_str(match (properties & HOST_READS != 0, properties & HOST_WRITES != 0) {
            (true, true) => "read and written by the host",
            (true, false) => "read by the host",
            (false, true) => "written by the host",
            (false, false) => "out of the host's reach",
        });
        let words = [
            (IMAGE_SCOPE, ", with image scope"),
            (INIT_REPROGRAM, ", initialised by reprogramming"),
            (INIT_RESET, ", initialised by reset"),
            (CSR_OFF, ", outside control registers"),
            (CSR_ON, ", in control registers"),
            (LAZY, ", with lazy zeros"),
            (NO_INIT, ", without initial value"),
            (BUNDLE_SCOPE, ", as a symbol"),
        ];
        let said = words.iter().filter(|(property, _)| properties & property != 0);
        text.extend(said.map(|(_, word)| *word));
        text
    }

    fn global(self, symbol: String) -> UsedGlobal {
        let Self { size, align, properties } = self;
        UsedGlobal { symbol, size, align, properties }
    }

    /// Whether a variable looks like a static of this layout: storage and, behind it, the initial
    /// value.
    fn fits(self, variable: &Item) -> bool {
        let copies = self.copies();
        let Some((size, align)) = extent(variable) else { return false };
        size == copies * self.size && align >= self.align
    }
}

/// The device globals of a function.
pub(crate) fn used_globals(ir: &Ir, function: &Item) -> Result<BTreeSet<UsedGlobal>, String> {
    let mut globals = BTreeSet::new();
    let mut from_memory = BTreeSet::new();
    for call in accesses(function) {
        let layout = Layout::of(&call)?;
        let mut symbols = BTreeSet::new();
        let address = call.arguments.first().copied().unwrap_or_default();
        if collect_symbols(function, address, &mut symbols, &mut BTreeSet::new())? {
            from_memory.insert(layout);
        }
        globals.extend(symbols.into_iter().map(|symbol| layout.global(symbol)));
    }
    if from_memory.is_empty() {
        return Ok(globals);
    }
    // A table may hold globals that only other kernels use: whatever any of them asks for counts.
    let layouts: BTreeSet<Layout> = ir
        .functions()
        .flat_map(accesses)
        .filter_map(|call| Layout::of(&call).ok())
        .chain(from_memory.iter().copied())
        .collect();
    let mut met = BTreeSet::new();
    for name in mentioned_statics(ir, function) {
        let Some(variable) = ir.find(&name) else { continue };
        if globals.iter().any(|global| global.symbol == name) {
            met.extend(layouts.iter().filter(|layout| layout.fits(variable)));
            continue;
        }
        // Those that this kernel asks for come first: they have the properties it knows.
        let asked = from_memory.iter().chain(&layouts).find(|layout| layout.fits(variable));
        if let Some(layout) = asked {
            met.insert(*layout);
            globals.insert(layout.global(name));
        }
    }
    if from_memory.iter().all(|layout| met.contains(layout)) {
        Ok(globals)
    } else {
        Err("its address comes from memory".into())
    }
}

/// The accesses whose statics are named in the function itself: the line, what it takes them to be, and
/// which they are.
pub(crate) fn direct_accesses(
    function: &Item,
) -> impl Iterator<Item = (&str, Layout, BTreeSet<String>)> {
    function.lines[1..].iter().filter_map(|line| {
        let call = Call::parse(line).filter(is_access)?;
        let mut symbols = BTreeSet::new();
        let address = call.arguments.first().copied().unwrap_or_default();
        collect_symbols(function, address, &mut symbols, &mut BTreeSet::new()).ok()?;
        Some((line.as_str(), Layout::of(&call).ok()?, symbols))
    })
}

fn is_access(call: &Call<'_>) -> bool {
    call.callee.strip_prefix('@') == Some(hooks::GLOBAL_ADDRESS)
}

fn accesses(function: &Item) -> impl Iterator<Item = Call<'_>> {
    function.calls().filter(is_access)
}

/// Follows an address to the statics it may be. True if it may also come from memory.
fn collect_symbols(
    function: &Item,
    operand: &str,
    symbols: &mut BTreeSet<String>,
    seen: &mut BTreeSet<String>,
) -> Result<bool, String> {
    if operand.contains("getelementptr ") {
        return Err(ONE_OF_SEVERAL.into());
    }
    let names: Vec<&str> = tokens(operand)
        .map(|token| token.1)
        .filter(|token| token.starts_with(['%', '@']))
        .collect();
    let &[name] = names.as_slice() else {
        return Err("its address is computed".into());
    };
    if name.starts_with('@') {
        if operand.contains('(') && !operand.trim_start().starts_with("ptr") {
            return Err("its address is computed".into());
        }
        symbols.insert(name.to_owned());
        return Ok(false);
    }
    if !seen.insert(name.to_owned()) {
        return Ok(false);
    }
    let definition = function.instructions().find(|instruction| instruction.result == Some(name));
    match definition {
        Some(choice) if matches!(choice.opcode, "select" | "phi") => {
            if choice.text.contains("getelementptr ") {
                return Err(ONE_OF_SEVERAL.into());
            }
            let mut from_memory = false;
            for value in choices(&choice) {
                from_memory |= collect_symbols(function, value, symbols, seen)?;
            }
            Ok(from_memory)
        }
        Some(Instruction { opcode: "getelementptr", text, .. }) if text.contains("ptr @") => {
            Err(ONE_OF_SEVERAL.into())
        }
        _ => Ok(true),
    }
}

/// The values that a `select` or `phi` chooses from, but for those that are no address at all: nobody follows them.
fn choices<'a>(instruction: &Instruction<'a>) -> Vec<&'a str> {
    let is_address =
        |value: &&str| !matches!(value.rsplit(' ').next(), Some("null" | "poison" | "undef"));
    let pieces = split_at_commas(instruction.rest()).into_iter();
    let values: Vec<&str> = match instruction.opcode {
        // `ptr [ %a, %from ]`, and the rest without a type.
        "phi" => pieces
            .filter_map(|piece| Some(piece.split_once('[')?.1.split_once(',')?.0.trim()))
            .collect(),
        // `i1 %c`, `ptr %a` and `ptr %b`, and what is noted about it.
        _ => pieces.skip(1).take(2).collect(),
    };
    values.into_iter().filter(is_address).collect()
}

/// The statics that constants which the function mentions lead to.
fn mentioned_statics(ir: &Ir, function: &Item) -> BTreeSet<String> {
    let mut statics = BTreeSet::new();
    let mut seen = BTreeSet::new();
    let mut queue: Vec<&Item> = function.lines[1..]
        .iter()
        .flat_map(|line| tokens(line))
        .filter_map(|(_, token)| constant(ir, token))
        .collect();
    while let Some(item) = queue.pop() {
        if !seen.insert(item.name.as_str()) {
            continue;
        }
        // Each once: a table may have many entries and few globals.
        let mentioned: BTreeSet<&str> = tokens(&item.lines[0])
            .skip(1)
            .map(|token| token.1)
            .filter(|token| token.starts_with('@'))
            .collect();
        for token in mentioned {
            match (constant(ir, token), ir.find(token)) {
                (Some(next), _) => queue.push(next),
                (None, Some(found)) if found.kind == Kind::Variable => {
                    statics.insert(token.to_owned());
                }
                _ => {}
            }
        }
    }
    statics
}

/// The constant of this name.
fn constant<'a>(ir: &'a Ir, name: &str) -> Option<&'a Item> {
    if !name.starts_with('@') {
        return None;
    }
    ir.find(name).filter(|item| is_constant(item))
}

/// Whether an item is a constant.
pub(super) fn is_constant(item: &Item) -> bool {
    let mut words = tokens(&item.lines[0]).map(|token| token.1);
    item.kind == Kind::Variable
        && words.find(|word| matches!(*word, "global" | "constant")) == Some("constant")
}

/// Size and alignment of a variable whose type is made of bytes.
pub(crate) fn extent(variable: &Item) -> Option<(u64, u64)> {
    let line = &variable.lines[0];
    let (at, word) = tokens(line).find(|token| matches!(token.1, "global" | "constant"))?;
    let rest = &line[at + word.len()..];
    let pieces = split_at_commas(rest);
    let align = pieces.iter().find_map(|piece| piece.strip_prefix("align "))?.parse().ok()?;
    size_of_type(rest).map(|size| (size, align))
}

/// The bytes of the type that `text` begins with, as rustc writes the types of statics: bytes in
/// arrays, alone or in one struct.
fn size_of_type(text: &str) -> Option<u64> {
    let text = text.trim_start();
    if let Some(inner) = text.strip_prefix("<{") {
        let (fields, _) = inner.split_once("}>")?;
        return split_at_commas(fields).into_iter().map(size_of_type).sum();
    }
    let (count, rest) = text.strip_prefix('[')?.split_once(" x ")?;
    rest.starts_with("i8]").then(|| count.parse().ok())?
}

#[cfg(test)]
mod tests {
    use super::*;

    fn used(text: &str) -> Result<Vec<String>, String> {
        let ir = Ir::parse(text);
        let found = used_globals(&ir, ir.find("@k").unwrap())?;
        Ok(found.into_iter().map(|global| format!("{} {}", global.symbol, global.size)).collect())
    }

    const TABLE: &str = "\
@A = global <{ [8 x i8] }> zeroinitializer, align 4
@B = global <{ [4 x i8], [4 x i8] }> <{ [4 x i8] c\"aaaa\", [4 x i8] zeroinitializer }>, align 4
@C = global [64 x i8] zeroinitializer, align 8
@T = constant [3 x ptr] [ptr @A, ptr @B, ptr @C]
define void @k() {
  %p = load ptr, ptr @T, align 8
  %g = call ptr @__crosscut_global_address(ptr %p, i64 4, i64 4, i64 6)
  ret void
}
";

    #[test]
    fn a_table_leads_to_the_statics_of_the_layout_that_is_asked_for() {
        assert_eq!(used(TABLE).unwrap(), ["@A 4", "@B 4"]);
        let lazy = TABLE.replace("i64 4, i64 4, i64 6", "i64 64, i64 8, i64 134");
        assert_eq!(used(&lazy).unwrap(), ["@C 64"]);
    }

    #[test]
    fn an_address_from_elsewhere_in_memory_is_refused() {
        let elsewhere = TABLE.replace("load ptr, ptr @T", "load ptr, ptr %x");
        assert_eq!(used(&elsewhere).unwrap_err(), "its address comes from memory");
    }
}
