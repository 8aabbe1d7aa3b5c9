//! Chunks of buffers: a slice for each item.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crosscut::ErrorKind;
use crosscut::prelude::*;
use crosscut_language::{agree, targets};

#[test]
fn every_item_gets_its_own_chunk_and_the_last_one_is_shorter() {
    let seen = agree(|queue| {
        let mut x = queue.upload(&(0..23u16).collect::<Vec<_>>())?;
        let chunks = x.chunks_mut(5)?;
        queue.parallel_for(chunks.len(), chunks, |i, chunk| {
            chunk.reverse();
            chunk[0] += 100 * i as u16 + 1000 * chunk.len() as u16;
        })?;
        queue.download(&x)
    });
    assert_eq!(seen[..5], [5004, 3, 2, 1, 0]);
    assert_eq!(seen[15..], [5319, 18, 17, 16, 15, 3422, 21, 20]);
}

#[test]
fn chunks_of_every_size_cover_a_part() {
    for size in [1, 2, 3, 7, 16, 50, 51, 1000] {
        let seen = agree(|queue| {
            let mut x = queue.zeroed::<u32>(60)?;
            let mut part = x.slice_mut(5..55)?;
            let chunks = part.chunks_mut(size)?;
            queue.parallel_for(chunks.len(), chunks, |i, chunk| {
                for (at, element) in chunk.iter_mut().enumerate() {
                    *element = (1000 * (i + 1) + at) as u32;
                }
            })?;
            queue.download(&x)
        });
        assert!(seen[..5].iter().chain(&seen[55..]).all(|it| *it == 0));
        for (at, value) in seen[5..55].iter().enumerate() {
            assert_eq!(*value as usize, 1000 * (at / size + 1) + at % size);
        }
    }
}

#[test]
fn chunks_to_be_read_stand_beside_other_arguments() {
    let seen = agree(|queue| {
        let x = queue.upload(&(0..1000i64).collect::<Vec<_>>())?;
        let factors = queue.upload(&[1i64, -1])?;
        let mut sums = queue.zeroed::<i64>(32)?;
        queue.for_each(&mut sums, (x.chunks(32)?, &factors), |i, sum, (chunk, factors)| {
            *sum = chunk.iter().sum::<i64>() * factors[i % 2];
        })?;
        queue.download(&sums)
    });
    let x: Vec<i64> = (0..1000).collect();
    let expected: Vec<i64> =
        x.chunks(32).zip([1, -1].repeat(16)).map(|(c, f)| c.iter().sum::<i64>() * f).collect();
    assert_eq!(seen, expected);
}

#[test]
fn rows_of_a_matrix_are_chunks_of_two_dimensions() {
    let seen = agree(|queue| {
        let mut x = queue.zeroed::<u8>(2 * 3 * 4)?;
        queue.parallel_for([2, 3], x.chunks_mut(4)?, |[z, y], row| row.fill((10 * z + y) as u8))?;
        queue.parallel_for(NdRange::new(6, 3), x.chunks_mut(4)?, |item, row| {
            row[item.local()] += 100;
        })?;
        queue.download(&x)
    });
    assert_eq!(seen[3 * 4..], [110, 10, 10, 10, 11, 111, 11, 11, 12, 12, 112, 12]);
}

#[test]
fn atomics_of_a_chunk_are_counted() {
    let seen = agree(|queue| {
        let counts = queue.zeroed::<AtomicU32>(10)?;
        queue.parallel_for(3, counts.chunks(4)?, |i, counts| {
            for count in counts {
                count.fetch_add(i as u32 + 1, Relaxed);
            }
        })?;
        queue.download(&counts)
    });
    assert_eq!(seen, [1, 1, 1, 1, 2, 2, 2, 2, 3, 3]);
}

#[test]
fn chunks_of_shared_memory_are_chunks() {
    agree(|queue| {
        let mut x = queue.alloc_shared::<f32>(9)?;
        queue.parallel_for(3, x.chunks_mut(4)?, |i, chunk| chunk.fill(i as f32 + 0.5))?;
        let mut last = queue.zeroed::<f32>(3)?;
        queue.for_each(&mut last, x.chunks(4)?, |_, last, chunk| *last = chunk[chunk.len() - 1])?;
        queue.download(&last)
    });
}

#[test]
fn chunks_of_nothing_launch_nothing() {
    let seen = agree(|queue| {
        let mut nothing = queue.zeroed::<u32>(0)?;
        queue.parallel_for(0, nothing.chunks_mut(3)?, |_, chunk| chunk.fill(1))?.wait()?;
        let mut x = queue.zeroed::<u32>(4)?;
        let mut taken = x.chunks_mut(3)?;
        while taken.next().is_some() {}
        queue.parallel_for(0, taken, |_, chunk| chunk.fill(1))?.wait()?;
        queue.download(&x)
    });
    assert_eq!(seen, [0; 4]);
}

#[test]
fn an_index_beyond_a_chunk_does_not_reach_the_next_one() {
    for target in targets() {
        let run = |queue: &Queue| {
            let mut x = queue.zeroed::<u32>(9)?;
            queue.parallel_for(3, x.chunks_mut(4)?, |i, chunk| chunk[i + 1] = 1)?.wait()
        };
        let error = run(&target.queue).expect_err(&target.name);
        assert_eq!(error.kind(), ErrorKind::Panic, "{}: {error}", target.name);
        let panic = error.kernel_panic().expect("a panic has its description");
        assert!(panic.message.contains("the len is 1 but the index is 3"), "{}", panic.message);
    }
}
