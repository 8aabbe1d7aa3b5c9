//! Slices and arrays.

use crosscut::prelude::*;
use crosscut_language::{agree, map};

fn rows() -> Vec<[i32; 12]> {
    (0..9).map(|row| core::array::from_fn(|i| (i as i32 * 37 + row * 101) % 53 - 20)).collect()
}

#[test]
fn chunks_and_windows() {
    map(&rows(), |row| {
        let mut out = [0; 8];
        for (out, pair) in out.iter_mut().zip(row.chunks(5)) {
            *out = pair.iter().sum();
        }
        out[4] = row.windows(3).map(|w| w[0] * w[2] - w[1]).max().unwrap_or(0);
        out[5] = row.chunks_exact(4).map(|c| c[3]).sum();
        out[6] = row.rchunks(7).map(|c| c[0]).sum();
        out[7] = row.as_chunks::<3>().0.iter().map(|[a, b, c]| a ^ b ^ c).sum();
        out
    });
}

#[test]
fn splitting() {
    map(&rows(), |row| {
        let (left, right) = row.split_at(row[0].unsigned_abs() as usize % 12);
        let first = right.first().copied().unwrap_or(-99);
        let last = left.last().copied().unwrap_or(-98);
        let tail = match row.as_slice() {
            [a, .., z] => a - z,
            _ => 0,
        };
        let [a, rest @ ..] = &row;
        [
            left.len() as i32,
            first,
            last,
            tail,
            a + rest[10],
            row[2..7].iter().sum(),
            row[..=3][3],
            row[9..].len() as i32,
        ]
    });
}

#[test]
fn changing_in_place() {
    map(&rows(), |mut row| {
        row[..4].fill(7);
        row.swap(5, 6);
        let (left, right) = row.split_at_mut(6);
        left[..3].copy_from_slice(&right[1..4]);
        row.copy_within(4..8, 1);
        row[8..].reverse();
        row[2..10].rotate_left(3);
        if let Some(last) = row.last_mut() {
            *last += 1;
        }
        row
    });
}

#[test]
fn searching() {
    map(&rows(), |row| {
        let mut sorted = row;
        for i in 1..sorted.len() {
            let mut j = i;
            while j > 0 && sorted[j - 1] > sorted[j] {
                sorted.swap(j - 1, j);
                j -= 1;
            }
        }
        let found = sorted.binary_search(&row[3]).map_or(-1, |i| sorted[i]);
        let absent = sorted.binary_search(&1000).unwrap_or_else(|i| i) as i32;
        [
            found,
            absent,
            row.contains(&row[7]).into(),
            row.iter().position(|&x| x < 0).map_or(-1, |i| i as i32),
            sorted.partition_point(|&x| x < 0) as i32,
            sorted[0],
            sorted[11],
            sorted.is_sorted().into(),
            row.starts_with(&row[..2]).into(),
        ]
    });
}

#[test]
fn arrays_of_arrays() {
    map(&[[[1u32, 2, 3], [4, 5, 6], [7, 8, 9]], [[9, 8, 7], [1, 1, 1], [0, 2, 0]]], |m| {
        let mut product = [[0u32; 3]; 3];
        for (i, row) in product.iter_mut().enumerate() {
            for (j, cell) in row.iter_mut().enumerate() {
                *cell = (0..3).map(|k| m[i][k] * m[k][j]).sum();
            }
        }
        let transposed: [[u32; 3]; 3] =
            core::array::from_fn(|i| core::array::from_fn(|j| product[j][i]));
        [product, transposed]
    });
}

#[test]
fn equality_and_order_of_slices() {
    map(&rows(), |row| {
        let (a, b) = (&row[..6], &row[6..]);
        let bytes = row.map(|x| x as u8);
        [
            i32::from(a == b),
            a.cmp(b) as i32,
            i32::from(bytes[..6] < bytes[6..]),
            i32::from(bytes[..3] == bytes[..3]),
            bytes[2..5].cmp(&bytes[1..9]) as i32,
            i32::from(row == [row[0]; 12]),
        ]
    });
}

#[test]
fn a_whole_buffer_in_a_single_task() {
    agree(|queue: &Queue| {
        let mut data = queue.upload(&(0..100).map(|i| (i * 7919u32) % 101).collect::<Vec<_>>())?;
        queue.single_task(&mut data, |data| {
            // A shell sort: no recursion, no allocation.
            let mut gap = data.len() / 2;
            while gap > 0 {
                for i in gap..data.len() {
                    let mut j = i;
                    while j >= gap && data[j - gap] > data[j] {
                        data.swap(j - gap, j);
                        j -= gap;
                    }
                }
                gap /= 2;
            }
        })?;
        queue.download(&data)
    });
}

#[test]
fn constant_tables() {
    const PRIMES: [u32; 10] = [2, 3, 5, 7, 11, 13, 17, 19, 23, 29];
    static WEIGHTS: [[f32; 3]; 4] =
        [[0.5, 0.25, 0.125], [1.0; 3], [2.0, 4.0, 8.0], [-1.0, 0.0, 1.0]];
    map(&(0..40).collect::<Vec<u32>>(), |i| {
        let weights = &WEIGHTS[i as usize % 4];
        [PRIMES[i as usize % 10], (weights[i as usize % 3] * 8.0) as i32 as u32]
    });
}

/// What vectorises such loops on CPUs asks for more than SPIR-V has.
#[test]
fn loops_over_bytes_that_end_early() {
    let rows: Vec<[u8; 40]> = (0..12u8)
        .map(|row| core::array::from_fn(|i| (i as u32 * (u32::from(row) * 37 + 11)) as u8))
        .collect();
    map(&rows, |row| {
        let mut same = 0;
        while same < 40 && row[same] != row[20] {
            same += 1;
        }
        let found = |at: Option<usize>| at.map_or(99, |at| at as u32);
        [
            found(row.iter().position(|&b| b == row[17])),
            found(row.iter().rposition(|&b| b > 200)),
            same as u32,
            row.iter().take_while(|&&b| b < 200).count() as u32,
            found(row.map(|b| b as i8 as i16 * 3).iter().position(|&x| x < 0)),
            found(row.map(|b| b & 1 == 0).iter().position(|&even| !even)),
            row.iter().map(|&b| u32::from(b)).sum(),
            u32::from(row.contains(&77)),
        ]
    });
}

#[test]
fn the_end_of_a_text_is_looked_for_without_a_library_of_cs() {
    let lengths = agree(|queue| {
        let text = queue.upload(b"a\0text\0\0of bytes\0")?;
        let mut lengths = queue.zeroed::<u64>(4)?;
        queue.for_each(&mut lengths, &text, |i, length, text| {
            let start = text.as_ptr().wrapping_add([0, 2, 7, 8][i]);
            let mut n = 0;
            // SAFETY: the last byte of the text is zero.
            while unsafe { *start.wrapping_add(n) } != 0 {
                n += 1;
            }
            *length = n as u64;
        })?;
        queue.download(&lengths)
    });
    assert_eq!(lengths, [1, 4, 0, 8]);
}
