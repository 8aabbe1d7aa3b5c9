//! Calls two functions that call themselves, and sorts.
use crosscut::prelude::*;

fn collatz(n: u64) -> u64 {
    if n < 2 { 0 } else if n % 2 == 0 { 1 + collatz(n / 2) } else { 1 + collatz(3 * n + 1) }
}

fn ackermann(m: u64, n: u64) -> u64 {
    match (m, n) {
        (0, n) => n + 1,
        (m, 0) => ackermann(m - 1, 1),
        (m, n) => ackermann(m - 1, ackermann(m, n - 1)),
    }
}

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    let mut y = queue.zeroed::<u64>(64)?;
    queue.for_each(&mut y, (), |i, y, ()| {
        *y = collatz(i as u64) + ackermann(i as u64 % 3, 2);
    })?;
    queue.single_task(&mut y, |y| y.sort_unstable())?;
    Ok(())
}
