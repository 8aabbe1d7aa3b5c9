//! What stays as it is while programs are built anew: address and contents of device globals.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crosscut::prelude::*;
use crosscut::{Bundle, DeviceData, DevicePtr, Result};

/// Where the device has a global, if the driver tells.
fn address<T: DeviceData>(queue: &Queue, global: &'static DeviceGlobal<T>) -> Option<u64> {
    // SAFETY: the address is only compared.
    unsafe { queue.address_of(global) }.ok()
}

#[test]
fn the_address_on_the_device_is_the_same_for_every_command_and_every_queue_of_a_context()
-> Result<()> {
    static VALUE: DeviceGlobal<[u32; 4]> = DeviceGlobal::new([1, 2, 3, 4]);
    static SEEN: DeviceGlobal<[DevicePtr<[u32; 4]>; 2]> = DeviceGlobal::new([DevicePtr::null(); 2]);
    let queue = Queue::new()?;
    let before = address(&queue, &VALUE);
    queue.single_task(SEEN.exclusive(), |seen| seen[0] = VALUE.device_ptr())?;
    queue.write(&VALUE, &[5; 4])?;
    let other = Queue::in_context(queue.context())?;
    other.single_task(SEEN.exclusive(), |seen| seen[1] = VALUE.device_ptr())?;
    let seen = queue.read(&SEEN)?;
    assert!(seen[0] == seen[1] && !seen[0].is_null(), "{seen:?}");
    // For other software the host is told the same, by a function that is `unsafe`.
    if let Some(before) = before {
        assert_eq!(format!("{:?}", seen[0]), format!("DevicePtr({before:#x})"));
        assert_eq!(address(&other, &VALUE), Some(before));
    }
    Ok(())
}

#[test]
fn state_survives_other_values_of_specialization_constants() -> Result<()> {
    static STEP: SpecConstant<u32> = SpecConstant::new(1);
    static SUM: DeviceGlobal<AtomicU32> = DeviceGlobal::new(1000);
    let queue = Queue::new()?;
    let before = address(&queue, &SUM);
    for step in [1, 20, 300, 20] {
        queue.launch().with(&STEP, step).parallel_for(2, (), |_, ()| {
            SUM.fetch_add(STEP.get(), Relaxed);
        })?;
    }
    assert_eq!(queue.read(&SUM)?, 1000 + 2 * (1 + 20 + 300 + 20));
    assert_eq!(address(&queue, &SUM), before);
    Ok(())
}

#[test]
fn state_survives_kernels_of_other_bundles() -> Result<()> {
    static STEP: SpecConstant<u32> = SpecConstant::new(1);
    static COUNT: DeviceGlobal<AtomicU32> = DeviceGlobal::new(7);
    let queue = Queue::new()?;
    let bundle = |step: u32| Bundle::of(queue.context()).with(&STEP, step).build();
    let (first, second) = (bundle(10)?, bundle(200)?);
    let before = address(&queue, &COUNT);
    for bundle in [Some(&first), None, Some(&second), Some(&first)] {
        let launch = match bundle {
            Some(bundle) => queue.launch().use_bundle(bundle),
            None => queue.launch(),
        };
        launch.parallel_for(3, (), |_, ()| {
            COUNT.fetch_add(STEP.get(), Relaxed);
        })?;
    }
    assert_eq!(queue.read(&COUNT)?, 7 + 3 * (10 + 1 + 200 + 10));
    assert_eq!(address(&queue, &COUNT), before);
    Ok(())
}
