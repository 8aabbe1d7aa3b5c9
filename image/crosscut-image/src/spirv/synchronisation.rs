//! What the atomics and fences of a module ask of a device: how far they reach, and what they order.
//!
//! Expects a module that [`check`](super::check) has passed.
//! Scopes and orders are operands by id. Those that are no constants of the module are left to the driver, and so
//! are the orders of control barriers: every device has barriers, and all compilers make them as strong as SPIR-V can
//! say, whether or not the device has fences of that order.

use std::collections::HashMap;

use super::SpirvError;
use super::words::{Instruction, Words};

const OP_CONSTANT: u32 = 43;
const OP_CONSTANT_NULL: u32 = 46;
const OP_SPEC_CONSTANT: u32 = 50;
const OP_CONTROL_BARRIER: u32 = 224;
const OP_MEMORY_BARRIER: u32 = 225;
const OP_ATOMIC_STORE: u32 = 228;
const OP_ATOMIC_COMPARE_EXCHANGE: u32 = 230;
const OP_ATOMIC_COMPARE_EXCHANGE_WEAK: u32 = 231;
const OP_ATOMIC_FLAG_TEST_AND_SET: u32 = 318;
const OP_ATOMIC_FLAG_CLEAR: u32 = 319;
const OP_ATOMIC_F_MIN: u32 = 5614;
const OP_ATOMIC_F_MAX: u32 = 5615;
const OP_ATOMIC_F_ADD: u32 = 6035;

const SCOPE_CROSS_DEVICE: u32 = 0;
const SCOPE_DEVICE: u32 = 1;
const SCOPE_SUB_GROUP: u32 = 3;

/// The bits of the orders in a memory semantics.
const ACQUIRE_OR_RELEASE: u32 = 2 | 4 | 8;
const SEQUENTIALLY_CONSISTENT: u32 = 16;

/// What a module's atomics ask for, and what its fences do.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Synchronisation {
    /// Of the operations on memory.
    pub atomics: Strength,
    /// Of what orders other operations.
    pub fences: Strength,
}

/// What some instructions ask for beyond relaxed order in a work-group.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Strength {
    /// One acquires, releases, or does both.
    pub acquire_release: bool,
    /// One is sequentially consistent.
    pub sequentially_consistent: bool,
    /// One is for a sub-group.
    pub sub_group: bool,
    /// One is for the whole device.
    pub device: bool,
    /// One is for all devices and the host.
    pub system: bool,
}

/// What the module asks for.
///
/// # Errors
/// The module is not well formed.
pub fn synchronisation(bytes: &[u8]) -> Result<Synchronisation, SpirvError> {
    let words = Words::of(bytes)?;
    let mut constants: HashMap<u32, u32> = HashMap::new();
    let mut found = Synchronisation::default();
    for instruction in words.instructions() {
        let instruction = instruction?;
        match (instruction.opcode, instruction.operands()) {
            // Constants come before all functions, in words of 32 bits.
            (OP_CONSTANT | OP_SPEC_CONSTANT, &[_, id, value]) => {
                constants.insert(id, value);
            }
            (OP_CONSTANT_NULL, &[_, id]) => {
                constants.insert(id, 0);
            }
            _ => found.add(&instruction, &constants),
        }
    }
    Ok(found)
}

impl Synchronisation {
    fn add(&mut self, instruction: &Instruction<'_>, constants: &HashMap<u32, u32>) {
        let operands = instruction.operands();
        let constant = |at: usize| operands.get(at).and_then(|id| constants.get(id)).copied();
        match instruction.opcode {
            OP_CONTROL_BARRIER => self.fences.reach(constant(1)),
            OP_MEMORY_BARRIER => {
                self.fences.reach(constant(0));
                self.fences.order(constant(1));
            }
            OP_ATOMIC_STORE | OP_ATOMIC_FLAG_CLEAR => {
                self.atomics.reach(constant(1));
                self.atomics.order(constant(2));
            }
            opcode @ (227..=242
            | OP_ATOMIC_FLAG_TEST_AND_SET
            | OP_ATOMIC_F_MIN
            | OP_ATOMIC_F_MAX
            | OP_ATOMIC_F_ADD) => {
                self.atomics.reach(constant(3));
                self.atomics.order(constant(4));
                if matches!(opcode, OP_ATOMIC_COMPARE_EXCHANGE | OP_ATOMIC_COMPARE_EXCHANGE_WEAK) {
                    // It has another order where nothing is exchanged.
                    self.atomics.order(constant(5));
                }
            }
            _ => {}
        }
    }
}

impl Strength {
    fn reach(&mut self, scope: Option<u32>) {
        match scope {
            Some(SCOPE_CROSS_DEVICE) => self.system = true,
            Some(SCOPE_DEVICE) => self.device = true,
            Some(SCOPE_SUB_GROUP) => self.sub_group = true,
            _ => {}
        }
    }

    fn order(&mut self, semantics: Option<u32>) {
        let has = |bits| semantics.is_some_and(|semantics| semantics & bits != 0);
        self.acquire_release |= has(ACQUIRE_OR_RELEASE);
        self.sequentially_consistent |= has(SEQUENTIALLY_CONSISTENT);
    }
}
