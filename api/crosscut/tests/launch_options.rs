//! `queue.launch()`: options before the command.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use crosscut::prelude::*;
use crosscut::{ErrorKind, Result};

#[test]
fn after_takes_one_event_or_any_number_of_them() -> Result<()> {
    let (one, two) = (Queue::new()?, Queue::new()?);
    let mut x = one.zeroed::<u32>(3)?;
    let first = one.for_each(&mut x, (), |i, x, ()| *x = i as u32)?;
    let second = one.for_each(&mut x, (), |_, x, ()| *x += 1)?;
    let both = vec![first.clone(), second.clone()];
    let none: [Event; 0] = [];
    two.launch().after(&first).for_each(&mut x, (), |_, x, ()| *x += 1)?;
    two.launch().after(&both).for_each(&mut x, (), |_, x, ()| *x += 1)?;
    two.launch().after([&first, &second]).for_each(&mut x, (), |_, x, ()| *x += 1)?;
    two.launch().after(both.iter().rev()).after(&none).for_each(&mut x, (), |_, x, ()| *x += 1)?;
    assert_eq!(two.launch().after(&second).download(&x)?, [5, 6, 7]);
    Ok(())
}

#[test]
fn reads_and_writes_of_globals_take_options_too() -> Result<()> {
    static VALUE: DeviceGlobal<u32> = DeviceGlobal::new(1);
    let queue = Queue::new()?;
    let mut x = queue.zeroed::<u32>(1)?;
    let kernel = queue.for_each(&mut x, &VALUE, |_, x, value| *x = *value)?;
    let written = queue.launch().after(&kernel).write(&VALUE, &7)?;
    assert_eq!(queue.launch().after(&written).read(&VALUE)?, 7);
    assert_eq!(queue.download(&x)?, [1]);
    Ok(())
}

#[test]
fn a_command_runs_after_one_that_panicked_and_the_panic_stays_for_who_asks() -> Result<()> {
    let queue = Queue::new()?;
    let x = queue.upload(&[1u32])?;
    let mut y = queue.zeroed::<u32>(1)?;
    let limit = x.len() + 1;
    let bad = queue.parallel_for(limit, &x, |i, x| {
        std::hint::black_box(x[i]);
    })?;
    queue.launch().after(&bad).for_each(&mut y, (), |_, y, ()| *y = 5)?.wait()?;
    assert_eq!(bad.wait().unwrap_err().kind(), ErrorKind::Panic);
    assert_eq!(queue.download(&y)?, [5]);
    Ok(())
}

#[test]
fn events_of_other_contexts_are_waited_for() -> Result<()> {
    let devices = crosscut::devices()?;
    assert!(!devices.is_empty());
    for (here, there) in devices.iter().flat_map(|it| devices.iter().map(move |to| (it, to))) {
        let (one, two) = (Queue::on(here)?, Queue::in_context(&there.create_context()?)?);
        let mut filled = two.zeroed::<u32>(10)?;
        let ended = Arc::new(AtomicBool::new(false));
        // Long enough for whoever does not wait to come first.
        let slow = || {
            ended.store(false, Relaxed);
            let ended = Arc::clone(&ended);
            one.host_task(move || {
                thread::sleep(Duration::from_millis(50));
                ended.store(true, Relaxed);
            })
        };
        let way = format!("from {} to {}", here.selector(), there.selector());

        two.launch().after(&slow()?).fill(&mut filled, 7)?.wait()?;
        assert!(ended.load(Relaxed), "a fill came first, {way}");
        assert_eq!(two.launch().after(&slow()?).download(&filled)?, [7; 10]);
        assert!(ended.load(Relaxed), "a download came first, {way}");
        let (seen, first) = (Arc::new(AtomicBool::new(false)), Arc::clone(&ended));
        let task = Arc::clone(&seen);
        let last = two.launch().after(&slow()?);
        let last = last.host_task(move || task.store(first.load(Relaxed), Relaxed))?;
        // And back again.
        one.launch().after(&last).host_task(|| ())?.wait()?;
        assert!(last.is_complete()?, "{way}");
        assert!(seen.load(Relaxed), "a host task came first, {way}");
    }
    Ok(())
}
