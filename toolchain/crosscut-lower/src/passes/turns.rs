//! Lets a driver be kept from taking the turns of a loop in another order.
//!
//! Expects a legal kernel in device form, before the last clean-up, which makes values of variables.
//! Leaves in every loop one value more that each turn makes of that of the turn before, and behind all loops a store of
//! it, under a specialization constant that is 0: drivers drop both. Where the runtime makes it 1, for Intel's runtime for
//! CPUs, its vectoriser leaves the loops of an item alone: it takes them as if no turn depended on another. (What the
//! library brings later does without: its turns stand alone, or are atomics or of 128 bits, which nobody vectorises.)
//!
//! At the end of each turn stands `%cc.turned.0 = shl i32 %cc.turn.0, 1` of what `%cc.turns` holds, and `ret void` becomes a
//! branch to where that is stored or not.

use std::collections::BTreeSet;

use crosscut_image::spirv::LOOPS_IN_ORDER;

use super::arrivals::RECORD;
use super::constants;
use crate::ir::graph::Graph;
use crate::ir::{Instruction, Ir, Item};

/// The bytes of the constant.
const WIDTH: u8 = 4;

/// Runs the pass.
pub(crate) fn run(ir: &mut Ir) {
    let mut has_loops = false;
    for function in ir.functions_mut().filter(|it| it.lines[0].contains(" spir_kernel ")) {
        has_loops |= keep_order(function);
    }
    if has_loops {
        constants::declare(ir, WIDTH);
    }
}

/// Whether the function has loops.
fn keep_order(function: &mut Item) -> bool {
    let graph = Graph::of(function);
    let ends: Vec<usize> = ends_of_turns(&graph)
        .into_iter()
        .filter_map(|block| branch(function, &graph, block))
        .collect();
    if ends.is_empty() {
        return false;
    }
    let entry = graph.blocks[0].lines.start;
    let mut lines = Vec::with_capacity(function.lines.len() + 4 * ends.len() + 16);
    for (number, line) in std::mem::take(&mut function.lines).into_iter().enumerate() {
        if number == entry {
            lines.push("  %cc.turns = alloca i32, align 4".to_owned());
            lines.push("  %cc.kept = alloca i32, align 4".to_owned());
            let (kind, constant) = constants::built_in(WIDTH);
            lines.push(format!(
                "  %cc.keeps = call {kind} {constant}(i32 {LOOPS_IN_ORDER}, {kind} 0)"
            ));
            lines.push("  store i32 1, ptr %cc.turns, align 4".to_owned());
        }
        if let Ok(turn) = ends.binary_search(&number) {
            lines.push(format!("  %cc.turn.{turn} = load i32, ptr %cc.turns, align 4"));
            lines.push(format!("  %cc.turned.{turn} = shl i32 %cc.turn.{turn}, 1"));
            lines.push(format!("  store i32 %cc.turned.{turn}, ptr %cc.turns, align 4"));
        }
        match Instruction::parse(&line).map(|instruction| instruction.opcode) {
            // Behind a panic nothing is stored: with ways out that items take on their own a loop is less like one for all.
            Some("ret") if !lines.last().is_some_and(|before| before.contains(RECORD)) => {
                lines.push("  br label %cc.end".to_owned());
            }
            _ => lines.push(line),
        }
    }
    let close = lines.pop();
    lines.extend(
        [
            "cc.end:",
            "  %cc.last = load i32, ptr %cc.turns, align 4",
            "  %cc.is.kept = icmp ne i32 %cc.keeps, 0",
            "  br i1 %cc.is.kept, label %cc.keep, label %cc.return",
            "cc.keep:",
            "  store volatile i32 %cc.last, ptr %cc.kept, align 4",
            "  br label %cc.return",
            "cc.return:",
            "  ret void",
        ]
        .map(str::to_owned),
    );
    lines.extend(close);
    function.lines = lines;
    true
}

/// The blocks with a branch back to where a loop begins.
fn ends_of_turns(graph: &Graph<'_>) -> BTreeSet<usize> {
    let mut ends = BTreeSet::new();
    let mut met = vec![false; graph.blocks.len()];
    let mut open = vec![false; graph.blocks.len()];
    // Blocks that lead to one another, each with how many of its ways have been looked at.
    let mut way = vec![(0, 0)];
    (met[0], open[0]) = (true, true);
    while let Some((block, looked_at)) = way.last_mut() {
        let block = *block;
        match graph.blocks[block].successors.get(*looked_at) {
            Some(&next) => {
                *looked_at += 1;
                if open[next] {
                    ends.insert(block);
                } else if !met[next] {
                    (met[next], open[next]) = (true, true);
                    way.push((next, 0));
                }
            }
            None => {
                open[block] = false;
                way.pop();
            }
        }
    }
    ends
}

/// The line of a block that says where it goes.
fn branch(function: &Item, graph: &Graph<'_>, block: usize) -> Option<usize> {
    let mut lines = graph.blocks[block].lines.clone();
    lines.find(|&line| {
        Instruction::parse(&function.lines[line])
            .is_some_and(|instruction| matches!(instruction.opcode, "br" | "switch"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kernel(body: &str) -> Ir {
        let mut ir = Ir::parse(&format!("define spir_kernel void @k(i64 %n) {{\n{body}}}\n"));
        run(&mut ir);
        ir
    }

    #[test]
    fn each_loop_makes_a_value_of_that_of_the_turn_before() {
        let ir = kernel(
            "start:\n  br label %outer\nouter:\n  %a = phi i64 [ 0, %start ], [ %a2, %last ]\n  br label %inner\n\
             inner:\n  %b = phi i64 [ 0, %outer ], [ %b2, %inner ]\n  %b2 = add i64 %b, 1\n  %c = icmp eq i64 %b2, %n\n  \
             br i1 %c, label %last, label %inner\nlast:\n  %a2 = add i64 %a, 1\n  switch i64 %a2, label %outer [\n    \
             i64 7, label %end\n    i64 9, label %other\n  ]\nother:\n  \
             call void @__crosscut_record_1(ptr addrspace(1) %r, i32 1, i64 0, i64 0)\n  ret void\nend:\n  ret void\n",
        );
        let text = ir.print();
        let expected = [
            "start:\n  %cc.turns = alloca i32, align 4\n",
            "  store i32 %cc.turned.0, ptr %cc.turns, align 4\n  br i1 %c, label %last, label %inner\n",
            "  store i32 %cc.turned.1, ptr %cc.turns, align 4\n  switch i64 %a2, label %outer [\n",
            "i64 0, i64 0)\n  ret void\nend:\n  br label %cc.end\ncc.end:\n",
            "cc.return:\n  ret void\n}\n",
        ];
        for part in expected {
            assert!(text.contains(part), "{part}\n{text}");
        }
        assert_eq!(text.matches("shl").count(), 2, "{text}");
        assert!(text.starts_with("declare i32 @_Z20__spirv_SpecConstantii(i32, i32)"), "{text}");
    }

    #[test]
    fn without_a_loop_a_kernel_stays_as_it_is() {
        let body = "start:\n  br i1 %c, label %a, label %b\na:\n  br label %b\nb:\n  ret void\n";
        let text = format!("define spir_kernel void @k(i64 %n) {{\n{body}}}\n");
        assert_eq!(kernel(body).print(), text);
    }
}
