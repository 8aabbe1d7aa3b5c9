//! Gives specialization constants their values, in the words of the module.
//!
//! Expects a module that [`check`](super::check) has passed.
//! Leaves one without specialization constants of the kinds that have numbers: they are ordinary
//! constants then, so that every driver folds them, whether or not it knows specialization, and two
//! modules with the same values are the same bytes.
//!
//! `OpDecorate %9 SpecId 3` and `%9 = OpSpecConstant %uint 16` become `%9 = OpConstant %uint 32`.

use std::collections::{BTreeMap, HashMap};

use super::SpirvError;
use super::words::{Instruction, Words};

const OP_TYPE_INT: u32 = 21;
const OP_TYPE_FLOAT: u32 = 22;
const OP_CONSTANT_TRUE: u32 = 41;
const OP_CONSTANT_FALSE: u32 = 42;
const OP_CONSTANT: u32 = 43;
const OP_SPEC_CONSTANT_TRUE: u32 = 48;
const OP_SPEC_CONSTANT_FALSE: u32 = 49;
const OP_SPEC_CONSTANT: u32 = 50;
const OP_DECORATE: u32 = 71;

const DECORATION_SPEC_ID: u32 = 1;

/// The number of a constant of four bytes that modules with loops have: 0, or whether the driver must be kept from taking the
/// turns of a loop in another order. No constant of a program comes near it.
pub const LOOPS_IN_ORDER: u32 = 0x6c6f_6f70;

/// A module with values, and which constants it had.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Specialised {
    /// The module.
    pub bytes: Vec<u8>,
    /// The numbers of its specialization constants with their sizes in bytes, 0 for truth values.
    pub constants: BTreeMap<u32, u8>,
}

/// Gives the specialization constants with these numbers these values, and all others their defaults.
///
/// A value is the constant's bits in the low bits; a truth value is true unless it is 0. Numbers that
/// the module does not have are no error: [`Specialised::constants`] tells which it has.
///
/// # Errors
/// The module is not well formed.
pub fn specialise(bytes: &[u8], values: &BTreeMap<u32, u64>) -> Result<Specialised, SpirvError> {
    let words = Words::of(bytes)?;
    let mut numbers: HashMap<u32, u32> = HashMap::new();
    for instruction in words.instructions() {
        let instruction = instruction?;
        if let Some((target, number)) = spec_id(&instruction) {
            numbers.insert(target, number);
        }
    }
    let mut constants = BTreeMap::new();
    // Width, and whether narrow values are extended by their sign.
    let mut widths: HashMap<u32, (u32, bool)> = HashMap::new();
    let mut out: Vec<u32> = words.header().to_vec();
    for instruction in words.instructions() {
        let instruction = instruction?;
        if spec_id(&instruction).is_some() {
            continue;
        }
        let refused = |fault| SpirvError::Operand {
            instruction: "OpSpecConstant",
            word: instruction.word,
            fault,
        };
        let (opcode, operands) = (instruction.opcode, instruction.operands());
        match (opcode, operands) {
            (OP_TYPE_INT | OP_TYPE_FLOAT, &[id, width, ref rest @ ..]) => {
                widths.insert(id, (width, opcode == OP_TYPE_INT && rest == [1]));
                out.extend_from_slice(instruction.words);
            }
            (OP_SPEC_CONSTANT_TRUE | OP_SPEC_CONSTANT_FALSE, &[kind, id]) => {
                let mut value = opcode == OP_SPEC_CONSTANT_TRUE;
                if let Some(number) = numbers.get(&id) {
                    constants.insert(*number, 0);
                    value = values.get(number).map_or(value, |&bits| bits != 0);
                }
                let opcode = if value { OP_CONSTANT_TRUE } else { OP_CONSTANT_FALSE };
                out.extend([3 << 16 | opcode, kind, id]);
            }
            (OP_SPEC_CONSTANT, &[kind, id, ref literal @ ..]) => {
                let (width, signed) = *widths.get(&kind).ok_or_else(|| refused("is no number"))?;
                if !matches!(width, 8 | 16 | 32 | 64) {
                    return Err(refused("has a width that no device has"));
                }
                if literal.len() != width.div_ceil(32) as usize {
                    return Err(refused("has a value of another width than its type"));
                }
                let mut value: Vec<u32> = literal.to_vec();
                if let Some(number) = numbers.get(&id) {
                    constants.insert(*number, (width / 8) as u8);
                    if let Some(&bits) = values.get(number) {
                        // What lies above the width is not the constant's.
                        let above = 64 - width;
                        let bits = match signed {
                            true => ((bits << above) as i64 >> above) as u64,
                            false => bits << above >> above,
                        };
                        value[0] = bits as u32;
                        if let Some(high) = value.get_mut(1) {
                            *high = (bits >> 32) as u32;
                        }
                    }
                }
                out.extend([(3 + value.len() as u32) << 16 | OP_CONSTANT, kind, id]);
                out.extend(value);
            }
            (OP_SPEC_CONSTANT | OP_SPEC_CONSTANT_TRUE | OP_SPEC_CONSTANT_FALSE, _) => {
                return Err(refused("has the wrong number of operands"));
            }
            _ => out.extend_from_slice(instruction.words),
        }
    }
    let bytes = out.iter().flat_map(|word| word.to_le_bytes()).collect();
    Ok(Specialised { bytes, constants })
}

/// The id that an instruction gives a number to, and the number.
fn spec_id(instruction: &Instruction<'_>) -> Option<(u32, u32)> {
    match (instruction.opcode, instruction.operands()) {
        (OP_DECORATE, &[target, DECORATION_SPEC_ID, number]) => Some((target, number)),
        _ => None,
    }
}
