//! Gives pointers the address spaces of SPIR-V.
//!
//! Expects one kernel in host form: every pointer in space 0.
//! Leaves: pointers generic (4), variables in global memory (1), stack slots private (0) and cast to
//! generic. Pointers and variables that already name a space keep it: the optimiser puts tables that it makes of a
//! `switch` into global memory itself.
//!
//! `%x = alloca i32` becomes `%cc.stack.0 = alloca i32` and
//! `%x = addrspacecast ptr %cc.stack.0 to ptr addrspace(4)`.

use std::collections::HashSet;

use crate::ir::{Instruction, Ir, Kind, tokens};

/// Runs the pass.
pub(crate) fn run(ir: &mut Ir) {
    let variables: HashSet<String> = ir
        .items
        .iter()
        .filter(|item| item.kind == Kind::Variable && !names_a_space(&item.lines[0]))
        .map(|item| item.name.clone())
        .collect();
    for item in &mut ir.items {
        match item.kind {
            Kind::Variable => {
                let (name, value) = item.lines[0].split_at(item.name.len());
                let named = names_a_space(value);
                let value = convert(value, &variables);
                let value = if named { value } else { in_global_memory(&value) };
                item.lines[0] = format!("{name}{value}");
            }
            Kind::Declaration => {
                item.name = rename_intrinsic(&item.name).unwrap_or_else(|| item.name.clone());
                item.lines[0] = convert(&item.lines[0], &variables);
            }
            Kind::Function => {
                let mut stack = 0;
                item.lines = item
                    .lines
                    .iter()
                    .flat_map(|line| convert_line(line, &variables, &mut stack))
                    .collect();
            }
            Kind::Type => item.lines[0] = convert(&item.lines[0], &variables),
            Kind::Attributes | Kind::Metadata | Kind::Other => {}
        }
    }
}

fn convert_line(line: &str, variables: &HashSet<String>, stack: &mut usize) -> Vec<String> {
    if let Some(Instruction { result: Some(result), opcode: "alloca", text }) =
        Instruction::parse(line)
    {
        let slot = format!("%cc.stack.{stack}");
        *stack += 1;
        let rest = convert(&text[result.len()..], variables);
        return vec![
            format!("  {slot}{rest}"),
            format!("  {result} = addrspacecast ptr {slot} to ptr addrspace(4)"),
        ];
    }
    // A lifetime is that of a stack slot, which now stands behind a cast.
    if line.contains(" @llvm.lifetime.") {
        return Vec::new();
    }
    vec![convert(line, variables)]
}

/// Makes plain pointers generic, and variables generic addresses.
fn convert(line: &str, variables: &HashSet<String>) -> String {
    let words: Vec<(usize, &str)> = tokens(line).collect();
    let (mut result, mut copied) = (String::with_capacity(line.len() * 2), 0);
    for (index, &(start, word)) in words.iter().enumerate() {
        let next = words.get(index + 1).map(|next| next.1);
        let replacement = if word == "ptr" && next != Some("addrspace") {
            "ptr addrspace(4)".to_owned()
        } else if variables.contains(word) {
            format!("addrspacecast (ptr addrspace(1) {word} to ptr addrspace(4))")
        } else if let Some(name) = rename_intrinsic(word) {
            name
        } else {
            continue;
        };
        result.push_str(&line[copied..start]);
        result.push_str(&replacement);
        copied = start + word.len();
    }
    result.push_str(&line[copied..]);
    result
}

/// `@llvm.memcpy.p0.p0.i64` is `@llvm.memcpy.p4.p4.i64` for generic pointers.
fn rename_intrinsic(name: &str) -> Option<String> {
    (name.starts_with("@llvm.") && name.contains(".p0")).then(|| name.replace(".p0", ".p4"))
}

/// Whether a variable's definition says where the variable is. (What its value says comes later.)
fn names_a_space(definition: &str) -> bool {
    let words = tokens(definition).map(|token| token.1);
    let mut before = words.take_while(|word| !matches!(*word, "global" | "constant"));
    before.any(|word| word == "addrspace")
}

/// Inserts the address space into a variable's definition.
fn in_global_memory(value: &str) -> String {
    let at = tokens(value)
        .find(|token| matches!(token.1, "global" | "constant" | "externally_initialized"))
        .map_or(value.len(), |token| token.0);
    // A variable that is there for a reason outside this kernel cannot exist on the device.
    format!("{}addrspace(1) {}", &value[..at], &value[at..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pointers_become_generic_and_variables_global() {
        let mut ir = Ir::parse(
            "@t = private unnamed_addr constant [1 x ptr] [ptr @u], align 8\n\
             @u = internal constant i32 7\n\
             define void @k(ptr addrspace(1) %a) {\n\
             \x20 %x = alloca i32, align 4\n\
             \x20 call void @llvm.memcpy.p0.p0.i64(ptr %x, ptr @u, i64 4, i1 false)\n\
             \x20 ret void\n}\n\
             declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n",
        );
        run(&mut ir);
        assert_eq!(
            ir.print(),
            "@t = private unnamed_addr addrspace(1) constant [1 x ptr addrspace(4)] [ptr addrspace(4) addrspacecast (ptr addrspace(1) @u to ptr addrspace(4))], align 8\n\
             @u = internal addrspace(1) constant i32 7\n\
             define void @k(ptr addrspace(1) %a) {\n\
             \x20 %cc.stack.0 = alloca i32, align 4\n\
             \x20 %x = addrspacecast ptr %cc.stack.0 to ptr addrspace(4)\n\
             \x20 call void @llvm.memcpy.p4.p4.i64(ptr addrspace(4) %x, ptr addrspace(4) addrspacecast (ptr addrspace(1) @u to ptr addrspace(4)), i64 4, i1 false)\n\
             \x20 ret void\n}\n\
             declare void @llvm.memcpy.p4.p4.i64(ptr addrspace(4), ptr addrspace(4), i64, i1)\n"
        );
    }

    #[test]
    fn a_table_that_is_in_global_memory_stays_there() {
        let text = "\
@switch.table.k = private unnamed_addr addrspace(1) constant [2 x i64] [i64 1, i64 2], align 8
define void @k(i64 %i) {
  %p = getelementptr inbounds i64, ptr addrspace(1) @switch.table.k, i64 %i
  %v = load i64, ptr addrspace(1) %p, align 8
  ret void
}
";
        let mut ir = Ir::parse(text);
        run(&mut ir);
        assert_eq!(ir.print(), text);
    }
}
