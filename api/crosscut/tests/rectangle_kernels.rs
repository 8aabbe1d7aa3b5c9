//! Rectangles and boxes of buffers as arguments of kernels and host tasks.

#![allow(missing_docs, reason = "a test's name is its documentation")]

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crosscut::prelude::*;
use crosscut::{ErrorKind, Result};

/// 0, 1, 2, ... in rows of `width`.
fn table(queue: &Queue, height: usize, width: usize) -> Result<Buffer<u32, 2>> {
    queue.upload(&(0..(height * width) as u32).collect::<Vec<_>>())?.shaped([height, width])
}

#[test]
fn every_rectangle_is_read_from_its_own_corner() -> Result<()> {
    let queue = Queue::new()?;
    let x = table(&queue, 4, 5)?;
    for (top, bottom) in (0..4).flat_map(|top| (top + 1..=4).map(move |bottom| (top, bottom))) {
        for (left, right) in (0..5).flat_map(|left| (left + 1..=5).map(move |right| (left, right)))
        {
            let extents = [bottom - top, right - left];
            let mut y = queue.zeroed::<u32>(extents[0] * extents[1])?.shaped(extents)?;
            let part = x.part([top..bottom, left..right])?;
            queue.for_each(&mut y, &part, |at, y, part| *y = part[at])?;
            assert_eq!(queue.download(&y)?, queue.download(&part)?, "{top} {left} {extents:?}");
        }
    }
    Ok(())
}

#[test]
fn every_item_writes_its_own_element_of_a_rectangle_and_the_rest_stays() -> Result<()> {
    let queue = Queue::new()?;
    let mut x = table(&queue, 37, 41)?;
    let source = queue.upload(&[1000u32, 2000])?;
    let mut part = x.part_mut([3..36, 7..40])?;
    queue.parallel_for([33, 33], (&mut part, &source), |[y, x], (element, source)| {
        *element += source[(x + y) % 2];
    })?;
    for (place, value) in queue.download(&x)?.into_iter().enumerate() {
        let (y, x) = (place / 41, place % 41);
        let inside = (3..36).contains(&y) && (7..40).contains(&x);
        let added = if inside { [1000, 2000][(y - 3 + x - 7) % 2] } else { 0 };
        assert_eq!(value, place as u32 + added, "at {y}, {x}");
    }
    Ok(())
}

#[test]
fn boxes_are_read_and_written() -> Result<()> {
    let queue = Queue::new()?;
    let numbers: Vec<u32> = (0..4 * 5 * 6).collect();
    let from = queue.upload(&numbers)?.shaped([4, 5, 6])?;
    let mut to = queue.zeroed::<u32>(4 * 5 * 6)?.shaped([4, 5, 6])?;
    let (source, target) = (from.part([1..3, 1..4, 2..6])?, to.part_mut([2..4, 0..3, 1..5])?);
    queue.parallel_for([2, 3, 4], (source, target), |at, (source, target)| *target = source[at])?;
    let copied = queue.download(&to.part([2..4, 0..3, 1..5])?)?;
    assert_eq!(copied, queue.download(&from.part([1..3, 1..4, 2..6])?)?);
    let all: u32 = queue.download(&to)?.iter().sum();
    assert_eq!(all, copied.iter().sum::<u32>(), "something else was written");
    Ok(())
}

#[test]
fn work_groups_write_rectangles() -> Result<()> {
    let queue = Queue::new()?;
    let mut x = queue.zeroed::<u32>(12 * 20)?.shaped([12, 20])?;
    let range = NdRange::new([8, 16], [4, 8]);
    queue.parallel_for(range, x.part_mut([2..10, 3..19])?, |item, element| {
        let [y, x] = item.global();
        *element = (100 * y + x + 1) as u32;
    })?;
    for (place, value) in queue.download(&x)?.into_iter().enumerate() {
        let (y, x) = (place / 20, place % 20);
        let inside = (2..10).contains(&y) && (3..19).contains(&x);
        let expected = if inside { 100 * (y - 2) + x - 3 + 1 } else { 0 };
        assert_eq!(value, expected as u32, "at {y}, {x}");
    }
    Ok(())
}

#[test]
fn single_tasks_and_host_tasks_have_the_whole_rectangle() -> Result<()> {
    let queue = Queue::new()?;
    let mut x = table(&queue, 3, 4)?;
    queue.single_task(x.part_mut([1..3, 1..3])?, |mut part| {
        part[[0, 0]] += 100;
        part[[1, 1]] = part[[0, 0]];
    })?;
    queue.host_task_with(x.part_mut([1..3, 1..3])?, |mut part| {
        assert_eq!((part.extents(), part[[0, 0]]), ([2, 2], 105));
        part[[1, 0]] = 7;
        assert!(part.get_mut([1, 2]).is_none() && part.get_mut([2, 1]).is_none());
    })?;
    let sum = queue.zeroed::<AtomicU32>(1)?;
    queue.host_task_with((x.part([0..2, 2..4])?, &sum), |(part, sum)| {
        sum[0].store(part[[0, 0]] + part[[0, 1]] + part[[1, 0]] + part[[1, 1]], Relaxed);
    })?;
    assert_eq!(queue.download(&x)?, [0, 1, 2, 3, 4, 105, 6, 7, 8, 7, 105, 11]);
    assert_eq!(queue.download(&sum)?, [2 + 3 + 6 + 7]);
    Ok(())
}

#[test]
fn atomics_of_a_rectangle_are_shared_by_all_items() -> Result<()> {
    let queue = Queue::new()?;
    let counts = queue.zeroed::<AtomicU32>(9)?.shaped([3, 3])?;
    queue.parallel_for(1000, counts.part([1..3, 0..2])?, |i, counts| {
        counts[[i % 2, 1]].fetch_add(1, Relaxed);
    })?;
    assert_eq!(queue.download(&counts)?, [0, 0, 0, 0, 500, 0, 0, 500, 0]);
    Ok(())
}

#[test]
fn an_index_outside_of_a_rectangle_is_a_panic_though_the_buffer_has_the_element() -> Result<()> {
    let queue = Queue::new()?;
    let x = table(&queue, 4, 4)?;
    let event = queue.parallel_for(3, x.part([0..2, 0..2])?, |i, part| {
        assert!(part[[0, i]] < 100);
    })?;
    assert_eq!(event.wait().expect_err("there is no third column").kind(), ErrorKind::Panic);
    Ok(())
}

#[test]
fn empty_rectangles_have_no_items_and_no_elements() -> Result<()> {
    let queue = Queue::new()?;
    let mut x = table(&queue, 2, 2)?;
    queue.parallel_for([0, 2], x.part_mut([2..2, 0..2])?, |_, x| *x = 9)?;
    let mut found = queue.zeroed::<u32>(1)?;
    queue.for_each(&mut found, x.part([0..2, 2..2])?, |_, found, part| {
        *found = part.get([0, 0]).copied().unwrap_or(7);
    })?;
    assert_eq!(queue.download(&found)?, [7]);
    assert_eq!(queue.download(&x)?, [0, 1, 2, 3]);
    Ok(())
}

#[test]
fn a_range_of_another_shape_is_refused() -> Result<()> {
    let queue = Queue::new()?;
    let mut x = table(&queue, 4, 4)?;
    for range in [[3, 2], [2, 2], [1, 6], [6, 1]] {
        let refused = queue.parallel_for(range, x.part_mut([0..2, 0..3])?, |_, x| *x = 0);
        assert_eq!(refused.map(drop).unwrap_err().kind(), ErrorKind::Invalid, "{range:?}");
    }
    let refused = queue.parallel_for(6, x.part_mut([0..2, 0..3])?, |_, x| *x = 0);
    assert_eq!(refused.map(drop).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(queue.download(&x)?, (0..16).collect::<Vec<_>>());
    Ok(())
}

#[test]
fn parts_of_atomics_whose_rows_lie_between_one_another_are_refused_with_the_way_out() -> Result<()>
{
    let queue = Queue::new()?;
    let counts = queue.zeroed::<AtomicU32>(16)?.shaped([4, 4])?;
    let (left, right) = (counts.part([0..4, 0..2])?, counts.part([0..4, 2..4])?);
    let refused = queue.parallel_for(8, (&left, &right), |i, (left, right)| {
        left[[i / 2, i % 2]].fetch_add(1, Relaxed);
        right[[i / 2, i % 2]].fetch_add(1, Relaxed);
    });
    let error = refused.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("pass the whole buffer"), "{error}");
    // Parts one below the other have nothing in common.
    let (upper, lower) = (counts.part([0..2, 0..4])?, counts.part([2..4, 0..4])?);
    queue.parallel_for(8, (&upper, &lower), |i, (upper, lower)| {
        upper[[i / 4, i % 4]].fetch_add(1, Relaxed);
        lower[[i / 4, i % 4]].fetch_add(2, Relaxed);
    })?;
    assert_eq!(queue.download(&counts)?, [[1; 8], [2; 8]].concat());
    Ok(())
}
