//! From a kernel that fails to a small one that fails too.
//!
//! Only the sequence of choices is changed: parts are left out or made zero. A build costs far more than
//! a kernel in it, so each round builds many candidates at once and goes on with the shortest that fails.

use crate::choices::Choices;
use crate::generate::{self, Kernel};
use crate::package::{Profile, Verdict, Workshop};

/// Candidates of one build.
const AT_ONCE: usize = 40;
/// Builds, at most.
const ROUNDS: usize = 40;

/// A smaller kernel that is no more like the host's than `kernel`, and its verdict.
///
/// # Errors
/// As [`Workshop::judge`].
pub fn shrink(
    workshop: &Workshop,
    profile: Profile,
    kernel: Kernel,
    verdict: Verdict,
) -> Result<(Kernel, Verdict), String> {
    let mut best = (kernel, verdict);
    let mut size = best.0.genome.len().div_ceil(2).max(1);
    let mut from = 0;
    for _ in 0..ROUNDS {
        let mut candidates = Vec::new();
        let mut next = (size, from);
        while candidates.len() < AT_ONCE {
            candidates.extend(smaller(&best.0, next.0, next.1));
            next.1 += next.0;
            if next.1 >= best.0.genome.len() {
                if next.0 == 1 {
                    break;
                }
                next = (next.0 / 2, 0);
            }
        }
        if candidates.is_empty() {
            break;
        }
        let verdicts = workshop.judge(&candidates, profile)?;
        let failing = candidates
            .into_iter()
            .zip(verdicts)
            .filter(|(_, verdict)| same_kind(&best.1, verdict))
            .min_by_key(|(candidate, _)| measure(candidate));
        match failing {
            // The same place again: what follows it may go too.
            Some(found) => best = found,
            None if next.0 == 1 && next.1 >= best.0.genome.len() => break,
            None => (size, from) = next,
        }
    }
    Ok(best)
}

/// Shorter text first; of two alike, the shorter sequence.
fn measure(kernel: &Kernel) -> (usize, usize) {
    (kernel.source.len(), kernel.genome.len())
}

/// A shrunk kernel that cannot be built says nothing about one that gave a wrong answer.
fn same_kind(one: &Verdict, other: &Verdict) -> bool {
    std::mem::discriminant(one) == std::mem::discriminant(other)
}

/// The kernel with `size` choices from `from` left out, and with them zero, if that is smaller.
fn smaller(kernel: &Kernel, size: usize, from: usize) -> Vec<Kernel> {
    let genome = &kernel.genome;
    let end = genome.len().min(from + size);
    if from >= end {
        return Vec::new();
    }
    let without = [&genome[..from], &genome[end..]].concat();
    let mut zeroed = genome.clone();
    zeroed[from..end].fill(0);
    [without, zeroed]
        .iter()
        .map(|genome| generate::kernel(Choices::replay(genome)))
        .filter(|candidate| measure(candidate) < measure(kernel))
        .collect()
}
