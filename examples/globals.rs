//! What a device global can do.
#![allow(clippy::print_stdout, reason = "an example talks to the terminal")]

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use crosscut::prelude::*;
use crosscut::property::{DeviceImageScope, HostAccess, HostRead};

#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
struct Params {
    gain: f32,
    steps: u32,
}

static PARAMS: DeviceGlobal<Params> = DeviceGlobal::new(Params { gain: 0.5, steps: 3 });
static TABLE: DeviceGlobal<[[i32; 4]; 3]> = DeviceGlobal::zeroed();
static HITS: DeviceGlobal<AtomicU64> = DeviceGlobal::new(100); // for atomics the plain value
static RUNS: DeviceGlobal<AtomicU64, (DeviceImageScope, HostAccess<HostRead>)> =
    DeviceGlobal::zeroed();

fn main() -> crosscut::Result<()> {
    let queue = Queue::new()?;
    assert_eq!(queue.read(&PARAMS)?, Params { gain: 0.5, steps: 3 });
    let first = queue.write(&PARAMS, &Params { gain: 2.0, steps: 1 })?;
    queue.launch().after(&first).copy_to(&TABLE, &[7, 8], 2)?; // two elements, from element 2

    let mut y = queue.zeroed::<f32>(8)?;
    queue.for_each(&mut y, &PARAMS, |_, y, params| {
        *y = params.gain; // a plain global: borrowed for the launch
        HITS.fetch_add(1, Relaxed); // atomics: by name
        RUNS.fetch_add(1, Relaxed);
    })?;
    assert_eq!(queue.download(&y)?, [2.0; 8]);
    assert_eq!(queue.read(&HITS)?, 108);
    assert_eq!(queue.read(&RUNS)?, 8);
    // queue.write(&RUNS, &1)?;           does not compile: the host may only read RUNS

    // One item: a plain `&mut`. Another global is read by copy.
    queue.single_task(TABLE.exclusive(), |table| table[1][0] = PARAMS.get().steps as i32)?;
    let table = queue.read(&TABLE)?;
    assert_eq!(table, [[0, 0, 7, 8], [1, 0, 0, 0], [0; 4]]);
    assert!(queue.copy_to(&TABLE, &[0; 13], 0).is_err()); // 13 elements into 12: nothing is written

    let saved = queue.snapshot(&[("table", &TABLE)])?; // what they hold here, by name and layout
    queue.reset(&TABLE)?; // back to the initial value
    assert_eq!(queue.read(&TABLE)?, [[0; 4]; 3]);
    queue.restore(&[("table", &TABLE)], &saved)?;
    assert_eq!(queue.read(&TABLE)?, table);
    println!("{}: {table:?}", queue.device());
    Ok(())
}
