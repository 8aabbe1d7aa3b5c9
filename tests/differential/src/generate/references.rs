//! References and what is done through them: slices of slices, one of several targets, closures that change
//! what they captured, errors handed on by `?`.
//!
//! Each is a block that ends in an integer; its arrays are its own, so that nothing else is borrowed.

use super::Maker;
use super::types::{Int, Type};

impl Maker {
    /// An integer that came through references.
    pub(super) fn through_references(&mut self, int: Int, depth: u32) -> String {
        self.cost += self.times * 16;
        match self.choices.below(8) {
            0 => self.bytes(int, depth),
            1 => self.slices_of_slices(int, depth),
            2 => self.one_of_two_targets(int, depth),
            3 => self.split(int, depth),
            4 => self.changing_closure(int, depth),
            5 => self.handed_on(int, depth),
            6 => self.replaced(int, depth),
            _ => self.of_any_length(int, depth),
        }
    }

    fn numbers(&mut self, int: Int, length: usize, depth: u32) -> String {
        self.expression(&Type::Array(Box::new(Type::Int(int)), length), depth)
    }

    fn index(&mut self, depth: u32) -> String {
        self.expression(&Type::U64, depth)
    }

    /// The bytes of a number, in another order.
    fn bytes(&mut self, int: Int, depth: u32) -> String {
        let (name, value) = (int.name(), self.expression(&Type::Int(int), depth));
        let to = *self.choices.pick(&["le", "be", "ne"]);
        let from = *self.choices.pick(&["be", "le"]);
        let (bytes, at) = (self.name("b"), self.index(depth));
        let change = match self.choices.below(4) {
            0 => format!("{bytes}.reverse();"),
            1 => format!("{bytes}.rotate_right({at} as usize % {});", int.bits / 8),
            2 => format!("{bytes}[{at} as usize % {}] ^= 0x5a;", int.bits / 8),
            _ => format!("{bytes}.swap(0, {at} as usize % {});", int.bits / 8),
        };
        format!(
            "({{ let mut {bytes} = {value}.to_{to}_bytes(); {change} {name}::from_{from}_bytes({bytes}) }})"
        )
    }

    fn slices_of_slices(&mut self, int: Int, depth: u32) -> String {
        let (one, other, parts, part) =
            (self.name("a"), self.name("a"), self.name("s"), self.name("s"));
        let (first, second) = (self.numbers(int, 4, depth), self.numbers(int, 3, depth));
        let (from, which, at) = (self.index(depth), self.index(depth), self.index(depth));
        let (literal, name) = (self.integer_literal(int), int.name());
        let bound = if self.may_panic { 6 } else { 5 };
        let end = match self.choices.below(4) {
            0 => format!(
                "{part}.get(({at} % 5) as usize).copied().unwrap_or({part}.len() as {name})"
            ),
            1 => format!("{part}.iter().fold(1, |all: {name}, x| all.wrapping_mul(7) ^ x)"),
            2 => format!("{part}.last().map_or(3, |x| x.wrapping_add({part}.len() as {name}))"),
            _ => format!(
                "{part}.iter().rev().zip({parts}[0]).fold(0, |all: {name}, (x, y)| all ^ x.wrapping_sub(*y))"
            ),
        };
        format!(
            "({{ let ({one}, {other}) = ({first}, {second}); \
             let {parts}: [&[{name}]; 4] = [&{one}, &{other}[1..], &{one}[({from} % {bound}) as usize..], &[{literal}, 5]]; \
             let {part} = {parts}[{which} as usize % 4]; {end} }})"
        )
    }

    fn one_of_two_targets(&mut self, int: Int, depth: u32) -> String {
        let (one, other, target) = (self.name("a"), self.name("a"), self.name("m"));
        let (first, second) = (self.numbers(int, 5, depth), self.numbers(int, 2, depth));
        let (condition, value) =
            (self.expression(&Type::Bool, depth), self.expression(&Type::Int(int), depth));
        let (at, name) = (self.index(depth), int.name());
        format!(
            "({{ let (mut {one}, mut {other}) = ({first}, {second}); \
             let {target}: &mut [{name}] = if {condition} {{ &mut {one}[1..] }} else {{ &mut {other} }}; \
             let at = {at} as usize % {target}.len(); {target}[at] = {value}; \
             let last = {target}.len() - 1; {target}.swap(at, last); \
             {one}.iter().chain(&{other}).fold(0, |all: {name}, x| all.wrapping_mul(5).wrapping_add(*x)) }})"
        )
    }

    fn split(&mut self, int: Int, depth: u32) -> String {
        let length = self.choices.between(1, 7) as usize;
        let (array, left, right) = (self.name("a"), self.name("l"), self.name("r"));
        let (values, at) = (self.numbers(int, length, depth), self.index(depth));
        let bound = if self.may_panic { length + 2 } else { length + 1 };
        let change = match self.choices.below(3) {
            0 => format!(
                "for (x, y) in {left}.iter_mut().zip({right}.iter()) {{ *x = x.wrapping_sub(*y); }}"
            ),
            1 => format!(
                "let n = {left}.len().min({right}.len()); {left}[..n].swap_with_slice(&mut {right}[..n]);"
            ),
            _ => format!(
                "let n = {left}.len().min({right}.len()); {right}[..n].copy_from_slice(&{left}[..n]);"
            ),
        };
        format!(
            "({{ let mut {array} = {values}; \
             let ({left}, {right}) = {array}.split_at_mut(({at} % {bound}) as usize); {change} \
             {array}.iter().fold(2, |all: {}, x| all.wrapping_mul(3) ^ x) }})",
            int.name()
        )
    }

    /// A helper that is generic over the closure, which changes variables around it.
    fn changing_closure(&mut self, int: Int, depth: u32) -> String {
        let (seen, count, step) = (self.name("v"), self.name("v"), self.name("n"));
        let start = self.expression(&Type::Int(int), depth);
        let times = self.choices.between(1, 6);
        let (value, stop) = self.repeated(u64::from(times), |maker| {
            maker.pure(|maker| {
                maker.declare(&step, &Type::Int(Int::unsigned(32)), false);
                (maker.expression(&Type::Int(int), depth), maker.expression(&Type::Bool, depth))
            })
        });
        format!(
            "({{ let (mut {seen}, mut {count}) = ({start}, 0u8); \
             until({times}, |{step}| {{ {count} += 1; {seen} = {seen}.rotate_left(3) ^ {value}; {stop} }}); \
             {seen}.wrapping_add({count} as {}) }})",
            int.name()
        )
    }

    /// Errors of two kinds, handed on.
    fn handed_on(&mut self, int: Int, depth: u32) -> String {
        let (name, from) = (int.name(), Int::choose(&mut self.choices));
        let (first, second) =
            (self.expression(&Type::Int(from), depth), self.expression(&Type::Int(int), depth));
        let operator = *self.choices.pick(&["checked_add", "checked_sub", "checked_mul"]);
        let condition = self.expression(&Type::Bool, depth);
        format!(
            "(match (|| -> Result<{name}, Failure> {{ \
             let first = {name}::try_from({first}).map_err(|_| Failure::Large)?; \
             if {condition} {{ return Err(Failure::Odd(first as u16)); }} \
             first.{operator}({second}).ok_or(Failure::Pair(first as u8, 7)) }})() {{ \
             Ok(x) => x, Err(Failure::Large) => 1, Err(Failure::Odd(x)) if x & 1 == 1 => x as {name}, \
             Err(Failure::Odd(x)) => !(x as {name}), Err(Failure::Pair(x, y)) => (x ^ y) as {name} }})"
        )
    }

    /// Options that are taken, replaced and changed in place.
    fn replaced(&mut self, int: Int, depth: u32) -> String {
        let of = Type::Option(Box::new(Type::Int(int)));
        let (place, other) = (self.name("o"), self.name("o"));
        let (first, second) = (self.expression(&of, depth), self.expression(&of, depth));
        let value = self.expression(&Type::Int(int), depth);
        let change = match self.choices.below(5) {
            0 => format!("std::mem::swap(&mut {place}, &mut {other});"),
            1 => format!("if let Some(x) = {place}.as_mut() {{ *x ^= {value}; }}"),
            2 => format!("{other} = {place}.take().or({other});"),
            3 => format!("{other} = {place}.replace({value});"),
            _ => format!("*{place}.get_or_insert({value}) |= 1;"),
        };
        format!(
            "({{ let (mut {place}, mut {other}) = ({first}, {second}); {change} \
             match ({place}, {other}) {{ (Some(x), Some(y)) => x.wrapping_sub(y), (Some(x), None) => x, \
             (None, Some(y)) if y > 9 => !y, (None, _) => 11 }} }})"
        )
    }

    /// Helpers that are generic over a length and over an element.
    fn of_any_length(&mut self, int: Int, depth: u32) -> String {
        let (length, element) =
            (self.choices.between(1, 6) as usize, Int::choose(&mut self.choices));
        let (values, by) =
            (self.numbers(element, length, depth), self.expression(&Type::U64, depth));
        let name = int.name();
        match self.choices.below(2) {
            0 => format!("(turned({values}, {by})[{}] as {name})", length - 1),
            _ => format!(
                "(largest(&{values}[..{}], |x| (x as {name}).rotate_left(({by} % 7) as u32)).unwrap_or(8))",
                length / 2 + 1
            ),
        }
    }
}
