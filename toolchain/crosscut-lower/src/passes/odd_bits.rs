//! The part of the device [`library`](super::library) for intrinsics on integers of odd widths, which LLVM makes where
//! it knows that the upper bits do not matter.
//!
//! Each is that of the next larger width, or made of what [`integers`](super::integers) can widen: `bitreverse.i3` is
//! `bitreverse.i8` moved down by five bits.

/// The definition of a function, by its name without prefix: `bitreverse.i3`.
pub(super) fn definition(name: &str) -> Option<String> {
    let (operation, kind) = name.rsplit_once(".i")?;
    let width: u32 = kind.parse().ok()?;
    if !(2..128).contains(&width) || matches!(width, 8 | 16 | 32 | 64) {
        return None;
    }
    let kept = width.next_power_of_two().max(8);
    let spare = kept - width;
    // Of the next larger width, and where its definition is.
    let call = |operation: &str| match (operation, kept) {
        ("ctpop" | "ctlz" | "cttz", 8..=64) => format!("@llvm.{operation}.i{kept}"),
        _ => format!("@__crosscut_{operation}.i{kept}"),
    };
    let (parameters, body, declaration) = match operation {
        "bitreverse" | "bswap" => (
            "iN %x",
            format!(
                "  %w = zext iN %x to iK\n  %c = call iK {}(iK %w)\n  %s = lshr iK %c, {spare}\n  \
                 %r = trunc iK %s to iN\n",
                call(operation)
            ),
            String::new(),
        ),
        "ctpop" => (
            "iN %x",
            format!(
                "  %w = zext iN %x to iK\n  %c = call iK {}(iK %w)\n  %r = trunc iK %c to iN\n",
                call(operation)
            ),
            declared(operation, kept, "iK"),
        ),
        "ctlz" => (
            "iN %x, i1 %any",
            format!(
                "  %w = zext iN %x to iK\n  %c = call iK {}(iK %w, i1 false)\n  \
                 %s = sub iK %c, {spare}\n  %r = trunc iK %s to iN\n",
                call(operation)
            ),
            declared(operation, kept, "iK, i1"),
        ),
        "cttz" => (
            "iN %x, i1 %any",
            // The bit above the last one ends the count.
            format!(
                "  %w = zext iN %x to iK\n  %o = or iK %w, {}\n  \
                 %c = call iK {}(iK %o, i1 false)\n  %r = trunc iK %c to iN\n",
                1_i128 << width,
                call(operation)
            ),
            declared(operation, kept, "iK, i1"),
        ),
        "umin" | "umax" | "smin" | "smax" => {
            let end = if operation.ends_with("min") { "lt" } else { "gt" };
            let body = format!(
                "  %t = icmp {}{end} iN %a, %b\n  %r = select i1 %t, iN %a, iN %b\n",
                &operation[..1]
            );
            ("iN %a, iN %b", body, String::new())
        }
        "abs" => (
            "iN %x, i1 %any",
            "  %m = sub iN 0, %x\n  %t = icmp slt iN %x, 0\n  %r = select i1 %t, iN %m, iN %x\n"
                .to_owned(),
            String::new(),
        ),
        "fshl" | "fshr" => ("iN %a, iN %b, iN %c", funnel(operation, width), String::new()),
        // Of 127 bits the largest number plus one is none.
        "uadd.sat" | "usub.sat" | "sadd.sat" | "ssub.sat" if width < 127 => {
            ("iN %a, iN %b", saturate(operation, width), String::new())
        }
        _ => return None,
    };
    let text = format!(
        "define internal iN @__crosscut_{operation}.iN({parameters}) alwaysinline {{\n{body}  ret iN %r\n}}\n{declaration}"
    );
    Some(text.replace("iN", &format!("i{width}")).replace("iK", &format!("i{kept}")))
}

/// The declaration of LLVM's own, where that is called.
fn declared(operation: &str, kept: u32, parameters: &str) -> String {
    if kept == 128 {
        return String::new();
    }
    format!("declare iK @llvm.{operation}.iK({parameters})\n")
}

/// A funnel shift. Shifts by the whole width are defined in the larger one, and leave nothing of it.
fn funnel(operation: &str, width: u32) -> String {
    let (left, right) = if operation == "fshl" { ("%s", "%d") } else { ("%d", "%s") };
    format!(
        "  %wa = zext iN %a to iK\n  %wb = zext iN %b to iK\n  %wc = zext iN %c to iK\n  \
         %s = urem iK %wc, {width}\n  %d = sub iK {width}, %s\n  %x = shl iK %wa, {left}\n  \
         %y = lshr iK %wb, {right}\n  %o = or iK %x, %y\n  %r = trunc iK %o to iN\n"
    )
}

/// A sum or difference, which the larger width holds, cut to what the smaller one can be.
fn saturate(operation: &str, width: u32) -> String {
    let (extend, opcode) =
        (if operation.starts_with('u') { "zext" } else { "sext" }, &operation[1..4]);
    let value = format!(
        "  %wa = {extend} iN %a to iK\n  %wb = {extend} iN %b to iK\n  %v = {opcode} iK %wa, %wb\n"
    );
    if operation == "uadd.sat" {
        // The larger width may have one bit more, which the sum then needs.
        let most = (1_i128 << width) - 1;
        return format!(
            "{value}  %t = icmp ugt iK %v, {most}\n  %m = select i1 %t, iK {most}, iK %v\n  \
             %r = trunc iK %m to iN\n"
        );
    }
    let (least, most) = match operation {
        "usub.sat" => (0, (1_i128 << width) - 1),
        _ => (-(1_i128 << (width - 1)), (1_i128 << (width - 1)) - 1),
    };
    format!(
        "{value}  %tl = icmp slt iK %v, {least}\n  %l = select i1 %tl, iK {least}, iK %v\n  \
         %tm = icmp sgt iK %l, {most}\n  %m = select i1 %tm, iK {most}, iK %l\n  \
         %r = trunc iK %m to iN\n"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bits_of_the_next_larger_width_move_down() {
        assert_eq!(
            definition("bitreverse.i3").unwrap(),
            "define internal i3 @__crosscut_bitreverse.i3(i3 %x) alwaysinline {\n  \
             %w = zext i3 %x to i8\n  %c = call i8 @__crosscut_bitreverse.i8(i8 %w)\n  \
             %s = lshr i8 %c, 5\n  %r = trunc i8 %s to i3\n  ret i3 %r\n}\n"
        );
    }

    #[test]
    fn counts_of_more_than_a_word_are_the_librarys() {
        let wide = definition("ctlz.i100").unwrap();
        assert!(wide.contains("call i128 @__crosscut_ctlz.i128(i128 %w, i1 false)"), "{wide}");
        assert!(!wide.contains("declare"), "{wide}");
        let narrow = definition("cttz.i24").unwrap();
        assert!(narrow.contains("or i32 %w, 16777216\n"), "{narrow}");
        assert!(narrow.ends_with("declare i32 @llvm.cttz.i32(i32, i1)\n"), "{narrow}");
    }

    #[test]
    fn sums_without_sign_use_the_last_spare_bit() {
        let text = definition("uadd.sat.i7").unwrap();
        let cut = "  %t = icmp ugt i8 %v, 127\n  %m = select i1 %t, i8 127, i8 %v\n";
        assert!(text.contains(cut), "{text}");
    }

    #[test]
    fn widths_that_devices_have_are_not_made_here() {
        for name in
            ["ctpop.i8", "ctpop.i64", "bitreverse.i128", "ctpop.i1", "sqrt.f32", "ctpop.v4i3"]
        {
            assert_eq!(definition(name), None, "{name}");
        }
    }
}
