//! Values that are constants, and tables of them, which every function of the module sees.

use super::Maker;
use super::types::Type;

impl Maker {
    /// An expression that the compiler evaluates.
    pub(super) fn constant(&mut self, of: &Type) -> String {
        match of {
            Type::Int(int) => self.integer_literal(*int),
            Type::Bool => self.choices.pick(&["false", "true"]).to_string(),
            Type::Float(float) => self.float_literal(*float),
            Type::Char => self.character(0),
            Type::Array(element, length) => {
                if self.choices.one_in(4) {
                    return format!("[{}; {length}]", self.constant(element));
                }
                let parts: Vec<String> = (0..*length).map(|_| self.constant(element)).collect();
                format!("[{}]", parts.join(", "))
            }
            Type::Tuple(parts) => {
                let parts: String = parts.iter().map(|part| self.constant(part) + ", ").collect();
                format!("({})", parts.trim_end())
            }
            Type::Option(inner) => match self.choices.below(3) {
                0 => "None".to_owned(),
                _ => format!("Some({})", self.constant(inner)),
            },
            Type::Struct(number) => {
                let fields = self.structs[*number].fields.clone();
                format!("S{number} {{ {}}}", self.constant_fields(&fields))
            }
            Type::Enum(number) => {
                let variants = self.enums[*number].variants.clone();
                let variant = self.choices.pick(&variants).clone();
                let fields = self.constant_fields(&variant.fields);
                format!("E{number}::{} {{ {fields}}}", variant.name)
            }
        }
    }

    fn constant_fields(&mut self, fields: &[(String, Type)]) -> String {
        fields.iter().map(|(name, of)| format!("{name}: {}, ", self.constant(of))).collect()
    }

    /// Statics that nobody changes: constants of the device's code, with gaps where the types have them.
    pub(super) fn tables(&mut self) {
        if !self.choices.one_in(3) {
            return;
        }
        for number in 0..self.choices.between(1, 2) {
            let element = self.choose_type(1);
            let of = Type::Array(Box::new(element), self.choices.between(1, 6) as usize);
            let value = self.constant(&of);
            let keyword = *self.choices.pick(&["static", "const"]);
            self.text += &format!("{keyword} K{number}: {} = {value};\n\n", of.name());
            self.declare(&format!("K{number}"), &of, false);
        }
        self.tables = self.scope.clone();
    }
}
