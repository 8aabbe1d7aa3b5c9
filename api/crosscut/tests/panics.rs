//! Panics of kernels are errors with a place and an item, told to whom they concern.

use crosscut::prelude::*;
use crosscut::{ErrorKind, Result};

fn queue() -> Queue {
    Queue::new().unwrap()
}

#[test]
fn one_panic_in_a_million_items_is_found_with_place_and_item() -> Result<()> {
    let queue = queue();
    let event = queue.parallel_for([1000, 1000], (), |[y, x], ()| {
        assert!((y, x) != (654, 321), "this one");
    })?;
    let line = line!() - 2;
    let error = event.wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Panic);
    let panic = error.kernel_panic().unwrap();
    assert_eq!(panic.message, "this one");
    assert_eq!(panic.item, [654, 321]);
    assert_eq!(panic.linear_item, 654_321);
    assert!(panic.file.ends_with("panics.rs"));
    assert_eq!(panic.line, line);
    assert_eq!(panic.column, 9);
    assert!(panic.kernel.contains("one_panic_in_a_million_items"), "{}", panic.kernel);
    Ok(())
}

#[test]
fn a_panic_is_told_once_and_the_queue_stays_usable() -> Result<()> {
    let queue = queue();
    let x = queue.upload(&[1u32; 4])?;
    let broken = |i: usize, x: &[u32]| assert!(x[i + 1] > 0);
    let event = queue.parallel_for(4, &x, broken)?;
    assert!(event.wait().unwrap_err().message().contains("the len is 4 but the index is 4"));
    assert!(event.is_complete()?);
    event.wait()?;
    queue.wait()?;

    // Nobody waits for the event: the next one to wait is told.
    queue.parallel_for(4, &x, broken)?;
    assert_eq!(queue.wait().unwrap_err().kind(), ErrorKind::Panic);
    queue.wait()?;
    queue.parallel_for(4, &x, broken)?;
    assert_eq!(queue.download(&x).unwrap_err().kind(), ErrorKind::Panic);
    assert_eq!(queue.download(&x)?, [1; 4]);
    Ok(())
}

#[test]
fn a_panic_that_another_was_told_of_is_still_told_by_its_event() -> Result<()> {
    let queue = queue();
    let x = queue.upload(&[1u32; 4])?;
    let event = queue.parallel_for(4, &x, |i, x| assert!(x[i + 1] > 0))?;
    // Some other thread that shares the queue might do this.
    assert_eq!(queue.download(&x).unwrap_err().kind(), ErrorKind::Panic);
    assert_eq!(event.wait().unwrap_err().kind(), ErrorKind::Panic);
    event.wait()?;
    queue.wait()
}

#[test]
fn whoever_reads_what_a_panicked_kernel_wrote_is_told_on_any_queue() -> Result<()> {
    let (queue, other) = (queue(), queue());
    let mut x = queue.zeroed::<u32>(4)?;
    queue.for_each(&mut x, (), |i, x, ()| {
        assert!(i != 2, "the third");
        *x = 7;
    })?;
    assert_eq!(other.download(&x).unwrap_err().kind(), ErrorKind::Panic);
    other.download(&x)?;
    queue.wait()
}

#[test]
fn panics_of_every_kind_say_what_they_are() -> Result<()> {
    let queue = queue();
    let mut zero = queue.zeroed::<i32>(1)?;
    macro_rules! says {
        ($expected:literal, $kernel:expr) => {
            let error = queue.for_each(&mut zero, (), $kernel)?.wait().unwrap_err();
            let panic = error.kernel_panic().unwrap();
            assert!(panic.message.contains($expected), "{error}");
            assert!(panic.file.ends_with("panics.rs") && panic.line > 0, "{error}");
        };
    }
    says!("attempt to divide by zero", |_, zero, ()| *zero = 1 / *zero);
    says!("attempt to divide with overflow", |_, zero, ()| *zero = i32::MIN / (*zero - 1));
    says!("plain words", |_, zero, ()| assert!(*zero > 0, "plain words"));
    says!("`None` value", |_, zero, ()| *zero = [1].get(*zero as usize + 1).copied().unwrap());
    says!("index out of bounds: the len is 2 but the index is 7", |_, zero, ()| {
        *zero = [1, 2][std::hint::black_box(*zero as usize + 7)]
    });
    Ok(())
}

#[test]
fn panics_outside_kernels_go_where_they_went_before() {
    let queue = queue();
    let caught = std::panic::catch_unwind(|| panic!("mine"));
    assert_eq!(*caught.unwrap_err().downcast::<&str>().unwrap(), "mine");
    queue.wait().unwrap();
}

#[test]
fn a_panic_is_told_to_who_reads_what_a_write_to_a_part_has_left() -> Result<()> {
    let (one, other) = (queue(), queue());
    let bad = |i: usize, x: &mut u32, (): ()| {
        assert!(i != 5, "no five");
        *x = 1;
    };
    for everything in [false, true] {
        let mut x = one.zeroed::<u32>(8)?;
        let event = one.for_each(&mut x, (), bad)?;
        other.upload_into(&mut x.slice_mut(0..1)?, &[7])?;
        if everything {
            other.upload_into(&mut x, &[8; 8])?;
            assert_eq!(other.download(&x)?, [8; 8], "nothing of what it wrote is left");
        } else {
            assert_eq!(other.download(&x).unwrap_err().kind(), ErrorKind::Panic);
        }
        assert_eq!(event.wait().unwrap_err().kind(), ErrorKind::Panic);
    }
    Ok(())
}
