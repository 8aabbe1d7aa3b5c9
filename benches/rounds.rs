//! Taking time in turns.
//!
//! Machines are noisy, and the noise lasts longer than a measurement. So all contenders of a case
//! run once in every round, in an order that changes from round to round, and what is reported is
//! the median over the rounds of the ratio within a round. Where a contender's memory happens to lie
//! lasts as long as the memory does, so what depends on it is measured over several allocations.

use std::time::{Duration, Instant};

use crate::Result;

/// How long one turn lasts, about.
const TURN: Duration = Duration::from_millis(24);
/// A turn is cut into as many parts, and the fastest counts: what else the machine does at that
/// moment only ever adds.
const PARTS: u32 = 4;

/// One way of doing the work of a case; `run` does it once, until it is done.
pub(crate) struct Contender<'a> {
    run: Box<dyn FnMut() -> Result<()> + 'a>,
}

impl<'a> Contender<'a> {
    pub(crate) fn new(run: impl FnMut() -> Result<()> + 'a) -> Self {
        Self { run: Box::new(run) }
    }
}

/// Seconds per run of each contender, in each round.
#[derive(Default)]
pub(crate) struct Times(Vec<Vec<f64>>);

impl Times {
    /// Adds the rounds of the same contenders with other memory.
    pub(crate) fn append(&mut self, other: Self) {
        self.0.resize_with(other.0.len(), Vec::new);
        for (times, more) in self.0.iter_mut().zip(other.0) {
            times.extend(more);
        }
    }

    /// The median time of a contender.
    pub(crate) fn median(&self, contender: usize) -> f64 {
        median(self.0[contender].clone())
    }

    /// The time of a contender in its best round.
    pub(crate) fn fastest(&self, contender: usize) -> f64 {
        self.0[contender].iter().copied().fold(f64::INFINITY, f64::min)
    }

    /// The median over the rounds of one contender's time in terms of another's.
    pub(crate) fn ratio(&self, contender: usize, peer: usize) -> f64 {
        let pairs = self.0[contender].iter().zip(&self.0[peer]);
        median(pairs.map(|(time, of_peer)| time / of_peer).collect())
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let middle = values.len() / 2;
    match values.len() % 2 {
        0 => f64::midpoint(values[middle - 1], values[middle]),
        _ => values[middle],
    }
}

/// Lets the contenders take turns.
pub(crate) fn take_turns(contenders: &mut [Contender<'_>], rounds: usize) -> Result<Times> {
    let mut repeats = Vec::with_capacity(contenders.len());
    for contender in &mut *contenders {
        repeats.push(repeats_for(contender)?);
    }
    let mut times = vec![Vec::with_capacity(rounds); contenders.len()];
    for round in 0..rounds {
        for place in 0..contenders.len() {
            let index = (round + place) % contenders.len();
            let run = &mut contenders[index].run;
            // Not counted: wakes this contender's threads, and lets the last one's fall asleep.
            run()?;
            let mut fastest = f64::INFINITY;
            for _ in 0..PARTS {
                let started = Instant::now();
                for _ in 0..repeats[index] {
                    run()?;
                }
                let seconds = started.elapsed().as_secs_f64() / f64::from(repeats[index]);
                fastest = fastest.min(seconds);
            }
            times[index].push(fastest);
        }
    }
    Ok(Times(times))
}

/// How often a contender runs in a part of a turn. The first run, which builds programs, does not count.
fn repeats_for(contender: &mut Contender<'_>) -> Result<u32> {
    (contender.run)()?;
    let mut repeats = 1;
    loop {
        let started = Instant::now();
        for _ in 0..repeats {
            (contender.run)()?;
        }
        let taken = started.elapsed();
        let part = TURN / PARTS;
        if taken >= part / 4 {
            let runs = part.as_secs_f64() / taken.as_secs_f64() * f64::from(repeats);
            return Ok(runs.ceil().clamp(1.0, f64::from(u32::MAX)) as u32);
        }
        repeats *= 4;
    }
}
