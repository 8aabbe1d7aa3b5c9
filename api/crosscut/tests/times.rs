//! Times of commands: on a queue with profiling those below have them, whoever carries them out.

use std::sync::atomic::AtomicU32;

use crosscut::prelude::*;
use crosscut::{Event, Result};

static SMALL: DeviceGlobal<[u32; 4]> = DeviceGlobal::zeroed();
static LARGE: DeviceGlobal<[u32; 5 << 20]> = DeviceGlobal::zeroed();
static COUNT: DeviceGlobal<AtomicU32> = DeviceGlobal::zeroed();

fn is_timed(what: &str, event: Result<Event>) -> Result<()> {
    let event = event?;
    let times = event.times().unwrap_or_else(|error| panic!("{what}: {error}"));
    assert!(times.submitted <= times.started && times.started <= times.ended, "{what}: {times:?}");
    event.wait()
}

#[test]
fn every_kind_of_command_has_times() -> Result<()> {
    let queue = Queue::builder().profiling().build()?;
    let mut buffer = queue.upload(&[1u32, 2, 3, 4])?;
    let mut other = queue.zeroed::<u32>(4)?;
    let large = vec![7u32; 5 << 20];
    is_timed("a kernel", queue.for_each(&mut buffer, (), |_, x, ()| *x += 1))?;
    is_timed(
        "a task",
        queue.single_task((), |()| {
            COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }),
    )?;
    is_timed("a fill", queue.fill(&mut buffer, 5))?;
    is_timed("a copy", queue.copy(&buffer, &mut other))?;
    is_timed("a global", queue.write(&SMALL, &[1, 2, 3, 4]))?;
    is_timed("atomics", queue.write(&COUNT, &9))?;
    is_timed("a part", queue.copy_to(&SMALL, &[8u32, 9], 1))?;
    is_timed("a global's fill", queue.fill_global(&SMALL, .., &3))?;
    is_timed("a large global", queue.copy_to(&LARGE, &large, 0))?;
    is_timed("a reset", queue.reset(&SMALL))
}

#[test]
fn a_copy_from_another_context_has_times() -> Result<()> {
    let queue = Queue::builder().profiling().build()?;
    let elsewhere = Queue::builder().in_context(&queue.device().create_context()?).build()?;
    let there = elsewhere.upload(&[1u32, 2, 3])?;
    let mut here = queue.zeroed::<u32>(3)?;
    is_timed("a copy", queue.copy(&there, &mut here))?;
    assert_eq!(queue.download(&here)?, [1, 2, 3]);
    Ok(())
}
