use crosscut::prelude::*;
use crosscut::property::{DeviceImageScope, HostAccess, HostNone};

static G: DeviceGlobal<u32, (DeviceImageScope, HostAccess<HostNone>)> = DeviceGlobal::zeroed();

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    queue.read(&G)?;
    queue.write(&G, &1)?;
    Ok(())
}
