//! Keeps atomic loads and stores atomic, and fences about memory.
//!
//! Expects legalised kernels, where every atomic names its scope.
//! Leaves calls that the SPIR-V writer makes its instructions of: of an atomic load or store itself it makes a plain
//! one, and of a fence one that names no memory to order. What is `unordered`, which no program says, and what
//! lies in an item's own memory, which nobody shares, is plain and stays.
//!
//! `%x = load atomic i32, ptr addrspace(1) %p syncscope("device") acquire, align 4` becomes
//! `%x = call i32 @_Z18__spirv_AtomicLoadPU3AS1iii(ptr addrspace(1) %p, i32 1, i32 514)`.

use std::collections::BTreeSet;

use crate::ir::{Ir, Item, pointer_space, split_at_commas};

/// The bits of a memory semantics that name work-group and global memory.
const LOCAL_MEMORY: u32 = 0x100;
const GLOBAL_MEMORY: u32 = 0x200;

/// Runs the pass.
pub(crate) fn run(ir: &mut Ir) {
    let mut declarations = BTreeSet::new();
    for function in ir.functions_mut() {
        for line in &mut function.lines {
            if let Some((call, declaration)) = rewritten(line) {
                *line = call;
                declarations.insert(declaration);
            }
        }
    }
    let declared: Vec<Item> = declarations.iter().flat_map(|text| Ir::parse(text).items).collect();
    ir.items.extend(declared);
}

/// The call that stands for a line, and what it calls; `None` for a line that stays.
fn rewritten(line: &str) -> Option<(String, String)> {
    if let Some(rest) = line.trim_start().strip_prefix("fence ") {
        let (scope, order) = strength(rest)?;
        let semantics = order | LOCAL_MEMORY | GLOBAL_MEMORY;
        return Some((
            format!("  call void @_Z21__spirv_MemoryBarrierii(i32 {scope}, i32 {semantics})"),
            "declare void @_Z21__spirv_MemoryBarrierii(i32, i32) nounwind\n".to_owned(),
        ));
    }
    if let Some(rest) = line.trim_start().strip_prefix("store atomic ") {
        let access = Access::parse(rest)?;
        let Access { kind, value, pointer, space, scope, semantics } = access;
        let letter = letter(kind)?;
        let name = format!("_Z19__spirv_AtomicStorePU3AS{space}{letter}ii{letter}");
        return Some((
            format!("  call void @{name}({pointer}, i32 {scope}, i32 {semantics}, {kind} {value})"),
            format!("declare void @{name}(ptr addrspace({space}), i32, i32, {kind}) nounwind\n"),
        ));
    }
    let (result, rest) = line.split_once(" = load atomic ")?;
    let Access { kind, pointer, space, scope, semantics, .. } = Access::parse(rest)?;
    let name = format!("_Z18__spirv_AtomicLoadPU3AS{space}{}ii", letter(kind)?);
    Some((
        format!("{result} = call {kind} @{name}({pointer}, i32 {scope}, i32 {semantics})"),
        format!("declare {kind} @{name}(ptr addrspace({space}), i32, i32) nounwind\n"),
    ))
}

/// What is behind `load atomic` and `store atomic`.
struct Access<'l> {
    kind: &'l str,
    /// What is stored.
    value: &'l str,
    /// With its type.
    pointer: &'l str,
    space: &'l str,
    scope: u32,
    semantics: u32,
}

impl<'l> Access<'l> {
    fn parse(text: &'l str) -> Option<Self> {
        let text = text.strip_prefix("volatile ").unwrap_or(text);
        // Both what is stored and where may be expressions, with commas of their own.
        let [what, place, ..] = *split_at_commas(text).as_slice() else { return None };
        let (kind, value) = what.split_once(' ').unwrap_or((what, ""));
        let space = pointer_space(place)?;
        let memory = match space {
            "1" => GLOBAL_MEMORY,
            "3" => LOCAL_MEMORY,
            "4" => GLOBAL_MEMORY | LOCAL_MEMORY,
            _ => return None,
        };
        let at = place.rfind(" syncscope(")?;
        let (scope, order) = strength(&place[at + 1..])?;
        let semantics = if order == 0 { 0 } else { order | memory };
        let pointer = &place[..at];
        Some(Self { kind, value, pointer, space, scope, semantics })
    }
}

/// SPIR-V's numbers of a scope and an order: of `syncscope("device") acquire`.
fn strength(text: &str) -> Option<(u32, u32)> {
    let (scope, rest) = text.strip_prefix("syncscope(\"")?.split_once("\") ")?;
    let scope = match scope {
        "system" => 0,
        "device" => 1,
        "workgroup" => 2,
        "subgroup" => 3,
        _ => return None,
    };
    let order = match rest.split([',', ' ']).next()? {
        "monotonic" => 0,
        "acquire" => 2,
        "release" => 4,
        "acq_rel" => 8,
        "seq_cst" => 16,
        _ => return None,
    };
    Some((scope, order))
}

/// The letter of a type in a name.
fn letter(kind: &str) -> Option<&'static str> {
    match kind {
        "i32" => Some("i"),
        "i64" => Some("l"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(line: &str) -> Option<String> {
        rewritten(line).map(|(call, _)| call)
    }

    #[test]
    fn a_load_names_its_scope_its_order_and_its_memory() {
        let line =
            "  %x = load atomic i64, ptr addrspace(3) %p syncscope(\"workgroup\") acquire, align 8";
        assert_eq!(
            call(line).unwrap(),
            "  %x = call i64 @_Z18__spirv_AtomicLoadPU3AS3lii(ptr addrspace(3) %p, i32 2, i32 258)"
        );
    }

    #[test]
    fn a_store_of_a_constant_to_a_constant_place_is_a_call() {
        let line = "  store atomic i32 -7, ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @g, i64 4) syncscope(\"device\") monotonic, align 4";
        assert_eq!(
            call(line).unwrap(),
            "  call void @_Z19__spirv_AtomicStorePU3AS1iiii(ptr addrspace(1) getelementptr (i8, ptr \
             addrspace(1) @g, i64 4), i32 1, i32 0, i32 -7)"
        );
    }

    #[test]
    fn a_store_of_an_address_as_a_number_is_a_call() {
        let value =
            "ptrtoint (ptr addrspace(1) getelementptr (i8, ptr addrspace(1) @g, i64 4) to i64)";
        let line = format!(
            "  store atomic i64 {value}, ptr addrspace(1) %p syncscope(\"device\") release, align 8"
        );
        assert_eq!(
            call(&line).unwrap(),
            format!(
                "  call void @_Z19__spirv_AtomicStorePU3AS1liil(ptr addrspace(1) %p, i32 1, i32 516, i64 {value})"
            )
        );
    }

    #[test]
    fn a_fence_is_about_the_memory_of_the_group_and_of_the_device() {
        assert_eq!(
            call("  fence syncscope(\"system\") seq_cst").unwrap(),
            "  call void @_Z21__spirv_MemoryBarrierii(i32 0, i32 784)"
        );
    }

    #[test]
    fn what_nobody_shares_and_what_is_unordered_stays() {
        for line in [
            "  %x = load atomic i32, ptr %p syncscope(\"device\") seq_cst, align 4",
            "  %x = load atomic i32, ptr addrspace(3) %p syncscope(\"workgroup\") unordered, align 4",
            "  %x = load i32, ptr addrspace(1) %p, align 4",
            "  fence syncscope(\"singlethread\") seq_cst",
        ] {
            assert_eq!(call(line), None, "{line}");
        }
    }

    #[test]
    fn each_function_is_declared_once() {
        let line = "  %X = load atomic i32, ptr addrspace(1) %p syncscope(\"device\") monotonic, align 4\n";
        let text = format!(
            "define void @k(ptr addrspace(1) %p) {{\nstart:\n{}{}  ret void\n}}\n",
            line.replace("%X", "%a"),
            line.replace("%X", "%b")
        );
        let mut ir = Ir::parse(&text);
        run(&mut ir);
        assert_eq!(ir.print().matches("declare i32 @_Z18__spirv_AtomicLoadPU3AS1iii").count(), 1);
    }
}
