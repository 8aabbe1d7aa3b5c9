//! The part of the device [`library`](super::library) that is about bits: reversing, rotating,
//! counting, and the 128-bit integers that SPIR-V lacks.
//!
//! Functions on `i128` use only what [`integers`](super::integers) can split: sums, products, shifts,
//! comparisons, choices.

/// The definition of a function, by its name without prefix: `bitreverse.i32`.
pub(super) fn definition(name: &str) -> Option<String> {
    let (operation, kind) = name.split_once('.')?;
    let wide = kind == "i128";
    let width: u32 = kind.strip_prefix('i').and_then(|width| width.parse().ok()).unwrap_or(0);
    let text = match (operation, kind) {
        ("bitreverse" | "bswap", _) if matches!(width, 8 | 16 | 32 | 64) => {
            reverse(operation, width)
        }
        ("bitreverse" | "bswap", _) if wide => REVERSE_WIDE.replace("OPERATION", operation),
        ("fshl" | "fshr", _) if width.is_power_of_two() && width >= 8 => funnel(operation, width),
        ("ctpop", "i128") => COUNT_ONES.to_owned(),
        ("ctlz" | "cttz", "i128") => count_zeros(operation),
        ("umin" | "umax" | "smin" | "smax", "i128") => choose(operation),
        ("abs", "i128") => ABSOLUTE.to_owned(),
        ("uadd" | "usub" | "sadd" | "ssub", "sat.i128") => saturate(operation),
        ("umul", "with.overflow.i128") => UMUL.to_owned(),
        ("smul", "with.overflow.i128") => SMUL.to_owned(),
        ("udiv" | "urem", "i128") => divide(operation),
        ("sdiv" | "srem", "i128") => divide_signed(operation),
        ("uitofp" | "sitofp", "f32" | "f64") => to_float(operation, kind),
        _ => return None,
    };
    Some(text)
}

/// Swaps neighbours of growing size: bits, pairs, fours, bytes and so on.
fn reverse(operation: &str, width: u32) -> String {
    let kind = format!("i{width}");
    let mut text = format!(
        "define internal {kind} @__crosscut_{operation}.{kind}({kind} %x0) alwaysinline {{\n"
    );
    let mut step = if operation == "bswap" { 8 } else { 1 };
    let mut at = 0;
    while step < width {
        // Every second group of `step` bits.
        let group = (1u64 << step) - 1;
        let mask = (0..width / (2 * step)).fold(0u64, |mask, i| mask | group << (2 * step * i));
        let mask = mask.cast_signed();
        let next = at + 1;
        text += &format!(
            "  %d{at} = lshr {kind} %x{at}, {step}\n  %l{at} = and {kind} %d{at}, {mask}\n  \
             %m{at} = and {kind} %x{at}, {mask}\n  %u{at} = shl {kind} %m{at}, {step}\n  \
             %x{next} = or {kind} %l{at}, %u{at}\n"
        );
        at = next;
        step *= 2;
    }
    text + &format!("  ret {kind} %x{at}\n}}\n")
}

const REVERSE_WIDE: &str = "\
define internal i128 @__crosscut_OPERATION.i128(i128 %x) alwaysinline {
  %low = trunc i128 %x to i64
  %up = lshr i128 %x, 64
  %high = trunc i128 %up to i64
  %a = call i64 @__crosscut_OPERATION.i64(i64 %low)
  %b = call i64 @__crosscut_OPERATION.i64(i64 %high)
  %wa = zext i64 %a to i128
  %wb = zext i64 %b to i128
  %sa = shl i128 %wa, 64
  %r = or i128 %sa, %wb
  ret i128 %r
}
";

/// A funnel shift, of which a rotation is a case. The other half moves in two steps, because a shift
/// by the whole width is not defined.
fn funnel(operation: &str, width: u32) -> String {
    let (main, other, first, second) = match operation {
        "fshl" => ("%a", "%b", "shl", "lshr"),
        _ => ("%b", "%a", "lshr", "shl"),
    };
    format!(
        "define internal iN @__crosscut_{operation}.iN(iN %a, iN %b, iN %c) alwaysinline {{\n  \
         %s = and iN %c, {most}\n  %i = xor iN %s, {most}\n  %x = {first} iN {main}, %s\n  \
         %y = {second} iN {other}, 1\n  %z = {second} iN %y, %i\n  %r = or iN %x, %z\n  ret iN %r\n}}\n",
        most = width - 1
    )
    .replace("iN", &format!("i{width}"))
}

const COUNT_ONES: &str = "\
define internal i128 @__crosscut_ctpop.i128(i128 %x) alwaysinline {
  %low = trunc i128 %x to i64
  %up = lshr i128 %x, 64
  %high = trunc i128 %up to i64
  %a = call i64 @llvm.ctpop.i64(i64 %low)
  %b = call i64 @llvm.ctpop.i64(i64 %high)
  %s = add i64 %a, %b
  %r = zext i64 %s to i128
  ret i128 %r
}
declare i64 @llvm.ctpop.i64(i64)
";

fn count_zeros(operation: &str) -> String {
    let (first, second) = if operation == "ctlz" { ("high", "low") } else { ("low", "high") };
    format!(
        "define internal i128 @__crosscut_{operation}.i128(i128 %x, i1 %any) alwaysinline {{
  %low = trunc i128 %x to i64
  %up = lshr i128 %x, 64
  %high = trunc i128 %up to i64
  %a = call i64 @llvm.{operation}.i64(i64 %{first}, i1 false)
  %b = call i64 @llvm.{operation}.i64(i64 %{second}, i1 false)
  %more = add i64 %b, 64
  %none = icmp eq i64 %{first}, 0
  %s = select i1 %none, i64 %more, i64 %a
  %r = zext i64 %s to i128
  ret i128 %r
}}
declare i64 @llvm.{operation}.i64(i64, i1)
"
    )
}

fn choose(operation: &str) -> String {
    let test = match operation {
        "umin" => "ult",
        "umax" => "ugt",
        "smin" => "slt",
        _ => "sgt",
    };
    format!(
        "define internal i128 @__crosscut_{operation}.i128(i128 %a, i128 %b) alwaysinline {{\n  \
         %t = icmp {test} i128 %a, %b\n  %r = select i1 %t, i128 %a, i128 %b\n  ret i128 %r\n}}\n"
    )
}

const ABSOLUTE: &str = "\
define internal i128 @__crosscut_abs.i128(i128 %x, i1 %any) alwaysinline {
  %m = sub i128 0, %x
  %t = icmp slt i128 %x, 0
  %r = select i1 %t, i128 %m, i128 %x
  ret i128 %r
}
";

fn saturate(operation: &str) -> String {
    let limit = match operation {
        "uadd" => "  %limit = or i128 -1, 0\n".to_owned(),
        "usub" => "  %limit = or i128 0, 0\n".to_owned(),
        // Whatever overflows goes beyond the end that the first operand is nearer to.
        _ => format!("  %sign = ashr i128 %a, 127\n  %limit = xor i128 %sign, {}\n", i128::MAX),
    };
    format!(
        "define internal i128 @__crosscut_{operation}.sat.i128(i128 %a, i128 %b) alwaysinline {{
  %p = call {{ i128, i1 }} @__crosscut_{operation}.with.overflow.i128(i128 %a, i128 %b)
  %v = extractvalue {{ i128, i1 }} %p, 0
  %o = extractvalue {{ i128, i1 }} %p, 1
{limit}  %r = select i1 %o, i128 %limit, i128 %v
  ret i128 %r
}}
"
    )
}

/// A product overflows if both upper words are in use, or if what the crossed products add to the
/// upper word does not fit there.
const UMUL: &str = "\
define internal { i128, i1 } @__crosscut_umul.with.overflow.i128(i128 %a, i128 %b) alwaysinline {
  %al = trunc i128 %a to i64
  %ua = lshr i128 %a, 64
  %ah = trunc i128 %ua to i64
  %bl = trunc i128 %b to i64
  %ub = lshr i128 %b, 64
  %bh = trunc i128 %ub to i64
  %r = mul i128 %a, %b
  %ta = icmp ne i64 %ah, 0
  %tb = icmp ne i64 %bh, 0
  %both = and i1 %ta, %tb
  %h1 = call i64 @_Z6mul_himm(i64 %ah, i64 %bl)
  %h2 = call i64 @_Z6mul_himm(i64 %al, i64 %bh)
  %h = or i64 %h1, %h2
  %th = icmp ne i64 %h, 0
  %c1 = mul i64 %ah, %bl
  %c2 = mul i64 %al, %bh
  %cross = add i64 %c1, %c2
  %low = call i64 @_Z6mul_himm(i64 %al, i64 %bl)
  %sum = add i64 %low, %cross
  %ts = icmp ult i64 %sum, %cross
  %o1 = or i1 %both, %th
  %o = or i1 %o1, %ts
  %p = insertvalue { i128, i1 } poison, i128 %r, 0
  %q = insertvalue { i128, i1 } %p, i1 %o, 1
  ret { i128, i1 } %q
}
declare i64 @_Z6mul_himm(i64, i64) nounwind willreturn memory(none)
";

const SMUL: &str = "\
define internal { i128, i1 } @__crosscut_smul.with.overflow.i128(i128 %a, i128 %b) alwaysinline {
  %ma = call i128 @__crosscut_abs.i128(i128 %a, i1 false)
  %mb = call i128 @__crosscut_abs.i128(i128 %b, i1 false)
  %u = call { i128, i1 } @__crosscut_umul.with.overflow.i128(i128 %ma, i128 %mb)
  %m = extractvalue { i128, i1 } %u, 0
  %ou = extractvalue { i128, i1 } %u, 1
  %r = mul i128 %a, %b
  %x = xor i128 %a, %b
  %sign = lshr i128 %x, 127
  %most = add i128 %sign, 170141183460469231731687303715884105727
  %om = icmp ugt i128 %m, %most
  %o = or i1 %ou, %om
  %p = insertvalue { i128, i1 } poison, i128 %r, 0
  %q = insertvalue { i128, i1 } %p, i1 %o, 1
  ret { i128, i1 } %q
}
";

/// Division bit by bit; by the device's own instruction if both numbers fit a word.
fn divide(operation: &str) -> String {
    let result = if operation == "udiv" { "%q.next" } else { "%r.next" };
    format!(
        "define internal i128 @__crosscut_{operation}.i128(i128 %a, i128 %b) alwaysinline {{
start:
  %any = or i128 %a, %b
  %upper = lshr i128 %any, 64
  %fits = icmp eq i128 %upper, 0
  br i1 %fits, label %short, label %loop
short:
  %al = trunc i128 %a to i64
  %bl = trunc i128 %b to i64
  %s = {operation} i64 %al, %bl
  %sw = zext i64 %s to i128
  br label %exit
loop:
  %i = phi i32 [ 0, %start ], [ %i.next, %loop ]
  %r = phi i128 [ 0, %start ], [ %r.next, %loop ]
  %q = phi i128 [ %a, %start ], [ %q.next, %loop ]
  %top = lshr i128 %q, 127
  %carry = icmp slt i128 %r, 0
  %r1 = shl i128 %r, 1
  %r2 = or i128 %r1, %top
  %reaches = icmp uge i128 %r2, %b
  %take = or i1 %carry, %reaches
  %less = sub i128 %r2, %b
  %r.next = select i1 %take, i128 %less, i128 %r2
  %q1 = shl i128 %q, 1
  %bit = zext i1 %take to i128
  %q.next = or i128 %q1, %bit
  %i.next = add i32 %i, 1
  %done = icmp eq i32 %i.next, 128
  br i1 %done, label %exit, label %loop
exit:
  %value = phi i128 [ %sw, %short ], [ {result}, %loop ]
  ret i128 %value
}}
"
    )
}

/// Signs by the rule that the remainder has the dividend's.
fn divide_signed(operation: &str) -> String {
    let (unsigned, negative) = if operation == "sdiv" {
        ("udiv", "  %x = xor i128 %a, %b\n  %n = icmp slt i128 %x, 0\n")
    } else {
        ("urem", "  %n = icmp slt i128 %a, 0\n")
    };
    format!(
        "define internal i128 @__crosscut_{operation}.i128(i128 %a, i128 %b) alwaysinline {{
  %ma = call i128 @__crosscut_abs.i128(i128 %a, i1 false)
  %mb = call i128 @__crosscut_abs.i128(i128 %b, i1 false)
  %m = call i128 @__crosscut_{unsigned}.i128(i128 %ma, i128 %mb)
{negative}  %minus = sub i128 0, %m
  %r = select i1 %n, i128 %minus, i128 %m
  ret i128 %r
}}
"
    )
}

/// To floating point, to nearest, ties to even: the leading bits are the mantissa, and what is cut off
/// decides whether it goes up. A carry out of the mantissa falls into the exponent, as it should.
fn to_float(operation: &str, kind: &str) -> String {
    // Mantissa bits without the hidden one, type, and the exponent of 2^127 less one for the hidden bit.
    let (mantissa, float, int, exponent) = match kind {
        "f32" => (23u32, "float", "i32", 127 + 127 - 1),
        _ => (52, "double", "i64", 1023 + 127 - 1),
    };
    let dropped = 127 - mantissa;
    let (magnitude, sign) = if operation == "sitofp" {
        (
            "  %m = call i128 @__crosscut_abs.i128(i128 %v, i1 false)\n",
            format!(
                "  %negative = icmp slt i128 %v, 0\n  %minus = fneg {float} %f\n  \
                 %r = select i1 %negative, {float} %minus, {float} %f\n"
            ),
        )
    } else {
        ("  %m = or i128 %v, 0\n", format!("  %r = select i1 true, {float} %f, {float} %f\n"))
    };
    format!(
        "define internal {float} @__crosscut_{operation}.{kind}(i128 %v) alwaysinline {{
{magnitude}  %zeros = call i128 @__crosscut_ctlz.i128(i128 %m, i1 false)
  %safe = and i128 %zeros, 127
  %y = shl i128 %m, %safe
  %kept = lshr i128 %y, {dropped}
  %cut = shl i128 %y, {left}
  %odd = and i128 %kept, 1
  %up.odd = icmp uge i128 %cut, {half}
  %up.even = icmp ugt i128 %cut, {half}
  %is.odd = icmp ne i128 %odd, 0
  %up = select i1 %is.odd, i1 %up.odd, i1 %up.even
  %add = zext i1 %up to i128
  %rounded = add i128 %kept, %add
  %power = sub i128 {exponent}, %safe
  %field = shl i128 %power, {mantissa}
  %all = add i128 %field, %rounded
  %zero = icmp eq i128 %m, 0
  %bits = select i1 %zero, i128 0, i128 %all
  %word = trunc i128 %bits to {int}
  %f = bitcast {int} %word to {float}
{sign}  ret {float} %r
}}
",
        left = 128 - dropped,
        half = i128::MIN,
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_are_reversed_by_swapping_ever_larger_groups() {
        let text = definition("bitreverse.i8").unwrap();
        let masks: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split_once("= and i8 %x"))
            .map(|and| and.1)
            .collect();
        assert_eq!(masks, ["0, 85", "1, 51", "2, 15"]);
        assert!(definition("bswap.i32").unwrap().contains("lshr i32 %x1, 16"));
    }

    #[test]
    fn a_rotation_by_nothing_shifts_by_nothing_undefined() {
        // The half that comes in moves by one and then by at most 31.
        let text = definition("fshl.i32").unwrap();
        assert!(text.contains("%i = xor i32 %s, 31"), "{text}");
        assert!(text.contains("%y = lshr i32 %b, 1"), "{text}");
        assert_eq!(definition("fshl.i24"), None);
    }

    #[test]
    fn wide_functions_have_their_helpers() {
        for name in [
            "ctpop.i128",
            "ctlz.i128",
            "umin.i128",
            "abs.i128",
            "sadd.sat.i128",
            "umul.with.overflow.i128",
            "smul.with.overflow.i128",
            "udiv.i128",
            "srem.i128",
            "uitofp.f32",
            "sitofp.f64",
        ] {
            let text = definition(name).unwrap_or_else(|| panic!("{name}"));
            assert!(text.contains(&format!("@__crosscut_{name}(")), "{name}: {text}");
        }
    }
}
