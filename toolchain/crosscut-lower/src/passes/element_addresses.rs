//! Gives atomics the addresses of elements by instructions.
//!
//! Expects kernels whose atomics have their last form.
//! Leaves none whose address is an expression: the SPIR-V writer takes the offset in it, which is one in bytes, for one
//! in what the atomic is about, so that `AtomicU64` number 1 would be number 8.
//!
//! `atomicrmw add ptr addrspace(1) getelementptr inbounds (i8, ptr addrspace(1) @G, i64 8), i64 1 monotonic` becomes
//! `%cc.element.0 = getelementptr inbounds i8, ptr addrspace(1) @G, i64 8` and an `atomicrmw` of that.

use crate::ir::{Instruction, Ir, tokens};

const EXPRESSION: &str = "getelementptr";

/// Runs the pass.
pub(crate) fn run(ir: &mut Ir) {
    for function in ir.functions_mut() {
        let mut number = 0;
        let mut lines = Vec::with_capacity(function.lines.len());
        for mut line in std::mem::take(&mut function.lines) {
            while let Some((address, with)) = taken_apart(&line, number) {
                number += 1;
                lines.push(address);
                line = with;
            }
            lines.push(line);
        }
        function.lines = lines;
    }
}

/// The instruction for an address, and the line that uses it.
fn taken_apart(line: &str, number: u32) -> Option<(String, String)> {
    let instruction = Instruction::parse(line)?;
    let is_atomic = matches!(instruction.opcode, "atomicrmw" | "cmpxchg")
        || instruction.opcode == "call" && line.contains("@_Z") && line.contains("__spirv_Atomic");
    if !is_atomic {
        return None;
    }
    let (start, _) = tokens(line).find(|token| token.1 == EXPRESSION)?;
    // Inside of another expression it stays: there is no such address of an atomic, but a value may be one. The address
    // comes first, so none is missed.
    if ["addrspacecast", "ptrtoint"].iter().any(|other| line[..start].contains(other)) {
        return None;
    }
    let open = start + line[start..].find('(')?;
    let mut depth = 0_usize;
    let (close, _) = tokens(line).filter(|token| token.0 >= open).find(|token| {
        match token.1 {
            "(" => depth += 1,
            ")" => depth -= 1,
            _ => {}
        }
        depth == 0
    })?;
    let (how, what) = (line[start..open].trim_end(), &line[open + 1..close]);
    let name = format!("%cc.element.{number}");
    let with = format!("{}{name}{}", &line[..start], &line[close + 1..]);
    Some((format!("  {name} = {how} {what}"), with))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(line: &str) -> Vec<String> {
        let mut ir = Ir::parse(&format!("define void @f() {{\n{line}\n}}\n"));
        run(&mut ir);
        let function = ir.functions().next().unwrap();
        function.lines[1..function.lines.len() - 1].to_vec()
    }

    #[test]
    fn an_atomic_of_an_element_gets_its_address_by_an_instruction() {
        assert_eq!(
            lines(
                "  %o = atomicrmw xchg ptr addrspace(1) getelementptr inbounds nuw (i8, ptr addrspace(1) @G, i64 8), i64 0 syncscope(\"device\") monotonic, align 8"
            ),
            [
                "  %cc.element.0 = getelementptr inbounds nuw i8, ptr addrspace(1) @G, i64 8",
                "  %o = atomicrmw xchg ptr addrspace(1) %cc.element.0, i64 0 syncscope(\"device\") monotonic, align 8",
            ]
        );
        assert_eq!(
            lines(
                "  call void @_Z19__spirv_AtomicStorePU3AS1liil(ptr addrspace(1) getelementptr ([7 x i64], ptr addrspace(1) @G, i64 0, i64 3), i32 1, i32 0, i64 7)"
            )[1],
            "  call void @_Z19__spirv_AtomicStorePU3AS1liil(ptr addrspace(1) %cc.element.0, i32 1, i32 0, i64 7)"
        );
    }

    #[test]
    fn what_is_no_atomic_or_has_its_address_keeps_it() {
        for line in [
            "  store i64 1, ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @G, i64 8), align 8",
            "  %o = atomicrmw add ptr addrspace(1) %p, i64 1 syncscope(\"device\") monotonic, align 8",
            "  %o = atomicrmw xchg ptr addrspace(1) @H, i64 ptrtoint (ptr addrspace(4) getelementptr (i8, ptr addrspace(4) addrspacecast (ptr addrspace(1) @G to ptr addrspace(4)), i64 8) to i64) monotonic, align 8",
        ] {
            assert_eq!(lines(line), [line]);
        }
    }
}
