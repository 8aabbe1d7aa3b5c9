//! Leaves only integers of 1, 8, 16, 32 and 64 bits, which is what SPIR-V has.
//!
//! Expects a kernel as it is to be written, everything inlined.
//! 1. [`odd`]: an integer of any other width becomes one of the next larger, up to 128 bits.
//! 2. [`wide`]: an integer of 128 bits becomes two of 64.
//! 3. [`extensions`]: keeps the SPIR-V writer from merging conversions wrongly.
//!
//! `%r = add i24 %a, %b` becomes `%r.cc = add i32 %a, %b` and `%r = and i32 %r.cc, 16777215`.

mod extensions;
mod odd;
mod parse;
mod wide;

use super::suffixed;
use crate::ir::{Ir, Item, Kind, tokens};

/// Runs the pass.
///
/// # Errors
/// An operation on integers that has no counterpart, as LLVM writes it.
pub(crate) fn run(ir: &mut Ir) -> Result<(), String> {
    for item in &mut ir.items {
        match item.kind {
            Kind::Function => {
                odd::run(item);
                wide::run(item);
                extensions::run(item);
            }
            Kind::Variable | Kind::Type => wide::in_memory(item),
            _ => {}
        }
    }
    add_declaration(ir);
    for item in ir
        .items
        .iter()
        .filter(|item| matches!(item.kind, Kind::Function | Kind::Variable | Kind::Type))
    {
        for line in &item.lines {
            if let Some((_, kind)) = tokens(line).find(|token| is_strange(token.1)) {
                return Err(format!("an operation on `{kind}`: {}", line.trim()));
            }
        }
    }
    Ok(())
}

/// Declares the upper half of a product, which [`wide`] uses.
fn add_declaration(ir: &mut Ir) {
    const NAME: &str = "@_Z6mul_himm";
    if ir.functions().any(|function| function.calls().any(|call| call.callee == NAME))
        && ir.find(NAME).is_none()
    {
        ir.items.push(Item {
            kind: Kind::Declaration,
            name: NAME.into(),
            lines: vec![format!("declare i64 {NAME}(i64, i64) nounwind willreturn memory(none)")],
        });
    }
}

fn is_strange(token: &str) -> bool {
    parse::bits(token).is_some_and(|bits| !matches!(bits, 1 | 8 | 16 | 32 | 64))
}

/// The alignment of what lies `offset` bytes behind an address.
fn align_at(align: u64, offset: u64) -> u64 {
    if offset == 0 { align } else { align.min(1 << offset.trailing_zeros()) }
}
