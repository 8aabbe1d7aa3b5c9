//! Kernels of registered images, on a device that runs what the test says.

mod program;

use crosscut_adapter_api::{DriverError, DriverErrorKind};
use crosscut_adapter_mock::{Call, Mock, MockMemory, MockOptions, Operation, RecordedArgument};
use crosscut_image::AssumedKernel;
use crosscut_image::Parameter::{Address, Captures, Global, Length, PanicRecord};
use crosscut_runtime::{Access, ErrorKind, Queue};
use program::{bind, device, download, kernel, launch, queue, read_global, register, upload};
use program::{set_word, word};

#[test]
fn arguments_follow_the_kernels_own_list() {
    let mut double =
        kernel(1, "double", vec![Length { slot: 1 }, Address { slot: 0 }, Address { slot: 1 }]);
    double.captures_size = 12;
    double.parameters.push(Captures { word: 1 });
    register(vec![double], 0);
    let mock = Mock::new();
    mock.define_kernel("double", |launch| {
        let length = u64::from_ne_bytes(launch.value(0).try_into().unwrap());
        assert_eq!((length, launch.extent.size), (3, [3, 1, 1]));
        assert_eq!(launch.value(3), [9, 10, 11, 12, 0, 0, 0, 0]);
        for i in 0..3 {
            set_word(launch, 1, i, 2 * word(launch, 2, i));
        }
    });
    let queue = queue(&device(&mock));
    let (y, x) = (upload(&queue, &[0; 3]), upload(&queue, &[1, 2, 3]));
    let captures: [u8; 12] = std::array::from_fn(|i| i as u8 + 1);
    let definition = Box::leak(Box::new(crosscut_runtime::KernelDefinition {
        captures_size: 12,
        ..*program::definition(|| 1)
    }));
    let bindings = [bind(&y, Access::Write), bind(&x, Access::Read)];
    let launch = crosscut_runtime::KernelLaunch {
        definition,
        captures: captures.as_ptr(),
        size: [3, 1, 1],
        group: None,
        bindings: &bindings,
        after: &[],
        variant: crosscut_runtime::Variant::With(&crosscut_runtime::Specialization::new()),
    };
    // SAFETY: 12 bytes of captures, and the arguments that the mock's kernel takes.
    let event = unsafe { queue.launch(&launch) };
    event.unwrap().wait().unwrap();
    assert_eq!(download(&queue, &y).unwrap(), [2, 4, 6]);

    // The program is built once.
    // SAFETY: as above.
    unsafe { queue.launch(&launch) }.unwrap();
    let builds = mock.log().iter().filter(|call| matches!(call, Call::Build { .. })).count();
    assert_eq!(builds, 1);
}

#[test]
fn the_form_that_counts_on_long_arguments_runs_only_where_they_are_long() {
    let mut copy =
        kernel(21, "checked", vec![Address { slot: 0 }, Length { slot: 1 }, PanicRecord]);
    copy.assumed = Some(AssumedKernel {
        name: "assumed".into(),
        slots: vec![1],
        parameters: vec![Address { slot: 0 }],
    });
    register(vec![copy], 0);
    let mock = Mock::new();
    mock.define_kernel("checked", |launch| set_word(launch, 0, 0, 1));
    mock.define_kernel("assumed", |launch| set_word(launch, 0, 0, 2));
    let queue = queue(&device(&mock));
    for (length, ran) in [(5, 2), (4, 2), (3, 1), (0, 1)] {
        let (y, x) = (upload(&queue, &[0; 4]), upload(&queue, &vec![7; length]));
        launch(&queue, || 21, 4, &[bind(&y, Access::Write), bind(&x, Access::Read)]).unwrap();
        assert_eq!(download(&queue, &y).unwrap()[0], ran, "with {length} elements for 4 items");
    }
}

#[test]
fn globals_by_name_have_one_initialised_instance_per_context() {
    let mut count = kernel(2, "count", vec![Global { index: 0 }]);
    (count.reads, count.writes) = (vec![0], vec![0]);
    let global = register(vec![count], 40);
    let mock = Mock::new();
    mock.define_kernel("count", |launch| set_word(launch, 0, 0, word(launch, 0, 0) + 1));
    let device = device(&mock);
    let (one, two) = (queue(&device), queue(&device));
    launch(&one, || 2, 1, &[]).unwrap();
    launch(&two, || 2, 1, &[]).unwrap();
    assert_eq!(read_global(&one, global).unwrap(), 42);
    let apart = Queue::new(&device.create_context().unwrap()).unwrap();
    assert_eq!(read_global(&apart, global).unwrap(), 40);
    // SAFETY: the global has the 8 bytes of a `u64`.
    unsafe { apart.copy_to_global(global, 0, std::ptr::from_ref(&7u64).cast(), 8, &[]) }.unwrap();
    launch(&apart, || 2, 1, &[]).unwrap();
    assert_eq!(read_global(&apart, global).unwrap(), 8);
    assert_eq!(read_global(&two, global).unwrap(), 42);
}

#[test]
fn a_panic_record_becomes_an_error_told_once() {
    register(vec![kernel(3, "panics", vec![PanicRecord, Address { slot: 0 }])], 0);
    for memory in [MockMemory::Unified, MockMemory::DeviceOnly, MockMemory::Objects] {
        let mock = Mock::with(MockOptions { memory, ..MockOptions::default() });
        mock.define_kernel("panics", |launch| {
            assert_eq!(word(launch, 0, 0), 0, "records are handed out zeroed");
            if word(launch, 1, 0) == 1 {
                for (index, value) in [1, 5, 8, 9].into_iter().enumerate() {
                    set_word(launch, 0, index, value);
                }
            }
        });
        let queue = queue(&device(&mock));
        let (good, bad) = (upload(&queue, &[0]), upload(&queue, &[1]));
        let run = |x| launch(&queue, || 3, 10, &[bind(x, Access::Read)]).unwrap();
        let event = run(&bad);
        let error = event.wait().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Panic);
        assert_eq!(
            error.to_string(),
            "kernel `test::panics` panicked at src/main.rs:3:7 in item 5: the len is 8 but the index is 9"
        );
        event.wait().unwrap();
        queue.wait().unwrap();
        // Nobody waits for the event: whoever waits next is told.
        for _ in 0..300 {
            run(&good);
        }
        run(&bad);
        run(&good);
        assert_eq!(download(&queue, &good).unwrap_err().kind(), ErrorKind::Panic);
        assert_eq!(download(&queue, &good).unwrap(), [0]);
        let records = mock
            .log()
            .iter()
            .filter(|call| {
                matches!(
                    call,
                    Call::Allocate { kind: crosscut_adapter_api::MemoryKind::HostVisible, .. }
                )
            })
            .count();
        assert!(records <= 5, "records are used again: {records} blocks");
    }
}

#[test]
fn who_asks_about_a_completed_kernel_does_not_wait_for_what_came_after_it() {
    register(vec![kernel(31, "done", vec![PanicRecord])], 0);
    for memory in [MockMemory::Unified, MockMemory::DeviceOnly, MockMemory::Objects] {
        let mock = Mock::with(MockOptions { memory, ..MockOptions::default() });
        mock.define_kernel("done", |_| ());
        let queue = queue(&device(&mock));
        let done = launch(&queue, || 31, 1, &[]).unwrap();
        let (go, wait) = std::sync::mpsc::channel::<()>();
        queue.host_task(Box::new(move || wait.recv().unwrap_or_default()), &[]).unwrap();
        done.wait().unwrap();
        go.send(()).unwrap();
        queue.wait().unwrap();
    }
}

#[test]
fn a_panic_nobody_asks_about_does_not_keep_later_records() {
    register(vec![kernel(12, "once", vec![PanicRecord, Address { slot: 0 }])], 0);
    let mock = Mock::new();
    mock.define_kernel("once", |launch| set_word(launch, 0, 0, word(launch, 1, 0)));
    let queue = queue(&device(&mock));
    let (good, bad) = (upload(&queue, &[0]), upload(&queue, &[1]));
    let run = |x| launch(&queue, || 12, 1, &[bind(x, Access::Read)]).unwrap();
    let event = run(&bad);
    for _ in 0..5000 {
        run(&good);
    }
    let blocks = mock.log().iter().filter(|call| matches!(call, Call::Allocate { .. })).count();
    assert!(blocks < 10, "{blocks} allocations");
    drop(queue);
    assert_eq!(event.wait().unwrap_err().kind(), ErrorKind::Panic, "told even after the queue");
}

#[test]
fn the_writer_of_another_queue_is_told_of_by_the_reader() {
    register(vec![kernel(4, "bad", vec![PanicRecord, Address { slot: 0 }])], 0);
    let mock = Mock::new();
    mock.define_kernel("bad", |launch| set_word(launch, 0, 0, 1));
    let device = device(&mock);
    let (one, two) = (queue(&device), queue(&device));
    let y = upload(&one, &[0]);
    launch(&one, || 4, 1, &[bind(&y, Access::Write)]).unwrap();
    assert_eq!(download(&two, &y).unwrap_err().kind(), ErrorKind::Panic);
    one.wait().unwrap();
}

#[test]
fn commands_of_two_queues_wait_for_one_another_where_they_must() {
    register(vec![kernel(5, "touch", vec![Address { slot: 0 }, Address { slot: 1 }])], 0);
    let mock = Mock::new();
    mock.define_kernel("touch", |_| ());
    let device = device(&mock);
    let (one, two) = (queue(&device), queue(&device));
    let (x, y, z) = (upload(&one, &[0]), upload(&one, &[0]), upload(&one, &[0]));
    mock.clear_log();
    let run = |queue, write, read| {
        launch(queue, || 5, 1, &[bind(write, Access::Write), bind(read, Access::Read)]).unwrap();
    };
    run(&one, &y, &x); // first
    run(&one, &y, &x); // same queue: in order anyway
    run(&two, &z, &x); // both read x: waits for the upload of z only
    run(&two, &z, &y); // reads what queue one wrote
    run(&one, &x, &x2(&x)); // writes what queue two read
    let launches: Vec<(u64, Vec<u64>)> = mock
        .log()
        .into_iter()
        .filter_map(|call| match call {
            Call::Launch { event, after, .. } => Some((event, after)),
            _ => None,
        })
        .collect();
    assert_eq!(launches[0].1, []);
    assert_eq!(launches[1].1, []);
    assert!(!launches[2].1.contains(&launches[1].0));
    assert!(launches[3].1.contains(&launches[1].0), "{launches:?}");
    assert!(launches[4].1.contains(&launches[2].0), "{launches:?}");

    fn x2(x: &crosscut_runtime::Buffer) -> crosscut_runtime::Buffer {
        crosscut_runtime::Buffer::allocate(x.context(), 8, 8).unwrap()
    }
}

#[test]
fn dropping_a_buffer_waits_for_the_kernel_that_uses_it() {
    register(vec![kernel(6, "slow", vec![Address { slot: 0 }])], 0);
    let mock = Mock::new();
    mock.define_kernel("slow", |_| ());
    let queue = queue(&device(&mock));
    let x = upload(&queue, &[0]);
    mock.hold();
    launch(&queue, || 6, 1, &[bind(&x, Access::Write)]).unwrap();
    std::thread::scope(|scope| {
        let dropped = scope.spawn(|| drop(x));
        std::thread::sleep(std::time::Duration::from_millis(30));
        assert!(!dropped.is_finished());
        mock.release();
    });
    let log = mock.log();
    assert!(log.iter().any(|call| matches!(call, Call::Free { .. })));
    assert!(!log.iter().any(|call| matches!(call, Call::FreedInUse { .. })), "{log:?}");
}

#[test]
fn empty_arguments_are_not_null() {
    register(vec![kernel(7, "empty", vec![Address { slot: 0 }, Length { slot: 0 }])], 0);
    let mock = Mock::new();
    mock.define_kernel("empty", |launch| assert_eq!(launch.value(1), [0; 8]));
    let queue = queue(&device(&mock));
    let none = upload(&queue, &[]);
    launch(&queue, || 7, 1, &[bind(&none, Access::Read)]).unwrap().wait().unwrap();
    let given = mock.log().into_iter().find_map(|call| match call {
        Call::Launch { arguments, .. } => Some(arguments),
        _ => None,
    });
    assert!(matches!(given.unwrap()[0], RecordedArgument::Memory { .. }));
    mock.clear_log();
    launch(&queue, || 7, 0, &[bind(&none, Access::Read)]).unwrap().wait().unwrap();
    assert!(mock.log().is_empty(), "a launch of no items is none");
}

#[test]
fn what_is_missing_or_wrong_is_said() {
    register(vec![kernel(8, "sized", vec![]), kernel(9, "unlisted", vec![Address { slot: 3 }])], 0);
    let mut sized = kernel(10, "sized", vec![]);
    sized.captures_size = 8;
    register(vec![sized], 0);
    let mock = Mock::new();
    mock.define_kernel("unlisted", |_| ());
    let queue = queue(&device(&mock));
    let failure = |key| launch(&queue, key, 1, &[]).unwrap_err();
    let missing = failure(|| 999);
    assert_eq!(missing.kind(), ErrorKind::KernelNotSupported);
    assert!(missing.to_string().contains("`test::host_name` has no device image"), "{missing}");
    assert!(missing.to_string().contains("cargo crosscut"), "{missing}");
    assert_eq!(failure(|| 8).kind(), ErrorKind::Build);
    assert!(failure(|| 9).to_string().contains("an argument it has not"));
    assert!(failure(|| 10).to_string().contains("captures 0 bytes"));
}

#[test]
fn a_failed_launch_leaves_everything_usable() {
    register(vec![kernel(11, "retry", vec![PanicRecord, Address { slot: 0 }])], 0);
    let mock = Mock::new();
    mock.define_kernel("retry", |launch| set_word(launch, 1, 0, 5));
    let queue = queue(&device(&mock));
    let y = upload(&queue, &[0]);
    let refusal =
        DriverError { kind: DriverErrorKind::Other, call: "mockLaunch", code: -5, log: None };
    mock.fail(Operation::Launch, 0, refusal);
    let error = launch(&queue, || 11, 1, &[bind(&y, Access::Write)]).unwrap_err();
    assert_eq!(
        (error.kind(), error.driver_call(), error.driver_code()),
        (ErrorKind::Driver, Some("mockLaunch"), Some(-5))
    );
    launch(&queue, || 11, 1, &[bind(&y, Access::Write)]).unwrap();
    assert_eq!(download(&queue, &y).unwrap(), [5]);
}

#[test]
fn memory_of_a_command_that_failed_is_not_freed_under_those_it_waited_for() {
    register(vec![kernel(412, "lost", vec![Address { slot: 0 }])], 0);
    let mock = Mock::new();
    mock.define_kernel("lost", |_| ());
    let queue = queue(&device(&mock));
    let x = upload(&queue, &[0]);
    launch(&queue, || 412, 1, &[bind(&x, Access::Write)]).unwrap();
    let lost =
        DriverError { kind: DriverErrorKind::DeviceLost, call: "mockWait", code: -14, log: None };
    mock.fail(Operation::EventWait, 0, lost);
    drop(x);
    assert!(!mock.log().iter().any(|call| matches!(call, Call::Free { .. })), "{:?}", mock.log());
}

#[test]
fn a_copy_whose_wait_failed_is_waited_for_with_its_queue() {
    let mock = Mock::new();
    let queue = queue(&device(&mock));
    let x = upload(&queue, &[7]);
    mock.clear_log();
    let lost =
        DriverError { kind: DriverErrorKind::DeviceLost, call: "mockWait", code: -14, log: None };
    mock.fail(Operation::EventWait, 0, lost);
    assert_eq!(download(&queue, &x).unwrap_err().kind(), ErrorKind::DeviceLost);
    assert!(mock.log().iter().any(|call| matches!(call, Call::QueueWait { .. })));
}
