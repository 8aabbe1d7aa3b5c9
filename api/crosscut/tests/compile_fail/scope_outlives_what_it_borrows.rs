use crosscut::prelude::*;

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    let mut x = queue.zeroed::<u32>(3)?;
    queue.scope(|s| {
        let data = vec![1, 2, 3];
        s.upload(&mut x, &data)?;
        Ok(())
    })
}
