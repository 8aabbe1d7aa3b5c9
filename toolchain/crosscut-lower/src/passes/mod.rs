//! The passes over device code, each a file, each text in and text out.
//!
//! [`PASSES`] is the whole pipeline in order; `--dump-after NAME` works for every name in it.

mod address_numbers;
pub(crate) mod aggregates;
pub(crate) mod arrivals;
pub(crate) mod assertions;
pub(crate) mod atomic_access;
mod bits;
pub(crate) mod constants;
pub(crate) mod decorations;
pub(crate) mod division;
pub(crate) mod element_addresses;
mod float_to_int;
pub(crate) mod globals;
mod initializers;
pub(crate) mod integers;
pub(crate) mod legalise;
pub(crate) mod library;
pub(crate) mod long_constants;
pub(crate) mod masks;
pub(crate) mod memory_scopes;
pub(crate) mod narrow;
mod odd_bits;
pub(crate) mod outline;
pub(crate) mod panic_values;
pub(crate) mod panics;
pub(crate) mod parts;
pub(crate) mod prepare;
pub(crate) mod records;
pub(crate) mod scope;
pub(crate) mod sets;
pub(crate) mod sites;
pub(crate) mod spaces;
pub(crate) mod sub_groups;
pub(crate) mod tables;
pub(crate) mod turns;

/// The steps of lowering, in the order they run, each with the reason for its place.
pub const PASSES: &[(&str, &str)] = &[
    (
        "link",
        "first, because every later step asks what kernels reach; runs prepare, panic values and panics as it grows the module, so that no formatting code is linked for a panic's text",
    ),
    (
        "optimise",
        "inlines everything into the entries and folds the hooks' operands to constants; globals that are parts of statics get symbols of their own at its end",
    ),
    (
        "check",
        "after optimise, so that code which cannot run is not complained about, and while debug info is there to say where",
    ),
    (
        "sites",
        "after optimise, because places and texts of panics are constants only then; before spaces, which hides them behind casts",
    ),
    (
        "memory-scopes",
        "after optimise, which folds the scope to a constant; before the next one, for which the hooks are in the way",
    ),
    (
        "constants",
        "after optimise, because only then each says which specialization constant it reads; before outline, which drops all hooks",
    ),
    (
        "tables",
        "before outline, which knows the addresses that their numbers stand for; after optimise, because what can be folded is no table any more",
    ),
    (
        "outline",
        "makes parameters of hooks, now that each operand is known; takes expressions of globals apart first, which no parameter can be in",
    ),
    ("spaces", "after outline, which gives parameters their address space"),
    (
        "specialise",
        "optimises once more: removes checks in the body that may assume them, and infers address spaces",
    ),
    (
        "records",
        "after specialise, because a panic that stores something keeps the optimiser from removing its check",
    ),
    (
        "arrivals",
        "after records, which says where items end; before legalise, because it has LLVM move values to the stack and back",
    ),
    ("legalise", "behind the optimiser, which would bring back what it removes"),
    (
        "turns",
        "after legalise, so that no pass thinks about a value that is there for drivers alone; before emit, whose clean-up makes values of its variables",
    ),
    (
        "emit",
        "inlines the library, runs aggregates, masks, integers, division, atomic-access, element-addresses and long-constants on the result because only then everything is in sight, decorations because nothing may drop a variable any more, writes SPIR-V and has it checked",
    ),
];

/// Whether `name` is a step that can be dumped.
#[must_use]
pub fn is_pass(name: &str) -> bool {
    PASSES.iter().any(|pass| pass.0 == name)
}

/// Whether a called symbol (with its `@`) means something to the lowering itself, so that nobody need
/// define it: an intrinsic, a hook, the panic function, or the one that names its values.
pub(crate) fn is_built_in(symbol: &str) -> bool {
    let name = symbol.trim_start_matches('@').trim_matches('"');
    name.starts_with("llvm.")
        || crosscut_image::hooks::FUNCTIONS.contains(&name)
        || symbol == panics::PANIC
        || symbol == panic_values::VALUES
}

/// A fresh name beside a value's: `%x.lo` of `%x`, quotes kept around.
fn suffixed(name: &str, suffix: &str) -> String {
    match name.strip_suffix('"') {
        Some(open) => format!("{open}{suffix}\""),
        None => format!("{name}{suffix}"),
    }
}
