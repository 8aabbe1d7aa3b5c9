//! Host tasks that fail because a driver refuses what they need.

mod program;

use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use crosscut_adapter_api::{DriverError, DriverErrorKind, Slot};
use crosscut_adapter_mock::{Call, Mock, Operation};
use crosscut_image::Parameter::Address;
use crosscut_runtime::{Access, Binding, Buffer, Event, Queue, QueueOptions, QueueOrder, Source};
use program::*;

/// A task of the queue that is lent a buffer and has `captured`.
fn task(queue: &Queue, buffer: &Buffer, captured: impl Send + 'static) -> Event {
    let source = Source::Buffer(buffer.into());
    let binding = Binding { source, access: Access::Write, length: buffer.size(), align: 1 };
    // SAFETY: the task touches no memory.
    unsafe { queue.host_task_with(&[binding], Box::new(move |_| drop(captured)), &[]) }.unwrap()
}

fn refusal() -> DriverError {
    DriverError { kind: DriverErrorKind::Other, call: "mock", code: -1, log: None }
}

/// Lets the driver go on, and refuse to bring the memory of the next task.
fn go_on_without_memory(mock: &Mock) {
    mock.fail(Operation::Read, 0, refusal());
    mock.release();
}

/// Waits for the failure of a task. One that never ends is found by the clock.
fn fails(task: &Event) {
    let begin = Instant::now();
    while task.is_complete().is_ok() {
        assert!(begin.elapsed() < Duration::from_secs(120), "the task does not end");
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn a_task_that_cannot_have_its_memory_ends_before_its_queue_which_it_captured() {
    let mock = Mock::new();
    let queue = Arc::new(queue(&device(&mock)));
    let buffer = upload(&queue, &[1]);
    mock.hold();
    let task = task(&queue, &buffer, Arc::clone(&queue));
    // From here on the task has the last of its queue, which waits for the task when it goes.
    drop(queue);
    go_on_without_memory(&mock);
    fails(&task);
}

#[test]
fn a_task_that_cannot_have_its_memory_ends_before_a_buffer_that_commands_behind_it_use() {
    let mock = Mock::new();
    // Not dropped where the test fails: that waits for the task.
    let queue = ManuallyDrop::new(queue(&device(&mock)));
    let (buffer, other) = (upload(&queue, &[1]), upload(&queue, &[2]));
    mock.hold();
    let (sender, receiver) = mpsc::channel::<Buffer>();
    let task = task(&queue, &buffer, receiver);
    // SAFETY: nobody else has the buffer.
    unsafe { queue.fill((&other).into(), &[1], &[]) }.unwrap();
    sender.send(other).unwrap();
    go_on_without_memory(&mock);
    fails(&task);
    drop(ManuallyDrop::into_inner(queue));
}

#[test]
fn what_a_task_has_left_behind_is_waited_for_although_the_task_has_failed() {
    register(vec![kernel(951, "slow", vec![Address { slot: 0 }])], 0);
    for access in [Access::Write, Access::Read] {
        let mock = Mock::new();
        mock.define_kernel("slow", |_| ());
        let device = device(&mock);
        let order = QueueOrder::OutOfOrder;
        let options = QueueOptions { order, ..QueueOptions::default() };
        let context = &device.default_context().unwrap();
        let (one, two) = (queue(&device), Queue::with_options(context, options).unwrap());
        let buffer = Buffer::allocate(context, 8, 8).unwrap();
        mock.hold();
        let slow = launch(&one, || 951, 1, &[bind(&buffer, access)]).unwrap();
        // The driver neither calls nor waits for the kernel.
        for operation in [Operation::OnComplete, Operation::EventWait] {
            mock.fail(operation, 0, refusal());
        }
        let task = task(&two, &buffer, ());
        fails(&task);
        assert!(task.wait().is_err());
        let slow_ran = slow.is_complete().unwrap();
        // The next command must not run beside it.
        // SAFETY: nobody else writes the buffer.
        unsafe { two.fill((&buffer).into(), &[1], &[]) }.unwrap();
        let (mut first, mut next) = (None, None);
        for call in mock.log() {
            match call {
                Call::Launch { event, .. } => first = Some(event),
                Call::Fill { after, .. } => next = Some(after),
                _ => {}
            }
        }
        // Nor is the memory freed under it.
        let (release, released) = (mock.clone(), Arc::new(AtomicBool::new(false)));
        let releases = Arc::clone(&released);
        let thread = std::thread::spawn(move || {
            std::thread::sleep(Duration::from_millis(20));
            releases.store(true, Relaxed);
            release.release();
        });
        drop(buffer);
        let waited = released.load(Relaxed);
        thread.join().unwrap();
        assert_eq!((slow_ran, next), (false, Some(Vec::from_iter(first))));
        assert!(waited, "the kernel is waited for");
        assert!(!mock.log().iter().any(|call| matches!(call, Call::FreedInUse { .. })));
    }
}

#[test]
fn the_panic_of_a_task_whose_memory_cannot_be_brought_back_is_told_before_that() {
    for by_queue in [false, true] {
        let mock = Mock::new();
        let queue = queue(&device(&mock));
        let buffer = upload(&queue, &[1]);
        mock.fail(Operation::Write, 0, refusal());
        let source = Source::Buffer((&buffer).into());
        let binding = Binding { source, access: Access::Write, length: buffer.size(), align: 1 };
        let panics = Box::new(|_: &[Slot]| std::panic::resume_unwind(Box::new("no more paper")));
        // SAFETY: the task touches no memory.
        let task = unsafe { queue.host_task_with(&[binding], panics, &[]) }.unwrap();
        fails(&task);
        let told = if by_queue { queue.wait() } else { task.wait() }.unwrap_err();
        assert_eq!(told.message(), "a host task panicked: no more paper");
        for _ in 0..2 {
            let told = task.wait().unwrap_err();
            assert!(told.to_string().contains("mock returned -1"), "{told}");
        }
    }
}
