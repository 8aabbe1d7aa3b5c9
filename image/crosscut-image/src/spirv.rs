//! A checked walk over SPIR-V.
//!
//! Drivers end the process, hang or worse on modules that are not what they expect, so the shape of
//! a module is checked before any driver sees it: its header, the bounds of every instruction, the
//! memory model, the entry points and the functions they name. What an instruction means is the
//! driver's to check.
//!
//! - `words`: the header, and one instruction after the other.
//! - `valid`, `grammar`, `typing`, `rules`, `dominance`: a closer look at modules that did not come from this project's
//!   compiler; `dominators` serves the last of them.
//! - `interface`: what its kernels take.
//! - `annotations`: what is said about variables, for drivers that know it.
//! - `specialise`: gives specialization constants their values.
//! - `sub_group_size`: asks for the size of sub-groups.
//! - `synchronisation`: how far its atomics and fences reach, and what they order.

mod annotations;
mod dominance;
mod dominators;
mod grammar;
mod interface;
mod rules;
mod specialise;
mod sub_group_size;
mod synchronisation;
mod typing;
mod valid;
mod words;

pub use annotations::{
    CAPABILITY_FPGA_VARIABLES, CAPABILITY_HOST_ACCESS, DECORATION_HOST_ACCESS,
    DECORATION_INIT_MODE, DECORATION_REGISTER_MAP, VARIABLE_EXTENSIONS, keep_annotations,
};
pub use interface::{KernelInterface, KernelParameter, ValueKind, interfaces};
pub use specialise::{LOOPS_IN_ORDER, Specialised, specialise};
pub use sub_group_size::with_sub_group_size;
pub use synchronisation::{Strength, Synchronisation, synchronisation};
pub use valid::validate;

use words::Words;

/// The most ids a module may have: the limit that SPIR-V sets for all its environments.
pub const LARGEST_BOUND: u32 = 0x3f_ffff;

const OP_MEMORY_MODEL: u32 = 14;
const OP_ENTRY_POINT: u32 = 15;
const OP_CAPABILITY: u32 = 17;
const OP_FUNCTION: u32 = 54;
const OP_FUNCTION_END: u32 = 56;

const EXECUTION_MODEL_KERNEL: u32 = 6;
const ADDRESSING_PHYSICAL64: u32 = 2;
const MEMORY_OPENCL: u32 = 2;

/// What a checked module says about itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Its version of SPIR-V: major and minor.
    pub version: (u8, u8),
    /// The numbers of the capabilities it declares, in its order.
    pub capabilities: Vec<u32>,
    /// The names of its kernels, in its order.
    pub entry_points: Vec<String>,
}

/// Why bytes are not a SPIR-V module for OpenCL. `word` counts 32-bit words from the start.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpirvError {
    /// Not a whole number of words.
    #[error("SPIR-V of {length} bytes is not made of 32-bit words")]
    Length {
        /// How many bytes there are.
        length: usize,
    },
    /// Less than a header.
    #[error("SPIR-V of {words} words is shorter than its header")]
    TooShort {
        /// How many words there are.
        words: usize,
    },
    /// Something else, or words of the other byte order.
    #[error("SPIR-V does not begin with its magic number in little-endian order")]
    Magic,
    /// A version outside 1.0 to 1.6.
    #[error("SPIR-V version word {found:#010x} is not one of versions 1.0 to 1.6")]
    Version {
        /// The version word.
        found: u32,
    },
    /// No ids, or more than [`LARGEST_BOUND`].
    #[error("SPIR-V id bound {found} is not between 1 and {LARGEST_BOUND}")]
    Bound {
        /// The bound.
        found: u32,
    },
    /// The reserved word of the header is not 0.
    #[error("SPIR-V schema {found} is not 0")]
    Schema {
        /// The schema word.
        found: u32,
    },
    /// An instruction of no words or beyond the end.
    #[error(
        "SPIR-V instruction {opcode} at word {word} has {words} words, of which {remaining} are left"
    )]
    Instruction {
        /// Its number.
        opcode: u32,
        /// Where it starts.
        word: usize,
        /// Its stated length.
        words: usize,
        /// What is left of the module.
        remaining: usize,
    },
    /// An instruction with too few operands, too many, or ones that mean nothing here.
    #[error("SPIR-V {instruction} at word {word} {fault}")]
    Operand {
        /// Its name.
        instruction: &'static str,
        /// Where it starts.
        word: usize,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// An instruction that is not what its place or its operands make of it.
    #[error("SPIR-V instruction {opcode} at word {word} {fault}")]
    Invalid {
        /// Its number.
        opcode: u32,
        /// Where it starts.
        word: usize,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// The module does not say how it addresses memory.
    #[error("SPIR-V has no OpMemoryModel")]
    NoMemoryModel,
    /// The last function has no end.
    #[error("SPIR-V ends inside a function")]
    OpenFunction,
    /// An entry point names something that is not a function.
    #[error("SPIR-V entry point {name:?} is not a function of the module")]
    NoFunction {
        /// The entry point.
        name: String,
    },
    /// A kernel whose type is not a kernel's.
    #[error("SPIR-V kernel {name:?} {fault}")]
    Kernel {
        /// The entry point.
        name: String,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// Two entry points of one name.
    #[error("SPIR-V has two entry points {name:?}")]
    Duplicate {
        /// The name.
        name: String,
    },
}

/// Checks the shape of an untrusted SPIR-V module.
///
/// # Errors
/// Says what is wrong with the first thing that is wrong.
pub fn check(bytes: &[u8]) -> Result<Module, SpirvError> {
    let words = Words::of(bytes)?;
    let mut walk = Walk::new(words.bound);
    for instruction in words.instructions() {
        let instruction = instruction?;
        walk.instruction(instruction.opcode, instruction.operands(), instruction.word)?;
    }
    let (capabilities, entry_points) = walk.finish()?;
    Ok(Module { version: words.version, capabilities, entry_points })
}

/// What has been seen of a module so far.
struct Walk {
    bound: u32,
    capabilities: Vec<u32>,
    has_memory_model: bool,
    /// Name and function.
    entry_points: Vec<(String, u32)>,
    functions: Vec<u32>,
    inside_function: bool,
}

impl Walk {
    fn new(bound: u32) -> Self {
        Self {
            bound,
            capabilities: Vec::new(),
            has_memory_model: false,
            entry_points: Vec::new(),
            functions: Vec::new(),
            inside_function: false,
        }
    }

    fn instruction(
        &mut self,
        opcode: u32,
        operands: &[u32],
        word: usize,
    ) -> Result<(), SpirvError> {
        let (instruction, result) = match opcode {
            OP_CAPABILITY => ("OpCapability", self.capability(operands)),
            OP_MEMORY_MODEL => ("OpMemoryModel", self.memory_model(operands)),
            OP_ENTRY_POINT => ("OpEntryPoint", self.entry_point(operands)),
            OP_FUNCTION => ("OpFunction", self.function(operands)),
            OP_FUNCTION_END => ("OpFunctionEnd", self.function_end(operands)),
            _ => return Ok(()),
        };
        result.map_err(|fault| SpirvError::Operand { instruction, word, fault })
    }

    fn capability(&mut self, operands: &[u32]) -> Result<(), &'static str> {
        let &[capability] = operands else { return Err("does not have one operand") };
        if self.has_memory_model {
            return Err("follows OpMemoryModel");
        }
        self.capabilities.push(capability);
        Ok(())
    }

    fn memory_model(&mut self, operands: &[u32]) -> Result<(), &'static str> {
        match operands {
            _ if self.has_memory_model => Err("is the second one"),
            [ADDRESSING_PHYSICAL64, MEMORY_OPENCL] => {
                self.has_memory_model = true;
                Ok(())
            }
            [_, _] => Err("is not OpenCL's with 64-bit addresses"),
            _ => Err("does not have two operands"),
        }
    }

    fn entry_point(&mut self, operands: &[u32]) -> Result<(), &'static str> {
        let &[model, function, ref rest @ ..] = operands else {
            return Err("has too few operands");
        };
        if model != EXECUTION_MODEL_KERNEL {
            return Err("is not a kernel");
        }
        if !self.has_memory_model || !self.functions.is_empty() {
            return Err("is not between OpMemoryModel and the functions");
        }
        let (name, interface) = literal_string(rest)?;
        if !std::iter::once(&function).chain(interface).all(|&id| self.is_id(id)) {
            return Err("names an id beyond the bound");
        }
        self.entry_points.push((name, function));
        Ok(())
    }

    fn function(&mut self, operands: &[u32]) -> Result<(), &'static str> {
        let &[result_type, result, _control, function_type] = operands else {
            return Err("does not have four operands");
        };
        if ![result_type, result, function_type].iter().all(|&id| self.is_id(id)) {
            return Err("names an id beyond the bound");
        }
        if self.inside_function {
            return Err("is inside another function");
        }
        self.inside_function = true;
        self.functions.push(result);
        Ok(())
    }

    fn function_end(&mut self, operands: &[u32]) -> Result<(), &'static str> {
        if !operands.is_empty() {
            return Err("has operands");
        }
        if !self.inside_function {
            return Err("is outside any function");
        }
        self.inside_function = false;
        Ok(())
    }

    fn is_id(&self, id: u32) -> bool {
        (1..self.bound).contains(&id)
    }

    fn finish(mut self) -> Result<(Vec<u32>, Vec<String>), SpirvError> {
        if !self.has_memory_model {
            return Err(SpirvError::NoMemoryModel);
        }
        if self.inside_function {
            return Err(SpirvError::OpenFunction);
        }
        self.functions.sort_unstable();
        for (name, function) in &self.entry_points {
            if self.functions.binary_search(function).is_err() {
                return Err(SpirvError::NoFunction { name: name.clone() });
            }
        }
        let mut names: Vec<&String> = self.entry_points.iter().map(|(name, _)| name).collect();
        names.sort_unstable();
        if let Some(pair) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(SpirvError::Duplicate { name: pair[0].clone() });
        }
        let entry_points = self.entry_points.into_iter().map(|(name, _)| name).collect();
        Ok((self.capabilities, entry_points))
    }
}

/// A literal string at the start of `words`, and the words after it.
///
/// It ends at its first zero byte; the rest of that word is zero too.
fn literal_string(words: &[u32]) -> Result<(String, &[u32]), &'static str> {
    let last = words
        .iter()
        .position(|word| word.to_le_bytes().contains(&0))
        .ok_or("has a name without end")?;
    let (name, rest) = words.split_at(last + 1);
    let bytes: Vec<u8> = name.iter().flat_map(|word| word.to_le_bytes()).collect();
    let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(bytes.len());
    let (name, padding) = bytes.split_at(end);
    if name.is_empty() {
        return Err("has an empty name");
    }
    if padding.iter().any(|&byte| byte != 0) {
        return Err("has a name followed by something else than zeros");
    }
    let name = std::str::from_utf8(name).map_err(|_| "has a name that is not UTF-8")?;
    Ok((name.to_owned(), rest))
}
