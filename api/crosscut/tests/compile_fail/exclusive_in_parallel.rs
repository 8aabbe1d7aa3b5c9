use crosscut::prelude::*;

static G: DeviceGlobal<u32> = DeviceGlobal::zeroed();

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    queue.parallel_for(3, G.exclusive(), |_, _| ())?;
    Ok(())
}
