//! Copies to device globals take their data at the call and wait for nobody.

mod program;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use crosscut_adapter_api::{DriverError, DriverErrorKind};
use crosscut_adapter_mock::{Call, Mock, Operation};
use crosscut_runtime::{GlobalHandle, Queue};
use program::*;

fn copy(queue: &Queue, global: GlobalHandle, value: &u64) -> crosscut_runtime::Event {
    let source = std::ptr::from_ref(value).cast();
    // SAFETY: the global has the 8 bytes of a `u64`.
    unsafe { queue.copy_to_global(global, 0, source, 8, &[]) }.unwrap()
}

#[test]
fn a_copy_returns_while_the_device_is_busy_and_its_source_may_change() {
    let mock = Mock::new();
    let global = register(vec![kernel(950, "k", vec![])], 1);
    let queue = queue(&device(&mock));
    assert_eq!(read_global(&queue, global).unwrap(), 1);
    mock.hold();
    let mut value = 40;
    let event = copy(&queue, global, &value);
    assert!(!event.is_complete().unwrap());
    value += 2;
    copy(&queue, global, &value);
    value = 0;
    mock.release();
    event.wait().unwrap();
    assert_eq!((read_global(&queue, global).unwrap(), value), (42, 0));
}

#[test]
fn the_event_of_a_fill_in_pieces_completes_with_the_last_of_them() {
    let mock = Mock::new();
    let global = register(vec![kernel(953, "k", vec![])], 0);
    let queue = queue(&device(&mock));
    read_global(&queue, global).unwrap();
    mock.hold();
    let event = queue.fill_global(global, 0, &[1, 2, 3], 2, &[]).unwrap();
    assert!(!event.is_complete().unwrap());
    mock.release();
    event.wait().unwrap();
    assert_eq!(read_global(&queue, global).unwrap().to_ne_bytes(), [1, 2, 3, 1, 2, 3, 0, 0]);
}

#[test]
fn the_event_of_a_copy_fails_with_it() {
    let mock = Mock::new();
    let global = register(vec![kernel(951, "k", vec![])], 1);
    let queue = queue(&device(&mock));
    read_global(&queue, global).unwrap();
    mock.hold();
    let event = copy(&queue, global, &5);
    mock.lose_device();
    assert!(event.wait().is_err());
}

#[test]
fn a_driver_that_will_not_call_back_is_waited_for() {
    let mock = Mock::new();
    let global = register(vec![kernel(952, "k", vec![])], 1);
    let queue = queue(&device(&mock));
    read_global(&queue, global).unwrap();
    let refusal = DriverError { kind: DriverErrorKind::Other, call: "mock", code: -1, log: None };
    mock.fail(Operation::OnComplete, 0, refusal);
    mock.hold();
    let release = mock.clone();
    let released = std::thread::spawn(move || {
        std::thread::sleep(std::time::Duration::from_millis(50));
        release.release();
    });
    let event = copy(&queue, global, &6);
    assert!(event.is_complete().unwrap(), "it was waited for");
    released.join().unwrap();
    assert_eq!(read_global(&queue, global).unwrap(), 6);
}

#[test]
fn a_copy_whose_waits_fail_has_ended_before_its_source_is_let_go() {
    let mock = Mock::new();
    let global = register(vec![kernel(954, "k", vec![])], 1);
    let queue = queue(&device(&mock));
    read_global(&queue, global).unwrap();
    let refusal =
        || DriverError { kind: DriverErrorKind::Other, call: "mock", code: -1, log: None };
    for operation in [Operation::OnComplete, Operation::EventWait, Operation::QueueWait] {
        mock.fail(operation, 0, refusal());
    }
    mock.hold();
    let (release, runs) = (mock.clone(), Arc::new(AtomicBool::new(false)));
    let begins = Arc::clone(&runs);
    let released = std::thread::spawn(move || {
        // Not before all that was refused has been asked for: what is left is to look again and again.
        let asked = |call: &Call| *call == Call::Failed(Operation::QueueWait);
        for _ in 0..60_000 {
            if release.log().iter().any(asked) {
                begins.store(true, Relaxed);
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        release.release();
    });
    let value = 6u64;
    let source = std::ptr::from_ref(&value).cast();
    // SAFETY: the global has the 8 bytes of a `u64`.
    let copied = unsafe { queue.copy_to_global(global, 0, source, 8, &[]) };
    assert!(copied.is_err(), "the driver's refusal");
    assert!(runs.load(Relaxed), "it is waited for nevertheless");
    assert_eq!(read_global(&queue, global).unwrap(), 6);
    released.join().unwrap();
}
