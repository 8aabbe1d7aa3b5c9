//! Heat spreads over a plate: a five-point stencil, step after step between two buffers.
#![allow(clippy::print_stdout, reason = "an example talks to the terminal")]

use crosscut::prelude::*;

const N: usize = 256;
const STEPS: usize = 400;

fn step(queue: &Queue, from: &Buffer<f32>, to: &mut Buffer<f32>) -> crosscut::Result<Event> {
    queue.parallel_for([N, N], (from, to), |[y, x], (from, to)| {
        // Beyond the edge it is as warm as at the edge: nothing flows out.
        let at = |y: usize, x: usize| from[y.min(N - 1) * N + x.min(N - 1)];
        let around =
            at(y.saturating_sub(1), x) + at(y + 1, x) + at(y, x.saturating_sub(1)) + at(y, x + 1);
        *to = at(y, x) + 0.2 * (around - 4.0 * at(y, x));
    })
}

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    let mut plate = vec![0.0f32; N * N];
    plate[N / 2 * N + N / 2] = 1000.0;
    let mut now = queue.upload(&plate)?;
    let mut next = queue.zeroed::<f32>(N * N)?;
    for _ in 0..STEPS {
        step(&queue, &now, &mut next)?; // one after the other, by the borrows
        std::mem::swap(&mut now, &mut next);
    }
    let plate = queue.download(&now)?;

    let total: f64 = plate.iter().map(|&t| f64::from(t)).sum();
    let hottest = plate.iter().copied().fold(0.0, f32::max);
    assert!((total - 1000.0).abs() < 0.5, "heat is neither made nor lost: {total}");
    assert!(hottest == plate[N / 2 * N + N / 2] && hottest < 3.0);
    let (here, there) = (plate[100 * N + 120], plate[120 * N + 100]);
    assert!((here - there).abs() < 1e-6 * here.abs(), "it is symmetric: {here}, {there}");
    println!("{}: {total:.3} in all, {hottest:.3} at the hottest", queue.device());
    Ok(())
}
