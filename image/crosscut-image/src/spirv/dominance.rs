//! Whether values are there on every way to where they are used.
//!
//! A value is made in a block, and used in blocks that are reached only through that one. Compilers
//! rely on it without looking, and crash where it is not so.

use std::collections::HashMap;

use super::typing::Types;
use super::words::Instruction;

const OP_FUNCTION: u32 = 54;
const OP_FUNCTION_END: u32 = 56;
const OP_PHI: u32 = 245;
const OP_LABEL: u32 = 248;
const OP_BRANCH: u32 = 249;
const OP_BRANCH_CONDITIONAL: u32 = 250;
const OP_SWITCH: u32 = 251;

const FAULT: &str = "uses a value that is not there on every way to it";

/// Checks a module whose blocks, branches and phis are right. `letters` says what the operands of each
/// instruction are.
///
/// # Errors
/// Which instruction uses a value where that may not be, and that it does.
pub(super) fn check(
    all: &[Instruction<'_>],
    letters: &[Option<Vec<u8>>],
    types: &Types,
) -> Result<(), (usize, &'static str)> {
    let mut start = 0;
    for (at, instruction) in all.iter().enumerate() {
        match instruction.opcode {
            OP_FUNCTION => start = at,
            OP_FUNCTION_END => Function::new(all, start..at, letters, types).check(all, letters)?,
            _ => {}
        }
    }
    Ok(())
}

/// The blocks of a function, by their place in it.
struct Function {
    /// First and one past the last instruction of each.
    blocks: Vec<(usize, usize)>,
    by_label: HashMap<u32, usize>,
    /// The block that makes each value.
    made_in: HashMap<u32, usize>,
    /// When a walk over the tree of dominators enters and leaves each block; `None` for those that are
    /// never reached.
    visits: Vec<Option<(usize, usize)>>,
}

impl Function {
    fn new(
        all: &[Instruction<'_>],
        range: std::ops::Range<usize>,
        letters: &[Option<Vec<u8>>],
        types: &Types,
    ) -> Self {
        let (mut blocks, mut by_label) = (Vec::<(usize, usize)>::new(), HashMap::new());
        let mut made_in = HashMap::new();
        for at in range {
            let operands = all[at].operands();
            if all[at].opcode == OP_LABEL {
                by_label.insert(operands[0], blocks.len());
                blocks.push((at, at));
            } else if let Some(block) = blocks.len().checked_sub(1) {
                blocks[block].1 = at + 1;
                let result = letters[at].iter().flatten().position(|letter| *letter == b'R');
                made_in.extend(result.map(|result| (operands[result], block)));
            }
        }
        let next = |block: usize| -> Vec<usize> {
            let Some(last) = blocks[block].1.checked_sub(1).map(|last| &all[last]) else {
                return Vec::new();
            };
            let operands = last.operands();
            let labels = match last.opcode {
                OP_BRANCH => operands.to_vec(),
                OP_BRANCH_CONDITIONAL => operands[1..3].to_vec(),
                OP_SWITCH => types.switch_targets(operands).unwrap_or_default(),
                _ => Vec::new(),
            };
            labels.iter().filter_map(|label| by_label.get(label).copied()).collect()
        };
        let visits = visits(&(0..blocks.len()).map(next).collect::<Vec<_>>());
        Self { blocks, by_label, made_in, visits }
    }

    fn check(
        &self,
        all: &[Instruction<'_>],
        letters: &[Option<Vec<u8>>],
    ) -> Result<(), (usize, &'static str)> {
        for (block, &(start, end)) in self.blocks.iter().enumerate() {
            for at in start..end {
                let operands = all[at].operands();
                let is_there = if all[at].opcode == OP_PHI {
                    operands[2..].as_chunks::<2>().0.iter().all(|[value, from]| {
                        let from = self.by_label.get(from);
                        from.is_none_or(|from| self.reaches(*value, *from))
                    })
                } else {
                    let used = letters[at].iter().flatten().zip(operands);
                    let mut used = used.filter(|(letter, _)| **letter == b'i');
                    used.all(|(_, value)| self.reaches(*value, block))
                };
                if !is_there {
                    return Err((at, FAULT));
                }
            }
        }
        Ok(())
    }

    /// Whether a value is there at the end of a block, as far as blocks say.
    fn reaches(&self, value: u32, block: usize) -> bool {
        let Some(&made_in) = self.made_in.get(&value) else { return true };
        match (self.visits[made_in], self.visits[block]) {
            // In what never runs anything may be used.
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(outer), Some(inner)) => outer.0 <= inner.0 && inner.1 <= outer.1,
        }
    }
}

/// Numbers a walk over the tree of dominators of a graph, which starts at its first node.
fn visits(next: &[Vec<usize>]) -> Vec<Option<(usize, usize)>> {
    let order = postorder(next, 0);
    let mut number = vec![None; next.len()];
    for (at, &node) in order.iter().enumerate() {
        number[node] = Some(at);
    }
    let mut before = vec![Vec::new(); next.len()];
    for &node in &order {
        for &to in &next[node] {
            before[to].push(node);
        }
    }
    // The nearest dominator of each node that is reached, by its number; of the first, itself.
    let Some(root) = order.len().checked_sub(1) else { return Vec::new() };
    let mut nearest = vec![None; order.len()];
    nearest[root] = Some(root);
    let mut changed = true;
    while changed {
        changed = false;
        for at in (0..root).rev() {
            let known = before[order[at]].iter().filter_map(|&node| number[node]);
            let known = known.filter(|&from| nearest[from].is_some());
            let common = known.reduce(|one, other| meet(&nearest, one, other));
            if common.is_some() && nearest[at] != common {
                (nearest[at], changed) = (common, true);
            }
        }
    }
    let mut below = vec![Vec::new(); order.len()];
    for (at, above) in nearest.iter().enumerate() {
        if let Some(above) = above.filter(|&above| above != at) {
            below[above].push(at);
        }
    }
    let mut visits = vec![None; next.len()];
    let (mut clock, mut path) = (0, vec![(root, 0, 0)]);
    while let Some((at, child, entered)) = path.pop() {
        clock += 1;
        let entered = if child == 0 { clock } else { entered };
        match below[at].get(child) {
            Some(&inner) => path.extend([(at, child + 1, entered), (inner, 0, 0)]),
            None => visits[order[at]] = Some((entered, clock)),
        }
    }
    visits
}

/// The nearest node above both.
fn meet(nearest: &[Option<usize>], mut one: usize, mut other: usize) -> usize {
    while one != other {
        // The first node has the largest number, and every way up ends there.
        let lower = if one < other { &mut one } else { &mut other };
        match nearest[*lower] {
            Some(above) => *lower = above,
            None => return nearest.len() - 1,
        }
    }
    one
}

/// The nodes that are reached from `first`, each after those that are reached from it.
fn postorder(next: &[Vec<usize>], first: usize) -> Vec<usize> {
    let (mut order, mut seen) = (Vec::new(), vec![false; next.len()]);
    if next.is_empty() {
        return order;
    }
    seen[first] = true;
    let mut path = vec![(first, 0)];
    while let Some((node, child)) = path.pop() {
        match next[node].get(child) {
            None => order.push(node),
            Some(&to) => {
                path.push((node, child + 1));
                if !std::mem::replace(&mut seen[to], true) {
                    path.push((to, 0));
                }
            }
        }
    }
    order
}

#[cfg(test)]
mod tests {
    use super::visits;

    /// By definition: without `over`, is `node` still reached?
    fn dominates(next: &[Vec<usize>], over: usize, node: usize) -> bool {
        let (mut seen, mut path) = (vec![false; next.len()], vec![0]);
        while let Some(at) = path.pop() {
            if at != over && !std::mem::replace(&mut seen[at], true) {
                path.extend(&next[at]);
            }
        }
        !seen[node]
    }

    #[test]
    fn numbers_of_the_walk_say_who_dominates_whom() {
        let mut random = 1u64;
        let mut below = |limit: usize| {
            random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (random >> 33) as usize % limit
        };
        for _ in 0..2000 {
            let nodes = 1 + below(9);
            let next: Vec<Vec<usize>> =
                (0..nodes).map(|_| (0..below(3)).map(|_| below(nodes)).collect()).collect();
            let visits = visits(&next);
            for node in 0..nodes {
                let Some(inner) = visits[node] else {
                    assert!(dominates(&next, nodes, node), "{node} of {next:?} is not reached");
                    continue;
                };
                for (over, outer) in visits.iter().enumerate() {
                    let told = outer.is_some_and(|outer| outer.0 <= inner.0 && inner.1 <= outer.1);
                    assert_eq!(told, dominates(&next, over, node), "{over}, {node} of {next:?}");
                }
            }
        }
    }
}
