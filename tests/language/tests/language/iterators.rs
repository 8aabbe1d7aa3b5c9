//! Iterators: adaptors, ranges, and what they return.

use crosscut_language::map;

fn rows() -> Vec<[i64; 10]> {
    (0..8).map(|row| core::array::from_fn(|i| (i as i64 * 31 + row * 17) % 23 - 9)).collect()
}

#[test]
fn adaptors_chain() {
    map(&rows(), |row| {
        [
            row.iter().rev().enumerate().map(|(i, x)| i as i64 * x).sum(),
            row.iter().zip(row.iter().skip(1)).filter(|(a, b)| a < b).count() as i64,
            row.iter().step_by(3).copied().sum(),
            row.iter().take_while(|x| **x < 8).count() as i64,
            row.iter().skip_while(|x| **x < 0).fold(1, |all, x| (all * 3 + x) % 1000),
            row.iter()
                .scan(0, |sum, x| {
                    *sum += x;
                    Some(*sum)
                })
                .max()
                .unwrap_or(0),
            row.iter().copied().filter_map(|x| (x > 0).then_some(x * x)).last().unwrap_or(-1),
            row.iter().chain(&[5, 6]).copied().min().unwrap_or(0),
        ]
    });
}

#[test]
fn questions_have_answers() {
    map(&rows(), |row| {
        [
            i64::from(row.iter().any(|&x| x == 3)),
            i64::from(row.iter().all(|&x| x > -10)),
            row.iter().find(|&&x| x > 2).copied().unwrap_or(-1),
            row.iter().position(|&x| x < 0).map_or(-1, |i| i as i64),
            row.iter().max_by_key(|&&x| x.abs()).copied().unwrap_or(0),
            row.iter().min_by(|a, b| (*a % 5).cmp(&(*b % 5))).copied().unwrap_or(0),
            row.iter().rposition(|&x| x % 2 == 0).map_or(-1, |i| i as i64),
            row.iter().nth(4).copied().unwrap_or(0),
        ]
    });
}

#[test]
fn ranges_count() {
    map(&[0u32, 1, 2, 7, 30], |n| {
        [
            (0..n).sum::<u32>(),
            (0..=n).product::<u32>().min(99),
            (0..n).rev().step_by(2).fold(0, |all, i| all * 3 % 1009 + i),
            (1..).map(|i| i * i).take_while(|&i| i < n).count() as u32,
            (0..n).flat_map(|i| 0..i).count() as u32,
            (b'a'..=b'z').filter(|letter| u32::from(*letter) % (n + 1) == 0).count() as u32,
            (0..n).contains(&5).into(),
            (0..n as usize).len() as u32,
        ]
    });
}

#[test]
fn folds_may_stop_early() {
    map(&rows(), |row| {
        let sum = row.iter().try_fold(0i8, |sum, &x| sum.checked_add(x as i8 * 9));
        let first = row.iter().try_for_each(|&x| if x == 7 { Err(x) } else { Ok(()) });
        let parts =
            row.iter().fold(
                (0, 0),
                |(even, odd), &x| if x % 2 == 0 { (even + x, odd) } else { (even, odd + x) },
            );
        [sum.map_or(-999, i64::from), first.err().unwrap_or(0), parts.0, parts.1]
    });
}

#[test]
fn iterators_of_our_own() {
    #[derive(Clone, Copy)]
    struct Collatz(u64);
    impl Iterator for Collatz {
        type Item = u64;
        fn next(&mut self) -> Option<u64> {
            if self.0 == 1 {
                return None;
            }
            self.0 = if self.0.is_multiple_of(2) { self.0 / 2 } else { 3 * self.0 + 1 };
            Some(self.0)
        }
    }
    map(&[1u64, 7, 27, 97, 871], |n| {
        [
            Collatz(n).count() as u64,
            Collatz(n).max().unwrap_or(n),
            Collatz(n).step_by(5).sum::<u64>(),
        ]
    });
    map(&[3u32, 10], |n| {
        let squares = core::iter::successors(Some(n), |&x| (x < 1000).then_some(x * x % 1013));
        let repeated = core::iter::repeat_n(n, 4).sum::<u32>();
        [
            squares.take(20).fold(0, |all, x| all ^ x),
            repeated,
            core::iter::once(n).chain(core::iter::empty()).count() as u32,
        ]
    });
}

#[test]
fn peeking_and_comparing() {
    map(&rows(), |row| {
        let mut runs = 0;
        let mut iterator = row.iter().peekable();
        while let Some(x) = iterator.next() {
            if iterator.peek().is_none_or(|next| *next < x) {
                runs += 1;
            }
        }
        let order = row.iter().cmp(row.iter().rev());
        [
            runs,
            order as i64,
            i64::from(row.iter().eq(&row)),
            row.iter().map(|x| x & 3).is_sorted().into(),
        ]
    });
}
