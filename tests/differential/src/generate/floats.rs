//! Floating-point numbers: exact operations, and functions within units in the last place.

use super::Maker;
use super::types::{Float, Int, Type};

/// Functions of one number, and how many units in the last place OpenCL lets a device be off.
const ONE: &[(&str, u32)] = &[
    ("sin", 4),
    ("cos", 4),
    ("tan", 5),
    ("asin", 4),
    ("acos", 4),
    ("atan", 5),
    ("sinh", 4),
    ("cosh", 4),
    ("tanh", 5),
    ("asinh", 4),
    ("acosh", 4),
    ("atanh", 5),
    ("exp", 3),
    ("exp2", 3),
    ("exp_m1", 3),
    ("ln", 3),
    ("log2", 3),
    ("log10", 3),
    ("ln_1p", 2),
    ("cbrt", 2),
];

/// Functions of two numbers.
const TWO: &[(&str, u32)] = &[("powf", 16), ("hypot", 4), ("atan2", 6)];

impl Maker {
    pub(super) fn float_literal(&mut self, float: Float) -> String {
        let name = float.name();
        match self.choices.below(10) {
            0 => format!("0.0{name}"),
            1 => format!("1.0{name}"),
            2 => format!("(-{}.5{name})", self.choices.below(50)),
            3 => format!("{}.25{name}", self.choices.below(1000)),
            4 => format!("1e{}{name}", self.choices.below(38)),
            5 => format!("1e-{}{name}", self.choices.below(38)),
            6 => format!("{name}::MAX"),
            7 => format!("{name}::MIN_POSITIVE"),
            8 => format!("{name}::INFINITY"),
            _ => format!("(-0.0{name})"),
        }
    }

    fn float_leaf(&mut self, float: Float) -> String {
        if self.in_kernel && self.choices.one_in(2) {
            let (by, plus) = (self.choices.between(1, 9), self.choices.below(64));
            // Any bits, but one NaN only.
            let name = float.name();
            return format!("{name}_of(inputs[(i * {by} + {plus}) % inputs.len()])");
        }
        self.float_literal(float)
    }

    /// An exact floating-point number: the same bits everywhere, unless it is a NaN.
    pub(super) fn float(&mut self, float: Float, depth: u32) -> String {
        if depth == 0 {
            return self.float_leaf(float);
        }
        let of = Type::Float(float);
        let name = float.name();
        let depth = depth - 1;
        match self.choices.below(19) {
            0 | 1 => self.float_leaf(float),
            2..=6 => {
                let operator = *self.choices.pick(&["+", "-", "*", "/", "%"]);
                let (a, b) = (self.expression(&of, depth), self.expression(&of, depth));
                format!("({a} {operator} {b})")
            }
            7 => format!("(-{})", self.expression(&of, depth)),
            8 | 9 => {
                let function = *self.choices.pick(&[
                    "abs",
                    "floor",
                    "ceil",
                    "trunc",
                    "round",
                    "round_ties_even",
                    "fract",
                    "sqrt",
                    "recip",
                    "to_degrees",
                    "to_radians",
                ]);
                format!("{}.{function}()", self.expression(&of, depth))
            }
            10 => {
                let function = *self.choices.pick(&["min", "max"]);
                let (a, b) = (self.expression(&of, depth), self.expression(&of, depth));
                // Which zero comes out is open; after the sum it is the positive one.
                format!("({a}.{function}({b}) + 0.0)")
            }
            11 => {
                let (a, b, c) = (
                    self.expression(&of, depth),
                    self.expression(&of, depth),
                    self.expression(&of, depth),
                );
                format!("{a}.mul_add({b}, {c})")
            }
            12 | 13 => {
                let int = Type::Int(Int::choose(&mut self.choices));
                format!("({} as {name})", self.expression(&int, depth))
            }
            14 => {
                let other = if float == Float::F32 { Float::F64 } else { Float::F32 };
                format!("({} as {name})", self.expression(&Type::Float(other), depth))
            }
            15 => {
                let (a, b) = (self.expression(&of, depth), self.expression(&of, depth));
                // The sign of a NaN is open.
                format!("sign_{name}({a}, {b})")
            }
            16 => self.element(&of, depth),
            17 => {
                // One bit: with a sign it is 0 or -1.
                let int = *self.choices.pick(&["i8", "i16", "i32", "i64", "i128"]);
                format!(
                    "(({} as {int}).wrapping_neg() as {name})",
                    self.expression(&Type::Bool, depth)
                )
            }
            _ => {
                let function = *self.choices.pick(&["rem_euclid", "div_euclid"]);
                let (a, b) = (self.expression(&of, depth), self.expression(&of, depth));
                format!("{a}.{function}({b})")
            }
        }
    }

    /// A function that devices compute within some units in the last place, of exact numbers.
    pub(super) fn approximate(&mut self, float: Float) -> (String, u32) {
        let of = Type::Float(float);
        let name = float.name();
        match self.choices.below(4) {
            0 => (format!("0.0{name}"), 0),
            1 | 2 => {
                let (function, ulps) = *self.choices.pick(ONE);
                (format!("{}.{function}()", self.expression(&of, 2)), ulps)
            }
            _ => {
                let (function, ulps) = *self.choices.pick(TWO);
                let (a, b) = (self.expression(&of, 2), self.expression(&of, 2));
                (format!("{a}.{function}({b})"), ulps)
            }
        }
    }
}
