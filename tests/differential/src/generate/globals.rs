//! Device globals of a kernel: what they are, who changes them, and how the kernel reads them.
//!
//! A kernel gets what it knows of them from a `World`, which is there twice: `Here` has plain values, for plain
//! calls, and `There` has the globals themselves, for launches. Of plain values a kernel has a copy by name
//! (`w.g0()`) and some as arguments too (`(*w.l0())`): both are names in sight like variables. Of atomics there
//! are those of all items, with one operation each, and those of which every item has its own element: that one
//! may do anything to it and look at the answers, and whatever touches a neighbour is found.

use super::types::{Fields, Float, Int, Type};
use super::{Maker, Variable};

/// As the template has it: elements of a global of which every item has one.
const ITEMS: usize = 64;

/// Operations whose order does not matter.
const IN_ANY_ORDER: &[&str] =
    &["fetch_add", "fetch_xor", "fetch_or", "fetch_max", "fetch_min", "fetch_and", "fetch_sub"];

/// A device global.
#[derive(Clone, Debug)]
pub(super) struct Global {
    pub(super) number: usize,
    /// What the host has of it: of atomics the plain numbers.
    pub(super) of: Type,
    pub(super) kind: GlobalKind,
    pub(super) image_scope: bool,
    /// The initial value; all zeros if there is none.
    pub(super) initial: Option<String>,
    /// What happens before the launch, and after it.
    pub(super) before: Vec<Step>,
    pub(super) after: Vec<Step>,
}

/// What a global is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum GlobalKind {
    /// Plain values, by copy; by argument too if so.
    Plain { lent: bool },
    /// Atomics with this one of the operations.
    Shared(&'static str),
    /// Atomics of which every item has one.
    Own,
}

/// Something that changes a global between launches.
#[derive(Clone, Debug)]
pub(super) enum Step {
    /// The host writes all of it.
    Write(String),
    /// The host writes elements from this one on, each the same or one only.
    Fill { from: usize, to: usize, value: String, as_fill: bool },
    /// A task that has it exclusively calls `changeN` with this number.
    Change(u64),
}

impl Global {
    fn is_plain(&self) -> bool {
        matches!(self.kind, GlobalKind::Plain { .. })
    }

    /// `G0`.
    pub(super) fn name(&self) -> String {
        format!("G{}", self.number)
    }

    /// The type on the device.
    pub(super) fn device_type(&self) -> String {
        if self.is_plain() { self.of.name() } else { atomic_type(&self.of) }
    }
}

/// `[AtomicU8; 3]` for `[u8; 3]`.
fn atomic_type(of: &Type) -> String {
    match of {
        Type::Array(element, length) => format!("[{}; {length}]", atomic_type(element)),
        Type::Int(int) => {
            format!("Atomic{}{}", if int.signed { 'I' } else { 'U' }, int.bits)
        }
        _ => unreachable!("{of:?} has no atomics"),
    }
}

impl Maker {
    /// The globals of a kernel, if it has any.
    pub(super) fn choose_globals(&mut self) {
        // Most kernels have none: what globals need is a lot of text.
        if !self.choices.one_in(3) {
            return;
        }
        for number in 0..self.choices.between(1, 4) as usize {
            let kind = match self.choices.below(6) {
                0..=2 => GlobalKind::Plain { lent: self.choices.one_in(2) },
                3 => {
                    let operation = *self.choices.pick(IN_ANY_ORDER);
                    GlobalKind::Shared(operation)
                }
                _ => GlobalKind::Own,
            };
            let of = match kind {
                GlobalKind::Plain { .. } => self.device_type(2),
                GlobalKind::Shared(_) => {
                    let int = Type::Int(atomic_int(self));
                    match self.choices.below(4) {
                        0 => int,
                        1 | 2 => Type::Array(Box::new(int), self.choices.between(1, 7) as usize),
                        _ => {
                            let row =
                                Type::Array(Box::new(int), self.choices.between(1, 3) as usize);
                            Type::Array(Box::new(row), self.choices.between(1, 3) as usize)
                        }
                    }
                }
                GlobalKind::Own => Type::Array(Box::new(Type::Int(atomic_int(self))), ITEMS),
            };
            let image_scope = self.choices.below(3) != 0;
            // Of so many elements nobody wants to read the values.
            let initial =
                (kind != GlobalKind::Own && self.choices.below(4) != 0).then(|| self.constant(&of));
            if matches!(kind, GlobalKind::Plain { .. }) {
                self.changer(number, &of);
            }
            let mut global = Global {
                number,
                of,
                kind,
                image_scope,
                initial,
                before: Vec::new(),
                after: Vec::new(),
            };
            global.before = self.steps(&global, 3);
            global.after = self.steps(&global, 2);
            self.globals.push(global);
        }
    }

    /// A type that may live in device memory.
    fn device_type(&mut self, depth: u32) -> Type {
        match self.choices.below(if depth == 0 { 4 } else { 9 }) {
            0..=2 => Type::Int(Int::choose(&mut self.choices)),
            3 => Type::Float(*self.choices.pick(&[Float::F32, Float::F64])),
            4..=6 => {
                let element = self.device_type(depth - 1);
                Type::Array(Box::new(element), self.choices.between(1, 7) as usize)
            }
            _ => self.device_struct(),
        }
    }

    /// A new struct without padding: its fields by falling alignment, then bytes up to the largest.
    fn device_struct(&mut self) -> Type {
        let mut fields: Vec<(Type, usize, usize)> = (0..self.choices.between(1, 3))
            .map(|_| {
                let scalar = self.device_type(0);
                let size = match scalar {
                    Type::Int(int) => int.bits as usize / 8,
                    Type::Float(Float::F32) => 4,
                    _ => 8,
                };
                let length = self.choices.between(1, 3) as usize;
                let of = if length == 1 { scalar } else { Type::Array(Box::new(scalar), length) };
                (of, size * length, size)
            })
            .collect();
        fields.sort_by_key(|field| std::cmp::Reverse(field.2));
        let (size, largest) = (fields.iter().map(|field| field.1).sum::<usize>(), fields[0].2);
        let rest = size.next_multiple_of(largest) - size;
        if rest > 0 {
            fields.push((Type::Array(Box::new(Type::Int(Int::unsigned(8))), rest), rest, 1));
        }
        let number = self.structs.len();
        let fields: Vec<(String, Type)> =
            (0..).zip(fields).map(|(at, field)| (format!("f{at}"), field.0)).collect();
        let body: String =
            fields.iter().map(|(name, of)| format!("{name}: {}, ", of.name())).collect();
        self.text += &format!(
            "#[derive(Clone, Copy, DeviceCopy)]\n#[repr(C)]\npub struct S{number} {{ {body}}}\n\n"
        );
        self.structs.push(Fields { name: format!("S{number}"), fields });
        Type::Struct(number)
    }

    /// `fn changeN(g: &mut T, by: u64)`, which never panics.
    fn changer(&mut self, number: usize, of: &Type) {
        let may_panic = std::mem::replace(&mut self.may_panic, false);
        // Functions of the module may panic.
        let functions = std::mem::take(&mut self.functions);
        let mixable = std::mem::take(&mut self.mixable);
        // The old value is a copy: closures would take the reference with them.
        let parameters = [("old".to_owned(), of.clone()), ("by".to_owned(), Type::U64)];
        let (body, _) = self.body(&parameters, |maker| {
            let mut body = String::new();
            for _ in 0..maker.choices.between(1, 3) {
                let place = maker.place("(*g)", of);
                body += &maker.assign(&place, 2);
                body.push('\n');
            }
            body
        });
        (self.may_panic, self.functions, self.mixable) = (may_panic, functions, mixable);
        self.text += &format!(
            "fn change{number}(g: &mut {}, by: u64) {{\nlet old = *g;\n{body}}}\n\n",
            of.name()
        );
    }

    /// All of a value, or a part of it, as something to assign to.
    fn place(&mut self, path: &str, of: &Type) -> Variable {
        let (name, of) = match of {
            Type::Array(element, length) if self.choices.one_in(2) => {
                let index = self.expression(&Type::U64, 1);
                (format!("{path}[{index} as usize % {length}]"), (**element).clone())
            }
            Type::Struct(number) => {
                let fields = self.structs[*number].fields.clone();
                let (field, of) = self.choices.pick(&fields).clone();
                (format!("{path}.{field}"), of)
            }
            _ => return Variable { name: path.to_owned(), of: of.clone(), mutable: true },
        };
        self.place(&name, &of)
    }

    fn steps(&mut self, global: &Global, most: u32) -> Vec<Step> {
        (0..self.choices.below(most))
            .map(|_| match self.choices.below(4) {
                0 | 1 if global.is_plain() => Step::Change(u64::from(self.choices.below(1000))),
                2 if global.kind != GlobalKind::Own => Step::Write(self.constant(&global.of)),
                _ => {
                    let (element, lengths) = flattened(&global.of);
                    let count: usize = lengths.iter().product();
                    let from = self.choices.below(count as u32) as usize;
                    let to = self.choices.between(from as u32 + 1, count as u32) as usize;
                    let as_fill = self.choices.one_in(2);
                    Step::Fill { from, to, value: self.constant(&element), as_fill }
                }
            })
            .collect()
    }

    /// What the kernel sees of the globals, as names in sight.
    pub(super) fn declare_globals(&mut self) {
        for global in self.globals.clone() {
            if let GlobalKind::Plain { lent } = global.kind {
                self.declare(&format!("w.g{}()", global.number), &global.of, false);
                if lent {
                    self.declare(&format!("(*w.l{}())", global.number), &global.of, false);
                }
            }
        }
    }

    /// An operation on an atomic that is the item's own, and its answer.
    pub(super) fn own_atomic(&mut self, int: Int, depth: u32) -> Option<String> {
        if !self.in_world || !self.choices.one_in(4) {
            return None;
        }
        let of = Type::Array(Box::new(Type::Int(int)), ITEMS);
        let fitting: Vec<usize> = (self.globals.iter())
            .filter(|global| global.kind == GlobalKind::Own && global.of == of)
            .map(|global| global.number)
            .collect();
        if fitting.is_empty() {
            return None;
        }
        let place = format!("w.a{}()[i]", self.choices.pick(&fitting));
        let order = *self.choices.pick(&["Relaxed", "AcqRel", "SeqCst"]);
        let value = self.expression(&Type::Int(int), depth);
        Some(match self.choices.below(9) {
            0 => format!("{place}.load(Relaxed)"),
            1 => format!("{{ {place}.store({value}, Relaxed); {value} }}"),
            2 => format!("{place}.swap({value}, {order})"),
            3 => {
                let expected = self.expression(&Type::Int(int), depth);
                format!(
                    "(match {place}.compare_exchange({expected}, {value}, {order}, Relaxed) {{ Ok(x) => x, Err(x) => !x }})"
                )
            }
            4 => {
                let name = self.name("x");
                let next = self.pure(|maker| {
                    maker.declare(&name, &Type::Int(int), false);
                    // Without atomics: it would be asked again if another came between.
                    maker.integer_literal(int)
                });
                format!(
                    "(match {place}.fetch_update({order}, Relaxed, |{name}| if {name} & 1 == 0 {{ Some({name} ^ {next}) }} else {{ None }}) {{ Ok(x) => x, Err(x) => x.rotate_left(1) }})"
                )
            }
            5 => format!("{place}.fetch_nand({value}, {order})"),
            _ => {
                let operation = *self.choices.pick(IN_ANY_ORDER);
                format!("{place}.{operation}({value}, {order})")
            }
        })
    }

    /// An operation on an atomic that all items share, if there is any.
    pub(super) fn shared_atomic(&mut self, depth: u32) -> Option<String> {
        if !self.in_world {
            return None;
        }
        let fitting: Vec<Global> = (self.globals.iter())
            .filter(|global| matches!(global.kind, GlobalKind::Shared(_)))
            .cloned()
            .collect();
        if fitting.is_empty() {
            return None;
        }
        let global = self.choices.pick(&fitting).clone();
        let GlobalKind::Shared(operation) = global.kind else { return None };
        let mut path = format!("w.a{}()", global.number);
        let mut of = global.of;
        while let Type::Array(element, length) = of {
            path += &match self.choices.below(3) {
                0 => format!("[{}]", self.choices.below(length as u32)),
                1 if self.may_panic => {
                    format!("[({} % {}) as usize]", self.expression(&Type::U64, 1), length + 1)
                }
                _ => format!("[{} as usize % {length}]", self.expression(&Type::U64, 1)),
            };
            of = *element;
        }
        let order = *self.choices.pick(&["Relaxed", "AcqRel", "SeqCst"]);
        let value = self.expression(&of, depth);
        Some(format!("{path}.{operation}({value}, {order});"))
    }
}

fn atomic_int(maker: &mut Maker) -> Int {
    // The narrow ones are made of operations on 32 bits, so they are frequent.
    let bits = *maker.choices.pick(&[32, 8, 16, 64, 8, 16]);
    Int { signed: maker.choices.one_in(2), bits }
}

/// What arrays of any rank are made of, and how long they are, outermost first.
pub(super) fn flattened(of: &Type) -> (Type, Vec<usize>) {
    match of {
        Type::Array(element, length) => {
            let (of, mut lengths) = flattened(element);
            lengths.insert(0, *length);
            (of, lengths)
        }
        _ => (of.clone(), Vec::new()),
    }
}
