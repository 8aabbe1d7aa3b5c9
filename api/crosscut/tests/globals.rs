//! Device globals, on the default device.

use std::sync::atomic::{AtomicI16, AtomicU32, AtomicU64, AtomicUsize, Ordering::Relaxed};

use crosscut::prelude::*;
use crosscut::{ErrorKind, Result};

fn device() -> Device {
    Queue::new().unwrap().device().clone()
}

#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
struct Pair {
    left: u32,
    right: [i16; 2],
}

#[test]
fn globals_start_with_their_initial_value() -> Result<()> {
    static PAIR: DeviceGlobal<Pair> = DeviceGlobal::new(Pair { left: 7, right: [-1, 2] });
    static ATOMICS: DeviceGlobal<[[AtomicI16; 2]; 2]> = DeviceGlobal::new([[1, 2], [3, -4]]);
    static ZEROS: DeviceGlobal<[u64; 100]> = DeviceGlobal::zeroed();
    let queue = Queue::on(&device())?;
    assert_eq!(queue.read(&PAIR)?, Pair { left: 7, right: [-1, 2] });
    assert_eq!(queue.read(&ATOMICS)?, [[1, 2], [3, -4]]);
    assert_eq!(queue.read(&ZEROS)?, [0; 100]);
    Ok(())
}

#[test]
fn plain_globals_are_lent_copied_and_owned() -> Result<()> {
    static GAIN: DeviceGlobal<f32> = DeviceGlobal::new(0.5);
    static TABLE: DeviceGlobal<[u32; 4]> = DeviceGlobal::zeroed();
    let queue = Queue::on(&device())?;
    queue.write(&GAIN, &2.0)?.wait()?;
    let mut y = queue.zeroed::<f32>(4)?;
    queue.for_each(&mut y, &GAIN, |_, y, gain| *y = *gain + GAIN.get())?;
    assert_eq!(queue.download(&y)?, [4.0; 4]);
    queue.single_task((TABLE.exclusive(), &GAIN), |(table, gain)| {
        for (i, cell) in table.iter_mut().enumerate() {
            *cell += i as u32 * *gain as u32;
        }
    })?;
    assert_eq!(queue.read(&TABLE)?, [0, 2, 4, 6]);
    Ok(())
}

#[test]
fn an_exclusive_global_is_nobody_elses() -> Result<()> {
    static VALUE: DeviceGlobal<u32> = DeviceGlobal::new(1);
    static OTHER: DeviceGlobal<u32> = DeviceGlobal::new(5);
    let queue = Queue::on(&device())?;
    let twice = queue.single_task((VALUE.exclusive(), VALUE.exclusive()), |_| ());
    assert_eq!(twice.unwrap_err().kind(), ErrorKind::Invalid);
    let lent = queue.single_task((VALUE.exclusive(), &VALUE), |_| ());
    assert_eq!(lent.unwrap_err().kind(), ErrorKind::Invalid);
    // Native code panics, a device refuses the launch: it is known to use the name.
    let named = queue.single_task(VALUE.exclusive(), |value| *value = VALUE.get() + 1);
    let error = named.and_then(|event| event.wait()).unwrap_err();
    assert!(error.message().contains("exclusive()"), "{error}");
    queue.single_task(VALUE.exclusive(), |value| *value += OTHER.get())?.wait()?;
    assert_eq!(queue.read(&VALUE)?, 6);
    Ok(())
}

#[test]
fn every_context_has_its_own_instance() -> Result<()> {
    static COUNT: DeviceGlobal<AtomicU32> = DeviceGlobal::new(10);
    static STEP: DeviceGlobal<u32> = DeviceGlobal::new(1);
    let device = device();
    let count = |queue: &Queue| -> Result<u32> {
        queue.parallel_for(5000, (), |_, ()| {
            COUNT.fetch_add(STEP.get(), Relaxed);
        })?;
        queue.read(&COUNT)
    };
    let first = Queue::on(&device)?;
    assert_eq!(count(&first)?, 5010);
    {
        let context = device.create_context()?;
        let (one, other) = (Queue::in_context(&context)?, Queue::in_context(&context)?);
        one.write(&STEP, &2)?;
        assert_eq!(count(&one)?, 10_010);
        assert_eq!(count(&other)?, 20_010, "queues of one context share it");
        one.single_task(STEP.exclusive(), |step| *step = 3)?.wait()?;
        assert_eq!(count(&one)?, 35_010);
    }
    // A later context starts with the initial value again.
    assert_eq!(count(&Queue::in_context(&device.create_context()?)?)?, 5010);
    assert_eq!(count(&first)?, 10_010);
    Ok(())
}

#[test]
fn buffers_of_another_context_are_refused() -> Result<()> {
    let device = device();
    let here = Queue::on(&device)?;
    let there = Queue::in_context(&device.create_context()?)?;
    let x = there.upload(&[1u8])?;
    let error = here.parallel_for(1, &x, |_, _| ()).unwrap_err();
    assert!(error.message().contains("another context"), "{error}");
    assert!(here.download(&x).is_err());
    Ok(())
}

#[test]
fn a_global_outside_a_kernel_says_what_to_use() {
    static COUNT: DeviceGlobal<AtomicUsize> = DeviceGlobal::zeroed();
    let caught = std::panic::catch_unwind(|| COUNT.load(Relaxed)).unwrap_err();
    assert!(caught.downcast_ref::<&str>().unwrap().contains("queue.read(&GLOBAL)"));
}

#[test]
fn writers_and_kernels_of_different_threads_take_turns() -> Result<()> {
    static PAIR: DeviceGlobal<[u64; 64]> = DeviceGlobal::zeroed();
    static TORN: DeviceGlobal<AtomicU64> = DeviceGlobal::zeroed();
    let device = device();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let queue = Queue::on(&device).unwrap();
            for i in 0..500 {
                queue.write(&PAIR, &[i; 64]).unwrap();
            }
        });
        scope.spawn(|| {
            let queue = Queue::on(&device).unwrap();
            for _ in 0..500 {
                let check = |_, ()| {
                    let pair = PAIR.get();
                    if pair.iter().any(|&v| v != pair[0]) {
                        TORN.fetch_add(1, Relaxed);
                    }
                };
                queue.parallel_for(20, (), check).unwrap();
            }
        });
    });
    assert_eq!(Queue::on(&device)?.read(&TORN)?, 0);
    Ok(())
}
