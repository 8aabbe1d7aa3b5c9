//! Arrays, tuples, options, structs and enums, and what is inside them.

use super::Maker;
use super::types::{Fields, Int, Type};

impl Maker {
    /// A value of a type made of others.
    pub(super) fn aggregate(&mut self, of: &Type, depth: u32) -> String {
        let below = depth.saturating_sub(1);
        match of {
            Type::Array(element, length) => self.array(element, *length, below),
            Type::Tuple(parts) => {
                let parts: String =
                    parts.iter().map(|part| self.expression(part, below) + ", ").collect();
                format!("({})", parts.trim_end())
            }
            Type::Option(inner) => self.option(inner, depth),
            Type::Struct(number) => {
                let fields = self.structs[*number].clone();
                self.literal(&format!("S{number}"), &fields, below)
            }
            Type::Enum(number) => {
                let variants = self.enums[*number].variants.clone();
                let variant = self.choices.pick(&variants).clone();
                self.literal(&format!("E{number}::{}", variant.name), &variant, below)
            }
            _ => unreachable!("{of:?} is a scalar"),
        }
    }

    fn literal(&mut self, name: &str, fields: &Fields, depth: u32) -> String {
        let fields: String = fields
            .fields
            .iter()
            .map(|(field, of)| format!("{field}: {}, ", self.expression(of, depth)))
            .collect();
        format!("({name} {{ {fields}}})")
    }

    fn array(&mut self, element: &Type, length: usize, depth: u32) -> String {
        match self.choices.below(5) {
            0 => format!("[{}; {length}]", self.expression(element, depth)),
            1 | 2 => {
                let parts: Vec<String> =
                    (0..length).map(|_| self.expression(element, depth)).collect();
                format!("[{}]", parts.join(", "))
            }
            3 => {
                let name = self.name("n");
                let body = self.repeated(length as u64, |maker| {
                    maker.pure(|maker| {
                        maker.declare(&name, &Type::Int(Int::unsigned(64)), false);
                        maker.expression(element, depth)
                    })
                });
                format!(
                    "std::array::from_fn::<{}, {length}, _>(|{name}| {{ let {name} = {name} as u64; {body} }})",
                    element.name()
                )
            }
            _ => {
                let (name, from) = (self.name("e"), Type::choose_scalar(&mut self.choices));
                let array = Type::Array(Box::new(from.clone()), length);
                let source = self.expression(&array, depth);
                let body = self.repeated(length as u64, |maker| {
                    maker.pure(|maker| {
                        maker.declare(&name, &from, false);
                        maker.expression(element, depth)
                    })
                });
                format!(
                    "{source}.map(|{name}: {}| -> {} {{ {body} }})",
                    from.name(),
                    element.name()
                )
            }
        }
    }

    fn option(&mut self, inner: &Type, depth: u32) -> String {
        let below = depth.saturating_sub(1);
        match self.choices.below(if depth == 0 { 2 } else { 6 }) {
            0 => format!("None::<{}>", inner.name()),
            1 | 2 => format!("Some({})", self.expression(inner, below)),
            3 => {
                let condition = self.expression(&Type::Bool, below);
                format!("{condition}.then_some({})", self.expression(inner, below))
            }
            4 => {
                let array =
                    Type::Array(Box::new(inner.clone()), self.choices.between(1, 5) as usize);
                let (source, index) =
                    (self.expression(&array, below), self.expression(&Type::U64, below));
                format!("{source}.get(({index} % 8) as usize).copied()")
            }
            _ => {
                let name = self.name("o");
                let of = Type::Option(Box::new(inner.clone()));
                let source = self.expression(&of, below);
                let test = self.pure(|maker| {
                    maker.declare(&name, inner, false);
                    maker.expression(&Type::Bool, below)
                });
                format!("{source}.filter(|{name}| {{ let {name} = *{name}; {test} }})")
            }
        }
    }

    /// An element of an array, its index masked, checked, or allowed to be out of bounds.
    pub(super) fn element(&mut self, of: &Type, depth: u32) -> String {
        let (source, length) = if let Some(known) = self.array_in_sight(of) {
            known
        } else {
            let length = self.choices.between(1, 6) as usize;
            let array = Type::Array(Box::new(of.clone()), length);
            (self.expression(&array, depth), length)
        };
        let index = self.expression(&Type::U64, depth);
        match self.choices.below(4) {
            0 | 1 => format!("{source}[{index} as usize % {length}]"),
            2 if self.may_panic => format!("{source}[({index} % {}) as usize]", length + 2),
            _ => {
                let otherwise = self.expression(of, depth.saturating_sub(1));
                format!("{source}.get(({index} % 9) as usize).copied().unwrap_or({otherwise})")
            }
        }
    }

    /// An array that is there already, whatever its length: a variable, a constant or a device global.
    fn array_in_sight(&mut self, element: &Type) -> Option<(String, usize)> {
        let known: Vec<(String, usize)> = (self.scope.iter().rev())
            .filter_map(|variable| match &variable.of {
                Type::Array(of, length) if **of == *element => {
                    Some((variable.name.clone(), *length))
                }
                _ => None,
            })
            .collect();
        (!known.is_empty() && self.choices.one_in(2)).then(|| self.choices.pick(&known).clone())
    }
}
