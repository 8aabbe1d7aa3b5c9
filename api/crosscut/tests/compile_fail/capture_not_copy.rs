use crosscut::prelude::*;

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    let text = String::from("on the host");
    queue.single_task((), move |()| drop(text.len()))?;
    Ok(())
}
