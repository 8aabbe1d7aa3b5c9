//! The types of generated kernels.

use crate::choices::Choices;

/// An integer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Int {
    pub(super) signed: bool,
    /// 8 to 128; `usize` is not among them, so that a width is all there is to know.
    pub(super) bits: u32,
}

impl Int {
    pub(super) const fn unsigned(bits: u32) -> Self {
        Self { signed: false, bits }
    }

    pub(super) const fn signed(bits: u32) -> Self {
        Self { signed: true, bits }
    }

    pub(super) fn name(self) -> String {
        format!("{}{}", if self.signed { 'i' } else { 'u' }, self.bits)
    }

    pub(super) fn choose(choices: &mut Choices) -> Self {
        // 128 bits are rarer: every operation on them is many.
        let bits = *choices.pick(&[32, 64, 8, 16, 32, 64, 8, 16, 32, 64, 128]);
        Self { signed: choices.one_in(2), bits }
    }
}

/// A floating-point type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Float {
    F32,
    F64,
}

impl Float {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F64 => "f64",
        }
    }
}

/// A type of a generated kernel; every one is `Copy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Int(Int),
    Bool,
    Float(Float),
    Char,
    Array(Box<Type>, usize),
    Tuple(Vec<Type>),
    Option(Box<Type>),
    /// A struct of this module, by number.
    Struct(usize),
    /// An enum of this module, by number.
    Enum(usize),
}

impl Type {
    pub(super) const U64: Self = Self::Int(Int::unsigned(64));

    pub(super) fn name(&self) -> String {
        match self {
            Self::Int(int) => int.name(),
            Self::Bool => "bool".into(),
            Self::Float(float) => float.name().into(),
            Self::Char => "char".into(),
            Self::Array(element, length) => format!("[{}; {length}]", element.name()),
            Self::Tuple(parts) => {
                let parts: String = parts.iter().map(|part| format!("{}, ", part.name())).collect();
                format!("({})", parts.trim_end())
            }
            Self::Option(inner) => format!("Option<{}>", inner.name()),
            Self::Struct(number) => format!("S{number}"),
            Self::Enum(number) => format!("E{number}"),
        }
    }

    /// A number, a truth value or a character.
    pub(super) fn choose_scalar(choices: &mut Choices) -> Self {
        match choices.below(10) {
            0..=5 => Self::Int(Int::choose(choices)),
            6 => Self::Bool,
            7 => Self::Float(Float::F32),
            8 => Self::Float(Float::F64),
            _ => Self::Char,
        }
    }
}

/// A struct of named fields, or an enum's variant.
#[derive(Clone, Debug)]
pub(super) struct Fields {
    pub(super) name: String,
    pub(super) fields: Vec<(String, Type)>,
}

/// An enum.
#[derive(Clone, Debug)]
pub(super) struct Enum {
    pub(super) variants: Vec<Fields>,
}

/// A function of the module.
#[derive(Clone, Debug)]
pub(super) struct Function {
    pub(super) name: String,
    pub(super) parameters: Vec<Type>,
    pub(super) result: Type,
}
