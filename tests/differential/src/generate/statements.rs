//! Statements: variables, branches, loops that end, atomics, assertions.

use super::types::{Int, Type};
use super::{DEPTH, Maker, Variable};

impl Maker {
    /// Up to `most` statements, often fewer.
    pub(super) fn statements(&mut self, depth: u32, most: u32) -> String {
        let mut text = String::new();
        for _ in 0..most {
            // One flag each, so that leaving one out is one small change of the choices.
            if self.choices.below(5) == 0 {
                break;
            }
            if !self.affords(50) {
                break;
            }
            text += &self.statement(depth);
            text.push('\n');
        }
        text
    }

    fn statement(&mut self, depth: u32) -> String {
        let inner = depth.saturating_sub(1);
        let kinds = if depth == 0 { 9 } else { 19 };
        match self.choices.below(kinds) {
            0..=3 => self.variable_statement(depth),
            4..=6 => self.assignment(depth),
            7 if self.in_kernel => self.atomic(depth),
            8 if self.may_panic => self.assertion(depth),
            9..=11 => {
                let condition = self.expression(&Type::Bool, depth);
                let yes = self.scoped(|maker| maker.statements(inner, 3));
                let no = self.scoped(|maker| maker.statements(inner, 2));
                format!("if {condition} {{\n{yes}}} else {{\n{no}}}")
            }
            12 | 13 => self.for_loop(inner),
            14 => self.while_loop(inner),
            15 => self.labelled_loop(inner),
            16 => self.slice_loop(inner),
            17 => self.let_else(depth),
            _ => self.swap_or_sort(depth),
        }
    }

    fn variable_statement(&mut self, depth: u32) -> String {
        let of = self.choose_type(2);
        let value = self.expression(&of, depth.min(DEPTH));
        let (name, mutable) = (self.name("v"), !self.choices.one_in(3));
        self.declare(&name, &of, mutable);
        let keyword = if mutable { "let mut" } else { "let" };
        format!("{keyword} {name}: {} = {value};", of.name())
    }

    fn assignment(&mut self, depth: u32) -> String {
        let Some(variable) = self.changeable() else {
            return self.variable_statement(depth);
        };
        self.assign(&variable, depth)
    }

    /// An assignment to all or a part of this.
    pub(super) fn assign(&mut self, variable: &Variable, depth: u32) -> String {
        let name = &variable.name;
        match &variable.of {
            Type::Int(int) => {
                let value = self.expression(&variable.of, depth);
                match self.choices.below(4) {
                    0 => format!("{name} = {value};"),
                    1 => format!("{name} ^= {value};"),
                    2 if self.may_panic => format!("{name} += {value};"),
                    2 => format!("{name} |= {value};"),
                    _ => format!(
                        "{name} = {name}.wrapping_mul({}).wrapping_add({value});",
                        3 + int.bits / 8
                    ),
                }
            }
            Type::Array(element, length) => {
                let (index, value) =
                    (self.expression(&Type::U64, depth), self.expression(element, depth));
                // First the values: they may be of the array itself.
                let first = format!("let (at, value) = ({index}, {value});");
                let store = match self.choices.below(3) {
                    0 => format!("{name}[at as usize % {length}] = value;"),
                    1 if self.may_panic => {
                        format!("{name}[(at % {}) as usize] = value;", length + 1)
                    }
                    1 => format!(
                        "if let Some(place) = {name}.get_mut((at % 9) as usize) {{ *place = value; }}"
                    ),
                    _ => format!("{name}.fill(value);"),
                };
                format!("{{ {first} {store} }}")
            }
            Type::Struct(number) => {
                let fields = self.structs[*number].fields.clone();
                let (field, of) = self.choices.pick(&fields).clone();
                format!("{name}.{field} = {};", self.expression(&of, depth))
            }
            Type::Tuple(parts) => {
                let number = self.choices.below(parts.len() as u32) as usize;
                format!("{name}.{number} = {};", self.expression(&parts[number], depth))
            }
            of => format!("{name} = {};", self.expression(of, depth)),
        }
    }

    fn atomic(&mut self, depth: u32) -> String {
        if let Some(text) = self.shared_atomic(depth) {
            return text;
        }
        let (kind, int) = *self.choices.pick(&[
            ("c32", Int::unsigned(32)),
            ("c64", Int::signed(64)),
            ("c16", Int::signed(16)),
            ("c8", Int::unsigned(8)),
        ]);
        // One operation per cell: any order of them gives the same.
        let operations =
            ["fetch_add", "fetch_xor", "fetch_or", "fetch_max", "fetch_min", "fetch_and"];
        let number = self.choices.below(operations.len() as u32) as usize;
        let order = *self.choices.pick(&["Relaxed", "AcqRel", "SeqCst"]);
        let value = self.expression(&Type::Int(int), depth);
        format!("cells.{kind}[{number}].{}({value}, {order});", operations[number])
    }

    fn assertion(&mut self, depth: u32) -> String {
        let condition = self.expression(&Type::Bool, depth);
        match self.choices.below(5) {
            0 => format!("assert!({condition});"),
            1 => format!("if {condition} {{ panic!(\"here\"); }}"),
            2 => format!("assert!({condition}, \"with text\");"),
            3 => format!("if {condition} {{ unreachable!(); }}"),
            _ => {
                let of = Type::Int(Int::choose(&mut self.choices));
                let (a, b) = (self.expression(&of, depth), self.expression(&of, depth));
                format!("assert_ne!({a}, {b});")
            }
        }
    }

    fn for_loop(&mut self, depth: u32) -> String {
        let (int, bound) = (Int::choose(&mut self.choices), self.choices.between(1, 12));
        let end = match self.choices.below(2) {
            0 => format!("{bound}"),
            _ => format!("({} % {bound}) as {}", self.expression(&Type::U64, depth), int.name()),
        };
        let name = self.name("n");
        let range = match self.choices.below(3) {
            0 => format!("0{}..{end}", int.name()),
            1 => format!("(0{}..{end}).rev()", int.name()),
            _ => format!("0{}..={end}", int.name()),
        };
        let body = self.loop_body(u64::from(bound), &name, &Type::Int(int), depth);
        format!("for {name} in {range} {{\n{body}}}")
    }

    fn loop_body(&mut self, times: u64, name: &str, of: &Type, depth: u32) -> String {
        self.repeated(times, |maker| {
            maker.scoped(|maker| {
                maker.declare(name, of, false);
                let first = maker.statements(depth, 3);
                let leave = match maker.choices.below(5) {
                    3 => format!("if {} {{ break; }}\n", maker.expression(&Type::Bool, depth)),
                    4 => format!("if {} {{ continue; }}\n", maker.expression(&Type::Bool, depth)),
                    _ => String::new(),
                };
                first + &leave + &maker.statements(depth, 2)
            })
        })
    }

    fn while_loop(&mut self, depth: u32) -> String {
        let (name, bound) = (self.name("t"), self.choices.between(1, 12));
        let condition =
            self.repeated(u64::from(bound), |maker| maker.expression(&Type::Bool, depth));
        let body = self.loop_body(u64::from(bound), &name, &Type::Int(Int::unsigned(32)), depth);
        // The counter first: `continue` must not skip it.
        format!(
            "let mut {name} = 0u32;\nwhile {name} < {bound} && {condition} {{\n{name} += 1;\n{body}}}"
        )
    }

    /// Two loops, left together by a label, with a value.
    fn labelled_loop(&mut self, depth: u32) -> String {
        let (label, outer, inner) = (self.name("'l"), self.name("t"), self.name("n"));
        let (value, of) = (self.name("v"), Type::choose_scalar(&mut self.choices));
        let (bound, bound_inside) = (self.choices.between(1, 6), self.choices.between(1, 6));
        let count = Type::Int(Int::unsigned(32));
        let (body, condition, found) = self.repeated(u64::from(bound * bound_inside), |maker| {
            maker.scoped(|maker| {
                maker.declare(&outer, &count, false);
                maker.declare(&inner, &count, false);
                let body = maker.statements(depth, 2);
                let condition = maker.expression(&Type::Bool, depth);
                (body, condition, maker.expression(&of, depth))
            })
        });
        let otherwise = self.expression(&of, depth);
        self.declare(&value, &of, true);
        let leave = if self.choices.one_in(3) {
            format!("if {inner} > 2 {{ continue {label}; }}\n")
        } else {
            String::new()
        };
        format!(
            "let mut {outer} = 0u32;\nlet mut {value}: {} = {label}: loop {{\n{outer} += 1;\n\
             if {outer} > {bound} {{ break {otherwise}; }}\nfor {inner} in 0..{bound_inside}u32 {{\n{body}\
             {leave}if {condition} {{ break {label} {found}; }}\n}}\n}};",
            of.name()
        )
    }

    /// A loop over an array's elements, changing them.
    fn slice_loop(&mut self, depth: u32) -> String {
        let (array, element) = (self.name("a"), Type::Int(Int::choose(&mut self.choices)));
        let length = self.choices.between(1, 8) as usize;
        let of = Type::Array(Box::new(element.clone()), length);
        let value = self.expression(&of, depth);
        let (place, number) = (self.name("e"), self.name("n"));
        let body = self.repeated(length as u64, |maker| {
            maker.pure(|maker| {
                maker.declare(&number, &Type::Int(Int::unsigned(32)), false);
                maker.expression(&element, depth.min(2))
            })
        });
        self.declare(&array, &of, true);
        let how = match self.choices.below(3) {
            0 => format!("{array}.iter_mut()"),
            1 => format!("{array}[..{}].iter_mut()", length / 2 + 1),
            _ => format!("{array}.iter_mut().rev()"),
        };
        format!(
            "let mut {array}: {} = {value};\nfor ({number}, {place}) in {how}.enumerate() {{\n\
             let {number} = {number} as u32;\n*{place} = {place}.wrapping_add({body});\n}}",
            of.name()
        )
    }

    fn let_else(&mut self, depth: u32) -> String {
        let inner = Type::choose_scalar(&mut self.choices);
        let subject = self.expression(&Type::Option(Box::new(inner.clone())), depth);
        let otherwise = self.expression(&inner, depth);
        let name = self.name("v");
        self.declare(&name, &inner, false);
        let bound = self.name("q");
        format!(
            "let {name}: {} = if let Some({bound}) = {subject} {{ {bound} }} else {{ {otherwise} }};",
            inner.name()
        )
    }

    fn swap_or_sort(&mut self, depth: u32) -> String {
        let (array, int) = (self.name("a"), Int::choose(&mut self.choices));
        let length = self.choices.between(1, 8) as usize;
        let of = Type::Array(Box::new(Type::Int(int)), length);
        let value = self.expression(&of, depth.min(2));
        let by = self.choices.below(length as u32);
        let how = match self.choices.below(5) {
            0 => format!("{array}.swap(0, {by});"),
            1 => format!("{array}.reverse();"),
            2 => format!("{array}.rotate_left({by});"),
            3 => format!("{array}.copy_within({by}.., 0);"),
            _ => {
                // By hand: the library's sort is no small thing.
                format!(
                    "for n in 1..{array}.len() {{\nlet mut at = n;\nwhile at > 0 && {array}[at - 1] > {array}[at] {{ {array}.swap(at - 1, at); at -= 1; }}\n}}"
                )
            }
        };
        self.cost += self.times * 64;
        self.declare(&array, &of, true);
        format!("let mut {array}: {} = {value};\n{how}", of.name())
    }
}
