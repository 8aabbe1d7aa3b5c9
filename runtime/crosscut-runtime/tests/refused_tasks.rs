//! Host tasks whose memory cannot be brought to the host.

mod program;

use std::mem::ManuallyDrop;
use std::sync::{Arc, mpsc};
use std::time::{Duration, Instant};

use crosscut_adapter_api::{DriverError, DriverErrorKind};
use crosscut_adapter_mock::{Mock, Operation};
use crosscut_runtime::{Access, Binding, Buffer, Event, Queue, Source};
use program::*;

/// A task of the queue that is lent a buffer and has `captured`.
fn task(queue: &Queue, buffer: &Buffer, captured: impl Send + 'static) -> Event {
    let source = Source::Buffer(buffer.into());
    let binding = Binding { source, access: Access::Write, length: buffer.size(), align: 1 };
    // SAFETY: the task touches no memory.
    unsafe { queue.host_task_with(&[binding], Box::new(move |_| drop(captured)), &[]) }.unwrap()
}

/// Lets the driver go on, and refuse to bring the memory of the next task.
fn go_on_without_memory(mock: &Mock) {
    let refusal = DriverError { kind: DriverErrorKind::Other, call: "mock", code: -1, log: None };
    mock.fail(Operation::Read, 0, refusal);
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
