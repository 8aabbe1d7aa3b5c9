//! Finds barriers that some items of a work-group may not reach.

use std::collections::{BTreeMap, BTreeSet};

use crosscut_image::hooks;

use crate::ir::{Call, Instruction, Item, tokens};

/// A basic block: its lines, and where it goes.
struct Block<'a> {
    lines: Vec<&'a String>,
    successors: Vec<&'a str>,
    /// The value its branch depends on, if it has more than one way.
    condition: Option<&'a str>,
    returns: bool,
}

/// The barrier calls that provably not every item reaches: a branch that depends on the item's index
/// leads to the barrier on one way, and on another past it to the end of the kernel.
///
/// A way that ends in a panic does not count: a panicked item arrives at the barriers that remain.
pub(crate) fn divergent_barriers(function: &Item) -> Vec<&String> {
    if !function.lines.iter().any(|line| line.contains(hooks::BARRIER)) {
        return Vec::new();
    }
    let blocks = blocks(function);
    let tainted = depend_on_index(function);
    let mut found = Vec::new();
    for (name, block) in &blocks {
        for line in &block.lines {
            let is_barrier = Call::parse(line)
                .is_some_and(|call| call.callee.strip_prefix('@') == Some(hooks::BARRIER));
            if is_barrier && is_divergent(&blocks, name, &tainted) {
                found.push(*line);
            }
        }
    }
    found
}

fn is_divergent(
    blocks: &BTreeMap<&str, Block<'_>>,
    barrier: &str,
    tainted: &BTreeSet<&str>,
) -> bool {
    blocks
        .iter()
        .filter(|(_, block)| block.condition.is_some_and(|value| tainted.contains(value)))
        .any(|(_, block)| {
            let leads_there =
                block.successors.iter().any(|next| reaches(blocks, next, None, |b| b == barrier));
            let leads_past = block.successors.iter().any(|next| {
                reaches(blocks, next, Some(barrier), |b| blocks.get(b).is_some_and(|b| b.returns))
            });
            leads_there && leads_past
        })
}

/// Whether a block that `wanted` accepts can be reached from `start` without passing `avoided`.
fn reaches(
    blocks: &BTreeMap<&str, Block<'_>>,
    start: &str,
    avoided: Option<&str>,
    wanted: impl Fn(&str) -> bool,
) -> bool {
    let mut seen = BTreeSet::new();
    let mut queue = vec![start];
    while let Some(name) = queue.pop() {
        if Some(name) == avoided || !seen.insert(name) {
            continue;
        }
        if wanted(name) {
            return true;
        }
        if let Some(block) = blocks.get(name) {
            queue.extend(block.successors.iter().copied());
        }
    }
    false
}

fn blocks(function: &Item) -> BTreeMap<&str, Block<'_>> {
    let mut blocks: BTreeMap<&str, Block<'_>> = BTreeMap::new();
    let mut name = "";
    for line in &function.lines[1..] {
        if let Some(label) = label(line) {
            name = label;
            continue;
        }
        let block = blocks.entry(name).or_insert(Block {
            lines: Vec::new(),
            successors: Vec::new(),
            condition: None,
            returns: false,
        });
        block.lines.push(line);
        let words: Vec<&str> = tokens(line).map(|token| token.1).collect();
        match words.first() {
            Some(&("br" | "switch")) => {
                block.condition = words.get(2).copied().filter(|word| word.starts_with('%'));
                // `br label %a` depends on nothing.
                if words.get(1) == Some(&"label") {
                    block.condition = None;
                }
            }
            Some(&"ret") => block.returns = true,
            _ => {}
        }
        // The cases of a switch stand on lines of their own.
        let targets = words.windows(2).filter(|pair| pair[0] == "label");
        block.successors.extend(targets.map(|pair| pair[1].trim_start_matches('%')));
    }
    blocks
}

fn label(line: &str) -> Option<&str> {
    let mut words = tokens(line);
    let (_, name) = words.next()?;
    (words.next()?.1 == ":" && !line.starts_with(' ')).then_some(name)
}

/// The values that may differ between the items of a work-group, as far as that can be told: those
/// computed from the item's index.
fn depend_on_index(function: &Item) -> BTreeSet<&str> {
    let mut tainted: BTreeSet<&str> = BTreeSet::new();
    loop {
        let before = tainted.len();
        for line in &function.lines[1..] {
            let Some(instruction) = Instruction::parse(line) else { continue };
            let Some(result) = instruction.result else { continue };
            let is_index = instruction.opcode == "call" && line.contains(hooks::GLOBAL_ID);
            let computed = !matches!(instruction.opcode, "call" | "load" | "alloca");
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
}
