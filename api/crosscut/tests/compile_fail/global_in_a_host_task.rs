//! A host task has buffers and parts of them; a device global is read by a queue.

use crosscut::prelude::*;

static LEVEL: DeviceGlobal<u32> = DeviceGlobal::zeroed();

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    queue.host_task_with(LEVEL.exclusive(), |level| *level = 1)?;
    Ok(())
}
