//! Gives specialization constants their numbers.
//!
//! Expects an optimised entry in host form: every operand of the hook is a constant.
//! Leaves a SPIR-V specialization constant for each piece that the entry reads, numbered from 0, and the
//! list of them. The runtime gives them their values before a driver sees the module.
//!
//! `%v = call i64 @__crosscut_spec_constant(ptr @TILE, i64 0, i32 4, i64 16)` becomes
//! `%v.bits = call i32 @_Z20__spirv_SpecConstantii(i32 0, i32 16)` and `%v = zext i32 %v.bits to i64`.

use crosscut_image::{SpecConstant, hooks};

use super::suffixed;
use crate::ir::{Call, Ir, Item, Kind};
use crate::names;

/// A piece that a call of the hook asks for.
struct Piece {
    /// The static's symbol, with sigil.
    symbol: String,
    offset: u32,
    width: u8,
    default: u64,
}

impl Piece {
    /// Reads a call of the hook; the error says what is not known about it.
    fn of(call: &Call<'_>) -> Result<Self, &'static str> {
        let symbol = call.value(0).filter(|symbol| symbol.starts_with('@'));
        let offset = call.number(1).and_then(|offset| u32::try_from(offset).ok());
        let width = call.number(2).and_then(|width| u8::try_from(width).ok());
        Ok(Self {
            symbol: symbol.ok_or("which one is not known when the program is linked")?.to_owned(),
            offset: offset.ok_or("it is too large to be taken apart")?,
            width: width
                .filter(|width| matches!(width, 1 | 2 | 4 | 8))
                .ok_or("it is too large to be taken apart")?,
            default: call.number(3).ok_or("its default is not known when the program is linked")?,
        })
    }
}

fn is_hook(call: &Call<'_>) -> bool {
    call.callee.strip_prefix('@') == Some(hooks::SPEC_CONSTANT)
}

/// What is wrong with the line, if it reads a specialization constant in a way that cannot be followed.
pub(crate) fn fault(line: &str) -> Option<&'static str> {
    Call::parse(line).filter(is_hook).and_then(|call| Piece::of(&call).err())
}

/// Runs the pass on `entry`, adding to the constants that the image has already.
pub(crate) fn run(ir: &mut Ir, entry: &str, constants: &mut Vec<SpecConstant>) {
    let mut widths: Vec<u8> = Vec::new();
    for function in ir.functions_mut().filter(|function| function.name == entry) {
        let mut lines = Vec::with_capacity(function.lines.len());
        for line in function.lines.drain(..) {
            let call = Call::parse(&line).filter(is_hook);
            let Some((result, Ok(piece))) = call.map(|call| (call.result, Piece::of(&call))) else {
                lines.push(line);
                continue;
            };
            // An answer that nobody uses is not asked for.
            let Some(result) = result else { continue };
            let number = number_of(constants, &piece);
            if !widths.contains(&piece.width) {
                widths.push(piece.width);
            }
            let (kind, function) = built_in(piece.width);
            let default = piece.default;
            let bits = if piece.width == 8 { result.to_owned() } else { suffixed(result, ".bits") };
            lines.push(format!(
                "  {bits} = call {kind} {function}(i32 {number}, {kind} {})",
                signed(default, piece.width)
            ));
            if piece.width != 8 {
                lines.push(format!("  {result} = zext {kind} {bits} to i64"));
            }
        }
        function.lines = lines;
    }
    widths.into_iter().for_each(|width| declare(ir, width));
}

/// Declares the function of a width, unless that is done.
pub(super) fn declare(ir: &mut Ir, width: u8) {
    if ir.find(built_in(width).1).is_none() {
        let first = ir.items.iter().position(|item| item.kind == Kind::Function).unwrap_or(0);
        ir.items.insert(first, declaration(width));
    }
}

/// The number of a piece: the one it has, or the next.
fn number_of(constants: &mut Vec<SpecConstant>, piece: &Piece) -> u32 {
    let id = names::symbol(&piece.symbol);
    let known = constants
        .iter()
        .find(|known| known.id == id && known.offset == piece.offset && known.width == piece.width);
    if let Some(known) = known {
        return known.number;
    }
    let number = u32::try_from(constants.len()).unwrap_or(u32::MAX);
    constants.push(SpecConstant {
        display_name: names::display(&id),
        id,
        offset: piece.offset,
        width: piece.width,
        default: piece.default,
        number,
    });
    number
}

/// The type of a piece of this width, and the function that the back end makes a constant of.
pub(super) fn built_in(width: u8) -> (&'static str, &'static str) {
    match width {
        1 => ("i8", "@_Z20__spirv_SpecConstantic"),
        2 => ("i16", "@_Z20__spirv_SpecConstantis"),
        4 => ("i32", "@_Z20__spirv_SpecConstantii"),
        _ => ("i64", "@_Z20__spirv_SpecConstantix"),
    }
}

/// The bits as LLVM writes numbers of this width.
fn signed(bits: u64, width: u8) -> i64 {
    let above = 64 - 8 * u32::from(width);
    (bits << above).cast_signed() >> above
}

fn declaration(width: u8) -> Item {
    let (kind, function) = built_in(width);
    Item {
        kind: Kind::Declaration,
        name: function.to_owned(),
        lines: vec![format!(
            "declare {kind} {function}(i32, {kind}) nounwind willreturn memory(none)"
        )],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(hook: &str) -> Ir {
        Ir::parse(&format!("define void @k() {{\n  {hook}\n  ret void\n}}\n"))
    }

    #[test]
    fn a_piece_keeps_its_number_and_narrow_ones_are_extended() {
        let mut ir = entry(
            "%a = call i64 @__crosscut_spec_constant(ptr @A, i64 0, i32 8, i64 -1)\n  \
             %b = call i64 @__crosscut_spec_constant(ptr @A, i64 8, i32 1, i64 255)\n  \
             %c = call i64 @__crosscut_spec_constant(ptr @A, i64 0, i32 8, i64 -1)",
        );
        let mut constants = Vec::new();
        run(&mut ir, "@k", &mut constants);
        let pieces: Vec<_> = constants
            .iter()
            .map(|piece| (piece.number, piece.offset, piece.width, piece.default))
            .collect();
        assert_eq!(pieces, [(0, 0, 8, u64::MAX), (1, 8, 1, 255)]);
        let text = ir.print();
        assert!(
            text.contains("%c = call i64 @_Z20__spirv_SpecConstantix(i32 0, i64 -1)"),
            "{text}"
        );
        assert!(text.contains("%b.bits = call i8 @_Z20__spirv_SpecConstantic(i32 1, i8 -1)"));
        assert!(text.contains("%b = zext i8 %b.bits to i64"), "{text}");
    }

    #[test]
    fn what_is_not_constant_is_a_fault() {
        let fault_of =
            |operands: &str| fault(&format!("%a = call i64 @__crosscut_spec_constant({operands})"));
        assert_eq!(fault_of("ptr @A, i64 0, i32 4, i64 1"), None);
        assert!(fault_of("ptr %a, i64 0, i32 4, i64 1").unwrap().contains("which one"));
        assert!(fault_of("ptr @A, i64 %i, i32 4, i64 1").unwrap().contains("too large"));
        assert!(fault_of("ptr @A, i64 0, i32 4, i64 %v").unwrap().contains("default"));
    }
}
