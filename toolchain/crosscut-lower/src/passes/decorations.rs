//! Says in the SPIR-V what the properties of an image's variables are.
//!
//! Expects the image's kernels together, and only what they reach: drivers crash on decorated variables
//! that no kernel mentions.
//! Leaves the variables with decorations: how the host may access each and its name for that, its
//! global's id, and the two that FPGAs ask about, where the program set them.
//!
//! `@G = internal addrspace(1) global [4 x i8] zeroinitializer` gets `!spirv.Decorations !7`,
//! `!7 = !{!8}` and `!8 = !{i32 6188, i32 3, !"G"}`.

use std::fmt::Write as _;

use crosscut_image::global_properties::{
    CSR_OFF, CSR_ON, HOST_READS, HOST_WRITES, INIT_REPROGRAM, INIT_RESET,
};
use crosscut_image::spirv;

use super::globals::UsedGlobal;
use super::scope;
use crate::ir::{Ir, Kind};
use crate::names;

/// Runs the pass on an image that uses these globals.
pub(crate) fn run(ir: &mut Ir, used: &[UsedGlobal]) {
    let (own, _) = scope::split(used);
    let mut next = first_free(ir);
    let mut metadata = String::new();
    for item in &mut ir.items {
        let is_own = own.iter().any(|variable| variable.1 == item.name);
        if item.kind != Kind::Variable || !is_own {
            continue;
        }
        let Some(global) = used.iter().find(|global| global.symbol == item.name) else { continue };
        let list = next;
        let decorations = decorations(global);
        let numbers = next + 1..=next + decorations.len();
        next += 1 + decorations.len();
        let names: Vec<String> = numbers.clone().map(|number| format!("!{number}")).collect();
        let _ = writeln!(metadata, "!{list} = !{{{}}}", names.join(", "));
        for (number, decoration) in numbers.zip(decorations) {
            let _ = writeln!(metadata, "!{number} = !{{{decoration}}}");
        }
        let _ = write!(item.lines[0], ", !spirv.Decorations !{list}");
    }
    ir.items.extend(Ir::parse(&metadata).items);
}

/// A number that no metadata has, nor any after it.
fn first_free(ir: &Ir) -> usize {
    let numbers = ir.items.iter().filter(|item| item.kind == Kind::Metadata);
    numbers.filter_map(|item| item.name[1..].parse::<usize>().ok()).max().map_or(0, |last| last + 1)
}

/// Each decoration of a variable as the operands of a metadata node.
fn decorations(global: &UsedGlobal) -> Vec<String> {
    let has = |property: u64| global.properties & property != 0;
    let access = u32::from(has(HOST_READS)) | u32::from(has(HOST_WRITES)) << 1;
    let mut name = String::new();
    for byte in names::symbol(&global.symbol).bytes() {
        match byte {
            b' '..=b'~' if byte != b'"' && byte != b'\\' => name.push(byte.into()),
            _ => drop(write!(name, "\\{byte:02X}")),
        }
    }
    let mut all = vec![format!("i32 {}, i32 {access}, !\"{name}\"", spirv::DECORATION_HOST_ACCESS)];
    if has(INIT_REPROGRAM | INIT_RESET) {
        let mode = u32::from(has(INIT_RESET));
        all.push(format!("i32 {}, i32 {mode}", spirv::DECORATION_INIT_MODE));
    }
    if has(CSR_OFF | CSR_ON) {
        let register = u32::from(has(CSR_ON));
        all.push(format!("i32 {}, i32 {register}", spirv::DECORATION_REGISTER_MAP));
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use crosscut_image::global_properties::IMAGE_SCOPE;

    #[test]
    fn access_and_what_fpgas_ask_about_are_decorations_of_variables_of_the_image() {
        let global = |symbol: &str, properties: u64| UsedGlobal {
            symbol: symbol.into(),
            size: 4,
            align: 4,
            properties,
        };
        let used = [
            global("@A", IMAGE_SCOPE | HOST_READS | INIT_RESET | CSR_OFF),
            global("@\"odd\\22name\"", IMAGE_SCOPE),
            global("@S", HOST_READS | HOST_WRITES),
        ];
        let mut ir = Ir::parse(
            "@A = internal addrspace(1) global [4 x i8] zeroinitializer\n\
             @\"odd\\22name\" = internal addrspace(1) global [4 x i8] zeroinitializer\n\
             @S = external global [4 x i8]\n\
             !4 = !{i64 1}\n",
        );
        run(&mut ir, &used);
        assert_eq!(
            ir.print(),
            "@A = internal addrspace(1) global [4 x i8] zeroinitializer, !spirv.Decorations !5\n\
             @\"odd\\22name\" = internal addrspace(1) global [4 x i8] zeroinitializer, !spirv.Decorations !9\n\
             @S = external global [4 x i8]\n\
             !4 = !{i64 1}\n\
             !5 = !{!6, !7, !8}\n\
             !6 = !{i32 6188, i32 1, !\"A\"}\n\
             !7 = !{i32 6190, i32 1}\n\
             !8 = !{i32 6191, i32 0}\n\
             !9 = !{!10}\n\
             !10 = !{i32 6188, i32 0, !\"odd\\22name\"}\n"
        );
    }
}
