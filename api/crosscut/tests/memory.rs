//! Scopes and unified shared memory: what holds on every device there is.

#![allow(missing_docs, reason = "a test's name is its documentation")]

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crosscut::prelude::*;
use crosscut::{ErrorKind, Result};

#[test]
fn a_scope_gives_what_its_body_gives() -> Result<()> {
    let queue = Queue::new()?;
    let mut x = queue.zeroed::<u32>(3)?;
    let (source, mut target) = ([1, 2, 3], [0; 3]);
    let sum = queue.scope(|s| {
        s.upload(&mut x, &source)?;
        let event = s.download(&x, &mut target)?;
        event.wait()?;
        Ok(5)
    })?;
    assert_eq!((sum, target), (5, [1, 2, 3]));
    assert_eq!(queue.scope(|_| Ok("nothing"))?, "nothing");
    Ok(())
}

#[test]
fn copies_of_a_scope_start_after_their_events() -> Result<()> {
    static ENDED: AtomicU32 = AtomicU32::new(0);
    let (one, other) = (Queue::new()?, Queue::builder().out_of_order().build()?);
    let (input, mut output) = ([1u32, 2, 3], [0; 3]);
    let mut x = other.zeroed::<u32>(3)?;
    for round in 1..=3 {
        let task = one.host_task(|| {
            std::thread::sleep(std::time::Duration::from_millis(20));
            ENDED.fetch_add(1, Relaxed);
        })?;
        let nothing = Event::default();
        other.scope(|s| {
            let there = s.after(&nothing).after(&task).upload(&mut x, &input)?;
            there.wait()?;
            assert_eq!(ENDED.load(Relaxed), round);
            s.after([&task, &there]).download(&x, &mut output)?;
            Ok(())
        })?;
        assert_eq!(output, input);
    }
    Ok(())
}

#[test]
fn copies_of_a_scope_have_ended_when_its_body_fails_or_panics() -> Result<()> {
    let queue = Queue::new()?;
    let mut x = queue.zeroed::<u32>(100_000)?;
    let source: Vec<u32> = (0..100_000).collect();
    let mut target = vec![0; 100_000];
    let failed = queue.scope(|s| -> Result<()> {
        s.upload(&mut x, &source)?;
        s.download(&x, &mut target)?;
        s.upload(&mut x, &[1, 2])?;
        Ok(())
    });
    assert_eq!(failed.unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(target, source);
    let panicked = catch_unwind(AssertUnwindSafe(|| {
        queue.scope(|s| -> Result<()> {
            target.fill(0);
            s.download(&x, &mut target)?;
            std::panic::resume_unwind(Box::new("the body's own"));
        })
    }));
    assert_eq!(*panicked.unwrap_err().downcast_ref::<&str>().unwrap(), "the body's own");
    assert_eq!(target, source);
    Ok(())
}

#[test]
fn a_scope_tells_of_a_kernel_that_panicked_before_its_copy() -> Result<()> {
    let queue = Queue::new()?;
    let mut x = queue.zeroed::<u32>(4)?;
    let mut target = [0; 4];
    let told = queue.scope(|s| {
        queue.for_each(&mut x, (), |i, x, ()| *x = [1u32, 2, 3][i])?;
        s.download(&x, &mut target)?;
        Ok(())
    });
    assert_eq!(told.unwrap_err().kind(), ErrorKind::Panic);
    // Once is enough.
    queue.wait()?;
    Ok(())
}

#[test]
fn empty_unified_memory_is_an_argument_like_any_other() -> Result<()> {
    let queue = Queue::new()?;
    let mut nothing = queue.alloc_shared::<u64>(0)?;
    assert!(nothing.read()?.is_empty() && nothing.write()?.is_empty() && nothing.is_empty());
    queue.for_each(&mut nothing, (), |_, _, ()| ())?.wait()?;
    assert!(queue.download(&nothing)?.is_empty());
    assert!(nothing.as_ptr().is_aligned());
    Ok(())
}

#[test]
fn more_memory_than_there_is_gives_an_error() -> Result<()> {
    let queue = Queue::new()?;
    let too_much = |error: crosscut::Error| {
        assert!(matches!(error.kind(), ErrorKind::Invalid | ErrorKind::OutOfMemory), "{error}");
        assert!(error.help().is_some(), "{error}");
    };
    too_much(queue.alloc_shared::<u64>(usize::MAX).unwrap_err());
    too_much(queue.alloc_device::<u64>(usize::MAX / 8).unwrap_err());
    too_much(queue.alloc_host::<u8>(usize::MAX / 2).unwrap_err());
    too_much(queue.zeroed::<[u64; 4]>(usize::MAX / 4).unwrap_err());
    // And the queue works on.
    assert_eq!(queue.alloc_host::<u8>(1)?.read()?[..], [0]);
    Ok(())
}

#[test]
fn a_guard_tells_of_a_kernel_that_panicked() -> Result<()> {
    let queue = Queue::new()?;
    let mut x = queue.alloc_shared::<u32>(4)?;
    queue.for_each(&mut x, (), |i, x, ()| *x = [1u32, 2, 3][i])?;
    assert_eq!(x.read().unwrap_err().kind(), ErrorKind::Panic);
    x.write()?.fill(9);
    assert_eq!(x.read()?[..], [9; 4]);
    Ok(())
}

#[test]
fn unified_memory_of_another_context_is_refused_by_kernels_and_copied() -> Result<()> {
    let queue = Queue::new()?;
    let other = Queue::in_context(&queue.device().create_context()?)?;
    let mut x = other.alloc_shared::<u32>(4)?;
    let error = queue.for_each(&mut x, (), |_, x, ()| *x = 1).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    queue.copy(&queue.upload(&[1u32, 2, 3, 4])?, &mut x)?;
    assert_eq!(x.read()?[..], [1, 2, 3, 4]);
    assert!(queue.context().usm_pointer(x.as_ptr()).is_none());
    assert!(other.context().usm_pointer(x.as_ptr()).is_some());
    Ok(())
}
