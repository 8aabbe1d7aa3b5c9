//! Choosing devices, and parts of them, as programs do.

#![allow(missing_docs, reason = "a test's name is its documentation")]

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crosscut::prelude::*;
use crosscut::{ErrorKind, Feature};

static COUNT: DeviceGlobal<AtomicU32> = DeviceGlobal::zeroed();

/// The device of this run, and its parts of one compute unit if it can be cut.
fn whole_and_parts() -> Vec<Device> {
    let whole = crosscut::default_device().unwrap();
    let mut devices = match whole.has(Feature::PartitionEqually) {
        true => whole.partition_equally(1).unwrap(),
        false => Vec::new(),
    };
    devices.push(whole);
    devices
}

#[test]
fn kernels_give_the_same_on_the_whole_and_on_its_parts() {
    for device in whole_and_parts() {
        let queue = Queue::on(&device).unwrap();
        let x = queue.upload(&(0..100_000).collect::<Vec<u32>>()).unwrap();
        let mut y = queue.zeroed::<u32>(x.len()).unwrap();
        queue.for_each(&mut y, &x, |i, y, x| *y = 2 * x[i] + 1).unwrap();
        let y = queue.download(&y).unwrap();
        assert!(y.iter().zip(0..).all(|(&y, x)| y == 2 * x + 1), "{}", device.selector());
    }
}

#[test]
fn every_part_has_device_globals_of_its_own() {
    let queues: Vec<Queue> =
        whole_and_parts().iter().map(|device| Queue::on(device).unwrap()).collect();
    for (items, queue) in (1..).zip(&queues) {
        let count = |_, ()| {
            COUNT.fetch_add(1, Relaxed);
        };
        queue.parallel_for(items, (), count).unwrap();
    }
    for (items, queue) in (1..).zip(&queues) {
        assert_eq!(queue.read(&COUNT).unwrap(), items, "{}", queue.device().selector());
    }
}

#[test]
fn queues_of_parts_run_side_by_side() {
    let devices = whole_and_parts();
    std::thread::scope(|scope| {
        for device in &devices {
            scope.spawn(move || {
                let queue = Queue::on(device).unwrap();
                let mut y = queue.zeroed::<u64>(10_000).unwrap();
                for _ in 0..20 {
                    queue.for_each(&mut y, (), |i, y, ()| *y += i as u64).unwrap();
                }
                assert_eq!(queue.download(&y).unwrap()[77], 20 * 77);
            });
        }
    });
}

#[test]
fn a_device_that_nobody_has_is_an_error_that_lists_what_there_is() {
    let error = crosscut::select_device(|_| None::<u8>).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoDevice);
    assert!(error.message().contains("host:0 (cpu)"), "{error}");
}

#[test]
fn a_buffer_of_one_part_is_refused_by_another() {
    let devices = whole_and_parts();
    let [one, other, ..] = &devices[..] else { return };
    let (one, other) = (Queue::on(one).unwrap(), Queue::on(other).unwrap());
    let buffer = one.upload(&[1u8, 2]).unwrap();
    assert_eq!(other.download(&buffer).unwrap_err().kind(), ErrorKind::Invalid);
}
