//! Integers of 8 to 128 bits.

use super::types::{Float, Int, Type};
use super::{Maker, Variable};

impl Maker {
    /// A literal; 0 is the simplest, and the ends of the range are frequent.
    pub(super) fn integer_literal(&mut self, int: Int) -> String {
        let name = int.name();
        match self.choices.below(8) {
            0 => format!("0{name}"),
            1 => format!("1{name}"),
            2 => format!("{}{name}", self.choices.between(2, 100)),
            3 => format!("{name}::MAX"),
            4 => format!("{name}::MIN"),
            5 if int.signed => format!("(-{}{name})", self.choices.between(1, 100)),
            6 => format!("(1{name} << {})", self.choices.below(int.bits - 1)),
            _ => {
                let bits = u128::from(self.choices.bits()) << 64 | u128::from(self.choices.bits());
                let mask = u128::MAX >> (128 - int.bits);
                format!("({:#x}u128 as {name})", bits & mask)
            }
        }
    }

    /// What the launch gives: an element of the inputs, or the item's index.
    pub(super) fn input(&mut self, int: Int) -> String {
        if !self.in_kernel {
            return self.integer_literal(int);
        }
        let name = int.name();
        if self.in_group && self.choices.one_in(2) {
            let by = self.choices.below(16);
            return match self.choices.below(2) {
                0 => format!("(shared[(i + {by}) % shared.len()] as {name})"),
                _ => format!("(shared[(i ^ {by}) % shared.len()] as {name})"),
            };
        }
        match self.choices.below(6) {
            0 => format!("(inputs[i] as {name})"),
            1 => format!("(i as {name})"),
            _ => {
                let (by, plus) = (self.choices.between(1, 9), self.choices.below(64));
                format!("(inputs[(i * {by} + {plus}) % inputs.len()] as {name})")
            }
        }
    }

    /// An integer.
    pub(super) fn integer(&mut self, int: Int, depth: u32) -> String {
        if depth == 0 {
            return if self.choices.one_in(2) {
                self.input(int)
            } else {
                self.integer_literal(int)
            };
        }
        let of = Type::Int(int);
        let depth = depth - 1;
        let name = int.name();
        if let Some(text) = self.own_atomic(int, depth) {
            return text;
        }
        if self.may_panic && self.choices.one_in(6) {
            return self.panicking_integer(int, depth);
        }
        match self.choices.below(27) {
            0 => self.integer_literal(int),
            1 => self.input(int),
            2..=4 => {
                let operator =
                    *self.choices.pick(&["wrapping_add", "wrapping_sub", "wrapping_mul"]);
                let (a, b) = (self.expression(&of, depth), self.expression(&of, depth));
                format!("{a}.{operator}({b})")
            }
            5 | 6 => {
                let operator = *self.choices.pick(&["^", "&", "|"]);
                let (a, b) = (self.expression(&of, depth), self.expression(&of, depth));
                format!("({a} {operator} {b})")
            }
            7 => self.shift(int, depth),
            8 => self.unary(int, depth),
            9 | 10 => self.cast(int, depth),
            11 => self.division(int, depth),
            12 => {
                let operator =
                    *self.choices.pick(&["saturating_add", "saturating_sub", "saturating_mul"]);
                let (a, b) = (self.expression(&of, depth), self.expression(&of, depth));
                format!("{a}.{operator}({b})")
            }
            13 => {
                let operator = *self.choices.pick(&["min", "max"]);
                let (a, b) = (self.expression(&of, depth), self.expression(&of, depth));
                format!("{a}.{operator}({b})")
            }
            14 => {
                let operator = *self.choices.pick(&[
                    "checked_add",
                    "checked_sub",
                    "checked_mul",
                    "checked_div",
                    "checked_rem",
                ]);
                let (a, b) = (self.expression(&of, depth), self.expression(&of, depth));
                let otherwise = self.expression(&of, depth);
                format!("{a}.{operator}({b}).unwrap_or({otherwise})")
            }
            15 => {
                let operator =
                    *self.choices.pick(&["overflowing_add", "overflowing_sub", "overflowing_mul"]);
                let (a, b) = (self.expression(&of, depth), self.expression(&of, depth));
                format!("pair_{name}({a}.{operator}({b}))")
            }
            16 => {
                let exponent = self.choices.below(9);
                format!("{}.wrapping_pow({exponent})", self.expression(&of, depth))
            }
            17 => self.element(&of, depth),
            18..=20 => self.chain(int, depth),
            21 => {
                let three = ["abs_diff", "midpoint", "div_ceil"];
                let operator = three[self.choices.below(if int.signed { 1 } else { 2 }) as usize];
                let (a, b) = (self.expression(&of, depth), self.expression(&of, depth));
                format!("({a}.{operator}({b}) as {name})")
            }
            22 => {
                let (a, b, c) = (
                    self.expression(&of, depth),
                    self.expression(&of, depth),
                    self.expression(&of, depth),
                );
                format!("clamped({a}, {b}, {c})")
            }
            23..=25 => self.through_references(int, depth),
            _ => self.mix_call(int, depth),
        }
    }

    fn shift(&mut self, int: Int, depth: u32) -> String {
        let operator = *self.choices.pick(&[
            "wrapping_shl",
            "wrapping_shr",
            "rotate_left",
            "rotate_right",
            "checked_shl",
            "<<",
            ">>",
        ]);
        let value = self.expression(&Type::Int(int), depth);
        let by = self.expression(&Type::Int(Int::unsigned(32)), depth);
        match operator {
            "<<" | ">>" => format!("({value} {operator} ({by} % {}))", int.bits),
            "checked_shl" => format!("{value}.checked_shl({by} % 200).unwrap_or(1)"),
            _ => format!("{value}.{operator}({by})"),
        }
    }

    fn unary(&mut self, int: Int, depth: u32) -> String {
        let value = self.expression(&Type::Int(int), depth);
        let name = int.name();
        match self.choices.below(9) {
            0 => format!("(!{value})"),
            1 => format!("{value}.wrapping_neg()"),
            2 => format!("({value}.count_ones() as {name})"),
            3 => format!("({value}.leading_zeros() as {name})"),
            4 => format!("({value}.trailing_zeros() as {name})"),
            5 => format!("{value}.swap_bytes()"),
            6 => format!("{value}.reverse_bits()"),
            7 if int.signed => format!("{value}.wrapping_abs()"),
            7 => format!("{value}.isqrt()"),
            _ if int.signed => format!("{value}.signum()"),
            _ => format!("({value}.checked_ilog2().unwrap_or(77) as {name})"),
        }
    }

    fn cast(&mut self, int: Int, depth: u32) -> String {
        let name = int.name();
        let from = match self.choices.below(8) {
            0..=3 => Type::Int(Int::choose(&mut self.choices)),
            4 => Type::Float(Float::F32),
            5 => Type::Float(Float::F64),
            6 => Type::Bool,
            _ => Type::Char,
        };
        if let Type::Int(from) = from
            && self.choices.one_in(4)
        {
            let (value, or) = (self.expression(&Type::Int(from), depth), self.integer_literal(int));
            return format!("{name}::try_from({value}).unwrap_or({or})");
        }
        format!("({} as {name})", self.expression(&from, depth))
    }

    fn division(&mut self, int: Int, depth: u32) -> String {
        let of = Type::Int(int);
        let (a, b) = (self.expression(&of, depth), self.expression(&of, depth));
        let operator = *self.choices.pick(&["div", "rem", "div_euclid", "rem_euclid"]);
        if int.signed {
            // Odd, so not 0; wrapping, because -1 is odd.
            format!("{a}.wrapping_{operator}({b} | 1)")
        } else {
            match operator {
                "div" => format!("({a} / ({b} | 1))"),
                "rem" => format!("({a} % ({b} | 1))"),
                _ => format!("{a}.{operator}({b} | 1)"),
            }
        }
    }

    fn panicking_integer(&mut self, int: Int, depth: u32) -> String {
        let of = Type::Int(int);
        let (a, b) = (self.expression(&of, depth), self.expression(&of, depth));
        match self.choices.below(9) {
            operator @ 0..=2 => format!("({a} {} {b})", ["+", "-", "*"][operator as usize]),
            3 => format!("({a} / {b})"),
            4 => format!("({a} % {b})"),
            5 => format!("{a}.checked_add({b}).unwrap()"),
            6 => format!("{a}.checked_mul({b}).expect(\"a product\")"),
            7 if int.signed => format!("(-{a})"),
            7 => format!("{a}.pow(3)"),
            _ => format!("({a} << ({b} as u32 & 255))"),
        }
    }

    /// An integer variable that may be changed, with its type.
    pub(super) fn changeable(&mut self) -> Option<Variable> {
        let own: Vec<Variable> = self.scope[self.own_from.min(self.scope.len())..]
            .iter()
            .rev()
            .filter(|variable| variable.mutable)
            .cloned()
            .collect();
        (!own.is_empty()).then(|| self.choices.pick(&own).clone())
    }
}
