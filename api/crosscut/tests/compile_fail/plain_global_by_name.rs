use crosscut::prelude::*;

static TABLE: DeviceGlobal<[u32; 4]> = DeviceGlobal::zeroed();

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    let mut y = queue.zeroed::<u32>(4)?;
    queue.for_each(&mut y, (), |i, y, ()| *y = TABLE[i])?;
    Ok(())
}
