//! Finds barriers that some items of a work-group may not reach.

use std::collections::BTreeSet;

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
/// computed from the item's index. What is divided by something may be the same for a whole group.
fn depend_on_index(function: &Item) -> BTreeSet<&str> {
    let mut tainted: BTreeSet<&str> = BTreeSet::new();
    loop {
        let before = tainted.len();
        for line in &function.lines[1..] {
            let Some(instruction) = Instruction::parse(line) else { continue };
            let Some(result) = instruction.result else { continue };
            let is_index = instruction.opcode == "call"
                && (line.contains(hooks::GLOBAL_ID) || line.contains(hooks::LOCAL_ID));
            let computed = !matches!(
                instruction.opcode,
                "call" | "load" | "alloca" | "udiv" | "sdiv" | "lshr" | "ashr"
            );
            if is_index
                || computed && instruction.operands().any(|operand| tainted.contains(operand))
            {
                tainted.insert(result);
            }
        }
        if tainted.len() == before {
            return tainted;
        }
    }
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
