//! What each instruction asks of the types of its operands.

use super::typing::{Fits, Kind, OTHER_TYPE, Shape, Types, hold};

const UNIFORM_CONSTANT: u32 = 0;
const INPUT: u32 = 1;

const NO_NAME: &str = "gives a function a name that no compiler gives";

impl Types {
    /// Checks the types of an instruction: `result` is that of its result, `values` are the ids of its
    /// operands and `kinds` their types.
    pub(super) fn rule(
        &self,
        opcode: u32,
        operands: &[u32],
        result: u32,
        values: &[u32],
        kinds: &[u32],
    ) -> Fits {
        let int = |shape: &Shape| matches!(shape, Shape::Int(_));
        let float = |shape: &Shape| matches!(shape, Shape::Float(_));
        let truth = |shape: &Shape| *shape == Shape::Bool;
        let count = |kind: u32| self.component(kind).map(|part| part.0);
        let all_alike = |to: u32| hold(kinds.iter().all(|&kind| self.alike(kind, to)), OTHER_TYPE);
        match opcode {
            41 | 42 | 48 | 49 => hold(self.shape(result) == Some(&Shape::Bool), OTHER_TYPE),
            43 | 50 => {
                let words = operands.len() - 2;
                let fits = match self.shape(result) {
                    Some(Shape::Int(width) | Shape::Float(width)) => {
                        width.div_ceil(32) as usize == words
                    }
                    _ => false,
                };
                hold(fits, "has a value of another width than its type")
            }
            44 | 51 | 80 => self.constructed(opcode, result, kinds),
            // The last of OpenCL's instructions is number 204.
            12 => match self.sets.get(&operands[2]) {
                Some(true) => {
                    hold(operands[3] <= 204 && !values.is_empty(), "is no instruction")?;
                    self.math(operands[3], result, kinds)
                }
                Some(false) => Ok(()),
                None => Err("is of no set of instructions"),
            },
            57 => {
                let callee =
                    self.function_types.get(&operands[2]).and_then(|kind| self.shape(*kind));
                let Some(Shape::Function(returned, parameters)) = callee else {
                    return Err("calls what is no function");
                };
                hold(*returned == result && *parameters == kinds, OTHER_TYPE)
            }
            59 => hold(self.pointer(result)?.0 == operands[2], "is elsewhere than its type says"),
            61 => hold(self.pointer(kinds[0])?.1 == result, OTHER_TYPE),
            62 => {
                let (storage, pointee) = self.pointer(kinds[0])?;
                hold(!matches!(storage, UNIFORM_CONSTANT | INPUT), "writes where one only reads")?;
                hold(pointee == kinds[1], OTHER_TYPE)
            }
            63 | 64 => self.pointer(kinds[0]).and(self.pointer(kinds[1])).map(|_| ()),
            65 | 66 => self.chain(result, kinds, &values[1..]),
            67 | 70 => {
                hold(kinds[1..].iter().all(|&kind| self.is(kind, int)), OTHER_TYPE)?;
                self.chain(result, kinds, &values[2..])
            }
            77 => {
                hold(self.element(kinds[0]) == Some(result) && self.is(kinds[1], int), OTHER_TYPE)
            }
            78 => hold(kinds[0] == result && self.element(result) == Some(kinds[1]), OTHER_TYPE),
            79 => {
                let parts = count(kinds[0]).unwrap_or(0) + count(kinds[1]).unwrap_or(0);
                let literals = &operands[4..];
                let fits = count(result) == u32::try_from(literals.len()).ok()
                    && literals.iter().all(|&part| part < parts || part == u32::MAX)
                    && self
                        .element(kinds[0])
                        .is_some_and(|part| Some(part) == self.element(result));
                hold(fits, OTHER_TYPE)
            }
            81 => hold(self.inside(kinds[0], &operands[3..])? == result, OTHER_TYPE),
            82 => {
                hold(kinds[1] == result, OTHER_TYPE)?;
                hold(self.inside(result, &operands[4..])? == kinds[0], OTHER_TYPE)
            }
            83 => hold(kinds[0] == result, OTHER_TYPE),
            86 | 88 | 95 | 98..=107 => hold(
                self.shape(kinds[0]) == Some(&Shape::Opaque),
                "takes for an image what is none",
            ),
            109 | 110 => hold(self.is(result, int) && self.is(kinds[0], float), OTHER_TYPE),
            111 | 112 => hold(self.is(result, float) && self.is(kinds[0], int), OTHER_TYPE),
            113 | 114 => {
                hold(self.is(result, int) && self.is(kinds[0], int), OTHER_TYPE)?;
                hold(self.bits(result) != self.bits(kinds[0]), "changes no width")
            }
            118 | 119 => hold(self.is(result, int) && self.is(kinds[0], int), OTHER_TYPE),
            115 => {
                hold(self.is(result, float) && self.is(kinds[0], float), OTHER_TYPE)?;
                hold(self.bits(result) != self.bits(kinds[0]), "changes no width")
            }
            117 => {
                self.pointer(kinds[0])?;
                hold(self.is(result, int), OTHER_TYPE)
            }
            120 => {
                self.pointer(result)?;
                hold(self.is(kinds[0], int), OTHER_TYPE)
            }
            121 | 122 => {
                let (to, from) = (self.pointer(result)?, self.pointer(kinds[0])?);
                let generic = if opcode == 121 { to.0 } else { from.0 };
                hold(generic == 8 && to.1 == from.1, OTHER_TYPE)
            }
            124 => {
                let same = self.bits(result).is_some() && self.bits(result) == self.bits(kinds[0]);
                hold(same, "makes bits of another number of bits")?;
                match (self.pointer(result), self.pointer(kinds[0])) {
                    (Ok(to), Ok(from)) => hold(to.0 == from.0, "moves an address to other memory"),
                    _ => Ok(()),
                }
            }
            126 | 128 | 130 | 132 | 134 | 135 | 137..=139 | 197..=200 | 204 => {
                hold(self.is(result, int), OTHER_TYPE)?;
                all_alike(result)
            }
            127 | 129 | 131 | 133 | 136 | 140 | 141 => {
                hold(self.is(result, float), OTHER_TYPE)?;
                all_alike(result)
            }
            148 => {
                hold(self.element(kinds[0]) == Some(result) && kinds[0] == kinds[1], OTHER_TYPE)?;
                hold(self.is(result, float), OTHER_TYPE)
            }
            149..=152 => {
                hold(self.is(kinds[0], int) && kinds[0] == kinds[1], OTHER_TYPE)?;
                let pair = Shape::Struct(vec![kinds[0]; 2]);
                hold(self.shape(result) == Some(&pair), OTHER_TYPE)
            }
            194..=196 => {
                hold(self.is(result, int) && self.is(kinds[1], int), OTHER_TYPE)?;
                hold(self.alike(kinds[0], result) && count(kinds[1]) == count(result), OTHER_TYPE)
            }
            154 | 155 => hold(
                self.shape(result) == Some(&Shape::Bool) && self.is(kinds[0], truth),
                OTHER_TYPE,
            ),
            164..=168 => {
                hold(self.is(result, truth), OTHER_TYPE)?;
                all_alike(result)
            }
            169 => {
                let fits = self.is(kinds[0], truth) && kinds[1] == result && kinds[2] == result;
                hold(fits, OTHER_TYPE)
            }
            156..=163 | 170..=191 => {
                let of = if (170..=179).contains(&opcode) { int } else { float };
                hold(self.is(result, truth) && self.is(kinds[0], of), OTHER_TYPE)?;
                hold(count(result) == count(kinds[0]), OTHER_TYPE)?;
                all_alike(kinds[0])
            }
            224 | 225 | 260 => hold(
                kinds.iter().all(|&kind| self.shape(kind) == Some(&Shape::Int(32))),
                OTHER_TYPE,
            ),
            74 | 75 => hold(
                self.kind(operands[0]) == Some(Kind::Other),
                "decorates by what is no group of decorations",
            ),
            227..=242 => {
                let pointee = self.pointer(kinds[0])?.1;
                hold(
                    kinds[1..3].iter().all(|&kind| self.shape(kind) == Some(&Shape::Int(32))),
                    OTHER_TYPE,
                )?;
                hold(opcode == 228 || self.alike(pointee, result), OTHER_TYPE)?;
                let rest = if matches!(opcode, 230 | 231) { &kinds[4..] } else { &kinds[3..] };
                hold(rest.iter().all(|&kind| self.alike(kind, pointee)), OTHER_TYPE)
            }
            245 => {
                let (pairs, odd) = operands[2..].as_chunks::<2>();
                hold(odd.is_empty() && !pairs.is_empty(), "has half a pair")?;
                for [value, _] in pairs {
                    hold(self.type_of(*value)? == result, OTHER_TYPE)?;
                }
                Ok(())
            }
            250 => hold(self.shape(kinds[0]) == Some(&Shape::Bool), OTHER_TYPE),
            251 => hold(self.is(kinds[0], int), OTHER_TYPE),
            253 => hold(self.shape(self.checking.1) == Some(&Shape::Void), "returns nothing"),
            254 => hold(kinds[0] == self.checking.1, OTHER_TYPE),
            264..=271 => hold(self.alike(kinds[1], result), OTHER_TYPE),
            28 => hold(
                self.constants.get(&operands[2]).is_none_or(|&length| length > 0),
                "has no elements",
            ),
            5 if self.kind(operands[0]) == Some(Kind::Function) => {
                hold(is_name(&operands[1..]), NO_NAME)
            }
            // What an entry point lists, and what is built in or constant, are variables.
            15 => {
                let name_ends =
                    operands[2..].iter().position(|word| word.to_le_bytes().contains(&0));
                let (name, listed) = operands[2..].split_at(name_ends.map_or(0, |end| end + 1));
                hold(is_name(name), NO_NAME)?;
                hold(listed.iter().all(|id| self.variables.contains(id)), "lists no variable")
            }
            16 => hold(self.kind(operands[0]) == Some(Kind::Function), "is of no function"),
            71 if operands[1] == 41 => {
                let fits = self.kind(operands[0]) == Some(Kind::Function)
                    || self.variables.contains(&operands[0]);
                hold(fits, "gives a name to what other modules cannot use")
            }
            71 if operands[1] == 38 => self.attribute(operands[0], operands[2]),
            71 if matches!(operands[1], 11 | 22) => {
                hold(self.variables.contains(&operands[0]), "decorates no variable")
            }
            _ => Ok(()),
        }
    }

    /// OpenCL's functions of floating-point numbers, by their number: of those that neither take
    /// addresses nor integers, all arguments have the type of the result.
    fn math(&self, function: u32, result: u32, kinds: &[u32]) -> Fits {
        let arguments = match function {
            30 | 31 | 33 | 34 | 36 | 45 | 46 | 49 | 52 | 54 | 58 | 67.. => return Ok(()),
            26 | 42 => 3,
            7 | 10 | 13 | 24 | 27..=29 | 32 | 43 | 44 | 47 | 48 | 50 | 51 => 2,
            _ => 1,
        };
        hold(kinds.len() == arguments, "has another number of arguments than its function")?;
        let float = self.is(result, |shape| matches!(shape, Shape::Float(_)));
        hold(float && kinds.iter().all(|&kind| kind == result), OTHER_TYPE)
    }

    /// An attribute of a parameter: extended ones are integers, all others addresses.
    fn attribute(&self, parameter: u32, attribute: u32) -> Fits {
        let kind = self.type_of(parameter)?;
        let fits = match attribute {
            0 | 1 => self.is(kind, |shape| matches!(shape, Shape::Int(_))),
            2 | 3 => self.pointer(kind)?.0 == 7,
            _ => self.pointer(kind).is_ok(),
        };
        hold(fits, "says of a parameter what it cannot be")
    }

    fn element(&self, kind: u32) -> Option<u32> {
        match self.shape(kind) {
            Some(&Shape::Vector(element, _)) => Some(element),
            _ => None,
        }
    }

    fn constructed(&self, opcode: u32, result: u32, kinds: &[u32]) -> Fits {
        let fits = match self.shape(result) {
            Some(Shape::Struct(members)) => members == kinds,
            Some(&Shape::Array(element)) => kinds.iter().all(|&kind| kind == element),
            Some(&Shape::Vector(element, count)) if opcode == 80 => {
                let given: u32 =
                    kinds.iter().filter_map(|&kind| Some(self.component(kind)?.0)).sum();
                let part = |kind: u32| kind == element || self.element(kind) == Some(element);
                given == count && kinds.iter().all(|&kind| part(kind))
            }
            Some(&Shape::Vector(element, count)) => {
                kinds.len() == count as usize && kinds.iter().all(|&kind| kind == element)
            }
            _ => false,
        };
        hold(fits, "is made of other parts than its type")
    }

    /// The type of a part of a composite.
    fn inside(&self, mut kind: u32, path: &[u32]) -> Result<u32, &'static str> {
        for &step in path {
            kind = match self.shape(kind) {
                Some(Shape::Struct(members)) => {
                    *members.get(step as usize).ok_or("names a member that there is not")?
                }
                Some(&Shape::Array(element)) => element,
                Some(&Shape::Vector(element, count)) if step < count => element,
                _ => return Err("names a part that there is not"),
            };
        }
        Ok(kind)
    }

    /// An address made from another by indices into what that points at.
    fn chain(&self, result: u32, kinds: &[u32], indices: &[u32]) -> Fits {
        let (to, from) = (self.pointer(result)?, self.pointer(kinds[0])?);
        hold(to.0 == from.0, "moves an address to other memory")?;
        let mut kind = from.1;
        for index in indices {
            let step = match self.shape(kind) {
                Some(Shape::Struct(_)) => match self.constants.get(index) {
                    Some(&member) => u32::try_from(member).map_err(|_| OTHER_TYPE)?,
                    None => return Err("has a member that is not known"),
                },
                _ => 0,
            };
            kind = self.inside(kind, &[step])?;
        }
        hold(kind == to.1, OTHER_TYPE)
    }
}

/// Whether a text is a name: letters, digits and what compilers join them with. Drivers make other names
/// of it, and take those apart again.
fn is_name(text: &[u32]) -> bool {
    let bytes = text.iter().flat_map(|word| word.to_le_bytes()).take_while(|byte| *byte != 0);
    let name: Vec<u8> = bytes.collect();
    let joins = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'$');
    name.first().is_some_and(|first| !first.is_ascii_digit()) && name.iter().all(joins)
}
