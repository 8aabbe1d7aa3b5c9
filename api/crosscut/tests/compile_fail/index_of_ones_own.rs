//! What an index says of itself decides which memory a kernel touches: nobody else may say it.
use crosscut::prelude::*;

#[derive(Clone, Copy)]
struct Longer(usize);

impl crosscut::Index for Longer {
    const DIMENSIONS: u8 = 0;

    fn from_numbers(number: impl Fn(u32) -> usize) -> Self {
        Self(number(0))
    }

    fn numbers(self, _filler: usize) -> [usize; 3] {
        [self.0, 1, 1]
    }
}

fn main() {
    let _ = NdRange::new(Longer(100_000), Longer(1));
}
