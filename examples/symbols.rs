//! Symbols: one value of the host, one of each device, and commands that copy between them.
#![allow(clippy::print_stdout, reason = "an example talks to the terminal")]

use crosscut::prelude::*;
use crosscut::{Constant, Global};

static GV: Symbol<i32, Constant> = Symbol::new(0); // kernels only read it
static MUTABLE_GV: Symbol<i32, Global> = Symbol::new(0);
static GV_ARRAY: Symbol<[i32; 42], Global> = Symbol::new([0; 42]);

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    let (v1, v2) = (42, 84);
    GV.set_host(42);
    MUTABLE_GV.set_host(21);

    queue.copy_to_symbol(&GV, &v1)?;
    let mut seen = queue.zeroed::<i32>(1)?;
    queue.for_each(&mut seen, (), |_, seen, ()| *seen = GV.get())?;
    assert_eq!(queue.download(&seen)?, [v1]);

    let copied = queue.copy_to_symbol(&GV, &v2)?;
    assert_eq!(GV.host(), 42); // the copy was to the device
    queue.launch().after(&copied).for_each(&mut seen, (), |_, seen, ()| *seen = GV.get())?;
    assert_eq!(queue.download(&seen)?, [v2]);

    queue.copy_to_symbol(&MUTABLE_GV, &v1)?;
    queue.single_task(MUTABLE_GV.device().exclusive(), move |gv| *gv = v2)?;
    assert_eq!(MUTABLE_GV.host(), 21); // the kernel wrote the device's value
    queue.update_host(&MUTABLE_GV)?;
    assert_eq!(MUTABLE_GV.host(), v2);

    queue.fill_symbol(&GV_ARRAY, &42)?;
    assert_eq!(queue.copy_from_symbol(&GV_ARRAY)?, [42; 42]);
    assert_eq!(GV_ARRAY.host(), [0; 42]);
    println!("{}: {} on the host, {v2} on the device", queue.device(), GV.host());
    Ok(())
}
