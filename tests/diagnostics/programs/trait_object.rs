//! Calls a method of a trait object that is known at run time only.
use crosscut::prelude::*;

trait Shape {
    fn area(&self) -> f32;
}

struct Square(f32);
struct Disc(f32);

impl Shape for Square {
    fn area(&self) -> f32 {
        self.0 * self.0
    }
}

impl Shape for Disc {
    fn area(&self) -> f32 {
        self.0 * self.0 * 3.14
    }
}

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    let mut y = queue.zeroed::<f32>(8)?;
    queue.for_each(&mut y, (), |i, y, ()| {
        let shapes: [&dyn Shape; 2] = [&Square(1.0), &Disc(2.0)];
        *y = shapes[i % 2].area();
    })?;
    Ok(())
}
