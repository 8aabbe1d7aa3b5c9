//! Prints what is formatted by calls through pointers, and by way of `dbg!`.
use crosscut::prelude::*;

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    let x = queue.upload(&[1.0f32, 2.0])?;
    let mut y = queue.zeroed::<u32>(2)?;
    queue.parallel_for(2, (&x, &mut y), |i, (x, y)| {
        println!("{:?} {:?} {y}", x, x.get(i));
        *y = dbg!(x[i]) as u32;
    })?;
    Ok(())
}
