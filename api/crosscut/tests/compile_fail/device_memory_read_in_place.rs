use crosscut::prelude::*;

fn main() -> crosscut::Result<()> {
    let x = Queue::new()?.alloc_device::<u32>(4)?;
    println!("{}", x.read()?[0]);
    Ok(())
}
