//! Whether values are there on every way to where they are used.
//!
//! A value is made in a block, and used in blocks that are reached only through that one. Compilers
//! rely on it without looking, and crash where it is not so.

use std::collections::HashMap;

use super::dominators::visits;
use super::typing::Types;
use super::words::Instruction;

const OP_FUNCTION: u32 = 54;
const OP_FUNCTION_END: u32 = 56;
const OP_PHI: u32 = 245;
const OP_LABEL: u32 = 248;
const OP_BRANCH: u32 = 249;
const OP_BRANCH_CONDITIONAL: u32 = 250;
const OP_SWITCH: u32 = 251;

const FAULT: &str = "uses a value that is not there on every way to it";

/// Checks a module whose blocks, branches and phis are right. `letters` says what the operands of each
/// instruction are.
///
/// # Errors
/// Which instruction uses a value where that may not be, and that it does.
pub(super) fn check(
    all: &[Instruction<'_>],
    letters: &[Option<Vec<u8>>],
    types: &Types,
) -> Result<(), (usize, &'static str)> {
    let mut start = 0;
    for (at, instruction) in all.iter().enumerate() {
        match instruction.opcode {
            OP_FUNCTION => start = at,
            OP_FUNCTION_END => Function::new(all, start..at, letters, types).check(all, letters)?,
            _ => {}
        }
    }
    Ok(())
}

/// The blocks of a function, by their place in it.
struct Function {
    /// First and one past the last instruction of each.
    blocks: Vec<(usize, usize)>,
    by_label: HashMap<u32, usize>,
    /// The block that makes each value.
    made_in: HashMap<u32, usize>,
    /// When a walk over the tree of dominators enters and leaves each block; `None` for those that are
    /// never reached.
    visits: Vec<Option<(usize, usize)>>,
}

impl Function {
    fn new(
        all: &[Instruction<'_>],
        range: std::ops::Range<usize>,
        letters: &[Option<Vec<u8>>],
        types: &Types,
    ) -> Self {
        let (mut blocks, mut by_label) = (Vec::<(usize, usize)>::new(), HashMap::new());
        let mut made_in = HashMap::new();
        for at in range {
            let operands = all[at].operands();
            if all[at].opcode == OP_LABEL {
                by_label.insert(operands[0], blocks.len());
                blocks.push((at, at));
            } else if let Some(block) = blocks.len().checked_sub(1) {
                blocks[block].1 = at + 1;
                let result = letters[at].iter().flatten().position(|letter| *letter == b'R');
                made_in.extend(result.map(|result| (operands[result], block)));
            }
        }
        let next = |block: usize| -> Vec<usize> {
            let Some(last) = blocks[block].1.checked_sub(1).map(|last| &all[last]) else {
                return Vec::new();
            };
            let operands = last.operands();
            let labels = match last.opcode {
                OP_BRANCH => operands.to_vec(),
                OP_BRANCH_CONDITIONAL => operands[1..3].to_vec(),
                OP_SWITCH => types.switch_targets(operands).unwrap_or_default(),
                _ => Vec::new(),
            };
            labels.iter().filter_map(|label| by_label.get(label).copied()).collect()
        };
        let visits = visits(&(0..blocks.len()).map(next).collect::<Vec<_>>());
        Self { blocks, by_label, made_in, visits }
    }

    fn check(
        &self,
        all: &[Instruction<'_>],
        letters: &[Option<Vec<u8>>],
    ) -> Result<(), (usize, &'static str)> {
        for (block, &(start, end)) in self.blocks.iter().enumerate() {
            for at in start..end {
                let operands = all[at].operands();
                let is_there = if all[at].opcode == OP_PHI {
                    operands[2..].as_chunks::<2>().0.iter().all(|[value, from]| {
                        let from = self.by_label.get(from);
                        from.is_none_or(|from| self.reaches(*value, *from))
                    })
                } else {
                    let used = letters[at].iter().flatten().zip(operands);
                    let mut used = used.filter(|(letter, _)| **letter == b'i');
                    used.all(|(_, value)| self.reaches(*value, block))
                };
                if !is_there {
                    return Err((at, FAULT));
                }
            }
        }
        Ok(())
    }

    /// Whether a value is there at the end of a block, as far as blocks say.
    fn reaches(&self, value: u32, block: usize) -> bool {
        let Some(&made_in) = self.made_in.get(&value) else { return true };
        match (self.visits[made_in], self.visits[block]) {
            // In what never runs anything may be used.
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(outer), Some(inner)) => outer.0 <= inner.0 && inner.1 <= outer.1,
        }
    }
}
