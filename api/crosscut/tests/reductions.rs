//! Reductions on the host: what counts, and what does not.

use crosscut::prelude::*;
use crosscut::{ErrorKind, Result};

#[test]
fn launches_add_up_until_the_total_is_taken() -> Result<()> {
    let queue = Queue::new()?;
    let mut count = Reduction::sum(&queue)?;
    assert_eq!(count.get()?, 0u32);
    for items in [10, 300, 0, 5] {
        queue.parallel_for(items, &mut count, |_, count| count.combine(1))?;
    }
    assert_eq!(count.get()?, 315);
    assert_eq!(count.take()?, 315);
    assert_eq!(count.get()?, 0);
    queue.parallel_for(2, &mut count, |_, count| count.combine(1))?;
    assert_eq!(count.get()?, 2);
    Ok(())
}

#[test]
fn items_that_contribute_nothing_contribute_the_identity() -> Result<()> {
    let queue = Queue::new()?;
    let mut largest = Reduction::max(&queue)?;
    queue.parallel_for(100, &mut largest, |i, largest| {
        if i == 40 {
            largest.combine(-3.5f64);
        }
    })?;
    assert_eq!(largest.get()?, -3.5);
    let mut none = Reduction::new(&queue, 7u8, |a: u8, b: u8| a.max(b))?;
    queue.parallel_for(100, &mut none, |_, _| ())?;
    assert_eq!(none.get()?, 7);
    Ok(())
}

#[test]
fn a_launch_that_is_refused_contributes_nothing() -> Result<()> {
    let queue = Queue::new()?;
    let mut sum = Reduction::sum(&queue)?;
    queue.parallel_for(4, &mut sum, |i, sum| sum.combine(i as u64))?;
    let mut wrong = queue.zeroed::<u32>(3)?;
    let refused = queue.parallel_for(4, (&mut sum, &mut wrong), |i, (sum, wrong)| {
        *wrong = 1;
        sum.combine(i as u64);
    });
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(sum.get()?, 6);
    Ok(())
}

#[test]
fn a_panic_is_told_and_the_reduction_can_start_anew() -> Result<()> {
    let queue = Queue::new()?;
    let mut sum = Reduction::sum(&queue)?;
    queue.parallel_for(1000, &mut sum, |i, sum| {
        assert!(i != 500, "not this one");
        sum.combine(1u32);
    })?;
    let error = sum.take().unwrap_err();
    assert!(error.to_string().contains("not this one"), "{error}");
    queue.parallel_for(1000, &mut sum, |_, sum| sum.combine(1u32))?;
    assert_eq!(sum.get()?, 1000);
    Ok(())
}

#[test]
fn queues_of_one_context_contribute_to_one_total() -> Result<()> {
    let one = Queue::new()?;
    let other = Queue::in_context(one.context())?;
    let mut sum = Reduction::sum(&one)?;
    for queue in [&one, &other, &one] {
        queue.parallel_for(500, &mut sum, |i, sum| sum.combine(i as u64))?;
    }
    assert_eq!(sum.get()?, 3 * (0..500).sum::<u64>());
    Ok(())
}
