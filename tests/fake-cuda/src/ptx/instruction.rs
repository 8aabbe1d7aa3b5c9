//! One instruction.

use std::collections::HashMap;

use super::token::{Cursor, Fault, literal};
use super::value::{Compare, Meaning, Two, Type};

/// An instruction, and under which condition it does anything.
#[derive(Debug)]
pub(super) struct Instruction {
    /// A predicate, and the value that it must have.
    pub(super) guard: Option<(usize, bool)>,
    pub(super) work: Work,
}

/// Where memory is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Space {
    Global,
    Shared,
    Parameter,
}

/// A value that an instruction takes.
#[derive(Clone, Copy, Debug)]
pub(super) enum Operand {
    Register(usize),
    Literal(u64),
    /// The address of a variable, by its number.
    Variable(usize),
    /// `%tid`, `%ntid`, `%ctaid`, `%nctaid`, and the dimension.
    Special(Special, usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Special {
    Item,
    Items,
    Group,
    Groups,
}

/// A place in memory: an address and a distance from it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    pub(super) base: Operand,
    pub(super) distance: u64,
}

#[derive(Debug)]
pub(super) enum Work {
    Return,
    Barrier,
    Fence,
    Branch(usize),
    Move {
        to: usize,
        of: Type,
        a: Operand,
    },
    Load {
        space: Space,
        of: Type,
        to: usize,
        from: Place,
    },
    Store {
        space: Space,
        of: Type,
        to: Place,
        a: Operand,
    },
    Two {
        what: Two,
        of: Type,
        to: usize,
        a: Operand,
        b: Operand,
    },
    /// `what` of two, plus a third.
    Three {
        what: Two,
        of: Type,
        to: usize,
        a: Operand,
        b: Operand,
        c: Operand,
    },
    Not {
        of: Type,
        to: usize,
        a: Operand,
    },
    Compare {
        how: Compare,
        of: Type,
        to: usize,
        a: Operand,
        b: Operand,
    },
    Select {
        to: usize,
        a: Operand,
        b: Operand,
        by: usize,
    },
    Convert {
        into: Type,
        from: Type,
        to: usize,
        a: Operand,
    },
    /// The value before, of memory that is changed as one step.
    Atomic {
        what: Two,
        space: Space,
        of: Type,
        to: Option<usize>,
        at: Place,
        a: Operand,
    },
}

/// What names mean inside of a kernel.
pub(super) struct Names<'a> {
    pub(super) registers: HashMap<String, usize>,
    pub(super) labels: HashMap<&'a str, usize>,
    pub(super) parameters: HashMap<&'a str, usize>,
    pub(super) variables: HashMap<&'a str, usize>,
    pub(super) shared: HashMap<&'a str, usize>,
}

impl Names<'_> {
    fn register(&self, text: &mut Cursor<'_>) -> Result<usize, Fault> {
        let Some(register) = self.registers.get(text.peek()) else {
            return Err(text.fault("no register"));
        };
        text.next();
        Ok(*register)
    }

    fn special(name: &str) -> Option<Operand> {
        let (name, dimension) = name.rsplit_once('.')?;
        let dimension = ["x", "y", "z"].iter().position(|known| *known == dimension)?;
        let special = match name {
            "%tid" => Special::Item,
            "%ntid" => Special::Items,
            "%ctaid" => Special::Group,
            "%nctaid" => Special::Groups,
            _ => return None,
        };
        Some(Operand::Special(special, dimension))
    }

    fn operand(&self, text: &mut Cursor<'_>) -> Result<Operand, Fault> {
        let word = text.peek();
        if word == "-" || literal(word).is_some() {
            return Ok(Operand::Literal(text.number()?));
        }
        let known = (self.registers.get(word).copied().map(Operand::Register))
            .or_else(|| self.variables.get(word).copied().map(Operand::Variable))
            .or_else(|| self.shared.get(word).map(|offset| Operand::Literal(*offset as u64)))
            .or_else(|| self.parameters.get(word).map(|offset| Operand::Literal(*offset as u64)))
            .or_else(|| Self::special(word));
        let Some(operand) = known else { return Err(text.fault("an unknown operand")) };
        text.next();
        Ok(operand)
    }

    fn place(&self, text: &mut Cursor<'_>) -> Result<Place, Fault> {
        text.expect("[")?;
        let base = self.operand(text)?;
        let distance = if text.takes("+") || text.peek() == "-" { text.number()? } else { 0 };
        text.expect("]")?;
        Ok(Place { base, distance })
    }

    /// Reads the operands of an instruction whose name is read, and the end of it.
    pub(super) fn work(&self, name: &str, text: &mut Cursor<'_>) -> Result<Work, Fault> {
        let line = text.line();
        let unknown = || format!("line {line}: unknown instruction `{name}`");
        let mut parts = name.split('.');
        let (what, mut rest) = (parts.next().unwrap_or(""), parts.collect::<Vec<_>>());
        let of = rest.last().and_then(|last| Type::named(last));
        let work = match what {
            "ret" | "exit" => Work::Return,
            "bar" | "barrier" if rest == ["sync"] => {
                if text.number()? != 0 {
                    return Err(unknown());
                }
                Work::Barrier
            }
            "membar" | "fence" => Work::Fence,
            "bra" => {
                let label = text.next();
                match self.labels.get(label) {
                    Some(target) => Work::Branch(*target),
                    None => return Err(format!("line {line}: unknown label `{label}`")),
                }
            }
            "setp" => {
                let (how, of) = match (&*rest, of) {
                    ([how, _], Some(of)) => (compare(how), of),
                    _ => return Err(unknown()),
                };
                let to = self.register(text)?;
                let (a, b) = self.pair(text)?;
                Work::Compare { how: how.ok_or_else(unknown)?, of, to, a, b }
            }
            "cvta" => {
                // Global addresses are generic ones here; those of shared memory are not.
                if !rest.contains(&"global") {
                    return Err(unknown());
                }
                let to = self.register(text)?;
                text.expect(",")?;
                let of = of.ok_or_else(unknown)?;
                Work::Move { to, of, a: self.operand(text)? }
            }
            "cvt" => {
                let types: Vec<Type> = rest.iter().filter_map(|part| Type::named(part)).collect();
                let [into, from] = *types else { return Err(unknown()) };
                let to = self.register(text)?;
                text.expect(",")?;
                Work::Convert { into, from, to, a: self.operand(text)? }
            }
            _ => {
                let of = of.ok_or_else(unknown)?;
                rest.pop();
                return self.typed(what, &rest, of, text)?.ok_or_else(unknown).and_then(|work| {
                    text.expect(";")?;
                    Ok(work)
                });
            }
        };
        text.expect(";")?;
        Ok(work)
    }

    /// Instructions of one type, which is the last part of their name.
    fn typed(
        &self,
        what: &str,
        rest: &[&str],
        of: Type,
        text: &mut Cursor<'_>,
    ) -> Result<Option<Work>, Fault> {
        Ok(Some(match (what, rest) {
            ("mov", []) => {
                let to = self.register(text)?;
                text.expect(",")?;
                Work::Move { to, of, a: self.operand(text)? }
            }
            ("not", []) => {
                let to = self.register(text)?;
                text.expect(",")?;
                Work::Not { of, to, a: self.operand(text)? }
            }
            ("ld", rest) => {
                let Some(space) = space(rest) else { return Ok(None) };
                let to = self.register(text)?;
                text.expect(",")?;
                Work::Load { space, of, to, from: self.place(text)? }
            }
            ("st", rest) => {
                let Some(space) = space(rest) else { return Ok(None) };
                let to = self.place(text)?;
                text.expect(",")?;
                Work::Store { space, of, to, a: self.operand(text)? }
            }
            ("atom" | "red", [parts @ .., operation]) => {
                let (Some(space), Some(operation)) = (space(parts), two(operation, &[])) else {
                    return Ok(None);
                };
                if of.size < 4 || (of.meaning == Meaning::Float && operation != Two::Add) {
                    return Ok(None);
                }
                let to = if what == "atom" {
                    let to = self.register(text)?;
                    text.expect(",")?;
                    Some(to)
                } else {
                    None
                };
                let at = self.place(text)?;
                text.expect(",")?;
                Work::Atomic { what: operation, space, of, to, at, a: self.operand(text)? }
            }
            ("selp", []) => {
                let to = self.register(text)?;
                let (a, b) = self.pair(text)?;
                text.expect(",")?;
                Work::Select { to, a, b, by: self.register(text)? }
            }
            ("mad" | "fma", rest) => {
                let Some(what) = two("mul", rest) else { return Ok(None) };
                let to = self.register(text)?;
                let (a, b) = self.pair(text)?;
                text.expect(",")?;
                Work::Three { what, of, to, a, b, c: self.operand(text)? }
            }
            (what, rest) => {
                let Some(what) = two(what, rest) else { return Ok(None) };
                let to = self.register(text)?;
                let (a, b) = self.pair(text)?;
                Work::Two { what, of, to, a, b }
            }
        }))
    }

    /// Two operands, each after a comma.
    fn pair(&self, text: &mut Cursor<'_>) -> Result<(Operand, Operand), Fault> {
        text.expect(",")?;
        let a = self.operand(text)?;
        text.expect(",")?;
        Ok((a, self.operand(text)?))
    }
}

/// The space that the parts of a name say; generic addresses are global ones here.
fn space(parts: &[&str]) -> Option<Space> {
    let mut space = Space::Global;
    for part in parts {
        match *part {
            "global" => {}
            "shared" => space = Space::Shared,
            "param" => space = Space::Parameter,
            "volatile" | "relaxed" | "acquire" | "release" | "acq_rel" | "cta" | "gpu" | "sys" => {}
            _ => return None,
        }
    }
    Some(space)
}

fn two(name: &str, rest: &[&str]) -> Option<Two> {
    Some(match (name, rest) {
        ("add", [] | ["rn"]) => Two::Add,
        ("sub", [] | ["rn"]) => Two::Sub,
        ("mul", [] | ["rn"] | ["lo"]) => Two::MulLo,
        ("mul", ["hi"]) => Two::MulHi,
        ("mul", ["wide"]) => Two::MulWide,
        ("div", [] | ["rn"]) => Two::Div,
        ("rem", []) => Two::Rem,
        ("min", []) => Two::Min,
        ("max", []) => Two::Max,
        ("and", []) => Two::And,
        ("or", []) => Two::Or,
        ("xor", []) => Two::Xor,
        ("shl", []) => Two::Shl,
        ("shr", []) => Two::Shr,
        _ => return None,
    })
}

fn compare(name: &str) -> Option<Compare> {
    Some(match name {
        "eq" => Compare::Eq,
        "ne" => Compare::Ne,
        "lt" | "lo" => Compare::Lt,
        "le" | "ls" => Compare::Le,
        "gt" | "hi" => Compare::Gt,
        "ge" | "hs" => Compare::Ge,
        _ => return None,
    })
}
