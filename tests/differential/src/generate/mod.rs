//! Makes kernels: plain Rust, as text.
//!
//! Every kernel is one module with a function `kernel`, and whatever structs, enums, traits and functions
//! it calls. By construction it has one answer only:
//! - no `unsafe`, loops that end, indices that are checked, masked or allowed to panic;
//! - nothing that depends on the order of items: of atomics only operations whose order does not matter,
//!   and of those not the answers;
//! - nothing that Rust leaves open: the bits of NaNs, the sign of a zero out of `min` and `max`;
//! - functions of which a device promises some units in the last place go to an output of their own, of
//!   which nothing else is computed.
//!
//! Expressions change nothing but atomics and variables of their own blocks. That keeps the borrow checker
//! content, whatever is put into what.

mod aggregates;
mod chains;
mod constants;
mod floats;
mod globals;
mod integers;
mod items;
mod outputs;
mod references;
mod scalars;
mod statements;
mod types;
mod worlds;

use crate::choices::Choices;
use globals::Global;
use types::{Enum, Fields, Function, Int, Type};

/// A generated kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The choices that make it again.
    pub genome: Vec<u32>,
    /// The module's content.
    pub source: String,
    /// Whether it has a function `stage` for work-groups too.
    pub grouped: bool,
    /// Whether it has device globals, and so functions `start` and `launch` of its own.
    pub has_globals: bool,
    /// How many units in the last place the approximate outputs may be off: two `f32`, two `f64`.
    pub ulps: [u32; 4],
}

/// The kernel of these choices.
#[must_use]
pub fn kernel(choices: Choices) -> Kernel {
    let mut maker = Maker::new(choices);
    maker.may_panic = maker.choices.one_in(4);
    maker.items();
    maker.choose_globals();
    let body = maker.kernel_body();
    let has_globals = !maker.globals.is_empty();
    let worlds = if has_globals { maker.worlds() } else { String::new() };
    // However much the kernel has used up.
    maker.choices.allow(80);
    let grouped = !maker.may_panic && maker.choices.one_in(4);
    if grouped {
        maker.stage();
    }
    let source = format!("use crate::support::*;\n{worlds}\n{}{body}", maker.text);
    let genome = maker.choices.into_genome();
    Kernel { genome, source, grouped, has_globals, ulps: maker.ulps }
}

/// How deep expressions may nest.
const DEPTH: u32 = 3;
/// How many steps one item may take, counted roughly.
const STEPS: u64 = 60_000;

/// A name in sight.
#[derive(Clone, Debug)]
struct Variable {
    name: String,
    of: Type,
    mutable: bool,
}

/// A kernel being made.
struct Maker {
    choices: Choices,
    may_panic: bool,
    structs: Vec<Fields>,
    enums: Vec<Enum>,
    functions: Vec<Function>,
    /// Types that implement the module's trait.
    mixable: Vec<Type>,
    globals: Vec<Global>,
    /// Constants that every function sees.
    tables: Vec<Variable>,
    /// What each function costs.
    costs: Vec<u64>,
    /// The items so far.
    text: String,
    scope: Vec<Variable>,
    /// Variables before this one belong to a surrounding expression and are not changed.
    own_from: usize,
    /// How often what is being written runs.
    times: u64,
    /// Steps of this function.
    cost: u64,
    /// Whether `inputs`, `i` and `cells` are in sight.
    in_kernel: bool,
    /// Whether `shared`, what the items of a group gave, is in sight.
    in_group: bool,
    /// Whether `w`, the device globals, is in sight.
    in_world: bool,
    fresh: usize,
    ulps: [u32; 4],
}

impl Maker {
    fn new(choices: Choices) -> Self {
        Self {
            choices,
            may_panic: false,
            structs: Vec::new(),
            enums: Vec::new(),
            functions: Vec::new(),
            mixable: Vec::new(),
            globals: Vec::new(),
            tables: Vec::new(),
            costs: Vec::new(),
            text: String::new(),
            scope: Vec::new(),
            own_from: 0,
            times: 1,
            cost: 0,
            in_kernel: false,
            in_group: false,
            in_world: false,
            fresh: 0,
            ulps: [0; 4],
        }
    }

    fn name(&mut self, prefix: &str) -> String {
        self.fresh += 1;
        format!("{prefix}{}", self.fresh)
    }

    fn declare(&mut self, name: &str, of: &Type, mutable: bool) {
        self.scope.push(Variable { name: name.to_owned(), of: of.clone(), mutable });
    }

    /// Makes something in a scope of its own: what it declares is gone after it.
    fn scoped<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.scope.len();
        let made = make(self);
        self.scope.truncate(length);
        made
    }

    /// As `scoped`, and nothing outside may be changed: the inside of an expression.
    fn pure<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> T {
        let own_from = std::mem::replace(&mut self.own_from, self.scope.len());
        let made = self.scoped(make);
        self.own_from = own_from;
        made
    }

    /// Makes something that runs `times` times.
    fn repeated<T>(&mut self, times: u64, make: impl FnOnce(&mut Self) -> T) -> T {
        let before = self.times;
        self.times *= times.max(1);
        let made = make(self);
        self.times = before;
        made
    }

    /// Whether something that costs so many steps here may be added.
    fn affords(&self, steps: u64) -> bool {
        self.cost + self.times * steps <= STEPS
    }

    /// A variable of this type, or a field or element of one.
    fn variable(&mut self, of: &Type) -> Option<String> {
        let mut found = Vec::new();
        for variable in &self.scope {
            self.paths(&variable.name, &variable.of, of, 2, &mut found);
        }
        // The newest is the first: a kernel that shrinks uses what was made just before.
        found.reverse();
        (!found.is_empty()).then(|| self.choices.pick(&found).clone())
    }

    fn paths(&self, path: &str, has: &Type, wanted: &Type, depth: u32, found: &mut Vec<String>) {
        if has == wanted {
            found.push(path.to_owned());
            return;
        }
        if depth == 0 {
            return;
        }
        match has {
            Type::Tuple(parts) => {
                for (number, part) in parts.iter().enumerate() {
                    self.paths(&format!("{path}.{number}"), part, wanted, depth - 1, found);
                }
            }
            Type::Struct(number) => {
                for (name, part) in &self.structs[*number].fields {
                    self.paths(&format!("{path}.{name}"), part, wanted, depth - 1, found);
                }
            }
            Type::Array(element, length) => {
                self.paths(&format!("{path}[{}]", length - 1), element, wanted, depth - 1, found);
            }
            _ => {}
        }
    }

    /// Any type, of what the module has.
    fn choose_type(&mut self, depth: u32) -> Type {
        if depth == 0 {
            return Type::choose_scalar(&mut self.choices);
        }
        match self.choices.below(12) {
            0..=5 => Type::choose_scalar(&mut self.choices),
            6 | 7 => {
                let element = self.choose_type(depth - 1);
                Type::Array(Box::new(element), self.choices.between(1, 6) as usize)
            }
            8 => {
                let count = self.choices.between(2, 3);
                Type::Tuple((0..count).map(|_| self.choose_type(depth - 1)).collect())
            }
            9 => Type::Option(Box::new(self.choose_type(depth - 1))),
            10 if !self.structs.is_empty() => {
                Type::Struct(self.choices.below(self.structs.len() as u32) as usize)
            }
            11 if !self.enums.is_empty() => {
                Type::Enum(self.choices.below(self.enums.len() as u32) as usize)
            }
            _ => Type::Int(Int::choose(&mut self.choices)),
        }
    }

    /// An expression of this type.
    fn expression(&mut self, of: &Type, depth: u32) -> String {
        self.cost += self.times;
        let depth = if self.affords(20) { depth } else { 0 };
        // What every type can be.
        if depth > 0 {
            match self.choices.below(14) {
                8 | 9 => return self.conditional(of, depth - 1),
                10 => return self.matching(of, depth - 1),
                11 => return self.call(of, depth - 1),
                12 => return self.block(of, depth - 1),
                13 => return self.closure_call(of, depth - 1),
                _ => {}
            }
        }
        if self.choices.one_in(2)
            && let Some(path) = self.variable(of)
        {
            return path;
        }
        match of {
            Type::Int(int) => self.integer(*int, depth),
            Type::Bool => self.truth(depth),
            Type::Float(float) => self.float(*float, depth),
            Type::Char => self.character(depth),
            _ => self.aggregate(of, depth),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{Choices, kernel};

    #[test]
    fn the_same_choices_make_the_same_kernel() {
        for seed in 0..50 {
            let first = kernel(Choices::random(seed, 400));
            let second = kernel(Choices::replay(&first.genome));
            assert_eq!(first.source, second.source, "seed {seed}");
        }
    }

    #[test]
    fn the_simplest_kernel_is_small() {
        let simplest = kernel(Choices::replay(&[]));
        assert!(simplest.source.lines().count() < 20, "{}", simplest.source);
    }

    /// What miscompiles were found in stays in what is made.
    #[test]
    fn kernels_have_device_globals_of_every_kind() {
        let kernels: Vec<_> = (0..400).map(|seed| kernel(Choices::random(seed, 400))).collect();
        let all: String = kernels.iter().map(|kernel| kernel.source.as_str()).collect();
        for part in [
            "AtomicU8; 64], DeviceImageScope>",
            "AtomicI16; 64], ()>",
            "DeviceGlobal<u128, DeviceImageScope>",
            "DeviceGlobal<S0, DeviceImageScope>",
            ".exclusive()",
            "queue.write(&G0",
            "queue.copy_to(&G0",
            "(*w.l0())",
            "static K0: [",
        ] {
            assert!(all.contains(part), "no kernel has `{part}`");
        }
        let with_globals = kernels.iter().filter(|kernel| kernel.has_globals).count();
        assert!((60..200).contains(&with_globals), "{with_globals} of 400 have globals");
    }
}
