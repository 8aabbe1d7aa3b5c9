//! Items beside the kernel: structs, enums, functions, a trait and generic functions over it.

use super::types::{Enum, Fields, Function, Int, Type};
use super::{Maker, STEPS};

impl Maker {
    /// The module's items.
    pub(super) fn items(&mut self) {
        for number in 0..self.choices.below(3) as usize {
            let fields = self.fields(&format!("S{number}"), 1);
            let in_order = self.choices.one_in(2);
            let body = declared(&fields);
            let layout = if in_order { "#[repr(C)]\n" } else { "" };
            self.text +=
                &format!("#[derive(Clone, Copy)]\n{layout}struct S{number} {{ {body}}}\n\n");
            self.structs.push(fields);
        }
        for number in 0..self.choices.below(3) as usize {
            let count = self.choices.between(1, 4);
            let variants: Vec<Fields> = (0..count)
                .map(|variant| {
                    let least = usize::from(variant > 0);
                    self.fields(&format!("V{variant}"), least)
                })
                .collect();
            let body: String = variants
                .iter()
                .map(|variant| format!("{} {{ {}}}, ", variant.name, declared(variant)))
                .collect();
            self.text += &format!("#[derive(Clone, Copy)]\nenum E{number} {{ {body}}}\n\n");
            self.enums.push(Enum { variants });
        }
        self.tables();
        if self.choices.one_in(3) {
            self.mix_trait();
        }
        for _ in 0..self.choices.below(4) {
            self.function();
        }
    }

    fn fields(&mut self, name: &str, least: usize) -> Fields {
        let count = least as u32 + self.choices.below(3);
        let fields = (0..count).map(|number| (format!("f{number}"), self.choose_type(1))).collect();
        Fields { name: name.to_owned(), fields }
    }

    /// Starts a function's body with nothing in sight but these and the module's constants.
    pub(super) fn body<T>(
        &mut self,
        parameters: &[(String, Type)],
        make: impl FnOnce(&mut Self) -> T,
    ) -> (T, u64) {
        let scope = std::mem::replace(&mut self.scope, self.tables.clone());
        let cost = std::mem::take(&mut self.cost);
        for (name, of) in parameters {
            self.declare(name, of, false);
        }
        let made = make(self);
        self.scope = scope;
        (made, std::mem::replace(&mut self.cost, cost))
    }

    fn function(&mut self) {
        let count = self.choices.between(1, 3);
        let parameters: Vec<(String, Type)> =
            (0..count).map(|number| (format!("p{number}"), self.choose_type(1))).collect();
        let result = self.choose_type(1);
        let (text, cost) = self.body(&parameters, |maker| {
            // A function is cheap, so that loops can call it.
            let statements = maker.repeated(STEPS / 3000, |maker| maker.statements(1, 4));
            let leave = if maker.choices.one_in(3) {
                let condition = maker.expression(&Type::Bool, 1);
                format!("if {condition} {{ return {}; }}\n", maker.expression(&result, 1))
            } else {
                String::new()
            };
            format!("{statements}{leave}{}", maker.expression(&result, 2))
        });
        let name = format!("h{}", self.functions.len());
        let list: Vec<String> =
            parameters.iter().map(|(name, of)| format!("{name}: {}", of.name())).collect();
        let inline = *self.choices.pick(&["", "#[inline(never)]\n", "#[inline(always)]\n"]);
        self.text += &format!(
            "{inline}fn {name}({}) -> {} {{\n{text}\n}}\n\n",
            list.join(", "),
            result.name()
        );
        let parameters = parameters.into_iter().map(|(_, of)| of).collect();
        self.functions.push(Function { name, parameters, result });
        self.costs.push(cost + 1);
    }

    /// A trait, what implements it, and a generic function that calls it.
    fn mix_trait(&mut self) {
        self.text += "trait Mix: Copy {\nconst SEED: u64;\nfn mix(self, by: u64) -> u64;\n\
                      fn twice(self, by: u64) -> u64 {\nself.mix(by) ^ self.mix(Self::SEED)\n}\n}\n\n";
        let mut types: Vec<Type> = (0..self.structs.len()).map(Type::Struct).collect();
        types.push(Type::Int(Int::choose(&mut self.choices)));
        types.push(Type::Array(Box::new(Type::Int(Int::unsigned(16))), 3));
        for of in types {
            let seed = self.integer_literal(Int::unsigned(64));
            let parameters = [("self".to_owned(), of.clone()), ("by".to_owned(), Type::U64)];
            let (body, _) = self.body(&parameters, |maker| {
                let hash = maker.name("h");
                let absorbed = maker.absorb(&hash, "self", &of);
                let value = maker.expression(&Type::U64, 2);
                format!("let mut {hash} = by;\n{absorbed}{hash} ^ {value}")
            });
            self.text += &format!(
                "impl Mix for {} {{\nconst SEED: u64 = {seed};\nfn mix(self, by: u64) -> u64 {{\n{body}\n}}\n}}\n\n",
                of.name()
            );
            self.mixable.push(of);
        }
        self.text += "fn mixed<T: Mix, U: Mix>(one: T, other: U, by: u64) -> u64 {\n\
                      if by % 3 == 0 { one.twice(by) } else { other.mix(one.mix(by)) }\n}\n\n";
    }

    /// A call of the generic function.
    pub(super) fn mix_call(&mut self, int: Int, depth: u32) -> String {
        if self.mixable.is_empty() {
            return self.integer_literal(int);
        }
        let (one, other) =
            (self.choices.pick(&self.mixable).clone(), self.choices.pick(&self.mixable).clone());
        let (a, b) = (self.expression(&one, depth), self.expression(&other, depth));
        self.cost += self.times * 40;
        let by = self.expression(&Type::U64, depth);
        format!("(mixed::<{}, {}>({a}, {b}, {by}) as {})", one.name(), other.name(), int.name())
    }
}

fn declared(fields: &Fields) -> String {
    fields.fields.iter().map(|(name, of)| format!("{name}: {}, ", of.name())).collect()
}
