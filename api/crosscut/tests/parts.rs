//! Parts of buffers, shapes and copies: what is refused, on every device there is.

#![allow(missing_docs, reason = "a test's name is its documentation")]

use crosscut::prelude::*;
use crosscut::{Error, ErrorKind, Result};

fn invalid<T>(result: Result<T>, words: &str) {
    let error: Error = result.map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.message().contains(words), "{error}");
    assert!(error.help().is_some(), "{error}");
}

#[test]
fn parts_outside_of_a_buffer_are_refused() -> Result<()> {
    let queue = Queue::new()?;
    let mut x = queue.zeroed::<u32>(4)?;
    invalid(x.slice(3..5), "elements 3..5 of a buffer that has 4");
    invalid(x.slice(5..), "elements 5..4");
    invalid(x.slice(..=4), "elements 0..5");
    invalid(x.slice(..=usize::MAX), "of a buffer that has 4");
    #[allow(clippy::reversed_empty_ranges, reason = "that is what is refused")]
    {
        invalid(x.slice(3..1), "elements 3..1");
        let help = |range| x.slice(range).map(|_| ()).unwrap_err().help().map(str::to_owned);
        assert_eq!(help(3..1).as_deref(), Some("begin with the smaller index"));
        assert_eq!(help(5..4).as_deref(), Some("stay inside the buffer"));
    }
    invalid(x.slice_mut(4..6), "elements 4..6");
    invalid(x.split_at_mut(5), "of a buffer that has 4");
    invalid(x.chunks_mut(0), "no elements");
    invalid(x.slice(1..3)?.slice(1..3), "elements 1..3 of a buffer that has 2");
    invalid(x.slice_mut(1..3)?.slice_mut(2..4), "elements 2..4 of a buffer that has 2");
    assert_eq!(x.slice(4..)?.len(), 0);
    assert_eq!(x.slice(..)?.len(), 4);
    Ok(())
}

#[test]
fn chunks_cover_the_buffer_once() -> Result<()> {
    let queue = Queue::new()?;
    let mut x = queue.zeroed::<u8>(10)?;
    let chunks = x.chunks_mut(4)?;
    assert_eq!(chunks.len(), 3);
    let lengths: Vec<usize> = chunks.map(|chunk| chunk.len()).collect();
    assert_eq!(lengths, [4, 4, 2]);
    assert_eq!(queue.zeroed::<u8>(0)?.chunks_mut(4)?.count(), 0);
    let lengths: Vec<usize> = x.chunks(7)?.map(|chunk| chunk.len()).collect();
    assert_eq!(lengths, [7, 3]);
    assert_eq!(x.slice(1..9)?.chunks(4)?.len(), 2);
    assert_eq!(x.slice_mut(1..)?.chunks_mut(4)?.len(), 3);
    Ok(())
}

#[test]
fn a_range_over_chunks_has_an_item_for_each() -> Result<()> {
    let queue = Queue::new()?;
    let mut x = queue.zeroed::<u8>(10)?;
    invalid(x.chunks(0), "no elements");
    invalid(x.slice_mut(..)?.chunks_mut(0), "no elements");
    let sum = |_, chunk: &[u8]| assert!(!chunk.is_empty());
    invalid(
        queue.parallel_for(10, x.chunks_mut(4)?, |_, chunk| chunk.fill(1)),
        "a range of 10 items over 3 chunks of a buffer",
    );
    invalid(queue.parallel_for(2, x.chunks(4)?, sum), "a range of 2 items over 3 chunks");
    // Chunks that were taken out before are no longer there.
    let mut rest = x.chunks(4)?;
    rest.next();
    invalid(queue.parallel_for(3, rest.clone(), sum), "a range of 3 items over 2 chunks");
    queue.parallel_for(2, rest, sum)?.wait()?;
    assert_eq!(queue.download(&x)?, [0; 10]);
    Ok(())
}

#[test]
fn a_group_runs_for_each_of_every_kind_of_memory() -> Result<()> {
    let queue = Queue::new()?;
    let mut x = queue.zeroed::<u32>(6)?;
    let mut image = queue.zeroed::<u32>(6)?.shaped([2, 3])?;
    let mut shared = queue.alloc_shared::<u32>(2)?;
    queue
        .submit(|group| {
            group.for_each(&mut x.slice_mut(4..)?, (), |i, x, ()| *x = i as u32 + 1)?;
            group.for_each(&mut image, (), |[y, x], it, ()| *it = (10 * y + x) as u32)?;
            group.for_each(&mut shared, &x, |i, it, x| *it = x[i + 4])?;
            Ok(())
        })?
        .wait()?;
    assert_eq!(queue.download(&x)?, [0, 0, 0, 0, 1, 2]);
    assert_eq!(queue.download(&image)?, [0, 1, 2, 10, 11, 12]);
    assert_eq!(queue.download(&shared)?, [1, 2]);
    Ok(())
}

#[test]
fn lengths_that_differ_are_refused() -> Result<()> {
    let queue = Queue::new()?;
    let mut x = queue.zeroed::<u32>(4)?;
    let y = queue.zeroed::<u32>(3)?;
    invalid(queue.copy(&y, &mut x), "3 elements were to be copied to 4");
    invalid(queue.upload_into(&mut x, &[1, 2]), "2 elements were to be copied to 4");
    invalid(queue.download_into(&x, &mut [0; 5]), "4 elements were to be copied to 5");
    invalid(
        queue.parallel_for(3, x.slice_mut(0..2)?, |_, x| *x = 1),
        "a range of 3 items over a `&mut` buffer of 2 elements",
    );
    Ok(())
}

#[test]
fn shapes_are_checked() -> Result<()> {
    let queue = Queue::new()?;
    invalid(queue.zeroed::<u32>(5)?.shaped([2, 3]), "5 elements cannot have the shape [2, 3]");
    invalid(queue.zeroed::<u32>(5)?.shaped([usize::MAX, 2]), "cannot have the shape");
    invalid(queue.zeroed::<u32>(1)?.shaped([1, 1, 1, 1]), "cannot have the shape");
    invalid(queue.zeroed::<u32>(1)?.shaped([]), "cannot have the shape");
    let mut image = queue.zeroed::<u32>(6)?.shaped([2, 3])?;
    invalid(
        queue.parallel_for([3, 2], &mut image, |_, pixel| *pixel = 1),
        "a range of [3, 2] items over a `&mut` buffer of [2, 3] elements",
    );
    invalid(queue.parallel_for(6, &mut image, |_, pixel| *pixel = 1), "a range of [6] items");
    queue.parallel_for([2, 3], &mut image, |[y, x], pixel| *pixel = (y * 3 + x) as u32)?;
    let flat = image.shaped([6])?;
    assert_eq!(queue.download(&flat)?, [0, 1, 2, 3, 4, 5]);
    let empty = flat.slice(0..0)?;
    assert_eq!(queue.download(&empty)?, []);
    Ok(())
}

#[test]
fn empty_shapes_launch_nothing() -> Result<()> {
    let queue = Queue::new()?;
    let mut nothing = queue.zeroed::<u32>(0)?.shaped([0, 5])?;
    queue.for_each(&mut nothing, (), |_, _, ()| panic!("there is no element"))?.wait()?;
    assert_eq!(queue.download(&nothing)?, []);
    Ok(())
}

#[test]
fn a_part_of_another_context_is_refused_by_kernels() -> Result<()> {
    let queue = Queue::new()?;
    let other = Queue::in_context(&queue.device().create_context()?)?;
    let x = other.zeroed::<u32>(4)?;
    invalid(queue.download(&x.slice(1..2)?), "belongs to another context");
    invalid(
        queue.parallel_for(2, x.slice(0..2)?, |_, _| ()),
        "a buffer among the arguments belongs to another context",
    );
    Ok(())
}

#[test]
fn copies_go_between_contexts() -> Result<()> {
    let queue = Queue::new()?;
    let other = Queue::in_context(&queue.device().create_context()?)?;
    let third = Queue::in_context(&queue.device().create_context()?)?;
    let data: Vec<u32> = (0..100_000).collect();
    let x = queue.upload(&data)?;
    let mut y = other.zeroed::<u32>(100_000)?;
    // By the queue of the source, and by that of the target.
    queue.copy(&x.slice(..50_000)?, &mut y.slice_mut(..50_000)?)?;
    other.copy(&x.slice(50_000..)?, &mut y.slice_mut(50_000..)?)?;
    assert_eq!(other.download(&y)?, data);
    invalid(third.copy(&x, &mut y), "belongs to another context");
    Ok(())
}

#[test]
fn filled_buffers_have_their_value_everywhere() -> Result<()> {
    let queue = Queue::new()?;
    assert_eq!(queue.download(&queue.filled(5, 7u16)?)?, [7; 5]);
    assert_eq!(queue.download(&queue.filled(3, [1u8, 2, 3])?)?, [[1, 2, 3]; 3]);
    assert_eq!(queue.download(&queue.filled(1000, [9.5f64; 40])?)?, [[9.5; 40]; 1000]);
    assert!(queue.download(&queue.filled(0, 1u8)?)?.is_empty());
    Ok(())
}
