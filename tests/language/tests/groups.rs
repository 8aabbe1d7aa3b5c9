//! Work-groups: ids, local memory and barriers mean the same everywhere.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crosscut::prelude::*;
use crosscut_language::agree;

#[test]
fn every_index_in_one_to_three_dimensions() {
    agree(|queue| {
        let mut line = queue.zeroed::<[usize; 6]>(24)?;
        queue.parallel_for(NdRange::new(24, 8), &mut line, |item, out| {
            *out = [item.global(), item.local(), item.group(), 0, 0, 0];
            out[3] = item.global_range();
            out[4] = item.local_range();
            out[5] = item.group_range();
        })?;
        let mut plane = queue.zeroed::<[usize; 6]>(24)?;
        queue.parallel_for(NdRange::new([4, 6], [2, 3]), &mut plane, |item, out| {
            let ([a, b], [c, d], [e, f]) = (item.global(), item.local(), item.group());
            *out = [a, b, c, d, e, f];
        })?;
        let mut space = queue.zeroed::<[usize; 6]>(48)?;
        queue.parallel_for(NdRange::new([2, 4, 6], [1, 2, 3]), &mut space, |item, out| {
            let [a, b, c] = item.group();
            let [d, e, f] = item.group_range();
            *out = [a * 100 + b * 10 + c, d * 100 + e * 10 + f, 0, 0, 0, 0];
            out[2] = item.global_linear();
            out[3] = item.local_linear();
            out[4] = item.group_linear();
            out[5] = item.local_len();
        })?;
        let mut all = queue.download(&line)?;
        all.extend(queue.download(&plane)?);
        all.extend(queue.download(&space)?);
        Ok(all)
    });
}

#[test]
fn a_rotation_within_each_group() {
    let found = agree(|queue| {
        let x = queue.upload(&(0..512u32).collect::<Vec<_>>())?;
        let mut y = queue.zeroed::<u32>(512)?;
        queue.parallel_for(
            NdRange::new(512, 64),
            (&x, &mut y, Local::new(64)),
            |item, (x, y, mut tile)| {
                let mut value = x[item.global()];
                for _ in 0..5 {
                    let all = tile.share(&item, value);
                    value = all[(item.local() + 1) % all.len()];
                }
                *y = value;
            },
        )?;
        queue.download(&y)
    });
    assert!((0..512).all(|i| found[i] as usize == i / 64 * 64 + (i % 64 + 5) % 64));
}

#[test]
fn a_sum_by_halves_with_two_tiles() {
    let found = agree(|queue| {
        let x = queue.upload(&(0..256).map(|i| i as f32 * 0.25).collect::<Vec<_>>())?;
        let mut y = queue.zeroed::<[f32; 2]>(256)?;
        queue.parallel_for(
            NdRange::new(256, 32),
            (&x, &mut y, Local::new(32), Local::new(32)),
            |item, (x, y, mut sums, mut products)| {
                let (mut sum, mut product) = (x[item.global()], 1.0 + x[item.global()] / 256.0);
                let mut half = item.local_range() / 2;
                while half > 0 {
                    let (sums, products) = (sums.share(&item, sum), products.share(&item, product));
                    if item.local() < half {
                        sum += sums[item.local() + half];
                        product *= products[item.local() + half];
                    }
                    half /= 2;
                }
                *y = [sum, product];
            },
        )?;
        queue.download(&y)
    });
    assert_eq!(found[32][0], (32..64).map(|i| i as f32 * 0.25).sum::<f32>());
}

#[test]
fn a_histogram_of_local_atomics() {
    agree(|queue| {
        let x = queue
            .upload(&(0..1024u32).map(|i| i.wrapping_mul(0x9E37_79B9) >> 28).collect::<Vec<_>>())?;
        let mut y = queue.zeroed::<u32>(1024)?;
        queue.parallel_for(
            NdRange::new(1024, 128),
            (&x, &mut y, Local::<AtomicU32>::new(16)),
            |item, (x, y, mut counts)| {
                let counts = counts.fill(&item, |_| AtomicU32::new(0));
                counts[x[item.global()] as usize].fetch_add(1, Relaxed);
                item.barrier();
                *y = counts[item.local() % 16].load(Relaxed);
            },
        )?;
        queue.download(&y)
    });
}

#[test]
fn structs_and_wide_integers_in_local_memory() {
    #[derive(Clone, Copy, Debug, DeviceCopy)]
    #[repr(C)]
    struct Pair {
        key: u64,
        value: [u16; 4],
    }
    agree(|queue| {
        let mut y = queue.zeroed::<Pair>(64)?;
        queue.parallel_for(
            NdRange::new([8, 8], [4, 4]),
            (&mut y, Local::<Pair>::new(16), Local::<u128>::new(16)),
            |item, (y, mut pairs, mut wide)| {
                let at = item.global_linear();
                let pairs = pairs.share(&item, Pair { key: at as u64, value: [at as u16; 4] });
                let wide = wide.share(&item, (at as u128) << 70 | 5);
                let other = 15 - item.local_linear();
                *y = pairs[other];
                y.key += (wide[other] >> 69) as u64;
            },
        )?;
        queue.download(&y)
    });
}

#[test]
fn a_branch_around_each_barrier() {
    // What one item does between two barriers, all see after the second.
    agree(|queue| {
        let mut y = queue.zeroed::<u32>(128)?;
        queue.parallel_for(
            NdRange::new(128, 16),
            (&mut y, Local::<AtomicU32>::new(1)),
            |item, (y, mut turn)| {
                let turn = turn.fill(&item, |_| AtomicU32::new(0));
                for round in 0..16 {
                    if item.local() == round {
                        turn[0]
                            .store(turn[0].load(Relaxed).wrapping_mul(3) + round as u32, Relaxed);
                    }
                    item.barrier();
                    *y = y.wrapping_mul(5).wrapping_add(turn[0].load(Relaxed));
                    item.barrier();
                }
            },
        )?;
        queue.download(&y)
    });
}

#[test]
fn a_barrier_behind_a_branch_on_where_a_group_begins() {
    let found = agree(|queue| {
        let mut y = queue.zeroed::<[u32; 2]>(128)?;
        let limit = 64;
        queue.parallel_for(
            NdRange::new(128, 16),
            (&mut y, Local::<u32>::new(16)),
            move |item, (y, mut tile)| {
                let base = item.global() - item.local();
                if base < limit {
                    let all = tile.share(&item, item.global() as u32);
                    *y = [all[15 - item.local()], 1];
                }
                if base != 0 {
                    let all = tile.share(&item, 7 * item.global() as u32);
                    y[1] += all[(item.local() + 1) % 16];
                }
            },
        )?;
        queue.download(&y)
    });
    assert_eq!((found[0], found[17][0], found[64]), ([15, 1], 30, [0, 7 * 65]));
}

#[test]
fn what_a_group_computes_together() {
    agree(|queue| {
        let mut all = Vec::new();
        for group in [1, 5, 16, 24, 60] {
            let x = queue
                .upload(&(0..240).map(|i| (i * 37 % 101) as f32 * 0.37).collect::<Vec<_>>())?;
            let mut y = queue.zeroed::<[f32; 5]>(240)?;
            queue.parallel_for(NdRange::new(240, group), (&x, &mut y), |item, (x, y)| {
                let (together, value) = (item.work_group(), x[item.global()]);
                let last = together.broadcast(value, item.local_len() / 2);
                let sum = together.reduce(value, |a, b| a + b);
                let upto = together.inclusive_scan(value, |a, b| a + b);
                let before = together.exclusive_scan(value, 1.5, f32::max);
                let flags = [together.any(value > 30.0), together.all(value > 1.0)];
                let flags = if flags[0] { 1.0 } else { 0.0 } + if flags[1] { 2.0 } else { 0.0 };
                *y = [last, sum, upto, before, flags];
            })?;
            all.extend(queue.download(&y)?);
        }
        Ok(all)
    });
}

#[test]
fn a_scan_of_affine_maps_in_two_dimensions() {
    agree(|queue| {
        let mut y = queue.zeroed::<[u32; 2]>(16 * 12)?;
        queue.parallel_for(NdRange::new([16, 12], [8, 6]), &mut y, |item, y| {
            let own = [3, item.global_linear() as u32];
            *y = item.work_group().inclusive_scan(own, |f, g| {
                [f[0].wrapping_mul(g[0]), f[1].wrapping_mul(g[0]).wrapping_add(g[1])]
            });
        })?;
        queue.download(&y)
    });
}
