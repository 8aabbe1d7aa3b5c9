//! What the kernels of a module take: the types of their parameters.
//!
//! Types are written before they are used, so that one walk knows the size of each when it comes to it,
//! and no chain of types in a file that lies can make it recurse.

use std::collections::{HashMap, HashSet};

use super::words::{Instruction, Words};
use super::{SpirvError, literal_string};

const OP_ENTRY_POINT: u32 = 15;
const OP_TYPE_VOID: u32 = 19;
const OP_TYPE_BOOL: u32 = 20;
const OP_TYPE_INT: u32 = 21;
const OP_TYPE_FLOAT: u32 = 22;
const OP_TYPE_VECTOR: u32 = 23;
const OP_TYPE_IMAGE: u32 = 25;
const OP_TYPE_SAMPLER: u32 = 26;
const OP_TYPE_SAMPLED_IMAGE: u32 = 27;
const OP_TYPE_ARRAY: u32 = 28;
const OP_TYPE_STRUCT: u32 = 30;
const OP_TYPE_POINTER: u32 = 32;
const OP_TYPE_FUNCTION: u32 = 33;
const OP_CONSTANT: u32 = 43;
const OP_FUNCTION: u32 = 54;
const OP_FUNCTION_PARAMETER: u32 = 55;
const OP_FUNCTION_END: u32 = 56;
const OP_DECORATE: u32 = 71;

const DECORATION_CPACKED: u32 = 10;
const DECORATION_FUNC_PARAM_ATTR: u32 = 38;
const ATTRIBUTE_BY_VAL: u32 = 2;

/// One kernel of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KernelInterface {
    /// Its name.
    pub name: String,
    /// What it is to be given, in order.
    pub parameters: Vec<KernelParameter>,
}

/// One parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KernelParameter {
    /// Something by value.
    Value {
        /// Its bytes.
        size: u64,
        /// What it is.
        kind: ValueKind,
    },
    /// An address of global memory, or of constant memory, which the kernel does not write.
    Global {
        /// The bytes of what it points at, 0 if unknown.
        element: u64,
        /// Whether it is constant memory.
        constant: bool,
    },
    /// An address of the work-group's memory.
    Local {
        /// The bytes of what it points at, 0 if unknown.
        element: u64,
    },
    /// Something that Crosscut has nothing to pass for.
    Other(&'static str),
}

/// What a value is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// An integer of any sign.
    Integer,
    /// A floating-point number.
    Float,
    /// A vector, array or struct.
    Composite,
}

/// A type, as far as parameters care.
#[derive(Clone)]
enum Type {
    Void,
    /// Size and alignment.
    Data(u64, u64, ValueKind),
    Pointer {
        storage: u32,
        /// 0 if unknown.
        element: u64,
    },
    Function {
        result: u32,
        parameters: Vec<u32>,
    },
    Other(&'static str),
}

/// The kernels of a module that [`check`](super::check) has passed, in its order.
///
/// # Errors
/// The type of a kernel is not well formed, or its parameters are not those of its type.
pub fn interfaces(bytes: &[u8]) -> Result<Vec<KernelInterface>, SpirvError> {
    let words = Words::of(bytes)?;
    let mut walk = Walk::default();
    for instruction in words.instructions() {
        let instruction = instruction?;
        walk.instruction(&instruction).map_err(|fault| SpirvError::Operand {
            instruction: name(instruction.opcode),
            word: instruction.word,
            fault,
        })?;
    }
    walk.finish()
}

fn name(opcode: u32) -> &'static str {
    match opcode {
        OP_ENTRY_POINT => "OpEntryPoint",
        OP_FUNCTION => "OpFunction",
        OP_FUNCTION_PARAMETER => "OpFunctionParameter",
        OP_FUNCTION_END => "OpFunctionEnd",
        OP_TYPE_FUNCTION => "OpTypeFunction",
        OP_TYPE_POINTER => "OpTypePointer",
        OP_DECORATE => "OpDecorate",
        OP_CONSTANT => "OpConstant",
        _ => "type declaration",
    }
}

#[derive(Default)]
struct Walk {
    /// Name and function.
    entry_points: Vec<(String, u32)>,
    types: HashMap<u32, Type>,
    /// The low words of integer constants: what lengths of arrays are.
    constants: HashMap<u32, u64>,
    packed: HashSet<u32>,
    by_value: HashSet<u32>,
    /// Each function's type and the types and ids of its parameters.
    functions: HashMap<u32, (u32, Vec<(u32, u32)>)>,
    inside: Option<u32>,
}

impl Walk {
    fn instruction(&mut self, instruction: &Instruction<'_>) -> Result<(), &'static str> {
        let operands = instruction.operands();
        match (instruction.opcode, operands) {
            (OP_ENTRY_POINT, [_, function, name @ ..]) => {
                self.entry_points.push((literal_string(name)?.0, *function));
            }
            (OP_DECORATE, &[target, DECORATION_CPACKED]) => {
                self.packed.insert(target);
            }
            (OP_DECORATE, &[target, DECORATION_FUNC_PARAM_ATTR, ATTRIBUTE_BY_VAL]) => {
                self.by_value.insert(target);
            }
            (OP_CONSTANT, &[_, id, low, ref high @ ..]) => {
                let high = high.first().copied().unwrap_or(0);
                self.constants.insert(id, u64::from(low) | u64::from(high) << 32);
            }
            (OP_FUNCTION, &[_, id, _, kind]) => {
                self.functions.insert(id, (kind, Vec::new()));
                self.inside = Some(id);
            }
            (OP_FUNCTION_PARAMETER, &[kind, id]) => {
                let function = self.inside.and_then(|inside| self.functions.get_mut(&inside));
                function.ok_or("is outside any function")?.1.push((kind, id));
            }
            (OP_FUNCTION_PARAMETER, _) => return Err("does not have two operands"),
            (OP_FUNCTION_END, _) => self.inside = None,
            (OP_TYPE_VOID..=OP_TYPE_FUNCTION, &[id, ref rest @ ..]) => {
                let made = self.made(instruction.opcode, id, rest)?;
                if self.types.insert(id, made).is_some() {
                    return Err("declares an id a second time");
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The type that a declaration makes.
    fn made(&self, opcode: u32, id: u32, operands: &[u32]) -> Result<Type, &'static str> {
        Ok(match (opcode, operands) {
            (OP_TYPE_VOID, []) => Type::Void,
            (OP_TYPE_BOOL, []) => Type::Other("a truth value"),
            (OP_TYPE_INT, &[width, _]) | (OP_TYPE_FLOAT, &[width, ..]) => {
                let kind = match opcode {
                    OP_TYPE_INT => ValueKind::Integer,
                    _ => ValueKind::Float,
                };
                if !matches!(width, 8 | 16 | 32 | 64) {
                    return Ok(Type::Other("a number of a width that Rust has not"));
                }
                let size = u64::from(width / 8);
                Type::Data(size, size, kind)
            }
            (OP_TYPE_VECTOR, &[element, count]) => match (self.types.get(&element), count) {
                (Some(&Type::Data(size, ..)), 2..=16) => {
                    // A vector of three takes the room of four.
                    let size = size * u64::from(count.next_power_of_two());
                    Type::Data(size, size, ValueKind::Composite)
                }
                _ => return Err("is no vector that OpenCL has"),
            },
            (OP_TYPE_ARRAY, &[element, length]) => {
                match (self.types.get(&element), self.constants.get(&length)) {
                    (Some(&Type::Data(size, align, _)), Some(&length)) => {
                        let size = size.checked_mul(length).ok_or("is too large")?;
                        Type::Data(size, align, ValueKind::Composite)
                    }
                    _ => Type::Other("an array whose size is not known"),
                }
            }
            (OP_TYPE_STRUCT, members) => self.structure(id, members)?,
            (OP_TYPE_POINTER, &[storage, pointee]) => {
                let element = match self.types.get(&pointee) {
                    Some(&Type::Data(size, ..)) => size,
                    _ => 0,
                };
                Type::Pointer { storage, element }
            }
            (OP_TYPE_FUNCTION, &[result, ref parameters @ ..]) => {
                Type::Function { result, parameters: parameters.to_vec() }
            }
            (OP_TYPE_IMAGE | OP_TYPE_SAMPLED_IMAGE, _) => Type::Other("an image"),
            (OP_TYPE_SAMPLER, _) => Type::Other("a sampler"),
            (
                OP_TYPE_VOID | OP_TYPE_BOOL | OP_TYPE_INT | OP_TYPE_FLOAT | OP_TYPE_VECTOR
                | OP_TYPE_ARRAY | OP_TYPE_POINTER | OP_TYPE_FUNCTION,
                _,
            ) => return Err("has the wrong number of operands"),
            _ => Type::Other("a type that only OpenCL C has"),
        })
    }

    fn structure(&self, id: u32, members: &[u32]) -> Result<Type, &'static str> {
        let packed = self.packed.contains(&id);
        let (mut size, mut largest) = (0u64, 1u64);
        for member in members {
            let (bytes, align) = match self.types.get(member) {
                Some(&Type::Data(bytes, align, _)) => (bytes, if packed { 1 } else { align }),
                Some(Type::Pointer { .. }) => (8, if packed { 1 } else { 8 }),
                _ => return Ok(Type::Other("a struct whose size is not known")),
            };
            size = size
                .checked_next_multiple_of(align)
                .and_then(|size| size.checked_add(bytes))
                .ok_or("is too large")?;
            largest = largest.max(align);
        }
        let size = size.checked_next_multiple_of(largest).ok_or("is too large")?;
        Ok(Type::Data(size, largest, ValueKind::Composite))
    }

    fn finish(self) -> Result<Vec<KernelInterface>, SpirvError> {
        // Each list of parameters is made once, however many names a function has.
        let mut named = HashSet::new();
        let interface = |(name, function): &(String, u32)| {
            let refused = |fault| SpirvError::Kernel { name: name.clone(), fault };
            if !named.insert(*function) {
                return Err(refused("is a function that another kernel is, too"));
            }
            let Some((kind, found)) = self.functions.get(function) else {
                return Err(SpirvError::NoFunction { name: name.clone() });
            };
            let Some(Type::Function { result, parameters }) = self.types.get(kind) else {
                return Err(refused("is of a type that is no function's"));
            };
            if !matches!(self.types.get(result), Some(Type::Void)) {
                return Err(refused("returns something"));
            }
            if !found.iter().map(|parameter| parameter.0).eq(parameters.iter().copied()) {
                return Err(refused("has other parameters than its type says"));
            }
            let parameters = found.iter().map(|&(kind, id)| self.parameter(kind, id));
            let parameters = parameters.collect::<Result<_, _>>().map_err(refused)?;
            Ok(KernelInterface { name: name.clone(), parameters })
        };
        self.entry_points.iter().map(interface).collect()
    }

    fn parameter(&self, kind: u32, id: u32) -> Result<KernelParameter, &'static str> {
        const UNIFORM_CONSTANT: u32 = 0;
        const WORKGROUP: u32 = 4;
        const CROSS_WORKGROUP: u32 = 5;
        const FUNCTION: u32 = 7;
        const GENERIC: u32 = 8;
        Ok(match self.types.get(&kind) {
            Some(&Type::Data(size, _, kind)) if size > 0 => KernelParameter::Value { size, kind },
            Some(&Type::Pointer { storage, element }) => match storage {
                CROSS_WORKGROUP => KernelParameter::Global { element, constant: false },
                UNIFORM_CONSTANT => KernelParameter::Global { element, constant: true },
                WORKGROUP => KernelParameter::Local { element },
                FUNCTION if element > 0 && self.by_value.contains(&id) => {
                    KernelParameter::Value { size: element, kind: ValueKind::Composite }
                }
                FUNCTION | GENERIC => {
                    KernelParameter::Other("an address of private or generic memory")
                }
                _ => return Err("has a parameter in memory that no kernel is given"),
            },
            Some(&Type::Other(what)) => KernelParameter::Other(what),
            Some(_) => KernelParameter::Other("nothing"),
            None => return Err("has a parameter of a type that is not there"),
        })
    }
}
