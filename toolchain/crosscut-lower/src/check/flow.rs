//! Finds barriers that some items of a work-group may not reach.

use std::collections::{BTreeMap, BTreeSet};

use crosscut_image::hooks;

use crate::ir::graph::Graph;
use crate::ir::{Call, Instruction, Item};

/// The barrier calls that not every item reaches: a branch that depends on the item's index decides
/// about them.
///
/// A way that ends in a panic does not count: a panicked item arrives at the barriers that remain.
pub(crate) fn divergent_barriers(function: &Item) -> Vec<&String> {
    if !function.lines.iter().any(|line| line.contains(hooks::BARRIER)) {
        return Vec::new();
    }
    let graph = Graph::of(function);
    let tainted = depend_on_index(function);
    let mut found = Vec::new();
    for (number, block) in graph.blocks.iter().enumerate() {
        let lines = &function.lines[block.lines.clone()];
        let is_barrier = |line: &&String| {
            Call::parse(line)
                .is_some_and(|call| call.callee.strip_prefix('@') == Some(hooks::BARRIER))
        };
        let mut barriers = lines.iter().filter(is_barrier).peekable();
        if barriers.peek().is_none() {
            continue;
        }
        let divergent = graph.deciders(number).into_iter().any(|branch| {
            graph.blocks[branch].condition.is_some_and(|condition| tainted.contains(condition))
        });
        if divergent {
            found.extend(barriers);
        }
    }
    found
}

/// The values that differ between the items of a work-group, as far as that can be told: those
/// computed from the item's index. What is divided by something may be the same for a whole group, and what
/// lies between the index and that within the group is: where the group begins.
fn depend_on_index(function: &Item) -> BTreeSet<&str> {
    let indices: BTreeMap<&str, (&str, u64)> = function.calls().filter_map(index).collect();
    let mut tainted: BTreeSet<&str> = BTreeSet::new();
    loop {
        let before = tainted.len();
        for line in &function.lines[1..] {
            let Some(instruction) = Instruction::parse(line) else { continue };
            let Some(result) = instruction.result else { continue };
            let is_index = indices.contains_key(result);
            let computed = !matches!(
                instruction.opcode,
                "call" | "load" | "alloca" | "udiv" | "sdiv" | "lshr" | "ashr"
            );
            if is_index
                || computed
                    && !is_begin_of_group(&instruction, &indices)
                    && instruction.operands().any(|operand| tainted.contains(operand))
            {
                tainted.insert(result);
            }
        }
        if tainted.len() == before {
            return tainted;
        }
    }
}

/// The result of a call that asks for an index: which one, and in which dimension.
fn index<'a>(call: Call<'a>) -> Option<(&'a str, (&'a str, u64))> {
    let hook = call.callee.strip_prefix('@')?;
    let is_index = matches!(hook, hooks::GLOBAL_ID | hooks::LOCAL_ID);
    // A dimension that is not known is none that another is equal to.
    is_index.then_some((call.result?, (hook, call.number(0).unwrap_or(u64::MAX))))
}

/// Whether all that an instruction asks is how far an item's index lies from that within the group: a
/// difference of the two or a comparison.
fn is_begin_of_group(instruction: &Instruction<'_>, indices: &BTreeMap<&str, (&str, u64)>) -> bool {
    let operands: Vec<&str> = instruction.operands().collect();
    let [one, other] = *operands.as_slice() else { return false };
    let (Some(one), Some(other)) = (indices.get(one), indices.get(other)) else { return false };
    matches!(instruction.opcode, "sub" | "icmp")
        && one.0 != other.0
        && one.1 == other.1
        && one.1 != u64::MAX
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Ir;

    fn kernel(condition: &str, otherwise: &str) -> Ir {
        Ir::parse(&format!(
            "define void @k(i64 %n) {{\n\
             start:\n  %i = call i64 @__crosscut_global_id(i32 0)\n  %c = icmp ult i64 {condition}, 4\n\
             \x20 br i1 %c, label %wait, label %other\n\
             wait:\n  call void @__crosscut_barrier()\n  ret void\n\
             other:\n  {otherwise}\n}}\n"
        ))
    }

    #[test]
    fn a_barrier_behind_the_index_is_found() {
        assert_eq!(divergent_barriers(kernel("%i", "ret void").find("@k").unwrap()).len(), 1);
    }

    #[test]
    fn a_barrier_that_all_items_reach_or_panic_is_fine() {
        for ir in
            [kernel("%n", "ret void"), kernel("%i", "unreachable"), kernel("%i", "br label %wait")]
        {
            assert!(divergent_barriers(ir.find("@k").unwrap()).is_empty());
        }
    }

    /// A barrier behind a branch on `%c`, which is computed from the index, and from that within the group in
    /// this dimension.
    fn with_both(dimension: u32, condition: &str) -> usize {
        let ir = Ir::parse(&format!(
            "define void @k(i64 %n) {{\nstart:\n  %i = call i64 @__crosscut_global_id(i32 0)\n\
             \x20 %l = call i64 @__crosscut_local_id(i32 {dimension})\n  {condition}\n\
             \x20 br i1 %c, label %wait, label %end\n\
             wait:\n  call void @__crosscut_barrier()\n  br label %end\nend:\n  ret void\n}}\n"
        ));
        divergent_barriers(ir.find("@k").unwrap()).len()
    }

    #[test]
    fn where_a_group_begins_is_the_same_for_all_its_items() {
        let begin = "%b = sub nuw nsw i64 %i, %l\n  %c = icmp ult i64 %b, %n";
        assert_eq!(with_both(0, begin), 0);
        assert_eq!(with_both(0, "%c = icmp eq i64 %i, %l"), 0);
        assert_eq!(with_both(1, begin), 1, "of another dimension");
        assert_eq!(with_both(0, &begin.replace("%i, %l", "%i, %n")), 1);
        assert_eq!(with_both(0, &begin.replace("%i, %l", "%i, %i")), 1);
        assert_eq!(with_both(0, &begin.replace("sub nuw nsw", "add")), 1);
    }

    #[test]
    fn a_branch_between_two_barriers_of_a_loop_is_fine() {
        let ir = Ir::parse(
            "define void @k(i64 %n) {\nstart:\n  %i = call i64 @__crosscut_local_id(i32 0)\n\
             \x20 %c = icmp ult i64 %i, 4\n  br label %wait\n\
             wait:\n  call void @__crosscut_barrier()\n  br i1 %c, label %some, label %all\n\
             some:\n  br label %all\n\
             all:\n  %d = icmp ult i64 %n, 4\n  br i1 %d, label %wait, label %end\n\
             end:\n  ret void\n}\n",
        );
        assert!(divergent_barriers(ir.find("@k").unwrap()).is_empty());
    }

    #[test]
    fn a_loop_that_some_items_leave_earlier_is_found() {
        let ir = Ir::parse(
            "define void @k(i64 %n) {\nstart:\n  %i = call i64 @__crosscut_local_id(i32 0)\n\
             \x20 br label %wait\n\
             wait:\n  %t = phi i64 [ 0, %start ], [ %u, %wait ]\n  call void @__crosscut_barrier()\n\
             \x20 %u = add i64 %t, 1\n  %d = icmp ult i64 %u, %i\n  br i1 %d, label %wait, label %end\n\
             end:\n  ret void\n}\n",
        );
        assert_eq!(divergent_barriers(ir.find("@k").unwrap()).len(), 1);
    }
}
