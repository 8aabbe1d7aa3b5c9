//! Devices and commands that fail: who is told, and what goes on.

mod program;

use crosscut_adapter_api::{DriverError, DriverErrorKind};
use crosscut_adapter_mock::{Mock, Operation};
use crosscut_image::Parameter::Address;
use crosscut_runtime::{Access, ErrorKind, Event, Queue, QueueOptions, QueueOrder};
use program::{bind, device, download, kernel, launch, launch_after, queue, register, upload};

fn lost(call: &'static str) -> DriverError {
    DriverError { kind: DriverErrorKind::DeviceLost, call, code: -99, log: None }
}

#[test]
fn a_command_that_failed_is_told_by_its_queue_once_and_by_its_event() {
    register(vec![kernel(701, "fails", vec![Address { slot: 0 }])], 0);
    let mock = Mock::new();
    mock.define_kernel("fails", |_| ());
    let device = device(&mock);
    let (one, two) = (queue(&device), queue(&device));
    let (x, y) = (upload(&one, &[1]), upload(&two, &[2]));
    mock.hold();
    let event = launch(&one, || 701, 1, &[bind(&x, Access::Write)]).unwrap();
    mock.lose_device();
    assert_eq!(one.wait().unwrap_err().kind(), ErrorKind::DeviceLost);
    one.wait().unwrap();
    assert_eq!(event.wait().unwrap_err().kind(), ErrorKind::DeviceLost);
    // Others live, and so does this queue.
    assert_eq!(download(&two, &y).unwrap(), [2]);
    launch(&one, || 701, 1, &[bind(&y, Access::Write)]).unwrap().wait().unwrap();
    // Who reads what the failed command was to write is told.
    assert_eq!(download(&one, &x).unwrap_err().kind(), ErrorKind::DeviceLost);
}

#[test]
fn memory_of_a_failed_command_is_used_again_once_somebody_was_told() {
    register(vec![kernel(706, "again", vec![Address { slot: 0 }])], 0);
    let mock = Mock::new();
    mock.define_kernel("again", |_| ());
    let device = device(&mock);
    let context = &device.default_context().unwrap();
    for order in [QueueOrder::InOrder, QueueOrder::OutOfOrder] {
        let options = QueueOptions { order, ..QueueOptions::default() };
        let (one, two) = (queue(&device), Queue::with_options(context, options).unwrap());
        let x = upload(&one, &[1]);
        let run = || launch(&two, || 706, 1, &[bind(&x, Access::Write)]).unwrap();
        mock.hold();
        launch(&one, || 706, 1, &[bind(&x, Access::Write)]).unwrap();
        mock.lose_device();
        run();
        assert_eq!(two.wait().unwrap_err().kind(), ErrorKind::DeviceLost);
        assert_eq!(one.wait().unwrap_err().kind(), ErrorKind::DeviceLost);
        run().wait().unwrap();
        two.wait().unwrap();
    }
}

#[test]
fn a_queue_of_a_lost_device_says_so_at_every_call_and_others_live() {
    register(vec![kernel(702, "gone", vec![])], 0);
    let (bad, good) = (Mock::new(), Mock::new());
    for mock in [&bad, &good] {
        mock.define_kernel("gone", |_| ());
    }
    let (one, two) = (queue(&device(&bad)), queue(&device(&good)));
    launch(&one, || 702, 1, &[]).unwrap().wait().unwrap();
    for (operation, call) in [
        (Operation::Launch, "mockLaunch"),
        (Operation::Barrier, "mockBarrier"),
        (Operation::Promise, "mockPromise"),
        (Operation::QueueWait, "mockQueueWait"),
    ] {
        bad.fail(operation, 0, lost(call));
    }
    let told = |event: Result<Event, crosscut_runtime::Error>| {
        let error = event.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::DeviceLost);
        assert!(error.help().is_some_and(|help| help.contains("new queue")), "{error}");
    };
    told(launch(&one, || 702, 1, &[]));
    told(one.barrier(&[]));
    told(one.host_task(Box::new(|| ()), &[]));
    told(one.wait().map(|()| Event::default()));
    launch(&two, || 702, 1, &[]).unwrap().wait().unwrap();
    two.wait().unwrap();
}

#[test]
fn what_waits_for_a_failed_command_fails_and_a_host_task_does_not_run() {
    register(vec![kernel(703, "chain", vec![])], 0);
    let mock = Mock::new();
    mock.define_kernel("chain", |_| ());
    let device = device(&mock);
    let (one, two) = (queue(&device), queue(&device));
    mock.hold();
    let first = launch(&one, || 703, 1, &[]).unwrap();
    let ran = std::sync::Arc::new(std::sync::atomic::AtomicBool::new(false));
    let seen = std::sync::Arc::clone(&ran);
    let task = two
        .host_task(
            Box::new(move || seen.store(true, std::sync::atomic::Ordering::Relaxed)),
            std::slice::from_ref(&first),
        )
        .unwrap();
    let last = launch_after(&one, || 703, 1, &[], std::slice::from_ref(&task)).unwrap();
    mock.lose_device();
    for event in [first, task, last] {
        assert_eq!(event.wait().unwrap_err().kind(), ErrorKind::DeviceLost);
    }
    assert!(!ran.load(std::sync::atomic::Ordering::Relaxed));
    launch(&two, || 703, 1, &[]).unwrap().wait().unwrap();
}

#[test]
fn host_tasks_run_after_a_barrier_whose_failure_was_told() {
    register(vec![kernel(707, "before", vec![])], 0);
    let mock = Mock::new();
    mock.define_kernel("before", |_| ());
    let device = device(&mock);
    let context = &device.default_context().unwrap();
    for order in [QueueOrder::InOrder, QueueOrder::OutOfOrder] {
        let options = QueueOptions { order, ..QueueOptions::default() };
        let (one, two) = (queue(&device), Queue::with_options(context, options).unwrap());
        mock.hold();
        let event = launch(&one, || 707, 1, &[]).unwrap();
        let barrier = two.barrier(std::slice::from_ref(&event)).unwrap();
        let behind = two.host_task(Box::new(|| ()), &[]).unwrap();
        mock.lose_device();
        assert_eq!(barrier.wait().unwrap_err().kind(), ErrorKind::DeviceLost);
        // It runs or fails.
        let _ = (behind.wait(), two.wait());
        for _ in 0..2 {
            let (sender, receiver) = std::sync::mpsc::channel();
            let task = Box::new(move || sender.send(()).unwrap());
            two.host_task(task, &[]).unwrap().wait().unwrap();
            receiver.recv().unwrap();
        }
        // Not those that name it.
        let named = two.host_task(Box::new(|| ()), std::slice::from_ref(&barrier)).unwrap();
        assert_eq!(named.wait().unwrap_err().kind(), ErrorKind::DeviceLost);
        assert!(one.wait().is_err());
    }
}

#[test]
fn a_host_task_that_panicked_is_told_once_and_does_not_hold_up_others() {
    let mock = Mock::new();
    let queue = queue(&device(&mock));
    let task = queue.host_task(Box::new(|| std::panic::resume_unwind(Box::new("no"))), &[]);
    let task = task.unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    queue.host_task(Box::new(move || sender.send(1).unwrap()), &[]).unwrap();
    assert_eq!(receiver.recv(), Ok(1));
    let error = task.wait().unwrap_err();
    assert_eq!((error.kind(), error.message()), (ErrorKind::Panic, "a host task panicked: no"));
    task.wait().unwrap();
    queue.wait().unwrap();
    // Nobody has the event: the queue tells.
    queue.host_task(Box::new(|| std::panic::resume_unwind(Box::new(5))), &[]).unwrap();
    assert_eq!(queue.wait().unwrap_err().kind(), ErrorKind::Panic);
    queue.wait().unwrap();
}

#[test]
fn a_driver_that_does_not_call_back_is_waited_for_instead() {
    register(vec![kernel(704, "mute", vec![])], 0);
    let (mute, other) = (Mock::new(), Mock::new());
    for mock in [&mute, &other] {
        mock.define_kernel("mute", |_| ());
    }
    let (one, two) = (queue(&device(&mute)), queue(&device(&other)));
    for _ in 0..4 {
        mute.fail(Operation::OnComplete, 0, lost("mockOnComplete"));
    }
    let event = launch(&one, || 704, 1, &[]).unwrap();
    launch_after(&two, || 704, 1, &[], std::slice::from_ref(&event)).unwrap().wait().unwrap();
    let (sender, receiver) = std::sync::mpsc::channel();
    let again = sender.clone();
    one.host_task(Box::new(move || again.send(()).unwrap()), &[event]).unwrap().wait().unwrap();
    receiver.recv().unwrap();
    // Of a command that waits for others no wait tells when all of them have ended, if it does not run.
    let barrier = one.barrier(&[]).unwrap();
    mute.fail(Operation::OnComplete, 0, lost("mockOnComplete"));
    let task = one.host_task(Box::new(move || sender.send(()).unwrap()), &[barrier]);
    assert!(task.unwrap_err().to_string().contains("mockOnComplete"));
    assert!(receiver.recv().is_err(), "it runs although it was refused");
    one.wait().unwrap();
    launch(&one, || 704, 1, &[]).unwrap().wait().unwrap();
}

#[test]
fn a_queue_may_be_dropped_inside_its_own_task() {
    let mock = Mock::new();
    let queue = std::sync::Arc::new(queue(&device(&mock)));
    let (go, wait) = std::sync::mpsc::channel::<()>();
    let (sender, receiver) = std::sync::mpsc::channel();
    let inside = std::sync::Arc::clone(&queue);
    let task = move || {
        wait.recv().unwrap();
        assert!(inside.outside_own_tasks().is_err());
        drop(inside);
        sender.send(()).unwrap();
    };
    queue.host_task(Box::new(task), &[]).unwrap();
    let last = queue.barrier(&[]).unwrap();
    drop(queue);
    go.send(()).unwrap();
    receiver.recv_timeout(std::time::Duration::from_secs(120)).unwrap();
    last.wait().unwrap();
}

#[test]
fn times_are_told_where_they_are_taken() {
    register(vec![kernel(705, "timed", vec![])], 0);
    let mock = Mock::new();
    mock.define_kernel("timed", |_| ());
    let device = device(&mock);
    let context = &device.default_context().unwrap();
    let options = QueueOptions { profiling: true, ..Default::default() };
    let (timed, plain) = (Queue::with_options(context, options).unwrap(), queue(&device));
    let first = launch(&timed, || 705, 1, &[]).unwrap();
    let second = launch(&timed, || 705, 1, &[]).unwrap();
    let (a, b) = (first.times().unwrap(), second.times().unwrap());
    assert!(a.submitted < a.started && a.started < a.ended && a.ended < b.started, "{a:?} {b:?}");
    let both = Event::all([&first, &second]).times().unwrap();
    assert_eq!((both.submitted, both.ended), (a.submitted, b.ended));
    let error = launch(&plain, || 705, 1, &[]).unwrap().times().unwrap_err();
    assert!(error.help().is_some_and(|help| help.contains("profiling")), "{error}");
}
