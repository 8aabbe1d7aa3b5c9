//! y = a*x + y. `&x` is read whole; `&mut y` arrives as this item's own element: no unsafe, no races.
#![allow(clippy::print_stdout, reason = "an example talks to the terminal")]

use crosscut::ErrorKind;
use crosscut::prelude::*;

fn saxpy<T: DeviceCopy + std::ops::Mul<Output = T> + std::ops::AddAssign>(
    queue: &Queue,
    a: T,
    x: &Buffer<T>,
    y: &mut Buffer<T>,
) -> crosscut::Result<Event> {
    // One item per element of y: no length to get wrong.
    queue.for_each(y, x, move |i, y, x| *y += a * x[i])
}

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    println!("{}", queue.device());

    // Generic: one kernel per type it is used with.
    let x = queue.upload(&vec![1.0f32; 1 << 20])?;
    let mut y = queue.upload(&vec![2.0f32; 1 << 20])?;
    saxpy(&queue, 3.0, &x, &mut y)?;
    assert!(queue.download(&y)?.iter().all(|&v| v == 5.0));

    let small = queue.upload(&[1i64, -2, 3])?;
    let mut sums = queue.upload(&[10i64, 10, 10])?;
    saxpy(&queue, 4, &small, &mut sums)?;
    assert_eq!(queue.download(&sums)?, [14, 2, 22]);

    // A panic in a kernel is an error here: index out of bounds, with its place and its item.
    let oops = queue.parallel_for(1 << 21, &x, |i, x| {
        std::hint::black_box(x[i]);
    })?;
    let error = oops.wait().expect_err("x has only half as many elements");
    assert_eq!(error.kind(), ErrorKind::Panic);
    println!("{error}");

    // The queue is as good as before.
    saxpy(&queue, 1.0, &x, &mut y)?;
    assert_eq!(queue.download(&y)?[0], 6.0);
    Ok(())
}
