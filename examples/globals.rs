//! What a device global can do.
#![allow(clippy::print_stdout, reason = "an example talks to the terminal")]

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crosscut::prelude::*;

#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
struct Params {
    gain: f32,
    steps: u32,
}

static PARAMS: DeviceGlobal<Params> = DeviceGlobal::new(Params { gain: 0.5, steps: 3 });
static TABLE: DeviceGlobal<[[i32; 4]; 3]> = DeviceGlobal::zeroed();
static HITS: DeviceGlobal<AtomicU64> = DeviceGlobal::new(100); // for atomics the plain value

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    assert_eq!(queue.read(&PARAMS)?, Params { gain: 0.5, steps: 3 });
    queue.write(&PARAMS, &Params { gain: 2.0, steps: 1 })?;

    let mut y = queue.zeroed::<f32>(8)?;
    queue.for_each(&mut y, &PARAMS, |_, y, params| {
        *y = params.gain; // a plain global: borrowed for the launch
        HITS.fetch_add(1, Relaxed); // atomics: by name
    })?;
    assert_eq!(queue.download(&y)?, [2.0; 8]);
    assert_eq!(queue.read(&HITS)?, 108);

    // One item: a plain `&mut`. Another global is read by copy.
    queue.single_task(TABLE.exclusive(), |table| table[1][0] = PARAMS.get().steps as i32)?;
    let table = queue.read(&TABLE)?;
    assert_eq!(table, [[0; 4], [1, 0, 0, 0], [0; 4]]);
    println!("{}: {table:?}", queue.device());
    Ok(())
}
