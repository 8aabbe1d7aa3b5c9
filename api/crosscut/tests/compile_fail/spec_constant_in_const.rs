//! A specialization constant is known by its address, which only a static has, and which it has alone.
use crosscut::prelude::*;
use crosscut::SpecConstant;

const TILE: SpecConstant<u8> = SpecConstant::new(16);

static NOTHING: SpecConstant<[u8; 0]> = SpecConstant::new([]);

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    queue.launch().with(&TILE, 32).single_task((), |()| ())?;
    queue.launch().with(&NOTHING, []).single_task((), |()| ())?;
    Ok(())
}
