//! Lets a panicked item arrive at its group's next barrier, where the whole group then ends.
//!
//! Expects a kernel in device form after [`records`](super::records): a panic is a call of the recording
//! function and a return. In a kernel with barriers that return would leave the others waiting.
//! Leaves, in such kernels, a number in local memory that says at which barrier the group ends. A panic
//! sets it and goes to the barrier that the others come to next; after each barrier every item looks.
//! Barriers are counted: an item that is still looking when another has gone on and panics must not
//! leave at a barrier at which that one did not.
//!
//! The next barrier is known unless a branch after the panic chooses between barriers, or between one
//! and the end. Before such a branch stands one barrier more, if all items are certain to come to it.
//!
//! It works in two steps, because the new ways into blocks would cut values off from their uses:
//! [`split`] puts barriers at the beginning of blocks; then LLVM moves all values that live across
//! blocks to the stack; then [`connect`] adds the ways. The optimiser brings the values back.

use std::collections::BTreeSet;

use crate::ir::graph::{Graph, label};
use crate::ir::{Call, Ir, Item, Kind, replace_tokens, tokens};

/// The function that waits for the group.
const BARRIER: &str = "@_Z22__spirv_ControlBarrieriii";
/// What the functions that record a panic are called, but for the dimensions.
pub(super) const RECORD: &str = "@__crosscut_record_";
/// The blocks that begin with a barrier.
const SYNC: &str = "cc.sync.";
/// The number of the barrier at which the group ends, 0 while nobody has panicked.
const QUIT: &str = "@cc.quit";

/// Puts every barrier at the beginning of a block of its own. Answers whether there is anything to
/// [`connect`].
pub(crate) fn split(ir: &mut Ir) -> bool {
    let mut recording = BTreeSet::new();
    for function in ir.functions_mut().filter(|function| concerns(function)) {
        let calls = function.calls().map(|call| call.callee);
        recording.extend(calls.filter(|name| name.starts_with(RECORD)).map(str::to_owned));
        split_barriers(function);
        add_barriers(function);
    }
    if recording.is_empty() {
        return false;
    }
    // What names the module and its target stands before all definitions.
    let first = ir.items.iter().position(|item| item.kind != Kind::Other).unwrap_or(0);
    let quit = format!("{QUIT} = internal addrspace(3) global i32 undef, align 4");
    ir.items.insert(first, Item { kind: Kind::Variable, name: QUIT.into(), lines: vec![quit] });
    // The library defines them later; LLVM wants to know them now.
    for name in recording {
        let line = format!("declare void {name}(ptr addrspace(1), i32, i64, i64) nounwind");
        ir.items.push(Item { kind: Kind::Declaration, name, lines: vec![line] });
    }
    true
}

/// Whether a kernel has both barriers and panics.
fn concerns(function: &Item) -> bool {
    let calls: Vec<&str> = function.calls().map(|call| call.callee).collect();
    calls.contains(&BARRIER) && calls.iter().any(|callee| callee.starts_with(RECORD))
}

fn is_call(line: &str, wanted: impl Fn(&str) -> bool) -> bool {
    Call::parse(line).is_some_and(|call| wanted(call.callee))
}

fn is_barrier(line: &str) -> bool {
    is_call(line, |callee| callee == BARRIER)
}

/// Splits every block before each of its barriers.
fn split_barriers(function: &mut Item) {
    let places: Vec<usize> =
        (1..function.lines.len()).filter(|&at| is_barrier(&function.lines[at])).collect();
    split_before(function, &places, 0);
}

/// Begins a new block before each of these lines, numbered from `first`.
fn split_before(function: &mut Item, places: &[usize], first: usize) {
    let mut lines = Vec::with_capacity(function.lines.len() + 3 * places.len());
    // What a block is called where it begins, and where it now ends.
    let mut renamed: Vec<(String, String)> = Vec::new();
    let mut block = String::new();
    let mut number = first;
    for (at, line) in function.lines.iter().enumerate() {
        if let Some(name) = label(line) {
            block = name.to_owned();
        }
        if places.contains(&at) {
            let name = format!("{SYNC}{number}");
            number += 1;
            lines.push(format!("  br label %{name}"));
            lines.push(format!("{name}:"));
            renamed.retain(|(old, _)| *old != block);
            renamed.push((block.clone(), name));
        }
        lines.push(line.clone());
    }
    for line in lines.iter_mut().filter(|line| line.contains(" = phi ")) {
        *line = replace_tokens(line, |token| {
            let found = renamed.iter().find(|(old, _)| token.strip_prefix('%') == Some(old))?;
            Some(format!("%{}", found.1))
        });
    }
    function.lines = lines;
}

/// Where an item comes to next: barriers by their blocks, or the end.
type Next = BTreeSet<Option<usize>>;

/// What is known about the ways between barriers.
struct Ways {
    /// For each block, what may come next at its end. Nothing where every way panics.
    next: Vec<Next>,
    /// The blocks that panic.
    panics: Vec<usize>,
    predecessors: Vec<Vec<usize>>,
    is_sync: Vec<bool>,
}

impl Ways {
    fn of(function: &Item, graph: &Graph<'_>) -> Self {
        let count = graph.blocks.len();
        let is_sync: Vec<bool> =
            graph.blocks.iter().map(|block| block.name.starts_with(SYNC)).collect();
        let panicking = |number: usize| {
            function.lines[graph.blocks[number].lines.clone()]
                .iter()
                .any(|line| is_call(line, |callee| callee.starts_with(RECORD)))
        };
        let panics: Vec<usize> = (0..count).filter(|&number| panicking(number)).collect();
        let mut next = vec![Next::new(); count];
        let mut predecessors = vec![Vec::new(); count];
        for (number, block) in graph.blocks.iter().enumerate() {
            if block.returns && !panics.contains(&number) {
                next[number].insert(None);
            }
            for &successor in &block.successors {
                predecessors[successor].push(number);
            }
        }
        loop {
            let mut changed = false;
            for number in (0..count).rev().filter(|number| !panics.contains(number)) {
                let mut all = next[number].clone();
                for &way in &graph.blocks[number].successors {
                    all.extend(arrives(way, &is_sync, &next));
                }
                if all != next[number] {
                    next[number] = all;
                    changed = true;
                }
            }
            if !changed {
                return Self { next, panics, predecessors, is_sync };
            }
        }
    }

    /// What may come next on the way into a block.
    fn on_way(&self, block: usize) -> Next {
        arrives(block, &self.is_sync, &self.next)
    }

    /// Where the others go when an item panics in this block: what may come next from the nearest
    /// blocks before it that do not always panic.
    fn after_panic(&self, block: usize) -> Next {
        let mut found = Next::new();
        let (mut seen, mut wanted) = (BTreeSet::new(), vec![block]);
        while let Some(block) = wanted.pop() {
            for &before in &self.predecessors[block] {
                if !seen.insert(before) {
                    continue;
                }
                if self.next[before].is_empty() {
                    wanted.push(before);
                } else {
                    found.extend(&self.next[before]);
                }
            }
        }
        found
    }

    /// The blocks that an item may come to from these without meeting a barrier.
    fn reached(&self, graph: &Graph<'_>, from: &[usize]) -> BTreeSet<usize> {
        let (mut seen, mut wanted) = (BTreeSet::new(), from.to_vec());
        while let Some(block) = wanted.pop() {
            if seen.insert(block) {
                let ways = graph.blocks[block].successors.iter();
                wanted.extend(ways.filter(|&&way| !self.is_sync[way]));
            }
        }
        seen
    }
}

fn arrives(block: usize, is_sync: &[bool], next: &[Next]) -> Next {
    if is_sync[block] { Next::from([Some(block)]) } else { next[block].clone() }
}

/// Adds barriers before branches that choose what comes next, where a panic before them needs it.
fn add_barriers(function: &mut Item) {
    let graph = Graph::of(function);
    let ways = Ways::of(function, &graph);
    let unclear: Vec<usize> = ways
        .panics
        .iter()
        .copied()
        .filter(|&panic| ways.after_panic(panic).len() > 1)
        .flat_map(|panic| ways.predecessors[panic].clone())
        .collect();
    if unclear.is_empty() {
        return;
    }
    let choices = |block: usize| -> Vec<Next> {
        let ways_on = graph.blocks[block].successors.iter().map(|&way| ways.on_way(way));
        ways_on.filter(|next| !next.is_empty()).collect()
    };
    // All items must take such a branch alike: on its ways they meet at different barriers.
    let uniform = |block: usize| {
        let choices = choices(block);
        let pairs = choices.iter().enumerate();
        pairs.into_iter().all(|(at, one)| choices[..at].iter().all(|other| one.is_disjoint(other)))
    };
    let places: Vec<usize> = ways
        .reached(&graph, &unclear)
        .into_iter()
        .filter(|&block| choices(block).windows(2).any(|pair| pair[0] != pair[1]))
        .filter(|&block| {
            // The items come to the branch together if all that decides about it is uniform.
            graph.deciders(block).into_iter().all(|decider| decider == block || uniform(decider))
        })
        .map(|block| terminator(function, &graph, block))
        .collect();
    let first = ways.is_sync.iter().filter(|is_sync| **is_sync).count();
    let mut places = places;
    places.sort_unstable();
    for (added, at) in places.iter().enumerate() {
        function.lines.insert(at + added, WAIT.to_owned());
    }
    let places: Vec<usize> = places.iter().enumerate().map(|(added, at)| at + added).collect();
    split_before(function, &places, first);
}

/// The same barrier as the program's own.
const WAIT: &str = "  call void @_Z22__spirv_ControlBarrieriii(i32 2, i32 2, i32 784) convergent";

/// The line of the branch that ends a block.
fn terminator(function: &Item, graph: &Graph<'_>, block: usize) -> usize {
    let lines = graph.blocks[block].lines.clone();
    let is_branch =
        |at: &usize| matches!(tokens(&function.lines[*at]).next(), Some((_, "br" | "switch")));
    lines.clone().find(is_branch).unwrap_or(lines.end - 1)
}

/// Adds the ways of panicked items to barriers, and the ways of whole groups to the end.
pub(crate) fn connect(ir: &mut Ir) {
    for function in ir.functions_mut().filter(|function| concerns(function)) {
        connect_function(function);
    }
}

fn connect_function(function: &mut Item) {
    let graph = Graph::of(function);
    let ways = Ways::of(function, &graph);
    let targets: Vec<(std::ops::Range<usize>, String)> = ways
        .panics
        .iter()
        .filter_map(|&panic| {
            // Where several are left, all items of a group that come here panic, or the program has
            // barriers that not all of them reach. Any will do, if all take the same.
            let target = ways.after_panic(panic).into_iter().flatten().next()?;
            Some((graph.blocks[panic].lines.clone(), graph.blocks[target].name.to_owned()))
        })
        .collect();
    let mut lines: Vec<String> = Vec::with_capacity(function.lines.len() * 2);
    let mut number = 0;
    let mut begun = false;
    for (at, line) in function.lines.iter().enumerate() {
        // The first line of the first block.
        if at > 0 && !begun && label(line).is_none() {
            begun = true;
            lines.push("  %cc.passed = alloca i32, align 4".to_owned());
            lines.push("  store i32 0, ptr %cc.passed, align 4".to_owned());
            // Whole and no more: an item that still asks may see either value, and counts right with both.
            lines.push(format!(
                "  store atomic i32 0, ptr addrspace(3) {QUIT} syncscope(\"workgroup\") unordered, align 4"
            ));
            lines.push(WAIT.to_owned());
        }
        let target = targets.iter().find(|(range, _)| range.contains(&at));
        if let Some((_, target)) = target
            && line.trim() == "ret void"
        {
            lines.push(format!("  %cc.at.{number} = load i32, ptr %cc.passed, align 4"));
            lines.push(format!("  %cc.quit.{number} = add i32 %cc.at.{number}, 1"));
            lines.push(format!(
                "  store atomic i32 %cc.quit.{number}, ptr addrspace(3) {QUIT} syncscope(\"workgroup\") unordered, align 4"
            ));
            lines.push(format!("  br label %{target}"));
            number += 1;
            continue;
        }
        lines.push(line.clone());
        if is_barrier(line) {
            lines.push(format!("  %cc.at.{number} = load i32, ptr %cc.passed, align 4"));
            lines.push(format!("  %cc.now.{number} = add i32 %cc.at.{number}, 1"));
            lines.push(format!("  store i32 %cc.now.{number}, ptr %cc.passed, align 4"));
            lines.push(format!(
                "  %cc.quit.{number} = load atomic i32, ptr addrspace(3) {QUIT} syncscope(\"workgroup\") unordered, align 4"
            ));
            // Zero becomes the largest number.
            lines.push(format!("  %cc.last.{number} = sub i32 %cc.quit.{number}, 1"));
            lines.push(format!(
                "  %cc.over.{number} = icmp ult i32 %cc.last.{number}, %cc.now.{number}"
            ));
            lines.push(format!("  br i1 %cc.over.{number}, label %cc.over, label %cc.on.{number}"));
            lines.push(format!("cc.on.{number}:"));
            number += 1;
        }
    }
    let end = lines.pop();
    lines.push("cc.over:".to_owned());
    lines.push("  ret void".to_owned());
    lines.extend(end);
    function.lines = lines;
}
