//! Loops inside of an item, whose turns depend on one another: drivers vectorise them, and must not lose that.

use crosscut::prelude::*;
use crosscut_language::agree;

/// Numbers of every size that cancel: in another order their sum is another one, or no number.
fn cancelling(count: usize) -> Vec<f32> {
    let value =
        |i: usize| [3e38, -3e38, 1e8, -1e8, 1.0, 0.1, -0.3][i % 7] * (1.0 + (i / 7) as f32 / 1e4);
    (0..count).map(|i| value(i).clamp(-3e38, 3e38)).collect()
}

/// Applies a kernel to all of some numbers, in as many items, with an offset each.
fn each<T, O>(numbers: &[T], kernel: impl Fn(usize, &[T]) -> O + Copy + Send + 'static) -> Vec<O>
where
    T: DeviceCopy,
    O: DeviceCopy + std::fmt::Debug,
{
    agree(|queue| {
        let numbers = queue.upload(numbers)?;
        let mut out = queue.zeroed::<O>(41)?;
        queue.for_each(&mut out, &numbers, move |i, out, numbers| *out = kernel(i, numbers))?;
        queue.download(&out)
    })
}

#[test]
fn counts_in_an_array_of_the_items_own_are_all_there() {
    let counts = each(&(0..100u32).collect::<Vec<_>>(), |i, numbers| {
        let mut counts = [0u32; 4];
        for (at, number) in numbers.iter().enumerate() {
            counts[at & 3] += number + i as u32;
        }
        counts
    });
    assert_eq!(counts[0], [1200, 1225, 1250, 1275]);
    each(&(0..200u8).collect::<Vec<_>>(), |i, bytes| {
        let mut counts = [0u16; 8];
        bytes.iter().for_each(|byte| counts[usize::from(byte >> (i % 6)) & 7] += 1);
        counts
    });
}

#[test]
fn counts_in_a_buffer_are_all_there() {
    let counts = agree(|queue| {
        let numbers = queue.upload(&(0..1000i64).collect::<Vec<_>>())?;
        let mut counts = queue.zeroed::<i64>(8)?;
        queue.single_task((&numbers, &mut counts), |(numbers, counts)| {
            for number in numbers {
                counts[(number * number % 5) as usize] += number;
            }
        })?;
        queue.download(&counts)
    });
    assert_eq!(counts.iter().sum::<i64>(), 499_500);
}

#[test]
fn sums_are_taken_in_their_order() {
    for count in [8, 64, 1001] {
        let numbers = cancelling(count);
        each(&numbers, |i, numbers| numbers[i % 5..].iter().sum::<f32>());
        each(&numbers, |i, numbers| {
            let mut sum = i as f64;
            for number in numbers {
                sum += f64::from(*number) * 1e270;
            }
            sum
        });
        each(&numbers, |i, numbers| {
            numbers
                .iter()
                .zip(&numbers[i % 3..])
                .map(|(a, b)| a * 1e-30 * b)
                .fold(0.0, |sum: f32, p| sum + p)
        });
    }
}

#[test]
fn products_are_taken_in_their_order() {
    let numbers: Vec<f32> = (0..300).map(|i| [1e30, 1e-30, 1.1, 0.7][i % 4]).collect();
    each(&numbers, |i, numbers| numbers[i..].iter().product::<f32>());
}

#[test]
fn sums_of_constants_and_of_what_a_turn_before_has_left_agree() {
    each(&[3u32, 70, 1000], |i, counts| {
        let (mut sum, mut last) = (0.0f32, i as f32);
        for _ in 0..counts[i % 3] {
            sum += 0.1;
            last = last * 0.5 + sum;
        }
        [sum, last]
    });
}

#[test]
fn turns_that_read_what_the_turn_before_wrote_agree() {
    let values = agree(|queue| {
        let mut values = queue.upload(&(0..500u32).collect::<Vec<_>>())?;
        queue.single_task(&mut values, |values| {
            for i in 3..values.len() {
                values[i] = values[i - 3].wrapping_mul(31).wrapping_add(values[i]);
            }
        })?;
        queue.download(&values)
    });
    assert_eq!(values[3..5], [3, 35]);
}

#[test]
fn nested_loops_and_loops_that_end_early_agree() {
    let numbers = cancelling(64);
    each(&numbers, |i, numbers| {
        let mut sums = [0.0f32; 4];
        for row in numbers.chunks(8) {
            let mut line = 0.0;
            for (at, number) in row.iter().enumerate() {
                if *number > 2e38 && at > i {
                    break;
                }
                line += number;
                sums[at & 3] += line;
            }
        }
        sums
    });
}

#[test]
fn sums_of_a_work_group_in_local_memory_agree() {
    let numbers = cancelling(256);
    agree(|queue| {
        let numbers = queue.upload(&numbers)?;
        let mut sums = queue.zeroed::<f32>(256)?;
        let range = NdRange::new(256, 64);
        queue.parallel_for(range, (&numbers, &mut sums, Local::new(64)), |item, arguments| {
            let (numbers, sum, mut tile) = arguments;
            let tile = tile.share(&item, numbers[item.global()]);
            *sum = tile[..=item.local()].iter().sum();
        })?;
        queue.download(&sums)
    });
}
