//! Parts of buffers, and buffers of two and three dimensions.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crosscut::prelude::*;
use crosscut::{ErrorKind, Grid, GridMut, Result};
use crosscut_language::{agree, targets};

/// Every device tells of a panic with these words, and of the same line.
fn panicked(run: impl Fn(&Queue) -> Result<()>, words: &str) {
    let mut lines = targets().into_iter().map(|target| {
        let error = run(&target.queue).expect_err(&target.name);
        assert_eq!(error.kind(), ErrorKind::Panic, "{}: {error}", target.name);
        let panic = error.kernel_panic().expect("a panic has its description");
        assert!(panic.message.contains(words), "{}: {}", target.name, panic.message);
        (panic.file.clone(), panic.line, panic.column)
    });
    let first = lines.next().expect("the host is always there");
    assert!(first.0.ends_with("parts.rs"), "{first:?}");
    lines.for_each(|line| assert_eq!(line, first));
}

#[test]
fn a_kernel_sees_its_part_from_zero_on() {
    let seen = agree(|queue| {
        let x = queue.upload(&[1u16, 2, 3, 4, 5, 6, 7])?;
        let mut y = queue.zeroed::<u16>(10)?;
        queue.for_each(&mut y.slice_mut(3..6)?, x.slice(2..5)?, |i, y, x| {
            *y = x[i] * 10 + x.len() as u16;
        })?;
        queue.download(&y)
    });
    assert_eq!(seen, [0, 0, 0, 33, 43, 53, 0, 0, 0, 0]);
}

#[test]
fn parts_at_every_offset_arrive() {
    for start in 0..70usize {
        let seen = agree(|queue| {
            let x = queue.upload(&(0..80u8).collect::<Vec<_>>())?;
            let mut y = queue.zeroed::<u8>(80)?;
            let part = x.slice(start..start + 5)?;
            queue.for_each(&mut y.slice_mut(start..start + 5)?, part, |i, y, x| *y = x[4 - i])?;
            queue.download(&y.slice(start..start + 5)?)
        });
        let start = start as u8;
        assert_eq!(seen, [start + 4, start + 3, start + 2, start + 1, start]);
    }
}

#[test]
fn one_kernel_writes_two_halves_and_reads_a_third_part() {
    let seen = agree(|queue| {
        let mut x = queue.upload(&(0..12i64).collect::<Vec<_>>())?;
        let (mut low, mut high) = x.split_at_mut(8)?;
        let (a, b) = low.split_at_mut(4)?;
        queue.parallel_for(4, (a, b, &high), |i, (a, b, high)| {
            core::mem::swap(a, b);
            *a += high[i];
        })?;
        queue.fill(&mut high.slice_mut(1..)?, -1)?;
        queue.download(&x)
    });
    assert_eq!(seen, [12, 14, 16, 18, 0, 1, 2, 3, 8, -1, -1, -1]);
}

#[test]
fn chunks_are_launched_one_after_the_other() {
    let seen = agree(|queue| {
        let mut x = queue.zeroed::<u32>(100)?;
        for (number, mut chunk) in x.chunks_mut(7)?.enumerate() {
            queue.for_each(&mut chunk, (), move |i, x, ()| *x = (number * 100 + i) as u32)?;
        }
        queue.download(&x)
    });
    let expected: Vec<u32> = (0..100).map(|i| i / 7 * 100 + i % 7).collect();
    assert_eq!(seen, expected);
}

#[test]
fn a_single_task_gets_its_part_as_a_slice() {
    agree(|queue| {
        let mut x = queue.upload(&[9u32, 8, 7, 6, 5, 4])?;
        queue.single_task(x.slice_mut(1..5)?, |x| x.reverse())?;
        queue.download(&x)
    });
}

#[test]
fn empty_parts_have_no_elements() {
    let seen = agree(|queue| {
        let x = queue.upload(&[1u32, 2])?;
        let mut lengths = queue.zeroed::<u32>(3)?;
        let parts = (x.slice(0..0)?, x.slice(2..)?, x.slice(1..1)?);
        queue.single_task((&mut lengths, parts), |(lengths, (a, b, c))| {
            lengths.copy_from_slice(&[a, b, c].map(|part| part.len() as u32 + 1));
        })?;
        queue.for_each(&mut lengths.slice_mut(3..)?, (), |_, x, ()| *x = 0)?;
        queue.download(&lengths)
    });
    assert_eq!(seen, [1, 1, 1]);
}

#[test]
fn atomics_of_a_part_are_counted() {
    let seen = agree(|queue| {
        let counts = queue.zeroed::<AtomicU32>(64)?;
        queue.parallel_for(1000, counts.slice(32..36)?, |i, counts| {
            counts[i % 4].fetch_add(1, Relaxed);
        })?;
        queue.download(&counts.slice(31..37)?)
    });
    assert_eq!(seen, [0, 250, 250, 250, 250, 0]);
}

#[test]
fn an_index_beyond_a_part_is_out_of_bounds() {
    panicked(
        |queue| {
            let x = queue.upload(&[1u32; 10])?;
            let mut y = queue.zeroed::<u32>(1)?;
            queue.for_each(&mut y, x.slice(2..5)?, |i, y, x| *y = x[i + 3])?.wait()
        },
        "index out of bounds",
    );
}

fn blur(image: Grid<'_, f32, 2>, [y, x]: [usize; 2]) -> f32 {
    let mut sum = 0.0;
    for (dy, dx) in [(0, 0), (0, 1), (1, 0), (1, 1)] {
        sum += image.get([y + dy, x + dx]).copied().unwrap_or(0.0);
    }
    sum / 4.0
}

#[test]
fn grids_of_two_dimensions_are_indexed() {
    agree(|queue| {
        let pixels: Vec<f32> = (0..7 * 5).map(|i| (i * 37 % 11) as f32).collect();
        let image = queue.upload(&pixels)?.shaped([7, 5])?;
        let mut out = queue.zeroed::<f32>(35)?.shaped([7, 5])?;
        queue.for_each(&mut out, &image, |at, out, image| *out = blur(image, at))?;
        queue.download(&out)
    });
}

#[test]
fn grids_of_three_dimensions_are_indexed() {
    let seen = agree(|queue| {
        let cube = queue.upload(&(0..24u32).collect::<Vec<_>>())?.shaped([2, 3, 4])?;
        let mut turned = queue.zeroed::<u32>(24)?.shaped([4, 2, 3])?;
        queue.parallel_for([4, 2, 3], (&cube, &mut turned), |[x, z, y], (cube, turned)| {
            *turned = cube[[z, y, x]] + cube.as_slice().len() as u32;
        })?;
        queue.download(&turned)
    });
    assert_eq!(seen[3 * 6 + 3 + 2], 24 + 12 + 8 + 3);
}

#[test]
fn a_single_task_writes_a_grid() {
    let seen = agree(|queue| {
        let mut table = queue.zeroed::<u32>(12)?.shaped([3, 4])?;
        queue.single_task(&mut table, |mut table: GridMut<'_, u32, 2>| {
            let [rows, columns] = table.extents();
            for y in 0..rows {
                for x in 0..columns {
                    table[[y, x]] = (10 * y + x) as u32;
                }
            }
            table[[2, 3]] += table[[1, 1]];
        })?;
        queue.download(&table)
    });
    assert_eq!(seen, [0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 34]);
}

#[test]
fn an_index_beyond_a_row_does_not_reach_the_next_one() {
    panicked(
        |queue| {
            let image = queue.upload(&[1u32; 6])?.shaped([2, 3])?;
            let mut y = queue.zeroed::<u32>(1)?;
            queue.for_each(&mut y, &image, |i, y, image| *y = image[[0, i + 3]])?.wait()
        },
        "out of bounds of a grid",
    );
}

#[test]
fn copies_and_fills_reach_parts() {
    #[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
    #[repr(C)]
    struct Three {
        a: u32,
        b: u32,
        c: u32,
    }
    let seen = agree(|queue| {
        let mut x = queue.zeroed::<Three>(100)?;
        queue.fill(&mut x.slice_mut(3..97)?, Three { a: 1, b: 2, c: 3 })?;
        let mut y = queue.zeroed::<Three>(50)?;
        queue.copy(&x.slice(90..)?, &mut y.slice_mut(20..30)?)?;
        queue.upload_into(&mut y.slice_mut(..1)?, &[Three { a: 7, b: 8, c: 9 }])?;
        queue.download(&y)
    });
    assert_eq!(seen[0], Three { a: 7, b: 8, c: 9 });
    assert_eq!(seen.iter().position(|it| *it == Three { a: 1, b: 2, c: 3 }), Some(20));
    assert_eq!(seen.iter().filter(|it| **it == Three { a: 1, b: 2, c: 3 }).count(), 7);
}
