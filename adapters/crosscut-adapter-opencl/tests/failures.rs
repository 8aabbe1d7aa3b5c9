//! What comes behind a command that failed.

#![allow(missing_docs, reason = "a test's name is its documentation")]
#![allow(unused_crate_dependencies, reason = "each test file uses what it needs")]

#[allow(dead_code, reason = "each test file uses what it needs")]
mod device;

use std::time::Duration;

use crosscut_adapter_api::{
    Context, DriverError, DriverErrorKind, Event, EventState, Memory, MemoryKind, Promise,
    Promised, Queue, QueueOptions, QueueOrder,
};

use device::{bytes, devices};

const SIZE: usize = 64;
/// Long enough for commands that nothing holds up to end.
const WHILE: Duration = Duration::from_millis(50);
/// Longer than anything here takes.
const LONG: Duration = Duration::from_secs(120);

/// A queue, and memory of its own.
struct Own<'c> {
    context: &'c dyn Context,
    queue: Box<dyn Queue>,
    memory: [Box<dyn Memory>; 4],
}

impl<'c> Own<'c> {
    fn new(context: &'c dyn Context, order: QueueOrder) -> Self {
        let options = QueueOptions { order, ..QueueOptions::default() };
        let memory = || context.allocate(MemoryKind::Device, bytes(SIZE), 8).unwrap();
        Self {
            context,
            queue: context.create_queue(&options).unwrap(),
            memory: std::array::from_fn(|_| memory()),
        }
    }

    fn fill(&self, memory: usize, value: u8, after: &[&dyn Event]) -> Box<dyn Event> {
        // SAFETY: the memory is as long as this says, and whoever calls waits before it goes.
        unsafe { self.queue.fill(&*self.memory[memory], 0, &[value], bytes(SIZE), after) }.unwrap()
    }

    fn read(&self, memory: usize) -> Vec<u8> {
        let mut found = vec![0; SIZE];
        let target = found.as_mut_ptr();
        // SAFETY: `found` is writable for its length and lives until the wait.
        let read = unsafe { self.queue.read(&*self.memory[memory], 0, target, bytes(SIZE), &[]) };
        read.unwrap().wait().unwrap();
        found
    }

    fn promise(&self) -> Promised {
        self.context.promise().unwrap()
    }

    /// A fill behind a promise that fails, and commands behind the fill.
    fn fail(&self, barrier: bool, fill: bool) {
        let (promised, promise) = self.promise();
        let first = self.fill(0, 2, &[&*promised]);
        let barrier = barrier.then(|| self.queue.barrier(&[]).unwrap());
        let second = fill.then(|| self.fill(0, 2, &[&*first]));
        promise.keep(Err(failure()));
        let failure = first.wait().unwrap_err();
        assert_eq!(failure.kind, DriverErrorKind::DeviceLost);
        assert!(failure.code < 0, "{failure}");
        assert!(first.acquire().is_err(), "it is told that the command ran");
        // Whether these run is open: that they end is not.
        barrier.into_iter().chain(second).for_each(|event| drop(event.wait()));
    }
}

fn failure() -> DriverError {
    DriverError { kind: DriverErrorKind::DeviceLost, call: "test", code: -77, log: None }
}

/// For every device, with a queue out of order.
fn out_of_order(run: impl Fn(&Own<'_>)) {
    for device in devices() {
        let context = device.create_context().unwrap();
        run(&Own::new(&*context, QueueOrder::OutOfOrder));
    }
}

/// The command ends when the promise is kept, and not before.
fn assert_held_up(command: &dyn Event, promise: Box<dyn Promise>, by: &dyn Event) {
    std::thread::sleep(WHILE);
    assert_ne!(command.state(), Ok(EventState::Complete), "it came too early");
    promise.keep(Ok(()));
    command.wait().unwrap();
    assert_eq!(by.state(), Ok(EventState::Complete));
}

/// What waits for a command that did not run: on its own queue it may run all the same.
#[test]
fn what_waits_for_a_command_on_another_queue_that_did_not_run_does_not_run_either() {
    for device in devices() {
        let context = device.create_context().unwrap();
        for orders in [[QueueOrder::InOrder; 2], [QueueOrder::OutOfOrder; 2]] {
            let [one, other] = orders.map(|order| Own::new(&*context, order));
            other.fill(1, 1, &[]).wait().unwrap();
            let (promised, promise) = one.promise();
            let first = one.fill(0, 2, &[&*promised]);
            let second = other.fill(1, 2, &[&*first]);
            promise.keep(Err(failure()));
            let late = other.fill(1, 2, &[&*first]);
            for command in [first, second, late] {
                assert_eq!(command.wait().unwrap_err().kind, DriverErrorKind::DeviceLost);
            }
            other.queue.wait().unwrap();
            assert_eq!(other.read(1), [1; SIZE]);
        }
    }
}

/// What a command waits for, of two promises: the first fails, and nothing behind it comes before the second is kept.
type Waits = fn(&[Own<'_>; 2], &dyn Event, &dyn Event) -> Vec<Box<dyn Event>>;

#[test]
fn what_is_behind_a_command_that_did_not_run_is_not_beside_what_that_waited_for() {
    let cases: [Waits; 3] = [
        // Both themselves.
        |_, _, _| Vec::new(),
        // Commands that begin, on queues of the driver's own.
        |[_, own], _, slow| vec![own.fill(1, 1, &[]), own.fill(0, 1, &[slow])],
        // One of another queue that does not run either, behind one that does.
        |[other, _], lost, slow| {
            other.fill(0, 1, &[slow]);
            vec![other.fill(1, 1, &[lost])]
        },
    ];
    for device in devices() {
        let context = device.create_context().unwrap();
        for (case, waits) in cases.into_iter().enumerate() {
            let own =
                [QueueOrder::InOrder, QueueOrder::OutOfOrder].map(|it| Own::new(&*context, it));
            let [(lost, lose), (slow, hold)] = std::array::from_fn(|_| own[0].promise());
            let waits = waits(&own, &*lost, &*slow);
            let mut after: Vec<&dyn Event> = waits.iter().map(|event| &**event).collect();
            after.push(&*lost);
            if case == 0 {
                after.push(&*slow);
            }
            let queue = &own[1];
            let between = queue.fill(0, 2, &after);
            let behind = queue.fill(0, 3, &[&*between]);
            lose.keep(Err(failure()));
            std::thread::sleep(WHILE);
            let early = behind.state() == Ok(EventState::Complete) && behind.acquire().is_ok();
            hold.keep(Ok(()));
            assert!(between.wait().is_err());
            for own in &own {
                own.queue.wait().unwrap();
            }
            assert!(!early, "{case}: it ran beside the others");
        }
    }
}

/// So what waits for such a call, a host task for example, stands for all that its command was behind.
#[test]
fn who_is_called_about_a_command_that_did_not_run_is_called_behind_all_that_it_was_behind() {
    for device in devices() {
        let context = device.create_context().unwrap();
        for order in [QueueOrder::InOrder, QueueOrder::OutOfOrder] {
            let own = Own::new(&*context, order);
            let [(slow, hold), (lost, lose)] = std::array::from_fn(|_| own.promise());
            let slow = own.fill(0, 1, &[&*slow]);
            let between = own.fill(0, 2, &[&*slow, &*lost]);
            let (call, called) = std::sync::mpsc::channel();
            let early = call.clone();
            between.on_complete(Box::new(move |outcome| early.send(outcome).unwrap())).unwrap();
            lose.keep(Err(failure()));
            assert!(between.wait().is_err());
            let late = Box::new(move |outcome| call.send(outcome).unwrap());
            between.on_complete(late).unwrap();
            assert!(called.recv_timeout(WHILE).is_err(), "it came too early");
            hold.keep(Ok(()));
            for _ in 0..2 {
                assert!(called.recv_timeout(LONG).unwrap().is_err());
            }
            assert_eq!(slow.state(), Ok(EventState::Complete));
            own.queue.wait().unwrap();
        }
    }
}

#[test]
fn a_barrier_is_behind_everything_also_where_some_of_it_failed() {
    out_of_order(|own| {
        let [(slow, hold), (lost, lose)] = std::array::from_fn(|_| own.promise());
        let slow = own.fill(0, 1, &[&*slow]);
        let lost = own.fill(1, 1, &[&*lost]);
        let barrier = own.queue.barrier(&[]).unwrap();
        lose.keep(Err(failure()));
        assert!(lost.wait().is_err());
        std::thread::sleep(WHILE);
        assert_held_up(&*own.fill(2, 1, &[]), hold, &*slow);
        barrier.wait().unwrap();
    });
}

#[test]
fn a_barrier_is_behind_what_a_command_that_failed_was_behind() {
    out_of_order(|own| {
        let promises: [Promised; 3] = std::array::from_fn(|_| own.promise());
        let [(begun, begin), (slow, hold), (lost, lose)] = promises;
        let begun = own.fill(0, 1, &[&*begun]);
        let slow = own.fill(1, 1, &[&*slow]);
        let lost = own.fill(2, 1, &[&*slow, &*lost]);
        begin.keep(Ok(()));
        begun.wait().unwrap();
        lose.keep(Err(failure()));
        assert!(lost.wait().is_err());
        assert_held_up(&*own.queue.barrier(&[]).unwrap(), hold, &*slow);
    });
}

#[test]
fn a_barrier_that_failed_does_not_end_the_one_before_it() {
    out_of_order(|own| {
        let [(slow, hold), (lost, lose)] = std::array::from_fn(|_| own.promise());
        let slow = own.fill(0, 1, &[&*slow]);
        let first = own.queue.barrier(&[]).unwrap();
        let second = own.queue.barrier(&[&*lost]).unwrap();
        lose.keep(Err(failure()));
        assert!(second.wait().is_err());
        assert_held_up(&*own.fill(1, 1, &[]), hold, &*slow);
        first.wait().unwrap();
    });
}

/// However long the row, commands that have nothing to do with it need not wait.
#[test]
fn a_row_behind_a_promise_holds_up_no_others() {
    out_of_order(|own| {
        let (promised, promise) = own.promise();
        let mut row = vec![own.fill(0, 1, &[&*promised])];
        for _ in 0..100 {
            row.push(own.fill(0, 1, &[&**row.last().unwrap()]));
        }
        own.fill(1, 1, &[]).wait().unwrap();
        promise.keep(Ok(()));
        row.last().unwrap().wait().unwrap();
    });
}

/// More than fit on a stack as calls inside of calls.
#[test]
fn rows_of_any_length_end_behind_a_promise_that_fails() {
    const MANY: usize = 20_000;
    out_of_order(|own| {
        for barriers in [true, false] {
            let (promised, promise) = own.promise();
            let mut last = own.fill(0, 1, &[&*promised]);
            for _ in 0..MANY {
                let after = [&*last];
                last = match barriers {
                    true => own.queue.barrier(&after).unwrap(),
                    false => own.fill(0, 1, &after),
                };
            }
            promise.keep(Err(failure()));
            // Whether it fails or runs is open.
            let _ = last.wait();
            own.queue.wait().unwrap();
        }
    });
}

#[test]
fn rows_of_any_length_between_queues_end_behind_a_promise_that_fails() {
    const MANY: usize = 20_000;
    for device in devices() {
        let context = device.create_context().unwrap();
        for order in [QueueOrder::InOrder, QueueOrder::OutOfOrder] {
            // In turns, each behind the last of the other queue.
            let own = [(); 2].map(|()| Own::new(&*context, order));
            let (promised, promise) = own[0].promise();
            let mut last = own[0].fill(0, 1, &[&*promised]);
            for at in 1..MANY {
                last = own[at % 2].fill(0, 1, &[&*last]);
            }
            promise.keep(Err(failure()));
            assert!(last.wait().is_err());
            own.iter().for_each(|own| own.queue.wait().unwrap());
        }
    }
    // Two beside one another, each behind both of those before.
    out_of_order(|own| {
        let (promised, promise) = own.promise();
        let mut last = [0, 1].map(|memory| own.fill(memory, 1, &[&*promised]));
        for _ in 0..MANY / 2 {
            last = [0, 1].map(|memory| own.fill(memory, 1, &[&*last[memory], &*last[1 - memory]]));
        }
        promise.keep(Err(failure()));
        last.iter().for_each(|last| drop(last.wait()));
        own.queue.wait().unwrap();
    });
}

/// Intel's queues out of order crash here, or never return.
#[test]
fn a_queue_works_behind_commands_that_failed() {
    for device in devices() {
        let context = device.create_context().unwrap();
        for order in [QueueOrder::InOrder, QueueOrder::OutOfOrder] {
            for case in 0..12 {
                let own = Own::new(&*context, order);
                own.fill(0, 1, &[]).wait().unwrap();
                own.fail(case % 2 == 1, case / 2 % 2 == 1);
                match case / 4 {
                    0 => own.queue.barrier(&[]).unwrap().wait().unwrap(),
                    1 => own.queue.wait().unwrap(),
                    _ => {}
                }
                own.fill(0, 3, &[]).wait().unwrap();
                own.queue.barrier(&[]).unwrap().wait().unwrap();
                own.queue.wait().unwrap();
                assert_eq!(own.read(0), [3; SIZE], "{order:?}, {case}");
            }
        }
    }
}
