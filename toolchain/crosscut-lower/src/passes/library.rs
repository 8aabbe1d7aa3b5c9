//! The device library: what stands in for operations that devices or the SPIR-V writer lack.
//!
//! Each definition is a function in LLVM's assembly, device form, to be inlined.

use super::narrow;

/// The definition of a library function, with the declarations it needs.
pub(crate) fn definition(name: &str) -> Option<String> {
    let name = name.strip_prefix("__crosscut_")?;
    if let Some(dimensions) = name.strip_prefix("record_") {
        return record(dimensions.parse().ok()?);
    }
    let of_numbers = super::bits::definition(name)
        .or_else(|| super::odd_bits::definition(name))
        .or_else(|| super::float_to_int::definition(name));
    if of_numbers.is_some() {
        return of_numbers;
    }
    if let Some((operation, kind)) = name.split_once(".with.overflow.i") {
        return overflow(operation, kind.parse().ok()?);
    }
    if let Some(kind) = name.strip_prefix("fmuladd.") {
        return fmuladd(kind);
    }
    if let Some(kinds) = name.strip_prefix("scmp.").or_else(|| name.strip_prefix("ucmp.")) {
        return three_way(&name[..1], kinds);
    }
    if let Some(rest) = name.strip_prefix("narrow.") {
        return narrow::definition(rest);
    }
    if let Some(spaces) = name.strip_prefix("memmove.p") {
        return memmove(spaces);
    }
    if let Some(kind) = name.strip_prefix("ldexp.").and_then(|kinds| kinds.strip_suffix(".i32")) {
        return ldexp(kind);
    }
    match name {
        "memcmp" | "bcmp" => Some(memcmp(name)),
        "umulh.i64" => Some(UMULH.into()),
        _ => None,
    }
}

/// The upper half of a 64-bit product.
const UMULH: &str = "\
define internal i64 @__crosscut_umulh.i64(i64 %a, i64 %b) alwaysinline {
  %r = call i64 @_Z6mul_himm(i64 %a, i64 %b)
  ret i64 %r
}
declare i64 @_Z6mul_himm(i64, i64) nounwind willreturn memory(none)
";

/// Records a panic: the first one wins, and writes its operands beside it.
fn record(dimensions: u8) -> Option<String> {
    let id = |dimension: u8| {
        format!("  %id{dimension} = call i64 @_Z13get_global_idj(i32 {dimension})\n")
    };
    let size = |dimension: u8| {
        format!("  %size{dimension} = call i64 @_Z15get_global_sizej(i32 {dimension})\n")
    };
    // The linear index, last dimension fastest, which is OpenCL's dimension 0.
    let item = match dimensions {
        0 => "  %item = add i64 0, 0\n".to_owned(),
        1 => format!("{}  %item = add i64 %id0, 0\n", id(0)),
        2 => format!(
            "{}{}{}  %row = mul i64 %id1, %size0\n  %item = add i64 %row, %id0\n",
            id(0),
            id(1),
            size(0)
        ),
        3 => format!(
            "{}{}{}{}{}  %plane = mul i64 %id2, %size1\n  %rows = add i64 %plane, %id1\n  \
             %row = mul i64 %rows, %size0\n  %item = add i64 %row, %id0\n",
            id(0),
            id(1),
            id(2),
            size(0),
            size(1)
        ),
        _ => return None,
    };
    Some(format!(
        "define internal void @__crosscut_record_{dimensions}(ptr addrspace(1) %record, i32 %site, i64 %a, i64 %b) alwaysinline {{
start:
{item}  %pair = cmpxchg ptr addrspace(1) %record, i32 0, i32 %site syncscope(\"device\") monotonic monotonic, align 8
  %won = extractvalue {{ i32, i1 }} %pair, 1
  br i1 %won, label %first, label %done
first:
  %pi = getelementptr i8, ptr addrspace(1) %record, i64 8
  store i64 %item, ptr addrspace(1) %pi, align 8
  %pa = getelementptr i8, ptr addrspace(1) %record, i64 16
  store i64 %a, ptr addrspace(1) %pa, align 8
  %pb = getelementptr i8, ptr addrspace(1) %record, i64 24
  store i64 %b, ptr addrspace(1) %pb, align 8
  br label %done
done:
  ret void
}}
declare i64 @_Z13get_global_idj(i32) nounwind willreturn memory(none)
declare i64 @_Z15get_global_sizej(i32) nounwind willreturn memory(none)
"
    ))
}

/// Arithmetic that says whether it overflowed.
fn overflow(operation: &str, bits: u32) -> Option<String> {
    let body = match (operation, bits) {
        ("uadd", _) => "  %r = add iN %a, %b\n  %o = icmp ult iN %r, %a\n".to_owned(),
        ("usub", _) => "  %r = sub iN %a, %b\n  %o = icmp ult iN %a, %b\n".to_owned(),
        // Overflow if the operands agree in sign and the result does not.
        ("sadd", _) => "  %r = add iN %a, %b\n  %xa = xor iN %r, %a\n  %xb = xor iN %r, %b\n  \
                        %x = and iN %xa, %xb\n  %o = icmp slt iN %x, 0\n"
            .to_owned(),
        ("ssub", _) => "  %r = sub iN %a, %b\n  %xa = xor iN %a, %b\n  %xb = xor iN %r, %a\n  \
                        %x = and iN %xa, %xb\n  %o = icmp slt iN %x, 0\n"
            .to_owned(),
        ("umul" | "smul", 8 | 16 | 32) => {
            let extend = if operation == "umul" { "zext" } else { "sext" };
            format!(
                "  %wa = {extend} iN %a to i64\n  %wb = {extend} iN %b to i64\n  \
                 %w = mul i64 %wa, %wb\n  %r = trunc i64 %w to iN\n  %back = {extend} iN %r to i64\n  \
                 %o = icmp ne i64 %w, %back\n"
            )
        }
        ("umul", 64) => "  %r = mul i64 %a, %b\n  %h = call i64 @_Z6mul_himm(i64 %a, i64 %b)\n  \
                         %o = icmp ne i64 %h, 0\n"
            .to_owned(),
        ("smul", 64) => "  %r = mul i64 %a, %b\n  %h = call i64 @_Z6mul_hill(i64 %a, i64 %b)\n  \
                         %s = ashr i64 %r, 63\n  %o = icmp ne i64 %h, %s\n"
            .to_owned(),
        _ => return None,
    };
    let text = format!(
        "define internal {{ iN, i1 }} @__crosscut_{operation}.with.overflow.iN(iN %a, iN %b) alwaysinline {{\n\
         {body}  %p = insertvalue {{ iN, i1 }} poison, iN %r, 0\n  \
         %q = insertvalue {{ iN, i1 }} %p, i1 %o, 1\n  ret {{ iN, i1 }} %q\n}}\n\
         declare i64 @_Z6mul_himm(i64, i64) nounwind willreturn memory(none)\n\
         declare i64 @_Z6mul_hill(i64, i64) nounwind willreturn memory(none)\n"
    );
    Some(text.replace("iN", &format!("i{bits}")))
}

/// A number times a power of two, which the optimiser makes of `exp2` and `pow` of integers.
fn ldexp(kind: &str) -> Option<String> {
    let (scalar, letter) = float(kind)?;
    Some(format!(
        "define internal {scalar} @__crosscut_ldexp.{kind}.i32({scalar} %a, i32 %b) alwaysinline {{\n  \
         %r = call {scalar} @_Z5ldexp{letter}i({scalar} %a, i32 %b)\n  ret {scalar} %r\n}}\n\
         declare {scalar} @_Z5ldexp{letter}i({scalar}, i32) nounwind willreturn memory(none)\n"
    ))
}

/// A float as LLVM's assembly has it, and as OpenCL's names of functions do.
fn float(kind: &str) -> Option<(&'static str, &'static str)> {
    Some(match kind {
        "f32" => ("float", "f"),
        "f64" => ("double", "d"),
        "f16" => ("half", "Dh"),
        _ => return None,
    })
}

/// A product and a sum: OpenCL's fused form is a slow call on CPUs, and Rust asks for none.
fn fmuladd(kind: &str) -> Option<String> {
    let (scalar, _) = float(kind)?;
    Some(format!(
        "define internal {scalar} @__crosscut_fmuladd.{kind}({scalar} %a, {scalar} %b, {scalar} %c) alwaysinline {{\n  \
         %p = fmul {scalar} %a, %b\n  %s = fadd {scalar} %p, %c\n  ret {scalar} %s\n}}\n"
    ))
}

/// Comparison with three answers: -1, 0, 1.
fn three_way(sign: &str, kinds: &str) -> Option<String> {
    let (result, operand) = kinds.split_once('.')?;
    result.strip_prefix('i')?.parse::<u32>().ok()?;
    operand.strip_prefix('i')?.parse::<u32>().ok()?;
    Some(format!(
        "define internal {result} @__crosscut_{sign}cmp.{kinds}({operand} %a, {operand} %b) alwaysinline {{\n  \
         %less = icmp {sign}lt {operand} %a, %b\n  %more = icmp {sign}gt {operand} %a, %b\n  \
         %l = select i1 %less, {result} -1, {result} 0\n  \
         %r = select i1 %more, {result} 1, {result} %l\n  ret {result} %r\n}}\n"
    ))
}

/// A copy that may overlap: SPIR-V's own may not. `spaces` is `1.p4.i64` of `llvm.memmove.p1.p4.i64`.
fn memmove(spaces: &str) -> Option<String> {
    let (to, from) = spaces.strip_suffix(".i64")?.split_once(".p")?;
    to.parse::<u32>().ok()?;
    from.parse::<u32>().ok()?;
    let generic = |name: &str, space: &str| match space {
        "4" => format!("  %{name}.g = getelementptr i8, ptr addrspace(4) %{name}, i64 0\n"),
        _ => format!(
            "  %{name}.g = addrspacecast ptr addrspace({space}) %{name} to ptr addrspace(4)\n"
        ),
    };
    Some(format!(
        "define internal void @__crosscut_memmove.p{spaces}(ptr addrspace({to}) %to, ptr addrspace({from}) %from, i64 %n, i1 %volatile) alwaysinline {{
start:
{}{}  %to.n = ptrtoint ptr addrspace(4) %to.g to i64
  %from.n = ptrtoint ptr addrspace(4) %from.g to i64
  %down = icmp ugt i64 %to.n, %from.n
  br label %head
head:
  %i = phi i64 [ 0, %start ], [ %next, %body ]
  %end = icmp eq i64 %i, %n
  br i1 %end, label %exit, label %body
body:
  %next = add i64 %i, 1
  %back = sub i64 %n, %next
  %at = select i1 %down, i64 %back, i64 %i
  %source = getelementptr i8, ptr addrspace({from}) %from, i64 %at
  %target = getelementptr i8, ptr addrspace({to}) %to, i64 %at
  %byte = load i8, ptr addrspace({from}) %source, align 1
  store i8 %byte, ptr addrspace({to}) %target, align 1
  br label %head
exit:
  ret void
}}
",
        generic("to", to),
        generic("from", from)
    ))
}

fn memcmp(name: &str) -> String {
    format!(
        "define internal i32 @__crosscut_{name}(ptr addrspace(4) %a, ptr addrspace(4) %b, i64 %n) alwaysinline {{
start:
  br label %head
head:
  %i = phi i64 [ 0, %start ], [ %next, %same ]
  %end = icmp eq i64 %i, %n
  br i1 %end, label %equal, label %body
body:
  %pa = getelementptr i8, ptr addrspace(4) %a, i64 %i
  %pb = getelementptr i8, ptr addrspace(4) %b, i64 %i
  %x = load i8, ptr addrspace(4) %pa, align 1
  %y = load i8, ptr addrspace(4) %pb, align 1
  %differ = icmp ne i8 %x, %y
  br i1 %differ, label %found, label %same
same:
  %next = add i64 %i, 1
  br label %head
found:
  %wx = zext i8 %x to i32
  %wy = zext i8 %y to i32
  %d = sub i32 %wx, %wy
  ret i32 %d
equal:
  ret i32 0
}}
"
    )
}

/// The OpenCL name of a function of C's math library.
pub(crate) fn math_function(name: &str) -> Option<String> {
    const ONE: &[&str] = &[
        "acos", "acosh", "asin", "asinh", "atan", "atanh", "cbrt", "cos", "cosh", "exp", "exp2",
        "expm1", "log", "log10", "log1p", "log2", "sin", "sinh", "tan", "tanh", "tgamma", "erf",
        "erfc", "floor", "ceil", "trunc", "rint", "round", "fabs", "sqrt",
    ];
    const TWO: &[&str] = &["atan2", "fdim", "fmod", "hypot", "pow", "fmax", "fmin", "copysign"];
    let (base, letter) = match name.strip_suffix('f') {
        Some(base) if ONE.contains(&base) || TWO.contains(&base) => (base, 'f'),
        _ => (name, 'd'),
    };
    let operands = if ONE.contains(&base) {
        1
    } else if TWO.contains(&base) {
        2
    } else {
        return None;
    };
    let letters = letter.to_string().repeat(operands);
    Some(format!("_Z{}{base}{letters}", base.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_that_may_overlap_goes_down_where_the_target_is_behind() {
        let text = definition("__crosscut_memmove.p0.p1.i64").unwrap();
        assert!(text.contains("%down = icmp ugt i64 %to.n, %from.n"), "{text}");
        assert!(text.contains("load i8, ptr addrspace(1) %source"), "{text}");
        assert!(text.contains("store i8 %byte, ptr addrspace(0) %target"), "{text}");
        assert_eq!(definition("__crosscut_memmove.p0.p1.i32"), None);
    }
}
