//! Reductions: the same answers everywhere.

use crosscut::prelude::*;
use crosscut_language::agree;

/// Lengths around the runs that are combined at once, and around runs of runs.
const LENGTHS: [usize; 8] = [0, 1, 2, 255, 256, 257, 65_536, 70_001];

#[test]
fn sums_of_floats_are_taken_in_the_same_brackets() {
    agree(|queue| {
        let mut sums = Vec::new();
        for length in LENGTHS {
            let mut sum = Reduction::sum(queue)?;
            queue.parallel_for(length, &mut sum, |i, sum| sum.combine(1.0 / (i as f32 + 1.0)))?;
            sums.push(sum.get()?);
        }
        Ok(sums)
    });
}

#[test]
fn an_operator_need_not_be_commutative() {
    // Maps `x -> a * x + b`, one after the other.
    fn then([a, b]: [u32; 2], [c, d]: [u32; 2]) -> [u32; 2] {
        [a.wrapping_mul(c), b.wrapping_mul(c).wrapping_add(d)]
    }
    let found = agree(|queue| {
        let mut all = Vec::new();
        for length in LENGTHS {
            let mut maps = Reduction::new(queue, [1, 0], then)?;
            queue.parallel_for(length, &mut maps, |i, maps| {
                maps.combine([i as u32 | 1, i as u32]);
                maps.combine([3, 1]);
            })?;
            all.push(maps.get()?);
        }
        Ok(all)
    });
    for (length, found) in LENGTHS.into_iter().zip(found) {
        let values = (0..length as u32).flat_map(|i| [[i | 1, i], [3, 1]]);
        assert_eq!(found, values.fold([1, 0], then), "{length} items");
    }
}

#[test]
fn sums_of_floats_without_rounding_have_the_same_bits_everywhere() {
    let found = agree(|queue| {
        let mut sums = Vec::new();
        for length in LENGTHS {
            let mut sum = Reduction::sum(queue)?;
            queue.parallel_for(length, &mut sum, |i, sum| sum.combine((i % 7) as f32 / 4.0))?;
            sums.push(sum.get()?);
        }
        Ok(sums)
    });
    let sum = |length: usize| (0..length).map(|i| (i % 7) as f32 / 4.0).sum::<f32>();
    assert_eq!(found, LENGTHS.map(sum));
}

#[test]
fn several_reductions_beside_other_arguments() {
    let found = agree(|queue| {
        let x = queue.upload(&(0..1000).map(|i| (i * 7919) % 1009).collect::<Vec<i64>>())?;
        let mut doubled = queue.zeroed::<i64>(1000)?;
        let mut smallest = Reduction::min(queue)?;
        let mut largest = Reduction::max(queue)?;
        let mut odd = Reduction::sum(queue)?;
        queue.for_each(
            &mut doubled,
            (&x, &mut smallest, (&mut largest, &mut odd)),
            |i, doubled, (x, smallest, (largest, odd))| {
                *doubled = 2 * x[i];
                smallest.combine(x[i]);
                largest.combine(x[i]);
                if x[i] % 2 != 0 {
                    odd.combine(1u32);
                }
            },
        )?;
        let mut product = Reduction::product(queue)?;
        queue.parallel_for(10, &mut product, |i, product| product.combine(i as i64 + 1))?;
        let last = queue.download(&doubled)?[999];
        Ok(vec![smallest.get()?, largest.get()?, i64::from(odd.get()?), product.get()?, last])
    });
    let x: Vec<i64> = (0..1000).map(|i| (i * 7919) % 1009).collect();
    let odd = x.iter().filter(|x| **x % 2 != 0).count();
    let ends = [*x.iter().min().unwrap(), *x.iter().max().unwrap()];
    assert_eq!(found, [ends[0], ends[1], odd as i64, 3_628_800, 2 * x[999]]);
}

#[test]
fn work_groups_planes_and_single_tasks_reduce_too() {
    let found = agree(|queue| {
        let mut sum = Reduction::sum(queue)?;
        queue.parallel_for([30, 20], &mut sum, |[y, x], sum| sum.combine((y * x) as u64))?;
        queue.parallel_for(
            NdRange::new(256, 64),
            (&mut sum, Local::new(64)),
            |item, (sum, mut tile)| {
                let tile = tile.share(&item, item.global() as u64);
                sum.combine(tile[63 - item.local()]);
            },
        )?;
        queue.single_task(&mut sum, |sum| sum.combine(1_000_000))?;
        Ok(vec![sum.get()?])
    });
    let plane: u64 = (0..30).map(|y| (0..20).map(|x| y * x).sum::<u64>()).sum();
    assert_eq!(found, [plane + (0..256).sum::<u64>() + 1_000_000]);
}

#[test]
fn the_total_stays_on_the_device_until_it_is_asked_for() {
    let found = agree(|queue| {
        let x = queue.upload(&[3.0f32, 4.0, 12.0])?;
        let mut squares = Reduction::sum(queue)?;
        queue
            .parallel_for(3, (&x, &mut squares), |i, (x, squares)| squares.combine(x[i] * x[i]))?;
        let mut unit = queue.zeroed::<f32>(3)?;
        let total = squares.as_buffer()?;
        queue.for_each(&mut unit, (&x, total), |i, unit, (x, total)| *unit = x[i] / total[0])?;
        queue.download(&unit)
    });
    assert_eq!(found, [3.0 / 169.0, 4.0 / 169.0, 12.0 / 169.0]);
}
