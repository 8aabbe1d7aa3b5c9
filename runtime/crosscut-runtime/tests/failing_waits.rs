//! Drivers that refuse to wait: memory is not given back while a copy may use it.

mod program;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use crosscut_adapter_api::{DriverError, DriverErrorKind};
use crosscut_adapter_mock::{Mock, Operation};
use crosscut_runtime::{Block, Error, Queue, Region, kept_if_in_use};
use program::*;

/// Has the next call of this kind fail.
fn refuse(mock: &Mock, operation: Operation) {
    mock.fail(operation, 0, refusal());
}

fn refusal() -> DriverError {
    DriverError { kind: DriverErrorKind::Other, call: "mock", code: -1, log: None }
}

/// Has commands wait, and everybody who asks for the end of the next one be refused.
fn hide_the_end(mock: &Mock) {
    mock.hold();
    for operation in [Operation::EventWait, Operation::QueueWait, Operation::EventQuery] {
        refuse(mock, operation);
    }
}

#[test]
fn rows_whose_waits_fail_have_ended_before_their_memory_is_given_back() {
    let mock = Mock::new();
    let queue = queue(&device(&mock));
    let buffer = upload(&queue, &[1, 2, 3, 4]);
    let rows = || Block::new(Region::whole(&buffer), 8, [2, 1], [16, 0]).unwrap();
    mock.hold();
    for operation in [Operation::EventWait, Operation::QueueWait] {
        for _ in 0..2 {
            refuse(&mock, operation);
        }
    }
    let (release, released) = (mock.clone(), Arc::new(AtomicBool::new(false)));
    let releases = Arc::clone(&released);
    let thread = std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(50));
        releases.store(true, Relaxed);
        release.release();
    });
    let mut target = [0u64; 2];
    // SAFETY: there is room for both rows, and no atomic in them.
    let copied = unsafe { queue.read_block(rows(), target.as_mut_ptr().cast(), 0, &[]) };
    assert!(released.load(Relaxed), "the copies are waited for nevertheless");
    assert!(copied.is_err(), "the driver's refusal");
    thread.join().unwrap();
    assert_eq!(target, [1, 3]);
}

#[test]
fn a_small_read_of_a_global_that_may_go_on_has_nothing_of_the_callers() {
    let mock = Mock::new();
    let global = register(vec![kernel(970, "k", vec![])], 5);
    let queue = queue(&device(&mock));
    let mut value = 0u64;
    let target = std::ptr::from_mut(&mut value).cast();
    // SAFETY: there is room for the 8 bytes.
    unsafe { queue.copy_from_global(global, 0, target, 8, &[]) }.unwrap();
    assert_eq!(value, 5);
    hide_the_end(&mock);
    let mut late = 0u64;
    let target = std::ptr::from_mut(&mut late).cast();
    // SAFETY: there is room for the 8 bytes.
    let error = unsafe { queue.copy_from_global(global, 0, target, 8, &[]) }.unwrap_err();
    assert_eq!(error.driver_call(), Some("mock"));
    mock.release();
    queue.wait().unwrap();
    assert_eq!(late, 0, "what came late came elsewhere");
}

#[test]
fn memory_stays_where_nobody_can_tell_that_a_copy_is_over_and_only_there() {
    let mock = Mock::new();
    let queue = queue(&device(&mock));
    let buffer = upload(&queue, &[1, 2, 3, 4]);
    let rows = Block::new(Region::whole(&buffer), 8, [2, 1], [16, 0]).unwrap();
    let read = |queue: &Queue, block: Block<'_>| -> Result<Box<[u64; 4]>, Error> {
        let mut target = Box::new([0u64; 4]);
        let place = std::ptr::from_mut(&mut *target).cast();
        // SAFETY: there is room for all of the buffer, and no atomic in it; it stays if need be.
        let copied = unsafe { queue.read_block(block, place, 0, &[]) };
        kept_if_in_use(target, copied)
    };
    let whole = Block::new(Region::whole(&buffer), 32, [1, 1], [32, 0]).unwrap();
    refuse(&mock, Operation::Read);
    assert!(!read(&queue, whole).unwrap_err().may_run(), "it was not taken");
    refuse(&mock, Operation::EventWait);
    assert!(!read(&queue, whole).unwrap_err().may_run(), "the queue has been waited for");
    hide_the_end(&mock);
    assert!(read(&queue, whole).unwrap_err().may_run());
    mock.release();
    queue.wait().unwrap();
    // Of two rows, the first one fails and its end is known; of the second one nobody can tell.
    for nth in [0, 2, 3] {
        mock.fail(Operation::EventWait, nth, refusal());
    }
    refuse(&mock, Operation::QueueWait);
    refuse(&mock, Operation::EventQuery);
    assert!(read(&queue, rows).unwrap_err().may_run());
    assert_eq!(*read(&queue, whole).unwrap(), [1, 2, 3, 4]);
}
