use crosscut::prelude::*;
use crosscut::property::{HostAccess, HostWrite};

static G: DeviceGlobal<u32, HostAccess<HostWrite>> = DeviceGlobal::zeroed();

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    queue.read(&G)?;
    queue.read_into(&G, &mut 0)?;
    queue.read_boxed(&G)?;
    queue.copy_from(&G, &mut [0], 0)?;
    queue.copy_bytes_from(&G, &mut [0], 0)?;
    Ok(())
}
