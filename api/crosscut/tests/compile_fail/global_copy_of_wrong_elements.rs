use crosscut::prelude::*;

static G: DeviceGlobal<[[i32; 4]; 3]> = DeviceGlobal::zeroed();

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    queue.copy_to(&G, &[1.5f32], 0)?;
    queue.copy_to(&G, 7, 0)?;
    queue.copy_from(&G, &mut [[0i32; 4]], 0)?;
    Ok(())
}
