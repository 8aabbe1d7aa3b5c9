//! Host tasks with memory: what they see, what they leave behind, and who waits for whom.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::mpsc;

use crosscut::prelude::*;
use crosscut::{ErrorKind, Result};

#[test]
fn a_task_sees_what_kernels_wrote_and_kernels_see_what_it_wrote() -> Result<()> {
    let queue = Queue::new()?;
    let mut x = queue.zeroed::<u32>(1000)?;
    let mut sum = queue.zeroed::<u64>(1)?;
    for round in 1..=20u32 {
        queue.for_each(&mut x, (), move |i, x, ()| *x = round * i as u32)?;
        queue.host_task_with((&x, &mut sum), |(x, sum)| {
            sum[0] = x.iter().map(|x| u64::from(*x)).sum();
        })?;
        queue.for_each(&mut x, &sum, |_, x, sum| *x = sum[0] as u32)?;
        assert_eq!(queue.download(&x)?, [round * 499_500; 1000]);
    }
    Ok(())
}

#[test]
fn queues_that_know_nothing_of_one_another_keep_the_order_of_memory() -> Result<()> {
    let one = Queue::builder().out_of_order().build()?;
    let other = Queue::new()?;
    let mut x = one.zeroed::<u32>(64)?;
    for _ in 0..20 {
        one.for_each(&mut x, (), |_, x, ()| *x += 1)?;
        other.host_task_with(&mut x, |x| x.iter_mut().for_each(|x| *x *= 2))?;
        one.host_task_with(&mut x, |x| x.iter_mut().for_each(|x| *x -= 1))?;
        other.for_each(&mut x, (), |_, x, ()| *x += 1)?;
        one.host_task_with(&mut x, |x| x.iter_mut().for_each(|x| *x %= 1000))?;
    }
    let mut expected = 0;
    for _ in 0..20 {
        expected = ((expected + 1) * 2) % 1000;
    }
    assert_eq!(other.download(&x)?, [expected; 64]);
    Ok(())
}

#[test]
fn parts_arrive_as_parts_and_the_rest_stays_as_it_is() -> Result<()> {
    let queue = Queue::new()?;
    let mut x = queue.upload(&[1u16, 2, 3, 4, 5, 6, 7])?;
    queue.host_task_with(x.slice_mut(3..5)?, |part| {
        assert_eq!(part, [4, 5]);
        part.fill(9);
    })?;
    let (low, high) = x.split_at_mut(4)?;
    queue.host_task_with((low, high), |(low, high)| {
        assert_eq!((low.len(), high.len()), (4, 3));
        std::mem::swap(&mut low[0], &mut high[2]);
    })?;
    assert_eq!(queue.download(&x)?, [7, 2, 3, 9, 9, 6, 1]);
    Ok(())
}

#[test]
fn grids_of_two_and_three_dimensions_arrive_with_their_extents() -> Result<()> {
    let queue = Queue::new()?;
    let plane = queue.upload(&[1u32, 2, 3, 4, 5, 6])?.shaped([2, 3])?;
    let mut cube = queue.zeroed::<u32>(12)?.shaped([2, 2, 3])?;
    queue.host_task_with((&plane, &mut cube), |(plane, mut cube)| {
        assert_eq!((plane.extents(), cube.extents()), ([2, 3], [2, 2, 3]));
        cube[[1, 1, 2]] = plane[[1, 2]];
        cube[[0, 1, 0]] = plane[[1, 0]];
    })?;
    assert_eq!(queue.download(&cube)?, [0, 0, 0, 4, 0, 0, 0, 0, 0, 0, 0, 6]);
    Ok(())
}

#[test]
fn nothing_and_empty_buffers_are_arguments_too() -> Result<()> {
    let queue = Queue::new()?;
    let (ran, told) = mpsc::channel();
    let sender = ran.clone();
    queue.host_task_with((), move |()| sender.send(0).unwrap())?;
    let mut empty = queue.zeroed::<u64>(0)?;
    let one = queue.zeroed::<u64>(1)?;
    queue.host_task_with((&mut empty, one.slice(1..)?), move |(a, b)| {
        ran.send(a.len() + b.len()).unwrap();
    })?;
    queue.wait()?;
    assert_eq!((told.recv().unwrap(), told.recv().unwrap()), (0, 0));
    Ok(())
}

#[test]
fn atomics_arrive_as_atomics() -> Result<()> {
    let queue = Queue::new()?;
    let counts = queue.zeroed::<AtomicU32>(2)?;
    queue.parallel_for(100, &counts, |i, counts| {
        counts[i % 2].fetch_add(1, Relaxed);
    })?;
    queue.host_task_with(&counts, |counts| {
        assert_eq!(counts[0].fetch_add(7, Relaxed), 50);
    })?;
    assert_eq!(queue.download(&counts)?, [57, 50]);
    Ok(())
}

#[test]
fn elements_of_large_alignment_are_aligned_on_the_host() -> Result<()> {
    #[derive(Clone, Copy, DeviceCopy)]
    #[repr(C, align(64))]
    struct Line([u64; 8]);

    let queue = Queue::new()?;
    let mut lines = queue.zeroed::<Line>(3)?;
    queue.host_task_with(&mut lines, |lines| {
        assert_eq!(lines.as_ptr().addr() % 64, 0);
        lines[2].0[7] = 5;
    })?;
    assert_eq!(queue.download(&lines)?[2].0[7], 5);
    Ok(())
}

#[test]
fn a_panic_is_told_by_the_event_and_what_was_written_is_there() -> Result<()> {
    let queue = Queue::new()?;
    let mut x = queue.zeroed::<u32>(4)?;
    let event = queue.host_task_with(&mut x, |x| {
        x[0] = 1;
        std::panic::resume_unwind(Box::new("no more"));
    })?;
    let error = event.wait().expect_err("the task panicked");
    assert_eq!(error.kind(), ErrorKind::Panic);
    assert!(error.message().contains("no more"), "{error}");
    assert_eq!(queue.download(&x)?, [1, 0, 0, 0]);
    queue.for_each(&mut x, (), |_, x, ()| *x += 1)?;
    assert_eq!(queue.download(&x)?, [2, 1, 1, 1]);
    Ok(())
}

#[test]
fn a_panic_nobody_asked_about_is_told_to_whoever_reads_what_the_task_wrote() -> Result<()> {
    let (queue, other) = (Queue::new()?, Queue::new()?);
    let mut x = queue.zeroed::<u32>(4)?;
    queue.host_task_with(&mut x, |_| std::panic::resume_unwind(Box::new("no")))?;
    assert_eq!(other.download(&x).expect_err("it panicked").kind(), ErrorKind::Panic);
    assert_eq!(other.download(&x)?, [0; 4]);
    Ok(())
}

#[test]
fn buffers_may_be_dropped_before_the_task_has_run() -> Result<()> {
    let queue = Queue::new()?;
    let (sender, receiver) = mpsc::channel();
    for number in 0..10u32 {
        let mut x = queue.upload(&vec![number; 1 << 16])?;
        let sender = sender.clone();
        queue.host_task_with(&mut x, move |x| {
            x[0] += 1;
            sender.send((x[0], x[x.len() - 1])).unwrap();
        })?;
    }
    queue.wait()?;
    drop(sender);
    assert!(receiver.into_iter().eq((0..10).map(|number| (number + 1, number))));
    Ok(())
}

#[test]
fn a_task_may_use_other_queues_and_is_refused_its_own() -> Result<()> {
    let queue = std::sync::Arc::new(Queue::new()?);
    let mut x = queue.upload(&[1u32, 2, 3])?;
    let (sender, receiver) = mpsc::channel();
    let own = queue.clone();
    let event = queue.host_task_with(&mut x, move |x| {
        let refused = own.upload(x).map(drop).map_err(|error| error.kind());
        let other = Queue::in_context(own.context()).unwrap();
        let copy = other.upload(x).unwrap();
        sender.send((refused, other.download(&copy).unwrap())).unwrap();
    })?;
    event.wait()?;
    assert_eq!(receiver.recv().unwrap(), (Err(ErrorKind::Invalid), vec![1, 2, 3]));
    Ok(())
}

#[test]
fn buffers_of_other_contexts_are_refused() -> Result<()> {
    let queue = Queue::new()?;
    let elsewhere = Queue::in_context(&queue.device().create_context()?)?;
    let x = elsewhere.upload(&[1u32])?;
    let refused = queue.host_task_with(&x, |_| ()).expect_err("of another context");
    assert_eq!(refused.kind(), ErrorKind::Invalid);
    Ok(())
}

#[test]
fn shared_memory_is_an_argument_as_a_buffer_is() -> Result<()> {
    let queue = Queue::new()?;
    let mut x = queue.alloc_shared::<u32>(3)?;
    queue.for_each(&mut x, (), |i, x, ()| *x = i as u32)?;
    queue.host_task_with(&mut x, |x| x.reverse())?;
    assert_eq!(x.read()?[..], [2, 1, 0]);
    Ok(())
}
