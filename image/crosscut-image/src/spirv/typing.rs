//! What ids are, where they come from, and whether they are there where they are used.

use std::collections::{HashMap, HashSet};

use super::grammar::OP_SPEC_CONSTANT_OP;
use super::words::Instruction;

/// What an id stands for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Type,
    Label,
    Function,
    /// A value of this type.
    Value(u32),
    /// A set of instructions, a text, a group of decorations.
    Other,
}

/// What a type is made of.
#[derive(Clone, PartialEq, Eq)]
pub(super) enum Shape {
    Void,
    Bool,
    Int(u32),
    Float(u32),
    Vector(u32, u32),
    Array(u32),
    Struct(Vec<u32>),
    Pointer(u32, u32),
    Function(u32, Vec<u32>),
    Opaque,
}

/// The ids of a module.
#[derive(Default)]
pub(super) struct Types {
    bound: u32,
    ids: HashMap<u32, Kind>,
    shapes: HashMap<u32, Shape>,
    /// Where each id is defined: the word, and the function or 0.
    places: HashMap<u32, (usize, usize)>,
    pub(super) constants: HashMap<u32, u64>,
    pub(super) function_types: HashMap<u32, u32>,
    /// The function that is being walked over: its first word, and what it returns.
    defining: usize,
    pub(super) checking: (usize, u32),
    /// The types of the parameters of that function that are still to come, the last one first.
    parameters: Vec<u32>,
    /// What has a name for other modules, and whether that is where it is defined.
    linked: HashMap<u32, bool>,
    /// Whether the function that is being walked over is to have a body, and has one.
    body: (bool, bool),
    /// Whether a pointer was announced before its type.
    has_announced: bool,
    pub(super) variables: HashSet<u32>,
    /// Sets of instructions, and whether each is OpenCL's.
    pub(super) sets: HashMap<u32, bool>,
}

pub(super) type Fits = Result<(), &'static str>;

/// Ends a rule unless the condition holds.
pub(super) fn hold(condition: bool, fault: &'static str) -> Fits {
    if condition { Ok(()) } else { Err(fault) }
}

pub(super) const OTHER_TYPE: &str = "has an operand of another type";

impl Types {
    pub(super) fn new(bound: u32) -> Self {
        Self { bound, ..Self::default() }
    }

    pub(super) fn kind(&self, id: u32) -> Option<Kind> {
        self.ids.get(&id).copied()
    }

    pub(super) fn shape(&self, id: u32) -> Option<&Shape> {
        self.shapes.get(&id)
    }

    /// The type of a value.
    pub(super) fn type_of(&self, id: u32) -> Result<u32, &'static str> {
        match self.kind(id) {
            Some(Kind::Value(kind)) => Ok(kind),
            _ => Err("takes for a value what is none"),
        }
    }

    /// Notes what an instruction defines. First of all instructions, in their order.
    pub(super) fn define(&mut self, instruction: &Instruction<'_>, letters: &[u8]) -> Fits {
        let operands = instruction.operands();
        match instruction.opcode {
            54 => self.defining = instruction.word,
            56 => self.defining = 0,
            _ => {}
        }
        let Some(at) = letters.iter().position(|&letter| letter == b'R') else {
            match (instruction.opcode, operands) {
                (39, _) => self.has_announced = true,
                (71, &[target, 41, .., kind]) => {
                    // 1 stands for imported.
                    let known = self.linked.insert(target, kind == 1);
                    hold(known.is_none(), "gives a second name to other modules")?;
                }
                _ => {}
            }
            return Ok(());
        };
        let id = operands[at];
        hold((1..self.bound).contains(&id), "defines an id beyond the bound")?;
        let kind = match instruction.opcode {
            19..=38 | 322 | 327 => Kind::Type,
            248 => Kind::Label,
            54 => Kind::Function,
            7 | 11 | 73 => Kind::Other,
            _ if at == 1 => Kind::Value(operands[0]),
            _ => Kind::Other,
        };
        if kind == Kind::Type {
            let shape = self.made(instruction.opcode, &operands[1..])?;
            self.shapes.insert(id, shape);
        }
        if let (43, &[_, _, low, ref high @ ..]) = (instruction.opcode, operands) {
            let high = high.first().copied().unwrap_or(0);
            self.constants.insert(id, u64::from(low) | u64::from(high) << 32);
        }
        if instruction.opcode == 11 {
            let name: Vec<u8> = operands[1..].iter().flat_map(|word| word.to_le_bytes()).collect();
            let text = |known: &str| name.starts_with(known.as_bytes());
            let is_opencl = text("OpenCL.std\0");
            let known = is_opencl
                || ["OpenCL.Debug", "NonSemantic.", "SPIRV.debug", "DebugInfo"]
                    .into_iter()
                    .any(text);
            hold(known, "imports instructions that no device has")?;
            self.sets.insert(id, is_opencl);
        }
        if instruction.opcode == 59 {
            self.variables.insert(id);
        }
        if instruction.opcode == 54 {
            self.function_types.insert(id, operands[3]);
        }
        self.places.insert(id, (instruction.word, self.defining));
        hold(self.ids.insert(id, kind).is_none(), "defines an id a second time")
    }

    /// The shape of a type, whose parts are types already.
    fn made(&self, opcode: u32, operands: &[u32]) -> Result<Shape, &'static str> {
        let part = |id: &u32| {
            let fits = !matches!(self.shape(*id), None | Some(Shape::Void | Shape::Function(..)));
            hold(fits, "is made of what is no data")
        };
        Ok(match (opcode, operands) {
            (19, _) => Shape::Void,
            (20, _) => Shape::Bool,
            (21, &[width @ (8 | 16 | 32 | 64), 0 | 1]) => Shape::Int(width),
            (22, &[width @ (16 | 32 | 64)]) => Shape::Float(width),
            (21 | 22, _) => return Err("is a number that no device has"),
            (23, &[element, count @ (2..=4 | 8 | 16)]) => match self.shape(element) {
                Some(Shape::Bool | Shape::Int(_) | Shape::Float(_)) => {
                    Shape::Vector(element, count)
                }
                _ => return Err("is a vector of what is no number"),
            },
            (23 | 24, _) => return Err("is no vector that OpenCL has"),
            (28, [element, length]) => {
                part(element)?;
                let kind = self.type_of(*length)?;
                hold(self.is(kind, |shape| matches!(shape, Shape::Int(_))), "has no length")?;
                Shape::Array(*element)
            }
            (30, members) => {
                members.iter().try_for_each(part)?;
                Shape::Struct(members.to_vec())
            }
            (32, &[storage @ (0 | 1 | 4 | 5 | 7 | 8 | 11 | 5936..=5937), pointee]) => {
                // A type announced before may point at itself.
                if !self.has_announced {
                    part(&pointee)?;
                }
                Shape::Pointer(storage, pointee)
            }
            (32, _) => return Err("is an address of memory that there is not"),
            (33, [result, parameters @ ..]) => {
                hold(self.kind(*result) == Some(Kind::Type), "returns what is no type")?;
                parameters.iter().try_for_each(part)?;
                Shape::Function(*result, parameters.to_vec())
            }
            _ => Shape::Opaque,
        })
    }

    /// The pointee of an address, and where it is.
    pub(super) fn pointer(&self, kind: u32) -> Result<(u32, u32), &'static str> {
        match self.shape(kind) {
            Some(&Shape::Pointer(storage, pointee)) => Ok((storage, pointee)),
            _ => Err("takes for an address what is none"),
        }
    }

    /// Number of components, and the shape of one.
    pub(super) fn component(&self, kind: u32) -> Option<(u32, &Shape)> {
        match self.shape(kind)? {
            &Shape::Vector(element, count) => Some((count, self.shape(element)?)),
            shape => Some((1, shape)),
        }
    }

    /// Whether two types differ in nothing but the sign of integers.
    pub(super) fn alike(&self, one: u32, other: u32) -> bool {
        one == other
            || self.component(one).is_some_and(|part| {
                !matches!(part.1, Shape::Pointer(..) | Shape::Struct(_) | Shape::Array(_))
                    && self.component(other) == Some(part)
            })
    }

    pub(super) fn is(&self, kind: u32, accept: fn(&Shape) -> bool) -> bool {
        self.component(kind).is_some_and(|part| accept(part.1))
    }

    pub(super) fn bits(&self, kind: u32) -> Option<u32> {
        let (count, part) = self.component(kind)?;
        match part {
            Shape::Int(width) | Shape::Float(width) => Some(count * width),
            Shape::Pointer(..) => Some(64),
            _ => None,
        }
    }

    /// The labels of a switch, whose literals are as wide as what it looks at.
    pub(super) fn switch_targets(&self, operands: &[u32]) -> Option<Vec<u32>> {
        let &[selector, default, ref cases @ ..] = operands else { return None };
        let width = match self.shape(self.type_of(selector).ok()?)? {
            Shape::Int(64) => 3,
            Shape::Int(_) => 2,
            _ => return None,
        };
        if !cases.len().is_multiple_of(width) {
            return None;
        }
        let labels = cases.chunks(width).filter_map(|case| case.last()).copied();
        Some(std::iter::once(default).chain(labels).collect())
    }

    /// Checks one instruction. Of all instructions, in their order, once all are defined.
    pub(super) fn check(&mut self, instruction: &Instruction<'_>, letters: &[u8]) -> Fits {
        let (opcode, operands) = (instruction.opcode, instruction.operands());
        match opcode {
            54 => {
                let Some(Shape::Function(result, parameters)) = self.shapes.get(&operands[3])
                else {
                    return Err("is of a type that is no function's");
                };
                hold(*result == operands[0], "returns something else than its type says")?;
                let result = *result;
                self.checking = (instruction.word, result);
                self.parameters = parameters.iter().rev().copied().collect();
                self.body = (self.linked.get(&operands[1]) != Some(&true), false);
                return Ok(());
            }
            55 => return hold(self.parameters.pop() == Some(operands[0]), OTHER_TYPE),
            248 => {
                return hold(self.parameters.is_empty(), "comes before all parameters are there");
            }
            _ => {}
        }
        let names_values = !matches!(opcode, 5..=8 | 15..=39 | 71..=75 | 246..=249 | 331 | 332);
        // The first ids of these are labels, functions or sets of instructions.
        let skipped = match opcode {
            12 | 57 => 1,
            _ => 0,
        };
        let ids = letters.iter().zip(operands).filter(|(letter, _)| **letter == b'i');
        let values: Vec<u32> = ids.map(|(_, &word)| word).skip(skipped).collect();
        let mut kinds = Vec::with_capacity(values.len());
        if names_values && opcode != 245 {
            let count = if opcode == 250 || opcode == 251 { 1 } else { values.len() };
            for &value in &values[..count] {
                kinds.push(self.type_of(value)?);
                self.precedes(value, instruction.word)?;
            }
        }
        let result = if letters.starts_with(b"T") { operands[0] } else { 0 };
        if opcode == OP_SPEC_CONSTANT_OP {
            let inner = [&operands[..2], &operands[3..]].concat();
            return self.rule(operands[2], &inner, result, &values, &kinds);
        }
        self.rule(opcode, operands, result, &values, &kinds)
    }

    /// A value is there before it is used, and in the same function.
    fn precedes(&self, value: u32, word: usize) -> Fits {
        let (defined, function) = self.places.get(&value).copied().unwrap_or_default();
        hold(function == 0 || function == self.checking.0, "uses a value of another function")?;
        hold(defined < word, "uses a value that comes later")
    }
}
