//! A closer look at modules of unknown origin.
//!
//! Compilers inside drivers take what they are given for valid and crash where it is not. What is checked
//! here is what they rely on throughout: every instruction has the operands it must have, every id is
//! defined once and is what its use takes it for, blocks end, types fit. It is no proof of validity:
//! extensions are taken on trust, and so is what only one instruction cares about.

use std::collections::{BTreeSet, HashMap};

use super::SpirvError;
use super::dominance;
use super::grammar::{self, FIRST_OF_EXTENSIONS};
use super::typing::{Kind, Types};
use super::words::{Instruction, Words};

const OP_NOP: u32 = 0;
const OP_UNDEF: u32 = 1;
const OP_EXTENSION: u32 = 10;
const OP_FUNCTION: u32 = 54;
const OP_FUNCTION_PARAMETER: u32 = 55;
const OP_FUNCTION_END: u32 = 56;
const OP_VARIABLE: u32 = 59;
const OP_PHI: u32 = 245;
const OP_LABEL: u32 = 248;
const OP_LINE: u32 = 8;
const OP_NO_LINE: u32 = 317;

/// Looks closely at a module that [`check`](super::check) has passed.
///
/// # Errors
/// Says what is wrong with the first thing that is wrong.
pub fn validate(bytes: &[u8]) -> Result<(), SpirvError> {
    let words = Words::of(bytes)?;
    let mut all = Vec::new();
    for instruction in words.instructions() {
        all.push(instruction?);
    }
    let fault = |instruction: &Instruction<'_>, fault| SpirvError::Invalid {
        opcode: instruction.opcode,
        word: instruction.word,
        fault,
    };
    let has_extensions = all.iter().any(|instruction| instruction.opcode == OP_EXTENSION);
    let mut types = Types::new(words.bound);
    let mut shapes = Vec::with_capacity(all.len());
    let mut trusted = false;
    for instruction in &all {
        let Some(letters) = grammar::cut(instruction.opcode, instruction.operands()) else {
            if instruction.opcode < FIRST_OF_EXTENSIONS || !has_extensions {
                return Err(fault(instruction, "is no instruction of a kernel"));
            }
            trusted = true;
            shapes.push(None);
            continue;
        };
        let letters = letters.map_err(|why| fault(instruction, why))?;
        grammar::check_literals(instruction.opcode, instruction.operands())
            .map_err(|why| fault(instruction, why))?;
        types.define(instruction, &letters).map_err(|why| fault(instruction, why))?;
        shapes.push(Some(letters));
    }
    let mut layout = Layout::default();
    for (instruction, letters) in all.iter().zip(&shapes) {
        layout.step(instruction).map_err(|why| fault(instruction, why))?;
        let Some(letters) = letters else { continue };
        for (&word, &letter) in instruction.operands().iter().zip(letters) {
            let why = match (letter, types.kind(word)) {
                (b'T' | b'i', None) if word == 0 || word >= words.bound => {
                    "names an id beyond the bound"
                }
                // What an extension defines is not known here.
                (b'T' | b'i', None) if !trusted => "names an id that nothing defines",
                (b'T', Some(kind)) if kind != Kind::Type => {
                    "has a result of something that is no type"
                }
                _ => continue,
            };
            return Err(fault(instruction, why));
        }
        if !trusted {
            types.check(instruction, letters).map_err(|why| fault(instruction, why))?;
        }
    }
    let fault_at = |(at, why): (usize, &'static str)| fault(&all[at], why);
    layout.finish(&all, &types).map_err(fault_at)?;
    match trusted {
        true => Ok(()),
        false => dominance::check(&all, &shapes, &types).map_err(fault_at),
    }
}

/// Where in the module the walk is.
#[derive(Default)]
struct Layout {
    at: usize,
    /// The section of the module, in the order that SPIR-V prescribes.
    section: u8,
    inside_function: bool,
    /// The label of the open block.
    block: Option<u32>,
    functions_began: bool,
    /// Whether the block has anything else than variables and phis.
    body_began: bool,
    /// Function that each block is in, by label.
    blocks: HashMap<u32, usize>,
    function: usize,
    has_blocks: bool,
}

impl Layout {
    fn step(&mut self, instruction: &Instruction<'_>) -> Result<(), &'static str> {
        self.at += 1;
        let opcode = instruction.opcode;
        if let Some(section) = section(opcode) {
            if section < self.section {
                return Err("comes after what it must come before");
            }
            self.section = section;
        }
        match opcode {
            OP_FUNCTION => {
                self.inside_function = true;
                self.functions_began = true;
                self.function = self.at;
                self.has_blocks = false;
            }
            OP_FUNCTION_PARAMETER if self.has_blocks || !self.inside_function => {
                return Err("is not at the start of a function");
            }
            OP_FUNCTION_PARAMETER | OP_LINE | OP_NO_LINE => {}
            OP_FUNCTION_END => {
                if self.block.is_some() {
                    return Err("is inside a block");
                }
                self.inside_function = false;
            }
            OP_LABEL => {
                if !self.inside_function || self.block.is_some() {
                    return Err("begins a block where none may begin");
                }
                self.block = instruction.operands().first().copied();
                self.has_blocks = true;
                self.body_began = false;
                self.blocks.extend(self.block.map(|label| (label, self.function)));
            }
            _ if self.functions_began && self.block.is_none() => {
                return Err("is outside any block");
            }
            _ if !self.functions_began && !is_of_module(opcode) => {
                return Err("is outside any function");
            }
            _ if self.functions_began
                && is_of_module(opcode)
                && !matches!(opcode, OP_NOP | OP_UNDEF | OP_VARIABLE) =>
            {
                return Err("is inside a function");
            }
            OP_PHI if self.body_began => return Err("is not at the start of its block"),
            249..=255 => self.block = None,
            OP_PHI | OP_VARIABLE => {}
            _ => self.body_began = true,
        }
        Ok(())
    }

    /// Branches go to blocks of the same function.
    fn finish(&self, all: &[Instruction<'_>], types: &Types) -> Result<(), (usize, &'static str)> {
        let mut function = 0;
        let mut block = 0;
        // Who branches to each block, each once.
        let mut before: HashMap<u32, BTreeSet<u32>> = HashMap::new();
        for (at, instruction) in all.iter().enumerate() {
            match instruction.opcode {
                OP_FUNCTION => function = at + 1,
                OP_LABEL => block = instruction.operands()[0],
                _ => {}
            }
            let operands = instruction.operands();
            let targets: Vec<u32> = match instruction.opcode {
                249 => operands.to_vec(),
                250 => operands.get(1..3).unwrap_or_default().to_vec(),
                246 => operands.get(..2).unwrap_or_default().to_vec(),
                247 => operands.get(..1).unwrap_or_default().to_vec(),
                251 => types.switch_targets(operands).ok_or((at, "has cases of another width"))?,
                OP_PHI => operands.iter().skip(3).step_by(2).copied().collect(),
                _ => continue,
            };
            if targets.iter().any(|target| self.blocks.get(target) != Some(&function)) {
                return Err((at, "goes to something that is no block of its function"));
            }
            if matches!(instruction.opcode, 249..=251) {
                for target in targets {
                    before.entry(target).or_default().insert(block);
                }
            }
        }
        for (at, instruction) in all.iter().enumerate() {
            if instruction.opcode == OP_LABEL {
                block = instruction.operands()[0];
            }
            if instruction.opcode == OP_PHI {
                let from = instruction.operands().iter().skip(3).step_by(2).copied();
                let (count, from) = (from.clone().count(), from.collect::<BTreeSet<u32>>());
                let known = before.get(&block).cloned().unwrap_or_default();
                if from != known || count != known.len() {
                    return Err((at, "takes values from other blocks than come before its own"));
                }
            }
        }
        Ok(())
    }
}

/// The section that an instruction can only be in.
fn section(opcode: u32) -> Option<u8> {
    Some(match opcode {
        17 => 0,
        OP_EXTENSION => 1,
        11 => 2,
        14 => 3,
        15 => 4,
        16 | 331 => 5,
        2..=4 | 7 => 6,
        5 | 6 => 7,
        330 => 8,
        71..=75 | 332 => 9,
        19..=52 => 10,
        OP_FUNCTION => 11,
        _ => return None,
    })
}

/// Whether an instruction may stand before the functions.
fn is_of_module(opcode: u32) -> bool {
    matches!(opcode, 0..=7 | 10 | 11 | 14..=52 | 59 | 71..=75 | 322 | 323 | 327 | 330..=332)
        || opcode >= FIRST_OF_EXTENSIONS
}
