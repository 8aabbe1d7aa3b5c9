//! The flow of control in a function: its blocks, and which of them are certain to follow others.

use std::collections::HashMap;
use std::ops::Range;

use super::{Item, tokens};

/// A basic block.
#[derive(Debug)]
pub(crate) struct Block<'a> {
    /// Its label without sigil; empty for an entry without one.
    pub(crate) name: &'a str,
    /// Where its instructions stand among the function's lines.
    pub(crate) lines: Range<usize>,
    /// Where it goes, as numbers of [`Graph::blocks`]; each once.
    pub(crate) successors: Vec<usize>,
    /// The value its branch depends on, if it has more than one way.
    pub(crate) condition: Option<&'a str>,
    /// Whether the function ends here by returning.
    pub(crate) returns: bool,
}

/// The blocks of a function, the entry first.
#[derive(Debug)]
pub(crate) struct Graph<'a> {
    /// In the order of the text.
    pub(crate) blocks: Vec<Block<'a>>,
}

impl<'a> Graph<'a> {
    /// Reads a function.
    pub(crate) fn of(function: &'a Item) -> Self {
        let mut blocks: Vec<Block<'a>> = Vec::new();
        let mut targets: Vec<Vec<&str>> = Vec::new();
        for (number, line) in function.lines.iter().enumerate().skip(1) {
            let name = label(line);
            if name.is_some() || blocks.is_empty() {
                blocks.push(Block {
                    name: name.unwrap_or_default(),
                    lines: number + usize::from(name.is_some())..number,
                    successors: Vec::new(),
                    condition: None,
                    returns: false,
                });
                targets.push(Vec::new());
            }
            let words: Vec<&str> = tokens(line).map(|token| token.1).collect();
            let (Some(block), Some(targets)) = (blocks.last_mut(), targets.last_mut()) else {
                continue;
            };
            if name.is_some() || words.first().is_none_or(|&first| first == "}") {
                continue;
            }
            block.lines.end = number + 1;
            match words.first() {
                // `br label %a` depends on nothing.
                Some(&("br" | "switch")) if words.get(1) != Some(&"label") => {
                    block.condition = words.get(2).copied().filter(|word| word.starts_with('%'));
                }
                Some(&"ret") => block.returns = true,
                _ => {}
            }
            // The cases of a switch stand on lines of their own.
            let labels = words.windows(2).filter(|pair| pair[0] == "label");
            targets.extend(labels.map(|pair| pair[1].trim_start_matches('%')));
        }
        let numbers: HashMap<&str, usize> =
            blocks.iter().enumerate().map(|(number, block)| (block.name, number)).collect();
        for (block, targets) in blocks.iter_mut().zip(targets) {
            for target in targets {
                if let Some(&number) = numbers.get(target)
                    && !block.successors.contains(&number)
                {
                    block.successors.push(number);
                }
            }
        }
        Self { blocks }
    }

    /// Whether each block has a way to the function's return.
    pub(crate) fn returning(&self) -> Vec<bool> {
        let mut returning: Vec<bool> = self.blocks.iter().map(|block| block.returns).collect();
        loop {
            let mut changed = false;
            for (number, block) in self.blocks.iter().enumerate().rev() {
                if !returning[number] && block.successors.iter().any(|&next| returning[next]) {
                    returning[number] = true;
                    changed = true;
                }
            }
            if !changed {
                return returning;
            }
        }
    }

    /// For each block the blocks that every way from it to the return comes through, itself among
    /// them. Ways that never return do not count.
    pub(crate) fn certain(&self) -> Vec<Set> {
        let returning = self.returning();
        let count = self.blocks.len();
        let mut certain: Vec<Set> = (0..count).map(|_| Set::full(count)).collect();
        loop {
            let mut changed = false;
            for (number, block) in self.blocks.iter().enumerate().rev() {
                let mut common = match block.returns {
                    true => Set::empty(count),
                    false => Set::full(count),
                };
                for &next in block.successors.iter().filter(|&&next| returning[next]) {
                    common.intersect(&certain[next]);
                }
                common.insert(number);
                if common != certain[number] {
                    certain[number] = common;
                    changed = true;
                }
            }
            if !changed {
                return certain;
            }
        }
    }

    /// The branches that decide whether a block is come to, and those that decide about them.
    pub(crate) fn deciders(&self, block: usize) -> Vec<usize> {
        let (certain, returning) = (self.certain(), self.returning());
        let mut found = Vec::new();
        let mut wanted = vec![block];
        while let Some(block) = wanted.pop() {
            for (number, branch) in self.blocks.iter().enumerate() {
                let mut ways = branch.successors.iter().filter(|&&next| returning[next]);
                let decides = branch.condition.is_some()
                    && ways.any(|&next| certain[next].contains(block))
                    && (number == block || !certain[number].contains(block));
                if decides && !found.contains(&number) {
                    found.push(number);
                    wanted.push(number);
                }
            }
        }
        found
    }
}

/// The label that a line is, if it is one.
pub(crate) fn label(line: &str) -> Option<&str> {
    if line.starts_with(' ') {
        return None;
    }
    let mut words = tokens(line);
    let (_, name) = words.next()?;
    (words.next()?.1 == ":").then_some(name)
}

/// A set of numbers below a bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Set(Vec<u64>);

impl Set {
    fn empty(bound: usize) -> Self {
        Self(vec![0; bound.div_ceil(64)])
    }

    fn full(bound: usize) -> Self {
        Self(vec![u64::MAX; bound.div_ceil(64)])
    }

    fn insert(&mut self, number: usize) {
        self.0[number / 64] |= 1 << (number % 64);
    }

    pub(crate) fn contains(&self, number: usize) -> bool {
        self.0[number / 64] >> (number % 64) & 1 == 1
    }

    fn intersect(&mut self, other: &Self) {
        for (word, other) in self.0.iter_mut().zip(&other.0) {
            *word &= other;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::Ir;

    #[test]
    fn a_loop_decides_about_its_body_and_a_branch_in_it_does_not() {
        let ir = Ir::parse(
            "define void @k(i1 %c, i1 %d) {\nstart:\n  br label %head\n\
             head:\n  br i1 %c, label %left, label %join\n\
             left:\n  br label %join\n\
             join:\n  br i1 %d, label %head, label %end\n\
             end:\n  ret void\n}\n",
        );
        let graph = Graph::of(ir.find("@k").unwrap());
        let number = |name| graph.blocks.iter().position(|block| block.name == name).unwrap();
        assert_eq!(graph.deciders(number("join")), [number("join")]);
        assert_eq!(graph.deciders(number("left")), [number("head"), number("join")]);
        assert!(graph.deciders(number("end")).is_empty());
    }
}
