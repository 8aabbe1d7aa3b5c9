//! Rectangles and boxes of buffers: copies and fills, and what is refused.

#![allow(missing_docs, reason = "a test's name is its documentation")]

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crosscut::prelude::*;
use crosscut::{Error, ErrorKind, Result};

fn invalid<T>(result: Result<T>, words: &str) {
    let error: Error = result.map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.message().contains(words), "{error}");
    assert!(error.help().is_some(), "{error}");
}

/// 0, 1, 2, ... in rows of `width`.
fn table(queue: &Queue, height: usize, width: usize) -> Result<Buffer<u32, 2>> {
    queue.upload(&(0..(height * width) as u32).collect::<Vec<_>>())?.shaped([height, width])
}

#[test]
fn every_rectangle_of_a_table_is_what_its_ranges_say() -> Result<()> {
    let queue = Queue::new()?;
    let x = table(&queue, 4, 5)?;
    for (top, bottom) in (0..=4).flat_map(|top| (top..=4).map(move |bottom| (top, bottom))) {
        for (left, right) in (0..=5).flat_map(|left| (left..=5).map(move |right| (left, right))) {
            let part = x.part([top..bottom, left..right])?;
            assert_eq!(part.extents(), [bottom - top, right - left]);
            let rows = (top..bottom).flat_map(|y| (left..right).map(move |x| (5 * y + x) as u32));
            let expected: Vec<u32> = rows.collect();
            assert_eq!((part.len(), part.is_empty()), (expected.len(), expected.is_empty()));
            assert_eq!(queue.download(&part)?, expected);
        }
    }
    Ok(())
}

#[test]
fn boxes_of_three_dimensions_are_copied() -> Result<()> {
    let queue = Queue::new()?;
    let x = queue.upload(&(0..60u8).collect::<Vec<_>>())?.shaped([3, 4, 5])?;
    let mut y = queue.zeroed::<u8>(24)?.shaped([2, 3, 4])?;
    queue.copy(&x.part([1..3, 2..4, 1..3])?, &mut y.part_mut([0..2, 1..3, 2..4])?)?.wait()?;
    let expected = [0, 0, 0, 0, 0, 0, 31, 32, 0, 0, 36, 37, 0, 0, 0, 0, 0, 0, 51, 52, 0, 0, 56, 57];
    assert_eq!(queue.download(&y)?, expected);
    // A plane of a box is a rectangle.
    let mut plane = queue.zeroed::<u8>(4)?.shaped([2, 2])?;
    queue.copy(&x.part([1..2, 2..4, 1..3])?, &mut plane.part_mut([0..2, 0..2])?)?.wait()?;
    assert_eq!(queue.download(&plane)?, [31, 32, 36, 37]);
    Ok(())
}

#[test]
fn rectangles_are_filled_and_uploaded_and_nothing_else_changes() -> Result<()> {
    let queue = Queue::new()?;
    let mut x = queue.zeroed::<[u8; 3]>(12)?.shaped([3, 4])?;
    queue.fill(&mut x.part_mut([0..2, 1..3])?, [1, 2, 3])?;
    queue.upload_into(&mut x.part_mut([1..3, 3..4])?, &[[4, 5, 6], [7, 8, 9]])?;
    let (o, f) = ([0; 3], [1, 2, 3]);
    assert_eq!(queue.download(&x)?, [o, f, f, o, o, f, f, [4, 5, 6], o, o, o, [7, 8, 9]]);
    let mut column = [[0; 3]; 3];
    queue.download_into(&x.part([0..3, 3..4])?, &mut column)?;
    assert_eq!(column, [o, [4, 5, 6], [7, 8, 9]]);
    Ok(())
}

#[test]
fn ranges_may_be_written_in_all_ways() -> Result<()> {
    let queue = Queue::new()?;
    let x = table(&queue, 3, 3)?;
    assert_eq!(queue.download(&x.part([.., ..])?)?, queue.download(&x)?);
    assert_eq!(queue.download(&x.part([1.., 1..])?)?, [4, 5, 7, 8]);
    assert_eq!(queue.download(&x.part([..=1, ..=0])?)?, [0, 3]);
    assert_eq!(queue.download(&queue.upload(&[1u8, 2, 3])?.part([1..])?)?, [2, 3]);
    Ok(())
}

#[test]
fn parts_outside_of_a_table_are_refused() -> Result<()> {
    let queue = Queue::new()?;
    let mut x = table(&queue, 4, 6)?;
    invalid(x.part([0..5, 0..1]), "elements 0..5 in dimension 0 of a buffer of [4, 6] elements");
    invalid(x.part([0..1, 6..7]), "elements 6..7 in dimension 1");
    invalid(x.part_mut([0..4, 0..7]), "elements 0..7 in dimension 1");
    invalid(x.part([..=usize::MAX, ..=1]), "dimension 0");
    #[allow(clippy::reversed_empty_ranges, reason = "that is what is refused")]
    {
        invalid(x.part([0..4, 3..2]), "elements 3..2 in dimension 1");
    }
    assert!(x.part([4..4, 6..6])?.is_empty());
    Ok(())
}

#[test]
fn shapes_that_differ_are_refused() -> Result<()> {
    let queue = Queue::new()?;
    let x = table(&queue, 4, 4)?;
    let mut y = table(&queue, 4, 4)?;
    invalid(
        queue.copy(&x.part([0..1, 0..4])?, &mut y.part_mut([0..2, 0..2])?),
        "a part of [1, 1, 4] elements was to be copied to one of [1, 2, 2]",
    );
    invalid(queue.upload_into(&mut y.part_mut([0..2, 0..2])?, &[1; 3]), "3 elements were to");
    invalid(queue.download_into(&y.part([0..2, 0..2])?, &mut [1; 5]), "4 elements were to");
    // Elements without a shape come row after row.
    let row = queue.upload(&[90u32, 91, 92, 93])?;
    queue.copy(&row, &mut y.part_mut([1..3, 1..3])?)?;
    assert_eq!(queue.download(&y)?, [0, 1, 2, 3, 4, 90, 91, 7, 8, 92, 93, 11, 12, 13, 14, 15]);
    Ok(())
}

#[test]
fn a_group_fills_and_copies_rectangles() -> Result<()> {
    let queue = Queue::builder().out_of_order().build()?;
    let x = table(&queue, 3, 3)?;
    let mut y = queue.zeroed::<u32>(9)?.shaped([3, 3])?;
    let group = queue.submit(|group| {
        group.fill(&mut y.part_mut([0..2, 0..2])?, 7)?;
        group.copy(&x.part([1..3, 1..3])?, &mut y.part_mut([1..3, 1..3])?)?;
        Ok(())
    })?;
    group.wait()?;
    assert_eq!(queue.download(&y)?, [7, 7, 0, 7, 4, 5, 0, 7, 8]);
    Ok(())
}

#[test]
fn rectangles_of_atomics_are_plain_values_for_the_host() -> Result<()> {
    let queue = Queue::new()?;
    let counts = queue.zeroed::<AtomicU32>(6)?.shaped([2, 3])?;
    queue.parallel_for([2, 3], &counts, |[y, x], counts| {
        counts[[y, x]].fetch_add((10 * y + x) as u32, Relaxed);
    })?;
    assert_eq!(queue.download(&counts.part([0..2, 1..3])?)?, [1, 2, 11, 12]);
    Ok(())
}

#[test]
fn empty_parts_of_shapes_without_elements_are_empty() -> Result<()> {
    let queue = Queue::new()?;
    let x = queue.zeroed::<u32>(0)?.shaped([0, usize::MAX, 2])?;
    assert_eq!(queue.download(&x.part([0..0, 0..usize::MAX, 0..2])?)?, [0u32; 0]);
    Ok(())
}

#[test]
fn columns_of_many_rows_arrive_whole() -> Result<()> {
    let queue = Queue::builder().out_of_order().build()?;
    let rows = 1000;
    let mut x = table(&queue, rows, 3)?;
    queue.wait()?;
    let column = |k: u32| (0..rows as u32).map(|y| 3 * y + k).collect::<Vec<_>>();
    assert_eq!(queue.download(&x.part([0..rows, 1..2])?)?, column(1));
    queue.upload_into(&mut x.part_mut([0..rows, 0..1])?, &column(2))?;
    assert_eq!(queue.download(&x.part([0..rows, 0..1])?)?, column(2));
    Ok(())
}
