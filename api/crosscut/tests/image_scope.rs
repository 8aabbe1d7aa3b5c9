//! Device globals with image scope, on the default device.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crosscut::prelude::*;
use crosscut::property::{
    DeviceImageScope, HostAccess, HostNone, HostRead, ImplementInCsr, InitMode, Reset,
};
use crosscut::{Backend, ErrorKind, Result};

#[test]
fn a_copy_before_any_kernel_sees_the_initial_value() -> Result<()> {
    static EARLY: DeviceGlobal<[u32; 3], DeviceImageScope> = DeviceGlobal::new([5, 6, 7]);
    let queue = Queue::new()?;
    assert_eq!(queue.read(&EARLY)?, [5, 6, 7]);
    queue.copy_to(&EARLY, &[60], 1)?.wait()?;
    let mut out = queue.zeroed::<u32>(3)?;
    queue.for_each(&mut out, (), |i, out, ()| *out = EARLY.get()[i] + 1)?;
    assert_eq!(queue.download(&out)?, [6, 61, 8]);
    Ok(())
}

#[test]
fn kernels_that_name_it_share_one_variable() -> Result<()> {
    static COUNTS: DeviceGlobal<[AtomicU32; 2], (DeviceImageScope, HostAccess<HostRead>)> =
        DeviceGlobal::zeroed();
    let queue = Queue::new()?;
    for _ in 0..3 {
        queue.parallel_for(10, (), |i, ()| {
            COUNTS[i % 2].fetch_add(1, Relaxed);
        })?;
        queue.parallel_for(4, (), |_, ()| {
            COUNTS[0].fetch_add(COUNTS[1].load(Relaxed) * 100, Relaxed);
        })?;
    }
    let last = 15 + 100 * 4 * (5 + 10 + 15);
    assert_eq!(queue.read(&COUNTS)?, [last, 15]);
    // Panics of kernels that share an image name their own places.
    let panics = queue.parallel_for(4, (), |i, ()| {
        COUNTS[i].fetch_add(0, Relaxed);
    });
    let error = panics?.wait().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Panic);
    assert_eq!(error.kernel_panic().unwrap().line, line!() - 4);
    Ok(())
}

#[test]
fn parts_fills_buffers_and_resets_reach_the_variable() -> Result<()> {
    static TABLE: DeviceGlobal<[u16; 6], DeviceImageScope> = DeviceGlobal::new([1, 2, 3, 4, 5, 6]);
    let queue = Queue::new()?;
    let sum = |queue: &Queue| -> Result<u32> {
        let mut sum = queue.zeroed::<u32>(1)?;
        queue.for_each(&mut sum, (), |_, sum, ()| {
            *sum = TABLE.get().iter().map(|word| u32::from(*word)).sum();
        })?;
        Ok(queue.download(&sum)?[0])
    };
    assert_eq!(sum(&queue)?, 21);
    queue.fill_global(&TABLE, 1..3, &100)?.wait()?;
    assert_eq!((sum(&queue)?, queue.read(&TABLE)?), (216, [1, 100, 100, 4, 5, 6]));
    let source = queue.upload(&[1000u16, 2000])?;
    queue.copy_to(&TABLE, &source, 4)?.wait()?;
    let mut target = queue.zeroed::<u16>(3)?;
    queue.copy_from(&TABLE, &mut target, 2)?.wait()?;
    assert_eq!((sum(&queue)?, queue.download(&target)?), (3205, vec![100, 4, 1000]));
    assert_eq!(queue.copy_to(&TABLE, &[0; 7], 0).unwrap_err().kind(), ErrorKind::Invalid);
    queue.reset(&TABLE)?.wait()?;
    assert_eq!((sum(&queue)?, queue.read(&TABLE)?), (21, [1, 2, 3, 4, 5, 6]));
    Ok(())
}

#[test]
fn it_is_an_argument_like_any_other() -> Result<()> {
    static STATE: DeviceGlobal<[i64; 4], DeviceImageScope> = DeviceGlobal::new([1; 4]);
    let queue = Queue::new()?;
    queue.single_task(STATE.exclusive(), |state| state[2] += 41)?;
    let mut out = queue.zeroed::<i64>(4)?;
    queue.for_each(&mut out, (), |i, out, ()| *out = STATE.get()[i])?;
    assert_eq!(queue.download(&out)?, [1, 1, 42, 1]);
    queue.for_each(&mut out, &STATE, |i, out, state| *out += state[3 - i])?;
    assert_eq!(queue.download(&out)?, [2, 43, 43, 2]);
    let named = queue.single_task(STATE.exclusive(), |state| state[0] = STATE.get()[1]);
    assert!(named.and_then(|event| event.wait()).is_err());
    Ok(())
}

#[test]
fn every_context_has_its_own_variable() -> Result<()> {
    static VALUE: DeviceGlobal<AtomicU32, DeviceImageScope> = DeviceGlobal::new(3);
    let first = Queue::new()?;
    let second = Queue::in_context(&first.device().create_context()?)?;
    for (queue, times) in [(&first, 2), (&second, 5)] {
        queue.parallel_for(times, (), |_, ()| {
            VALUE.fetch_add(10, Relaxed);
        })?;
    }
    assert_eq!((first.read(&VALUE)?, second.read(&VALUE)?), (23, 53));
    Ok(())
}

#[test]
fn one_that_the_host_never_sees_keeps_its_value_between_kernels() -> Result<()> {
    static HIDDEN: DeviceGlobal<AtomicU32, (HostAccess<HostNone>, DeviceImageScope)> =
        DeviceGlobal::new(8);
    let queue = Queue::new()?;
    let mut out = queue.zeroed::<u32>(1)?;
    for _ in 0..3 {
        queue.for_each(&mut out, (), |_, out, ()| *out = HIDDEN.fetch_add(1, Relaxed))?;
    }
    assert_eq!(queue.download(&out)?, [10]);
    Ok(())
}

#[test]
fn one_that_no_kernel_names_is_not_there_on_devices_with_images() -> Result<()> {
    static UNUSED: DeviceGlobal<u32, DeviceImageScope> = DeviceGlobal::new(4);
    let queue = Queue::new()?;
    if queue.device().backend() == Backend::Host {
        assert_eq!(queue.read(&UNUSED)?, 4);
    } else {
        let error = queue.read(&UNUSED).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::KernelNotSupported);
        assert_eq!(
            error.message(),
            "no kernel of this program uses the device global, which has image scope"
        );
    }
    Ok(())
}

#[test]
fn a_second_image_for_other_values_of_constants_is_refused() -> Result<()> {
    static STEP: SpecConstant<u32> = SpecConstant::new(1);
    static SUM: DeviceGlobal<AtomicU32, DeviceImageScope> = DeviceGlobal::zeroed();
    let queue = Queue::new()?;
    let add = |value: u32| {
        let launch = queue.launch().with(&STEP, value);
        launch.parallel_for(4, (), |_, ()| {
            SUM.fetch_add(STEP.get(), Relaxed);
        })
    };
    add(5)?.wait()?;
    add(5)?.wait()?;
    assert_eq!(queue.read(&SUM)?, 40);
    let other = add(6).and_then(|event| event.wait());
    if queue.device().backend() == Backend::Host {
        assert_eq!((other.is_ok(), queue.read(&SUM)?), (true, 64));
    } else {
        let error = other.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.message().contains("would be in a second image"), "{error}");
        assert_eq!(queue.read(&SUM)?, 40);
    }
    Ok(())
}

#[test]
fn what_only_fpgas_ask_about_is_in_the_image_and_no_obstacle_elsewhere() -> Result<()> {
    static REGISTER: DeviceGlobal<u32, (DeviceImageScope, InitMode<Reset>, ImplementInCsr<true>)> =
        DeviceGlobal::new(11);
    let queue = Queue::new()?;
    queue.write(&REGISTER, &12)?;
    let mut out = queue.zeroed::<u32>(1)?;
    queue.for_each(&mut out, (), |_, out, ()| *out = REGISTER.get() + 1)?;
    assert_eq!((queue.download(&out)?, queue.read(&REGISTER)?), (vec![13], 12));
    Ok(())
}

#[test]
fn a_variable_has_one_address_if_the_driver_tells_any() -> Result<()> {
    static VALUE: DeviceGlobal<u32, DeviceImageScope> = DeviceGlobal::new(5);
    let queue = Queue::new()?;
    let mut out = queue.zeroed::<u32>(1)?;
    let ask = || {
        // SAFETY: the address is only looked at.
        unsafe { queue.address_of(&VALUE) }
    };
    let before = ask();
    queue.for_each(&mut out, (), |_, out, ()| *out = VALUE.get())?;
    match (before, ask()) {
        (Ok(before), Ok(after)) => assert!(before == after && before != 0),
        (Err(error), Err(_)) => assert_eq!(error.kind(), ErrorKind::KernelNotSupported),
        other => panic!("{other:?}"),
    }
    Ok(())
}
