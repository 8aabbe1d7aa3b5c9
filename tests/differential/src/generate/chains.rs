//! Chains of iterators that end in an integer.

use super::Maker;
use super::types::{Int, Type};

impl Maker {
    /// What an iterator chain over some integers folds to.
    pub(super) fn chain(&mut self, int: Int, depth: u32) -> String {
        let length = self.choices.between(1, 8) as usize;
        let element = Int::choose(&mut self.choices);
        let of = Type::Int(element);
        let mut text = match self.choices.below(5) {
            0 => {
                let end = self.expression(&Type::Int(Int::unsigned(8)), depth);
                format!("(0..({end} % {length}) as {})", element.name())
            }
            1 => {
                let array = Type::Array(Box::new(of.clone()), length);
                format!("{}.into_iter()", self.expression(&array, depth))
            }
            2 => {
                // A slice of it, its ends checked by hand.
                let array = Type::Array(Box::new(of.clone()), length);
                let (source, from) =
                    (self.expression(&array, depth), self.expression(&Type::U64, depth));
                if self.may_panic {
                    format!("{source}[({from} % {}) as usize..].iter().copied()", length + 2)
                } else {
                    format!("{source}[({from} % {}) as usize..].iter().copied()", length + 1)
                }
            }
            3 => {
                let array = Type::Array(Box::new(of.clone()), length);
                let name = self.name("w");
                let size = self.choices.between(1, 3);
                let how = *self.choices.pick(&["windows", "chunks", "rchunks", "chunks_exact"]);
                format!(
                    "{}.{how}({size}).map(|{name}| {name}[0] ^ {name}[{name}.len() - 1])",
                    self.expression(&array, depth)
                )
            }
            _ => {
                let first = self.expression(&of, depth);
                let name = self.name("s");
                let next = self.repeated(length as u64, |maker| {
                    maker.pure(|maker| {
                        maker.declare(&name, &of, false);
                        maker.expression(&of, depth.min(2))
                    })
                });
                format!(
                    "std::iter::successors(Some({first}), |{name}| {{ let {name} = *{name}; Some({next}) }}).take({length})"
                )
            }
        };
        for _ in 0..self.choices.below(4) {
            text += &self.link(element, length as u64, depth);
        }
        self.end(&text, element, int, length as u64, depth)
    }

    fn per_element(
        &mut self,
        times: u64,
        of: &Type,
        result: &Type,
        depth: u32,
    ) -> (String, String) {
        let name = self.name("x");
        let body = self.repeated(times, |maker| {
            maker.pure(|maker| {
                maker.declare(&name, of, false);
                maker.expression(result, depth.min(2))
            })
        });
        (name, body)
    }

    /// A link that keeps the type of the elements.
    fn link(&mut self, element: Int, length: u64, depth: u32) -> String {
        let of = Type::Int(element);
        let kind = element.name();
        match self.choices.below(10) {
            0 | 1 => {
                let (name, body) = self.per_element(length, &of, &of, depth);
                format!(".map(|{name}: {kind}| -> {kind} {{ {body} }})")
            }
            2 | 3 => {
                let (name, body) = self.per_element(length, &of, &Type::Bool, depth);
                format!(".filter(|{name}| {{ let {name} = *{name}; {body} }})")
            }
            4 => format!(".skip({})", self.choices.below(4)),
            5 => format!(".take({})", self.choices.below(9)),
            6 => format!(".step_by({})", self.choices.between(1, 3)),
            7 => {
                let (name, body) = self.per_element(length, &of, &Type::Bool, depth);
                format!(".take_while(|{name}| {{ let {name} = *{name}; {body} }})")
            }
            8 => {
                let parts: Vec<String> = (0..self.choices.between(1, 3))
                    .map(|_| self.expression(&of, depth.min(1)))
                    .collect();
                format!(".chain([{}])", parts.join(", "))
            }
            _ => {
                let other = self.expression(&Type::Array(Box::new(of), 5), depth.min(1));
                format!(".zip({other}).map(|(a, b)| a.wrapping_sub(b))")
            }
        }
    }

    fn end(&mut self, chain: &str, element: Int, int: Int, length: u64, depth: u32) -> String {
        let (of, name) = (Type::Int(element), int.name());
        match self.choices.below(8) {
            0 => format!("({chain}.count() as {name})"),
            1 => format!(
                "({chain}.fold(0, |all: {0}, x| all.wrapping_add(x)) as {name})",
                element.name()
            ),
            2 => {
                let how = *self.choices.pick(&["max", "min", "last"]);
                format!("({chain}.{how}().unwrap_or(7) as {name})")
            }
            3 => {
                let (x, body) = self.per_element(length, &of, &Type::Bool, depth);
                let how = *self.choices.pick(&["any", "all"]);
                format!("({chain}.{how}(|{x}: {}| {{ {body} }}) as {name})", element.name())
            }
            4 => {
                let (x, body) = self.per_element(length, &of, &Type::Bool, depth);
                format!(
                    "({chain}.position(|{x}: {}| {{ {body} }}).unwrap_or(99) as {name})",
                    element.name()
                )
            }
            5 => {
                let (x, body) = self.per_element(length, &of, &Type::Int(int), depth);
                format!(
                    "({chain}.enumerate().fold(1, |all: {name}, (n, {x})| all.rotate_left(n as u32) ^ {{ {body} }}))"
                )
            }
            6 if self.may_panic => format!("({chain}.sum::<{}>() as {name})", element.name()),
            _ => format!(
                "({chain}.map(|x| x as u64).reduce(|a, b| a.wrapping_mul(31) ^ b).unwrap_or(3) as {name})"
            ),
        }
    }
}
