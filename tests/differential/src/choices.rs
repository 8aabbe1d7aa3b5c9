//! The choices a kernel is made of.
//!
//! A generator that draws every decision from here is a function from a sequence of numbers to a kernel.
//! Shrinking works on the sequence alone: 0 is always the simplest choice, and a sequence that is too
//! short goes on with zeros, so every sequence is a kernel.

/// A sequence of decisions: recorded ones first, then random ones or zeros.
#[derive(Clone, Debug)]
pub struct Choices {
    genome: Vec<u32>,
    at: usize,
    random: Option<Random>,
    limit: usize,
}

impl Choices {
    /// Random choices, the same for the same seed. After `limit` of them only zeros follow, so that a
    /// kernel is no larger than compilers like.
    #[must_use]
    pub fn random(seed: u64, limit: usize) -> Self {
        Self { genome: Vec::new(), at: 0, random: Some(Random::new(seed)), limit }
    }

    /// These choices, then zeros.
    #[must_use]
    pub fn replay(genome: &[u32]) -> Self {
        Self { genome: genome.to_vec(), at: 0, random: None, limit: genome.len() }
    }

    /// Lets `more` random choices follow, whatever the limit was.
    pub fn allow(&mut self, more: usize) {
        self.limit = self.at + more;
    }

    /// What was drawn.
    #[must_use]
    pub fn into_genome(mut self) -> Vec<u32> {
        self.genome.truncate(self.at);
        self.genome
    }

    /// A number below `n`; 0 is the simplest.
    pub fn below(&mut self, n: u32) -> u32 {
        let value = match (&mut self.random, self.genome.get(self.at)) {
            (_, Some(&known)) => known.min(n.saturating_sub(1)),
            (Some(random), None) if self.at < self.limit => {
                // Below 2^32, so the high half of the product is below n.
                (((random.next() >> 32) * u64::from(n)) >> 32) as u32
            }
            _ => 0,
        };
        if let Some(place) = self.genome.get_mut(self.at) {
            *place = value;
        } else {
            self.genome.push(value);
        }
        self.at += 1;
        value
    }

    /// True once in `n` times; false is simpler.
    pub fn one_in(&mut self, n: u32) -> bool {
        self.below(n) + 1 == n
    }

    /// A number from `low` to `high`.
    pub fn between(&mut self, low: u32, high: u32) -> u32 {
        low + self.below(high - low + 1)
    }

    /// One of these; the first is the simplest.
    pub fn pick<'a, T>(&mut self, from: &'a [T]) -> &'a T {
        &from[self.below(from.len() as u32) as usize]
    }

    /// Any 64 bits.
    pub fn bits(&mut self) -> u64 {
        u64::from(self.below(u32::MAX)) << 32 | u64::from(self.below(u32::MAX))
    }
}

/// Vigna's splitmix64: good enough to make choices, and the same everywhere for ever.
#[derive(Clone, Debug)]
pub struct Random {
    state: u64,
}

impl Random {
    /// A generator for this seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    /// The next 64 bits.
    #[allow(clippy::should_implement_trait, reason = "there is no end to iterate to")]
    pub fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }
}

#[cfg(test)]
mod tests {
    use super::Choices;

    #[test]
    fn a_replayed_genome_makes_the_same_choices() {
        let mut first = Choices::random(7, 30);
        let drawn: Vec<u32> = (1..50).map(|n| first.below(n)).collect();
        let mut second = Choices::replay(&first.into_genome());
        assert_eq!(drawn, (1..50).map(|n| second.below(n)).collect::<Vec<u32>>());
        assert_eq!(second.below(9), 0);
    }

    #[test]
    fn a_choice_never_exceeds_what_may_be_chosen() {
        let mut choices = Choices::replay(&[u32::MAX, 5, 0]);
        assert_eq!([choices.below(3), choices.below(4), choices.below(1)], [2, 3, 0]);
        assert_eq!(choices.into_genome(), [2, 3, 0]);
    }
}
