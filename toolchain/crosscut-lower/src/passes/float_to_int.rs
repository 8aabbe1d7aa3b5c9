//! The part of the device [`library`](super::library) that makes integers of floating point, as Rust's `as` does:
//! towards zero, to the nearest end where it does not fit, 0 for NaN.
//!
//! SPIR-V has conversions that saturate, of which OpenCL does not promise what becomes of NaN: Intel's CPU runtime makes
//! the largest `u32` of it on processors with AVX-512. So every end is chosen here. What the plain conversion makes of a
//! value that does not fit, which is the device's own affair to OpenCL, is computed and not chosen.

/// The definition of a function, by its name without prefix: `fptoui.sat.i32.f32`.
pub(super) fn definition(name: &str) -> Option<String> {
    let (operation, kinds) = name.split_once(".sat.i")?;
    let (width, kind) = kinds.split_once('.')?;
    let float = match kind {
        "f32" => "float",
        "f64" => "double",
        _ => return None,
    };
    let width: u32 = width.parse().ok()?;
    if !matches!(operation, "fptoui" | "fptosi") {
        return None;
    }
    match width {
        1..=64 => Some(narrow(operation, width, kind, float)),
        128 => Some(wide(operation, kind)),
        _ => None,
    }
}

/// To what a device converts to by itself, as long as it fits.
fn narrow(operation: &str, width: u32, kind: &str, float: &str) -> String {
    let signed = operation == "fptosi";
    let digits = if signed { width - 1 } else { width };
    // Powers of two, as LLVM writes them for both types.
    let end = (1023 + u64::from(digits)) << 52;
    let (low, lowest, highest) = match signed {
        true => (end | 1 << 63, -1_i128 << digits, (1_i128 << digits) - 1),
        false => (0, 0, -1),
    };
    // Where 0 is the lowest, it is what becomes of NaN too.
    let (is_low, result) = match signed {
        true => (
            "ole",
            format!(
                "  %is.number = fcmp ord {float} %x, 0.0
  %result = select i1 %is.number, i{width} %limited, i{width} 0
  ret i{width} %result
"
            ),
        ),
        false => ("ule", format!("  ret i{width} %limited\n")),
    };
    format!(
        "define internal i{width} @__crosscut_{operation}.sat.i{width}.{kind}({float} %x) alwaysinline {{
  %inside = {operation} {float} %x to i{width}
  %is.low = fcmp {is_low} {float} %x, 0x{low:016X}
  %above = select i1 %is.low, i{width} {lowest}, i{width} %inside
  %is.high = fcmp oge {float} %x, 0x{end:016X}
  %limited = select i1 %is.high, i{width} {highest}, i{width} %above
{result}}}
"
    )
}

/// To 128 bits, which [`integers`](super::integers) can split.
fn wide(operation: &str, kind: &str) -> String {
    let name = format!("{operation}.sat.i128.{kind}");
    if kind == "f32" {
        return format!(
            "define internal i128 @__crosscut_{name}(float %x) alwaysinline {{\n  \
             %d = fpext float %x to double\n  \
             %r = call i128 @__crosscut_{operation}.sat.i128.f64(double %d)\n  ret i128 %r\n}}\n"
        );
    }
    if operation == "fptosi" {
        return format!(
            "define internal i128 @__crosscut_{name}(double %x) alwaysinline {{
  %magnitude = call double @llvm.fabs.f64(double %x)
  %m = call i128 @__crosscut_fptoui.sat.i128.f64(double %magnitude)
  %negative = fcmp olt double %x, 0.0
  %large = icmp slt i128 %m, 0
  %low = sub i128 0, %m
  %low.limited = select i1 %large, i128 {}, i128 %low
  %high = select i1 %large, i128 {}, i128 %m
  %r = select i1 %negative, i128 %low.limited, i128 %high
  ret i128 %r
}}
declare double @llvm.fabs.f64(double)
",
            i128::MIN,
            i128::MAX
        );
    }
    format!(
        "define internal i128 @__crosscut_{name}(double %x) alwaysinline {{
  %bits = bitcast double %x to i64
  %field = lshr i64 %bits, 52
  %power = and i64 %field, 2047
  %fraction = and i64 %bits, 4503599627370495
  %mantissa = or i64 %fraction, 4503599627370496
  %m = zext i64 %mantissa to i128
  %left = sub i64 %power, 1075
  %right = sub i64 1075, %power
  %small = icmp slt i64 %left, 0
  %l = and i64 %left, 127
  %r = and i64 %right, 127
  %lw = zext i64 %l to i128
  %rw = zext i64 %r to i128
  %up = shl i128 %m, %lw
  %down = lshr i128 %m, %rw
  %v = select i1 %small, i128 %down, i128 %up
  %large = fcmp oge double %x, 0x47F0000000000000
  %limited = select i1 %large, i128 -1, i128 %v
  %enough = fcmp oge double %x, 1.0
  %result = select i1 %enough, i128 %limited, i128 0
  ret i128 %result
}}
"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ends_are_those_of_the_integer() {
        let ends = |name: &str| {
            let text = definition(name).unwrap();
            let line = |mark: &str| {
                let line = text.lines().find(|line| line.contains(mark)).unwrap();
                line.rsplit_once(", ").unwrap().1.to_owned()
            };
            let lowest = text.lines().find(|line| line.contains("%above =")).unwrap();
            let lowest = lowest.split(", ").nth(1).unwrap().to_owned();
            (line("%is.low ="), lowest, line("%is.high ="))
        };
        let of = |low: f64, lowest: &str, high: f64| {
            let hex = |number: f64| format!("0x{:016X}", number.to_bits());
            (hex(low), lowest.to_owned(), hex(high))
        };
        assert_eq!(ends("fptosi.sat.i8.f32"), of(-128.0, "i8 -128", 128.0));
        assert_eq!(ends("fptoui.sat.i32.f32"), of(0.0, "i32 0", 4_294_967_296.0));
        let lowest = "i64 -9223372036854775808";
        assert_eq!(ends("fptosi.sat.i64.f64"), of(-2_f64.powi(63), lowest, 2_f64.powi(63)));
    }

    #[test]
    fn other_conversions_are_left_alone() {
        for name in
            ["fptoui.sat.i32.f16", "uadd.sat.i32", "fptoui.sat.v4i32.v4f32", "fptosi.sat.i256.f64"]
        {
            assert_eq!(definition(name), None, "{name}");
        }
        for name in ["fptoui.sat.i128.f32", "fptosi.sat.i128.f64", "fptoui.sat.i1.f64"] {
            let text = definition(name).unwrap();
            assert!(text.contains(&format!("@__crosscut_{name}(")), "{name}: {text}");
        }
    }
}
