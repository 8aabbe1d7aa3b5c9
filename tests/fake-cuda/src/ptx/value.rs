//! Types and what is computed with them.

/// What the bits of a value mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meaning {
    Bits,
    Unsigned,
    Signed,
    Float,
}

/// A type: how many bytes, and what they mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Type {
    pub(super) meaning: Meaning,
    pub(super) size: usize,
}

/// What is computed of two values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Two {
    Add,
    Sub,
    MulLo,
    MulHi,
    /// Twice as wide as what it is computed of.
    MulWide,
    Div,
    Rem,
    Min,
    Max,
    And,
    Or,
    Xor,
    Shl,
    Shr,
}

/// How two values compare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Compare {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Type {
    /// The type of a name, without its dot.
    pub(super) fn named(name: &str) -> Option<Self> {
        let (meaning, bits) = name.split_at_checked(1)?;
        let meaning = match meaning {
            "b" => Meaning::Bits,
            "u" => Meaning::Unsigned,
            "s" => Meaning::Signed,
            "f" => Meaning::Float,
            _ => return None,
        };
        let size = match bits {
            "8" => 1,
            "16" => 2,
            "32" => 4,
            "64" => 8,
            _ => return None,
        };
        (meaning != Meaning::Float || size >= 4).then_some(Self { meaning, size })
    }

    /// The bits of this type alone.
    pub(super) fn narrow(self, bits: u64) -> u64 {
        if self.size == 8 { bits } else { bits & ((1 << (8 * self.size)) - 1) }
    }

    /// The number that the bits are, of a signed type.
    fn signed(self, bits: u64) -> i64 {
        let unused = 64 - 8 * self.size as u32;
        (bits << unused).cast_signed() >> unused
    }

    fn float(self, bits: u64) -> f64 {
        if self.size == 8 { f64::from_bits(bits) } else { f32::from_bits(bits as u32).into() }
    }

    fn of_float(self, value: f64) -> u64 {
        if self.size == 8 { value.to_bits() } else { u64::from((value as f32).to_bits()) }
    }

    /// The bits as wide as they get, keeping the number.
    fn widened(self, bits: u64) -> i128 {
        let bits = self.narrow(bits);
        if self.meaning == Meaning::Signed { self.signed(bits).into() } else { bits.into() }
    }

    /// Computes; `None` where nothing is defined.
    pub(super) fn two(self, what: Two, a: u64, b: u64) -> Option<u64> {
        if self.meaning == Meaning::Float {
            let (a, b) = (self.float(a), self.float(b));
            // One operation of `f64`, rounded once more to `f32`, is that of `f32`.
            let value = match what {
                Two::Add => a + b,
                Two::Sub => a - b,
                Two::MulLo => a * b,
                Two::Div => a / b,
                Two::Min => a.min(b),
                Two::Max => a.max(b),
                _ => return None,
            };
            return Some(self.of_float(value));
        }
        if let Two::Shl | Two::Shr = what {
            // Shifts are by 32 bits, and clamp.
            let by = u32::try_from(b & 0xffff_ffff).unwrap_or(u32::MAX).min(127);
            let a = self.widened(a);
            let value = if what == Two::Shl { a.checked_shl(by).unwrap_or(0) } else { a >> by };
            return Some(self.narrow(value as u64));
        }
        let (a, b) = (self.widened(a), self.widened(b));
        let value = match what {
            Two::Add => a + b,
            Two::Sub => a - b,
            Two::MulLo => a.wrapping_mul(b),
            Two::MulHi => a.wrapping_mul(b) >> (8 * self.size),
            Two::MulWide => {
                let wide = Self { size: 2 * self.size, ..self };
                return Some(wide.narrow(a.wrapping_mul(b) as u64));
            }
            // Division by zero has some value.
            Two::Div => a.checked_div(b).unwrap_or(-1),
            Two::Rem => a.checked_rem(b).unwrap_or(a),
            Two::Min => a.min(b),
            Two::Max => a.max(b),
            Two::And => a & b,
            Two::Or => a | b,
            Two::Xor => a ^ b,
            Two::Shl | Two::Shr => return None,
        };
        Some(self.narrow(value as u64))
    }

    pub(super) fn compare(self, how: Compare, a: u64, b: u64) -> bool {
        let order = if self.meaning == Meaning::Float {
            self.float(a).partial_cmp(&self.float(b))
        } else {
            Some(self.widened(a).cmp(&self.widened(b)))
        };
        let Some(order) = order else { return false };
        match how {
            Compare::Eq => order.is_eq(),
            Compare::Ne => order.is_ne(),
            Compare::Lt => order.is_lt(),
            Compare::Le => order.is_le(),
            Compare::Gt => order.is_gt(),
            Compare::Ge => order.is_ge(),
        }
    }

    /// The value of another type as one of this one.
    pub(super) fn convert(self, from: Self, bits: u64) -> u64 {
        let (to_float, from_float) =
            (self.meaning == Meaning::Float, from.meaning == Meaning::Float);
        match (from_float, to_float) {
            (false, false) => self.narrow(from.widened(bits) as u64),
            (false, true) => self.of_float(from.widened(bits) as f64),
            (true, true) => self.of_float(from.float(bits)),
            (true, false) => {
                let value = from.float(bits) as i128;
                let bits = 8 * self.size as u32;
                let (least, most) = match self.meaning {
                    Meaning::Signed => (-(1_i128 << (bits - 1)), (1_i128 << (bits - 1)) - 1),
                    _ => (0, (1_i128 << bits) - 1),
                };
                self.narrow(value.clamp(least, most) as u64)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(name: &str) -> Type {
        Type::named(name).unwrap()
    }

    #[test]
    fn integers_wrap_and_signs_are_kept() {
        assert_eq!(of("u32").two(Two::Add, 0xffff_ffff, 2), Some(1));
        assert_eq!(of("s32").two(Two::Div, 0xffff_fff8, 2), Some(0xffff_fffc));
        assert_eq!(of("s32").two(Two::MulWide, 0xffff_ffff, 3), Some(-3_i64 as u64));
        assert_eq!(of("u32").two(Two::MulWide, 0xffff_ffff, 3), Some(0x2_ffff_fffd));
        assert_eq!(of("u64").two(Two::MulLo, u64::MAX, u64::MAX), Some(1));
        assert_eq!(of("s32").two(Two::Shr, 0x8000_0000, 40), Some(0xffff_ffff));
        assert_eq!(of("b32").two(Two::Shl, 1, 32), Some(0));
    }

    #[test]
    fn floats_and_integers_convert() {
        let bits = |value: f32| u64::from(value.to_bits());
        assert_eq!(of("f32").two(Two::Add, bits(1.5), bits(2.0)), Some(bits(3.5)));
        assert_eq!(of("s32").convert(of("f32"), bits(-2.9)), 0xffff_fffe);
        assert_eq!(of("u32").convert(of("f32"), bits(-2.9)), 0);
        assert_eq!(of("u64").convert(of("s32"), 0xffff_ffff), u64::MAX);
        assert!(!of("f32").compare(Compare::Eq, bits(f32::NAN), bits(f32::NAN)));
        assert!(of("s32").compare(Compare::Lt, 0xffff_ffff, 0));
        assert!(!of("u32").compare(Compare::Lt, 0xffff_ffff, 0));
        assert_eq!((Type::named("f16"), Type::named("v2"), Type::named("")), (None, None, None));
    }
}
