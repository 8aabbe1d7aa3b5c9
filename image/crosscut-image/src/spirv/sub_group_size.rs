//! Asks for the size of sub-groups, in the words of the module.
//!
//! Expects a module that [`check`](super::check) has passed.
//! Leaves the same with an `OpExecutionMode … SubgroupSize` for each of its kernels, in place of those it had, and with the
//! capability for it.

use super::SpirvError;
use super::words::Words;

const OP_ENTRY_POINT: u32 = 15;
const OP_EXECUTION_MODE: u32 = 16;
const OP_CAPABILITY: u32 = 17;

const CAPABILITY_SUB_GROUP_DISPATCH: u32 = 58;
const MODE_SUB_GROUP_SIZE: u32 = 35;

/// The module whose kernels run in sub-groups of `size` items.
///
/// # Errors
/// The module is not well formed, or of a version of SPIR-V that has no such mode.
pub fn with_sub_group_size(bytes: &[u8], size: u32) -> Result<Vec<u8>, SpirvError> {
    let words = Words::of(bytes)?;
    let (major, minor) = words.version;
    if (major, minor) < (1, 1) {
        return Err(SpirvError::Version { found: u32::from_be_bytes([0, major, minor, 0]) });
    }
    let mut kernels = Vec::new();
    for instruction in words.instructions() {
        let instruction = instruction?;
        if let (OP_ENTRY_POINT, &[_, function, ..]) = (instruction.opcode, instruction.operands()) {
            kernels.push(function);
        }
    }
    let mut out = words.header().to_vec();
    // Capabilities come first, in any order.
    out.extend([2 << 16 | OP_CAPABILITY, CAPABILITY_SUB_GROUP_DISPATCH]);
    let mut entry_points = 0;
    for instruction in words.instructions() {
        let instruction = instruction?;
        match (instruction.opcode, instruction.operands()) {
            (OP_CAPABILITY, &[CAPABILITY_SUB_GROUP_DISPATCH])
            | (OP_EXECUTION_MODE, &[_, MODE_SUB_GROUP_SIZE, ..]) => continue,
            (OP_ENTRY_POINT, _) => entry_points += 1,
            _ => {}
        }
        out.extend_from_slice(instruction.words);
        // Modes come after all entry points.
        if instruction.opcode == OP_ENTRY_POINT && entry_points == kernels.len() {
            for &kernel in &kernels {
                out.extend([4 << 16 | OP_EXECUTION_MODE, kernel, MODE_SUB_GROUP_SIZE, size]);
            }
        }
    }
    Ok(out.iter().flat_map(|word| word.to_le_bytes()).collect())
}
