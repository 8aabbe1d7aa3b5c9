//! Drivers that refuse to wait: memory is not given back while a copy may use it.

mod program;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use crosscut_adapter_api::{DriverError, DriverErrorKind};
use crosscut_adapter_mock::{Mock, Operation};
use crosscut_runtime::{Block, Region};
use program::*;

#[test]
fn rows_whose_waits_fail_have_ended_before_their_memory_is_given_back() {
    let mock = Mock::new();
    let queue = queue(&device(&mock));
    let buffer = upload(&queue, &[1, 2, 3, 4]);
    let rows = || Block::new(Region::whole(&buffer), 8, [2, 1], [16, 0]).unwrap();
    mock.hold();
    for operation in [Operation::EventWait, Operation::QueueWait] {
        for _ in 0..2 {
            let call = "mock";
            let error = DriverError { kind: DriverErrorKind::Other, call, code: -1, log: None };
            mock.fail(operation, 0, error);
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
