//! What comes behind a command that failed.

#![allow(missing_docs, reason = "a test's name is its documentation")]
#![allow(unused_crate_dependencies, reason = "each test file uses what it needs")]

#[allow(dead_code, reason = "each test file uses what it needs")]
mod device;

use crosscut_adapter_api::{
    Context, DriverError, DriverErrorKind, Event, Memory, MemoryKind, Queue, QueueOptions,
    QueueOrder,
};

use device::{bytes, devices};

const SIZE: usize = 64;

/// A queue and memory of its own.
struct Own {
    queue: Box<dyn Queue>,
    memory: Box<dyn Memory>,
}

impl Own {
    fn new(context: &dyn Context, order: QueueOrder) -> Self {
        let options = QueueOptions { order, ..QueueOptions::default() };
        Self {
            queue: context.create_queue(&options).unwrap(),
            memory: context.allocate(MemoryKind::Device, bytes(SIZE), 8).unwrap(),
        }
    }

    fn fill(&self, value: u8, after: &[&dyn Event]) -> Box<dyn Event> {
        // SAFETY: the memory is as long as this says, and whoever calls waits before it goes.
        unsafe { self.queue.fill(&*self.memory, 0, &[value], bytes(SIZE), after) }.unwrap()
    }

    fn read(&self) -> Vec<u8> {
        let mut found = vec![0; SIZE];
        let target = found.as_mut_ptr();
        // SAFETY: `found` is writable for its length and lives until the wait.
        let read = unsafe { self.queue.read(&*self.memory, 0, target, bytes(SIZE), &[]) };
        read.unwrap().wait().unwrap();
        found
    }

    /// A fill behind a promise that fails, and commands behind the fill.
    fn fail(&self, context: &dyn Context, barrier: bool, fill: bool) {
        let (promised, promise) = context.promise().unwrap();
        let first = self.fill(2, &[&*promised]);
        let barrier = barrier.then(|| self.queue.barrier(&[]).unwrap());
        let second = fill.then(|| self.fill(2, &[&*first]));
        promise.keep(Err(DriverError {
            kind: DriverErrorKind::DeviceLost,
            call: "test",
            code: -77,
            log: None,
        }));
        let failure = first.wait().unwrap_err();
        assert_eq!(failure.kind, DriverErrorKind::DeviceLost);
        assert!(failure.code < 0, "{failure}");
        // Whether these run is open: that they end is not.
        barrier.into_iter().chain(second).for_each(|event| drop(event.wait()));
    }
}

/// Intel's queues out of order crash here, or never return.
#[test]
fn a_queue_works_behind_commands_that_failed() {
    for device in devices() {
        let context = device.create_context().unwrap();
        for order in [QueueOrder::InOrder, QueueOrder::OutOfOrder] {
            for case in 0..12 {
                let own = Own::new(&*context, order);
                own.fill(1, &[]).wait().unwrap();
                own.fail(&*context, case % 2 == 1, case / 2 % 2 == 1);
                match case / 4 {
                    0 => own.queue.barrier(&[]).unwrap().wait().unwrap(),
                    1 => own.queue.wait().unwrap(),
                    _ => {}
                }
                own.fill(3, &[]).wait().unwrap();
                own.queue.barrier(&[]).unwrap().wait().unwrap();
                own.queue.wait().unwrap();
                assert_eq!(own.read(), [3; SIZE], "{order:?}, {case}");
            }
        }
    }
}
