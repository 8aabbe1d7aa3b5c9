//! From a kernel that fails to a small one that fails too.
//!
//! Only the sequence of choices is changed: parts are left out or made zero. A build costs far more than
//! a kernel in it, so each round builds many candidates at once and goes on with the shortest that fails.

use crate::choices::Choices;
use crate::generate::{self, Kernel};
use crate::package::Verdict;

/// Candidates of one build.
const AT_ONCE: usize = 40;
/// Builds, at most.
const ROUNDS: usize = 40;

/// A smaller kernel that is no more like the host's than `kernel`, and its verdict. `judge` gives the
/// verdicts of many kernels.
///
/// # Errors
/// Those of `judge`.
pub fn shrink(
    kernel: Kernel,
    verdict: Verdict,
    mut judge: impl FnMut(&[Kernel]) -> Result<Vec<Verdict>, String>,
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
        let verdicts = judge(&candidates)?;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::choices::Choices;

    /// A device that gets kernels wrong if they hold `word`, and cannot build them if they hold
    /// `forbidden`.
    fn verdict(kernel: &Kernel, word: &str, forbidden: &str) -> Verdict {
        if kernel.source.contains(forbidden) {
            Verdict::NotBuilt("refused".into())
        } else if kernel.source.contains(word) {
            Verdict::Differs("wrong".into())
        } else {
            Verdict::Same
        }
    }

    #[test]
    fn failing_kernels_shrink_and_go_on_failing() {
        let simplest = generate::kernel(Choices::replay(&[])).source.len();
        let (mut shrunk, mut whole, mut left) = (0, 0, 0);
        for seed in 0..80 {
            let kernel = generate::kernel(Choices::random(seed, 240));
            let judge = |kernel: &Kernel| verdict(kernel, "rotate_left", "wrapping_pow");
            let before = judge(&kernel);
            if !matches!(before, Verdict::Differs(_)) {
                continue;
            }
            let length = kernel.source.len();
            let (small, after) =
                shrink(kernel, before, |candidates| Ok(candidates.iter().map(judge).collect()))
                    .unwrap();
            assert_eq!(after, judge(&small), "the verdict is that of the kernel beside it");
            assert!(matches!(after, Verdict::Differs(_)), "{}", small.source);
            whole += length - simplest;
            left += small.source.len() - simplest;
            shrunk += 1;
        }
        assert!(left * 3 <= whole, "of {whole} characters {left} are left");
        assert!(shrunk >= 10, "only {shrunk} kernels had what it takes");
    }

    #[test]
    fn what_cannot_shrink_stays_as_it_is() {
        let kernel = generate::kernel(Choices::random(1, 120));
        let source = kernel.source.clone();
        let told = Verdict::Differs("wrong".into());
        let all_agree = |some: &[Kernel]| Ok(vec![Verdict::Same; some.len()]);
        let (left, verdict) = shrink(kernel, told.clone(), all_agree).unwrap();
        assert_eq!((left.source, verdict), (source, told));
    }
}
