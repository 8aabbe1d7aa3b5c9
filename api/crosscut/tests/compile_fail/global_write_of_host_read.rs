use crosscut::prelude::*;
use crosscut::property::{HostAccess, HostRead};

static G: DeviceGlobal<u32, HostAccess<HostRead>> = DeviceGlobal::zeroed();

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    queue.write(&G, &1)?;
    queue.copy_to(&G, &[1], 0)?;
    queue.copy_bytes_to(&G, &[1], 0)?;
    queue.fill_global(&G, .., &1)?;
    queue.reset(&G)?;
    Ok(())
}
