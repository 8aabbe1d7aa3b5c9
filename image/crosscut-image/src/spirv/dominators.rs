//! Which nodes of a graph every way to a node leads through: its dominators.
//!
//! By Lengauer and Tarjan, "A fast algorithm for finding dominators in a flowgraph" (1979), with paths
//! that get shorter where they are gone. Graphs come from outside: no shape of one may take longer than
//! the logarithm of its size for each edge.

/// Numbers a walk over the tree of dominators of a graph, which starts at its first node: when it enters
/// and leaves each node; `None` for those that are never reached. A node dominates those that the walk
/// visits meanwhile.
pub(super) fn visits(next: &[Vec<usize>]) -> Vec<Option<(usize, usize)>> {
    let walk = Walk::new(next);
    let nearest = nearest(&walk, next);
    let mut below = vec![Vec::new(); nearest.len()];
    for (at, above) in nearest.into_iter().enumerate().skip(1) {
        below[above].push(at);
    }
    let mut visits = vec![None; next.len()];
    let (mut clock, mut path) = (0, Vec::new());
    path.extend((!below.is_empty()).then_some((0, 0, 0)));
    while let Some((at, child, entered)) = path.pop() {
        clock += 1;
        let entered = if child == 0 { clock } else { entered };
        match below[at].get(child) {
            Some(&inner) => path.extend([(at, child + 1, entered), (inner, 0, 0)]),
            None => visits[walk.nodes[at]] = Some((entered, clock)),
        }
    }
    visits
}

/// A walk over a graph that goes on from the node it came to last. Below, a node is its place in it.
struct Walk {
    /// The nodes that are reached, each before those that are first reached from it.
    nodes: Vec<usize>,
    /// Where each node is in `nodes`.
    places: Vec<Option<usize>>,
    /// The place of the node that each was first reached from; of the first, its own.
    parents: Vec<usize>,
}

impl Walk {
    fn new(next: &[Vec<usize>]) -> Self {
        let mut walk =
            Self { nodes: Vec::new(), places: vec![None; next.len()], parents: Vec::new() };
        let mut path = Vec::new();
        path.extend((!next.is_empty()).then(|| (walk.visit(0, 0), 0)));
        while let Some((at, child)) = path.pop() {
            let Some(&to) = next[walk.nodes[at]].get(child) else { continue };
            path.push((at, child + 1));
            if walk.places[to].is_none() {
                path.push((walk.visit(to, at), 0));
            }
        }
        walk
    }

    /// The place of a node that is reached for the first time.
    fn visit(&mut self, node: usize, parent: usize) -> usize {
        let at = self.nodes.len();
        self.nodes.push(node);
        self.parents.push(parent);
        self.places[node] = Some(at);
        at
    }
}

/// The nearest dominator of each node that is reached; of the first, itself.
fn nearest(walk: &Walk, next: &[Vec<usize>]) -> Vec<usize> {
    let count = walk.nodes.len();
    let mut before = vec![Vec::new(); count];
    for (at, &node) in walk.nodes.iter().enumerate() {
        for to in next[node].iter().filter_map(|&to| walk.places[to]) {
            before[to].push(at);
        }
    }
    let mut forest = Forest::new(count);
    let mut nearest = vec![0; count];
    // The nodes that each is the semidominator of, until they are looked at.
    let mut waiting = vec![Vec::new(); count];
    for at in (1..count).rev() {
        let best = before[at].iter().map(|&from| forest.best(from)).min();
        let semi = best.map_or(at, |best| best.min(at));
        forest.semi[at] = semi;
        waiting[semi].push(at);
        let parent = walk.parents[at];
        forest.above[at] = Some(parent);
        for node in std::mem::take(&mut waiting[parent]) {
            let on_the_way = forest.best_node(node);
            // Either its semidominator is the nearest, or it has the nearest of that node, which is
            // known further down only.
            let shares = forest.semi[on_the_way] < forest.semi[node];
            nearest[node] = if shares { on_the_way } else { parent };
        }
    }
    for at in 1..count {
        if nearest[at] != forest.semi[at] {
            nearest[at] = nearest[nearest[at]];
        }
    }
    nearest
}

/// The part of the walk's tree that has been looked at, from its end on.
struct Forest {
    /// The first node from which a way leads to each through later nodes only, as far as it is known.
    semi: Vec<usize>,
    /// A node further up in the same tree; `None` for its root.
    above: Vec<Option<usize>>,
    /// The node with the first `semi` among those from each to below its `above`.
    label: Vec<usize>,
}

impl Forest {
    fn new(count: usize) -> Self {
        Self { semi: (0..count).collect(), above: vec![None; count], label: (0..count).collect() }
    }

    /// The first semidominator on the way from a node up to below the root of its tree.
    fn best(&mut self, node: usize) -> usize {
        let node = self.best_node(node);
        self.semi[node]
    }

    /// The node that has it.
    fn best_node(&mut self, node: usize) -> usize {
        let (mut path, mut at) = (Vec::new(), node);
        while let Some(above) = self.above[at].filter(|&above| self.above[above].is_some()) {
            path.push((at, above));
            at = above;
        }
        // From the top on: each then has what all above it have, and leads to the root at once.
        for (at, above) in path.into_iter().rev() {
            if self.semi[self.label[above]] < self.semi[self.label[at]] {
                self.label[at] = self.label[above];
            }
            self.above[at] = self.above[above];
        }
        self.label[node]
    }
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

    /// Two chains of blocks from the first one, whose blocks of the same place both go to one more: the
    /// first is above all of those, and each way up to it is as long as the chain.
    fn two_chains(length: usize) -> Vec<Vec<usize>> {
        let (one, other, meeting) = (1, 1 + length, 1 + 2 * length);
        let mut next = vec![Vec::new(); 1 + 3 * length];
        next[0] = vec![one, other];
        for start in [one, other] {
            for at in 0..length {
                next[start + at] = vec![meeting + at];
                next[start + at].extend((at + 1 < length).then_some(start + at + 1));
            }
        }
        next
    }

    #[test]
    fn long_ways_to_blocks_that_meet_are_not_gone_for_each_of_them() {
        // Some minutes if they are; a fraction of a second if not.
        let (done, wait) = std::sync::mpsc::channel();
        std::thread::spawn(move || done.send(visits(&two_chains(200_000))));
        let visits = wait.recv_timeout(std::time::Duration::from_secs(60)).expect("in time");
        let (first, inside) = (visits[0].unwrap(), |at: usize| visits[at].unwrap());
        assert!((1..visits.len()).all(|at| first.0 <= inside(at).0 && inside(at).1 <= first.1));
        let (last_of_chain, last) = (inside(200_000), inside(600_000));
        assert!(last_of_chain.1 < last.0 || last.1 < last_of_chain.0, "it does not dominate it");
    }
}
