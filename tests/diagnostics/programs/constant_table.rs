//! Finds a specialization constant in a table.
use crosscut::prelude::*;

static NARROW: SpecConstant<u32> = SpecConstant::new(4);
static WIDE: SpecConstant<u32> = SpecConstant::new(8);
static TABLE: [&SpecConstant<u32>; 2] = [&NARROW, &WIDE];

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    let mut y = queue.zeroed::<u32>(8)?;
    queue.for_each(&mut y, (), |i, y, ()| *y = TABLE[i % 2].get())?;
    Ok(())
}
