//! Truth values, characters, and what every type can be: a choice, a call, a block.

use super::Maker;
use super::types::{Float, Int, Type};

impl Maker {
    /// A truth value.
    pub(super) fn truth(&mut self, depth: u32) -> String {
        if depth == 0 {
            return self.choices.pick(&["false", "true"]).to_string();
        }
        let depth = depth - 1;
        match self.choices.below(10) {
            0 => self.choices.pick(&["false", "true"]).to_string(),
            1..=4 => {
                let of = Type::choose_scalar(&mut self.choices);
                let operator = *self.choices.pick(&["<", "<=", "==", "!=", ">", ">="]);
                let (a, b) = (self.expression(&of, depth), self.expression(&of, depth));
                format!("({a} {operator} {b})")
            }
            5 | 6 => {
                let operator = *self.choices.pick(&["&&", "||", "^", "&", "|"]);
                let (a, b) =
                    (self.expression(&Type::Bool, depth), self.expression(&Type::Bool, depth));
                format!("({a} {operator} {b})")
            }
            7 => format!("(!{})", self.expression(&Type::Bool, depth)),
            8 => {
                let float = *self.choices.pick(&[Float::F32, Float::F64]);
                let test = *self.choices.pick(&["is_nan", "is_finite", "is_infinite", "is_normal"]);
                format!("{}.{test}()", self.expression(&Type::Float(float), depth))
            }
            _ => {
                let int = Int::choose(&mut self.choices);
                let value = self.expression(&Type::Int(int), depth);
                let (low, high) = (self.integer_literal(int), self.integer_literal(int));
                format!("({low}..={high}).contains(&{value})")
            }
        }
    }

    /// A character.
    pub(super) fn character(&mut self, depth: u32) -> String {
        if depth == 0 {
            return self.choices.pick(&["'a'", "'Z'", "'0'", "'\\u{1F980}'", "'\\0'"]).to_string();
        }
        let depth = depth - 1;
        match self.choices.below(5) {
            0 => self.choices.pick(&["'b'", "'Y'", "'9'", "'\\u{e4}'"]).to_string(),
            1 => format!("({} as char)", self.expression(&Type::Int(Int::unsigned(8)), depth)),
            2 => {
                let code = self.expression(&Type::Int(Int::unsigned(32)), depth);
                format!("char::from_u32({code} & 0x1fffff).unwrap_or('?')")
            }
            3 => {
                let function = *self.choices.pick(&["to_ascii_uppercase", "to_ascii_lowercase"]);
                format!("{}.{function}()", self.expression(&Type::Char, depth))
            }
            _ => {
                let digit = self.expression(&Type::Int(Int::unsigned(32)), depth);
                format!("char::from_digit({digit} % 36, 36).unwrap_or('-')")
            }
        }
    }

    pub(super) fn conditional(&mut self, of: &Type, depth: u32) -> String {
        let condition = self.expression(&Type::Bool, depth);
        let (yes, no) = (self.expression(of, depth), self.expression(of, depth));
        format!("(if {condition} {{ {yes} }} else {{ {no} }})")
    }

    pub(super) fn matching(&mut self, of: &Type, depth: u32) -> String {
        match self.choices.below(4) {
            0 => self.match_number(of, depth),
            1 => self.match_option(of, depth),
            2 if !self.enums.is_empty() => self.match_enum(of, depth),
            3 => self.match_tuple(of, depth),
            _ => self.match_number(of, depth),
        }
    }

    fn match_number(&mut self, of: &Type, depth: u32) -> String {
        let int = Int::choose(&mut self.choices);
        let subject = self.expression(&Type::Int(int), depth);
        let mut text = format!("(match {subject} {{ ");
        for _ in 0..self.choices.below(3) {
            let pattern = match self.choices.below(3) {
                0 => format!("{}", self.choices.below(100)),
                1 => format!("{} | {}", self.choices.below(100), self.choices.between(100, 120)),
                _ => format!("{}..={}", self.choices.below(50), self.choices.between(50, 120)),
            };
            let arm = self.expression(of, depth);
            text += &format!("{pattern} => {arm}, ");
        }
        let name = self.name("n");
        text += &self.scoped(|maker| {
            maker.declare(&name, &Type::Int(int), false);
            let guard = maker.expression(&Type::Bool, depth.min(1));
            let guarded = maker.expression(of, depth);
            format!("{name} if {guard} => {guarded}, ")
        });
        format!("{text}_ => {} }})", self.expression(of, depth))
    }

    fn match_option(&mut self, of: &Type, depth: u32) -> String {
        let inner = Type::choose_scalar(&mut self.choices);
        let subject = self.expression(&Type::Option(Box::new(inner.clone())), depth);
        let name = self.name("v");
        let some = self.scoped(|maker| {
            maker.declare(&name, &inner, false);
            maker.expression(of, depth)
        });
        let none = self.expression(of, depth);
        format!("(match {subject} {{ Some({name}) => {some}, None => {none} }})")
    }

    fn match_enum(&mut self, of: &Type, depth: u32) -> String {
        let number = self.choices.below(self.enums.len() as u32) as usize;
        let subject = self.expression(&Type::Enum(number), depth);
        let mut text = format!("(match {subject} {{ ");
        for variant in self.enums[number].variants.clone() {
            let names: Vec<String> = variant.fields.iter().map(|_| self.name("p")).collect();
            let pattern: String = variant
                .fields
                .iter()
                .zip(&names)
                .map(|((field, _), name)| format!("{field}: {name}, "))
                .collect();
            let arm = self.scoped(|maker| {
                for ((_, of), name) in variant.fields.iter().zip(&names) {
                    maker.declare(name, of, false);
                }
                maker.expression(of, depth)
            });
            text += &format!("E{number}::{} {{ {pattern}}} => {arm}, ", variant.name);
        }
        text + "})"
    }

    fn match_tuple(&mut self, of: &Type, depth: u32) -> String {
        let (one, other) =
            (self.expression(&Type::Bool, depth), self.expression(&Type::Bool, depth));
        let arms: Vec<String> = (0..3).map(|_| self.expression(of, depth)).collect();
        format!(
            "(match ({one}, {other}) {{ (true, true) => {}, (false, _) => {}, (_, false) => {} }})",
            arms[0], arms[1], arms[2]
        )
    }

    /// A call of one of the module's functions.
    pub(super) fn call(&mut self, of: &Type, depth: u32) -> String {
        let fitting: Vec<usize> = (0..self.functions.len())
            .filter(|&n| self.functions[n].result == *of && self.affords(self.costs[n]))
            .collect();
        if fitting.is_empty() {
            return self.conditional(of, depth);
        }
        let number = *self.choices.pick(&fitting);
        self.cost += self.times * self.costs[number];
        let function = self.functions[number].clone();
        let arguments: Vec<String> =
            function.parameters.iter().map(|of| self.expression(of, depth.min(2))).collect();
        format!("{}({})", function.name, arguments.join(", "))
    }

    /// A block with statements and a value.
    pub(super) fn block(&mut self, of: &Type, depth: u32) -> String {
        self.pure(|maker| {
            let statements = maker.statements(depth.min(2), 2);
            let value = maker.expression(of, depth);
            format!("({{ {statements}{value} }})")
        })
    }

    /// A closure that captures what is in sight, called once or twice.
    pub(super) fn closure_call(&mut self, of: &Type, depth: u32) -> String {
        let parameter = Type::choose_scalar(&mut self.choices);
        let (closure, name) = (self.name("c"), self.name("x"));
        let argument = self.expression(&parameter, depth);
        let body = self.pure(|maker| {
            maker.declare(&name, &parameter, false);
            maker.expression(of, depth)
        });
        format!(
            "({{ let {closure} = move |{name}: {}| -> {} {{ {body} }}; {closure}({argument}) }})",
            parameter.name(),
            of.name()
        )
    }
}
