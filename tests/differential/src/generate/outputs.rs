//! The kernel's own body, and what it answers: a word of everything in sight, words, approximate numbers.

use super::types::{Float, Type};
use super::{DEPTH, Maker};

impl Maker {
    /// The function `kernel`.
    pub(super) fn kernel_body(&mut self) -> String {
        self.in_kernel = true;
        self.in_world = !self.globals.is_empty();
        self.declare_globals();
        let statements = self.statements(2, 7);
        let words: Vec<String> = (0..3).map(|_| self.expression(&Type::U64, DEPTH)).collect();
        let narrow: Vec<String> = (0..2)
            .map(|slot| {
                let (text, ulps) = self.approximate(Float::F32);
                self.ulps[slot] = ulps;
                text
            })
            .collect();
        let wide: Vec<String> = (0..2)
            .map(|slot| {
                let (text, ulps) = self.approximate(Float::F64);
                self.ulps[2 + slot] = ulps;
                text
            })
            .collect();
        let hash = self.name("hash");
        let mut absorbed = String::new();
        // Constants are known without looking.
        let in_sight = self.scope[self.tables.len()..].to_vec();
        for variable in in_sight {
            absorbed += &self.absorb(&hash, &variable.name, &variable.of);
        }
        let (of, w) = if self.in_world { ("<W: World>", ", w: &W") } else { ("", "") };
        self.in_world = false;
        format!(
            "pub fn kernel{of}(i: usize, inputs: &[u64], cells: &Cells<'_>{w}) -> Out {{\n{statements}\
             let mut {hash} = 0u64;\n{absorbed}\
             Out {{ words: [{hash}, {}], narrow: [{}], wide: [{}] }}\n}}\n",
            words.join(", "),
            narrow.join(", "),
            wide.join(", ")
        )
    }

    /// The function `stage`: what an item of a work-group gives next, from what all gave before.
    pub(super) fn stage(&mut self) {
        self.scope = self.tables.clone();
        self.cost = 0;
        (self.in_kernel, self.in_group) = (true, true);
        self.declare("before", &Type::U64, false);
        let statements = self.statements(1, 4);
        let value = self.expression(&Type::U64, DEPTH);
        self.text += &format!(
            "pub fn stage(i: usize, inputs: &[u64], cells: &Cells<'_>, shared: &[u64], before: u64) -> u64 {{\n\
             {statements}{value}\n}}\n\n"
        );
        (self.in_kernel, self.in_group) = (false, false);
    }

    /// Statements that make `path`, a value of type `of`, part of `hash`.
    pub(super) fn absorb(&mut self, hash: &str, path: &str, of: &Type) -> String {
        match of {
            Type::Int(int) if int.bits == 128 => {
                format!(
                    "absorb(&mut {hash}, {path} as u64);\nabsorb(&mut {hash}, ({path} >> 64) as u64);\n"
                )
            }
            Type::Int(_) | Type::Bool | Type::Char => {
                format!("absorb(&mut {hash}, {path} as u64);\n")
            }
            Type::Float(float) => format!("absorb(&mut {hash}, bits_{}({path}));\n", float.name()),
            Type::Array(element, _) => {
                let name = self.name("e");
                let inside = self.absorb(hash, &name, element);
                format!("for {name} in {path} {{\n{inside}}}\n")
            }
            Type::Tuple(parts) => parts
                .iter()
                .enumerate()
                .map(|(number, part)| self.absorb(hash, &format!("{path}.{number}"), part))
                .collect(),
            Type::Option(inner) => {
                let name = self.name("e");
                let inside = self.absorb(hash, &name, inner);
                format!(
                    "if let Some({name}) = {path} {{\n{inside}}} else {{ absorb(&mut {hash}, 5); }}\n"
                )
            }
            Type::Struct(number) => self.structs[*number]
                .fields
                .clone()
                .iter()
                .map(|(name, part)| self.absorb(hash, &format!("{path}.{name}"), part))
                .collect(),
            Type::Enum(number) => {
                let mut text = format!("match {path} {{\n");
                for (at, variant) in self.enums[*number].variants.clone().iter().enumerate() {
                    let names: Vec<String> =
                        variant.fields.iter().map(|_| self.name("e")).collect();
                    let pattern: String = variant
                        .fields
                        .iter()
                        .zip(&names)
                        .map(|((field, _), name)| format!("{field}: {name}, "))
                        .collect();
                    let inside: String = variant
                        .fields
                        .iter()
                        .zip(&names)
                        .map(|((_, of), name)| self.absorb(hash, name, of))
                        .collect();
                    text += &format!(
                        "E{number}::{} {{ {pattern}}} => {{\nabsorb(&mut {hash}, {at});\n{inside}}}\n",
                        variant.name
                    );
                }
                text + "}\n"
            }
        }
    }
}
