//! Finds which device globals a kernel reads and writes.
//!
//! Expects an optimised kernel in device form, globals as parameters.
//! Changes nothing. An address that goes anywhere but into loads, stores and atomics counts as both, and as
//! one that leaves the kernel.

use std::collections::BTreeSet;

use crosscut_image::Parameter;

use crate::ir::{Call, Instruction, Ir, split_at_commas, tokens, value_of};

/// The globals a kernel may read and may write, as numbers of the image's list.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Sets {
    /// May read.
    pub(crate) reads: BTreeSet<u32>,
    /// May write.
    pub(crate) writes: BTreeSet<u32>,
    /// Whose addresses may leave it.
    pub(crate) leave: BTreeSet<u32>,
    /// Whether it may follow addresses that it finds.
    pub(crate) follows: bool,
}

/// The sets of the kernel `name`.
pub(crate) fn find(ir: &Ir, name: &str, parameters: &[Parameter]) -> Sets {
    let mut sets = Sets::default();
    let Some(function) = ir.find(name) else { return sets };
    let instructions: Vec<Instruction<'_>> = function.instructions().collect();
    sets.follows = instructions.iter().any(finds_address);
    for parameter in parameters {
        let &Parameter::Global { index } = parameter else { continue };
        let mut aliases = BTreeSet::from([format!("%cc.global.{index}.global")]);
        // Each round follows the address one step further; a phi may close a cycle.
        loop {
            let more: Vec<String> = instructions
                .iter()
                .filter(|instruction| is_derived(instruction))
                .filter(|instruction| {
                    instruction.operands().any(|operand| aliases.contains(operand))
                })
                .filter_map(|instruction| instruction.result.map(str::to_owned))
                .filter(|result| !aliases.contains(result))
                .collect();
            if more.is_empty() {
                break;
            }
            aliases.extend(more);
        }
        for instruction in &instructions {
            if leaves(instruction, &aliases) {
                sets.leave.insert(index);
            }
            if instruction.operands().any(|operand| aliases.contains(operand)) {
                let (reads, writes) = access(instruction, &aliases);
                if reads {
                    sets.reads.insert(index);
                }
                if writes {
                    sets.writes.insert(index);
                }
            }
        }
    }
    sets
}

impl Sets {
    /// Adds those of another form of the kernel.
    pub(crate) fn extend(&mut self, other: Self) {
        self.reads.extend(other.reads);
        self.writes.extend(other.writes);
        self.leave.extend(other.leave);
        self.follows |= other.follows;
    }

    /// Adds the variables of the image that the kernel `name` mentions: as read and written.
    pub(crate) fn add_variables(&mut self, ir: &Ir, name: &str, variables: &[(u32, String)]) {
        let Some(function) = ir.find(name) else { return };
        for instruction in function.instructions() {
            for (index, symbol) in variables {
                let mentions = |text| tokens(text).filter(|token| token.1 == symbol).count();
                let all = mentions(instruction.text);
                if all == 0 {
                    continue;
                }
                self.reads.insert(*index);
                self.writes.insert(*index);
                // The address of a variable is used on the spot, or it is computed with, or it is what is stored.
                if all > place(&instruction).map_or(0, mentions) {
                    self.leave.insert(*index);
                }
            }
        }
    }
}

/// The operand that says where an instruction reads or writes.
fn place<'a>(instruction: &Instruction<'a>) -> Option<&'a str> {
    let operands = split_at_commas(instruction.rest());
    match instruction.opcode {
        "load" | "store" => operands.get(1).copied(),
        "atomicrmw" | "cmpxchg" => operands.first().copied(),
        _ => None,
    }
}

/// Whether the result is an address that comes from the operands.
fn is_derived(instruction: &Instruction<'_>) -> bool {
    matches!(
        instruction.opcode,
        "getelementptr" | "addrspacecast" | "phi" | "select" | "bitcast" | "freeze"
    )
}

/// Whether the result is an address that was found: loaded, or made of a number.
fn finds_address(instruction: &Instruction<'_>) -> bool {
    match instruction.opcode {
        "inttoptr" => true,
        "load" => {
            let from = instruction.text.find("load ").unwrap_or_default();
            let loaded = split_at_commas(&instruction.text[from..]);
            loaded.first().is_some_and(|kind| tokens(kind).any(|token| token.1 == "ptr"))
        }
        _ => false,
    }
}

/// Whether an instruction does more with one of these addresses than use it on the spot.
fn leaves(instruction: &Instruction<'_>, aliases: &BTreeSet<String>) -> bool {
    let operands: Vec<&str> = instruction.operands().collect();
    let used = operands.iter().filter(|operand| aliases.contains(**operand)).count();
    match instruction.opcode {
        _ if used == 0 => false,
        "load" | "icmp" | "ret" => false,
        "store" => {
            let value = split_at_commas(instruction.text).first().and_then(|value| value_of(value));
            value.is_some_and(|value| aliases.contains(value))
        }
        // The address comes first; the values may be addresses too.
        "atomicrmw" | "cmpxchg" => {
            used > 1 || !operands.first().is_some_and(|it| aliases.contains(*it))
        }
        _ if is_derived(instruction) => false,
        "call" => {
            !instruction.text.contains("@llvm.mem") && !instruction.text.contains("@llvm.lifetime")
        }
        _ => true,
    }
}

fn access(instruction: &Instruction<'_>, aliases: &BTreeSet<String>) -> (bool, bool) {
    match instruction.opcode {
        "load" => (true, false),
        "store" => {
            let value = split_at_commas(instruction.text).first().and_then(|value| value_of(value));
            let escapes = value.is_some_and(|value| aliases.contains(value));
            (escapes, true)
        }
        "icmp" => (false, false),
        _ if is_derived(instruction) => (false, false),
        "call" if instruction.text.contains("@llvm.memcpy.") => {
            let call = Call::parse(instruction.text);
            let is = |index: usize| {
                let value = call.as_ref().and_then(|call| call.value(index));
                value.is_some_and(|value| aliases.contains(value))
            };
            (is(1), is(0))
        }
        _ => (true, true),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loads_read_stores_write_and_anything_else_does_both() {
        let ir = Ir::parse(
            "define void @k(ptr addrspace(1) %cc.global.0.global, ptr addrspace(1) %cc.global.1.global, ptr addrspace(1) %cc.global.2.global) {\n\
             \x20 %p = getelementptr i8, ptr addrspace(1) %cc.global.0.global, i64 4\n\
             \x20 %v = load i32, ptr addrspace(1) %p, align 4\n\
             \x20 store i32 %v, ptr addrspace(1) %cc.global.1.global, align 4\n\
             \x20 %n = ptrtoint ptr addrspace(1) %cc.global.2.global to i64\n\
             \x20 ret void\n}\n",
        );
        let parameters = [0, 1, 2].map(|index| Parameter::Global { index });
        let sets = find(&ir, "@k", &parameters);
        assert_eq!(sets.reads, BTreeSet::from([0, 2]));
        assert_eq!(sets.writes, BTreeSet::from([1, 2]));
        assert_eq!(sets.leave, BTreeSet::from([2]));
        assert!(!sets.follows);
    }

    #[test]
    fn an_address_that_is_found_is_one_that_may_be_of_any_global_that_another_kernel_kept() {
        let sets = |line: &str| {
            let ir = Ir::parse(&format!(
                "define void @k(ptr addrspace(1) %cc.global.0.global, ptr addrspace(1) %out) {{\n  {line}\n  ret void\n}}\n"
            ));
            let sets = find(&ir, "@k", &[Parameter::Global { index: 0 }]);
            (sets.follows, sets.leave.len())
        };
        assert_eq!(sets("%p = load ptr addrspace(4), ptr addrspace(1) %out, align 8"), (true, 0));
        assert_eq!(sets("%p = inttoptr i64 %n to ptr addrspace(1)"), (true, 0));
        assert_eq!(sets("%v = load i32, ptr addrspace(1) %out, align 8"), (false, 0));
        let kept = "store ptr addrspace(1) %cc.global.0.global, ptr addrspace(1) %out, align 8";
        assert_eq!(sets(kept), (false, 1));
        let counted =
            "%o = atomicrmw add ptr addrspace(1) %cc.global.0.global, i32 1 monotonic, align 4";
        assert_eq!(sets(counted), (false, 0));
    }

    #[test]
    fn a_copy_reads_where_it_copies_from_whatever_it_copies_to() {
        let ir = Ir::parse(
            "define void @k(ptr addrspace(1) %cc.global.0.global) {\n\
             \x20 call void @llvm.memcpy.p1.p1.i64(ptr addrspace(1) @F, ptr addrspace(1) align 4 %cc.global.0.global, i64 8, i1 false)\n\
             \x20 ret void\n}\n",
        );
        let sets = find(&ir, "@k", &[Parameter::Global { index: 0 }]);
        assert_eq!((sets.reads, sets.writes), (BTreeSet::from([0]), BTreeSet::new()));
    }

    #[test]
    fn the_address_of_a_variable_leaves_where_it_is_stored_and_not_where_it_is_used() {
        let leaves = |line: &str| {
            let ir = Ir::parse(&format!("define void @k(ptr %out) {{\n  {line}\n  ret void\n}}\n"));
            let mut sets = Sets::default();
            sets.add_variables(&ir, "@k", &[(3, "@F".to_owned())]);
            assert_eq!(sets.reads, BTreeSet::from([3]), "{line}");
            !sets.leave.is_empty()
        };
        let second = "getelementptr inbounds nuw (i8, ptr addrspace(1) @F, i64 4)";
        let number = format!("ptrtoint (ptr addrspace(1) {second} to i64)");
        for used in [
            format!("%x = load i32, ptr addrspace(1) {second}, align 4"),
            format!("store i32 1, ptr addrspace(1) {second}, align 4"),
            format!("%x = atomicrmw add ptr addrspace(1) {second}, i32 1 monotonic, align 4"),
        ] {
            assert!(!leaves(&used), "{used}");
        }
        for kept in [
            format!("store i64 {number}, ptr %out, align 8"),
            "store ptr addrspace(1) @F, ptr %out, align 8".to_owned(),
            format!("%x = atomicrmw xchg ptr %out, i64 {number} monotonic, align 8"),
            format!("%x = atomicrmw xchg ptr addrspace(1) @F, i64 {number} monotonic, align 8"),
            format!("%x = getelementptr i8, ptr addrspace(1) {second}, i64 %i"),
        ] {
            assert!(leaves(&kept), "{kept}");
        }
    }
}
