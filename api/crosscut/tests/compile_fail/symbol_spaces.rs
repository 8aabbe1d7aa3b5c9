use crosscut::prelude::*;
use crosscut::Constant;

static LOCAL: Symbol<u32, u8> = Symbol::new(1);
static FIXED: Symbol<u32, Constant> = Symbol::new(1);

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    queue.single_task(FIXED.device().exclusive(), |fixed| *fixed = 1)?;
    Ok(())
}
