//! `queue.launch()`: options before the command.

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
    for here in crosscut::devices()? {
        for there in crosscut::devices()? {
            let (Ok(one), Ok(two)) =
                (Queue::on(&here), there.create_context().and_then(|it| Queue::in_context(&it)))
            else {
                continue;
            };
            let Ok(event) = one.single_task((), |()| ()) else { continue };
            let Ok(event) = two.launch().after(&event).single_task((), |()| ()) else { continue };
            event.wait()?;
            one.launch().after(&event).single_task((), |()| ())?.wait()?;
        }
    }
    Ok(())
}
