//! Takes annotations of variables away that a driver does not know.
//!
//! Expects a module that [`check`](super::check) has passed.
//! Leaves the same without the capabilities, extensions and decorations of
//! `SPV_INTEL_global_variable_host_access` and `SPV_INTEL_global_variable_fpga_decorations` that are not
//! wanted. Nothing else depends on them: they tell the driver about variables, kernels do the same
//! without.

use std::borrow::Cow;

use super::SpirvError;
use super::words::Words;

/// The capability of a module whose variables have names for the host.
pub const CAPABILITY_HOST_ACCESS: u32 = 6187;
/// The capability of a module that says how an FPGA makes its variables.
pub const CAPABILITY_FPGA_VARIABLES: u32 = 6189;

/// The number of the decoration with a variable's access and its name for the host.
pub const DECORATION_HOST_ACCESS: u32 = 6188;
/// The number of the decoration that says how an FPGA initialises a variable.
pub const DECORATION_INIT_MODE: u32 = 6190;
/// The number of the decoration that puts a variable into an FPGA's registers.
pub const DECORATION_REGISTER_MAP: u32 = 6191;

/// The extensions that define the above.
pub const VARIABLE_EXTENSIONS: [&str; 2] =
    ["SPV_INTEL_global_variable_host_access", "SPV_INTEL_global_variable_fpga_decorations"];

const OP_EXTENSION: u32 = 10;
const OP_CAPABILITY: u32 = 17;
const OP_DECORATE: u32 = 71;

/// The module without annotations of variables whose capability `takes` does not like.
///
/// # Errors
/// The module is not well formed.
pub fn keep_annotations(
    bytes: &[u8],
    takes: impl Fn(u32) -> bool,
) -> Result<Cow<'_, [u8]>, SpirvError> {
    let words = Words::of(bytes)?;
    let mut out: Vec<u32> = words.header().to_vec();
    let mut changed = false;
    for instruction in words.instructions() {
        let instruction = instruction?;
        let capability = match (instruction.opcode, instruction.operands()) {
            (OP_CAPABILITY, &[capability]) => capability,
            (OP_EXTENSION, name) => match extension(name) {
                Some(0) => CAPABILITY_HOST_ACCESS,
                Some(_) => CAPABILITY_FPGA_VARIABLES,
                None => 0,
            },
            (OP_DECORATE, &[_, DECORATION_HOST_ACCESS, ..]) => CAPABILITY_HOST_ACCESS,
            (OP_DECORATE, &[_, DECORATION_INIT_MODE | DECORATION_REGISTER_MAP, ..]) => {
                CAPABILITY_FPGA_VARIABLES
            }
            _ => 0,
        };
        let ours = matches!(capability, CAPABILITY_HOST_ACCESS | CAPABILITY_FPGA_VARIABLES);
        if ours && !takes(capability) {
            changed = true;
        } else {
            out.extend_from_slice(instruction.words);
        }
    }
    Ok(match changed {
        true => Cow::Owned(out.iter().flat_map(|word| word.to_le_bytes()).collect()),
        false => Cow::Borrowed(bytes),
    })
}

/// Which of [`VARIABLE_EXTENSIONS`] a literal is.
fn extension(literal: &[u32]) -> Option<usize> {
    let bytes: Vec<u8> = literal.iter().flat_map(|word| word.to_le_bytes()).collect();
    let end = bytes.iter().position(|byte| *byte == 0)?;
    VARIABLE_EXTENSIONS.iter().position(|name| name.as_bytes() == &bytes[..end])
}
