//! Tiled matrix product with work-group memory. `share` writes this item's slot, waits for the others of
//! its group, and lends the whole tile.
#![allow(clippy::print_stdout, reason = "an example talks to the terminal")]

use crosscut::prelude::*;

static SCALE: SpecConstant<f32> = SpecConstant::new(1.0); // folded when the device compiles the kernel

fn main() -> crosscut::Result<()> {
    const N: usize = 256;
    const T: usize = 16;
    let queue = Queue::new()?;
    let a = queue.upload(&vec![1.0f32; N * N])?;
    let b = queue.upload(&vec![2.0f32; N * N])?;
    let mut c = queue.zeroed::<f32>(N * N)?;
    queue.launch().with(&SCALE, 0.5).parallel_for(
        NdRange::new([N, N], [T, T]),
        (&a, &b, &mut c, Local::new(T * T), Local::new(T * T)),
        |item, (a, b, c, mut tile_a, mut tile_b)| {
            let ([y, x], [ly, lx]) = (item.global(), item.local());
            let mut sum = 0.0;
            for t in 0..N / T {
                let tile_a = tile_a.share(&item, a[y * N + t * T + lx]);
                let tile_b = tile_b.share(&item, b[(t * T + ly) * N + x]);
                for k in 0..T {
                    sum += tile_a[ly * T + k] * tile_b[k * T + lx];
                }
            }
            *c = SCALE.get() * sum;
        },
    )?;
    assert!(queue.download(&c)?.iter().all(|&v| v == N as f32));
    println!("{}: the product of two {N} x {N} matrices", queue.device());
    Ok(())
}
