//! Whether it is worth it to look for a command's end before sleeping, by what came of that before.
//!
//! It is in vain where no core is free for the driver's threads, because others have work for all of them, and where
//! launches of few items take long. Then only now and then somebody looks again.

use std::sync::atomic::{AtomicU32, Ordering};

/// So many looks in vain, one after the other, may be by chance.
const BY_CHANCE: u32 = 3;
/// After those, one wait of so many looks again.
const RARELY: u32 = 64;

/// Waits since looking last helped. A guess that threads share: a count that is lost does no harm.
pub(crate) struct Looking(AtomicU32);

impl Looking {
    pub(crate) const fn new() -> Self {
        Self(AtomicU32::new(0))
    }

    /// Whether the next one is to look.
    pub(crate) fn is_worth_it(&self) -> bool {
        let in_vain = self.0.load(Ordering::Relaxed);
        let worth = in_vain < BY_CHANCE || in_vain.is_multiple_of(RARELY);
        if !worth {
            self.0.store(in_vain.wrapping_add(1), Ordering::Relaxed);
        }
        worth
    }

    /// Somebody looked: whether he saw the end.
    pub(crate) fn has_helped(&self, ended: bool) {
        let in_vain = if ended { 0 } else { self.0.load(Ordering::Relaxed).wrapping_add(1) };
        self.0.store(in_vain, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Who looks in so many waits, if that helps or not.
    fn looks(looking: &Looking, waits: u32, ended: bool) -> u32 {
        let look = |_: &u32| {
            looking.is_worth_it() && {
                looking.has_helped(ended);
                true
            }
        };
        (0..waits).filter(look).count() as u32
    }

    #[test]
    fn everybody_looks_where_it_helps() {
        assert_eq!(looks(&Looking::new(), 1000, true), 1000);
    }

    #[test]
    fn hardly_anybody_looks_where_it_does_not_and_all_do_once_it_helps_again() {
        let looking = Looking::new();
        assert_eq!(looks(&looking, BY_CHANCE + 10 * RARELY, false), BY_CHANCE + 10);
        // The next one to look is not far, and from then on everybody does.
        assert!(looks(&looking, 1000, true) > 1000 - RARELY);
    }
}
