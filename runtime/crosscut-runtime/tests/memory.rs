//! Memory on the mock: what is freed when, parts, copies across contexts, what is refused.

mod program;

use std::sync::{Arc, mpsc};
use std::time::Duration;

use crosscut_adapter_api::{DriverError, DriverErrorKind};
use crosscut_adapter_mock::{Call, Mock, MockMemory, MockOptions, Operation, RecordedArgument};
use crosscut_image::Parameter::{Address, PanicRecord};
use crosscut_runtime::{Access, Binding, Buffer, ErrorKind, Queue, Region, Source, UsmKind};
use program::{bind, device, download, kernel, launch, queue, register, set_word, upload, word};

/// A part of a buffer of 8-byte elements.
fn part(buffer: &Buffer, elements: std::ops::Range<usize>, access: Access) -> Binding<'_> {
    let length = elements.len();
    let region = Region::new(buffer, elements.start * 8..elements.end * 8).unwrap();
    Binding { source: Source::Buffer(region), access, length, align: 8 }
}

/// Adds 1 to its first argument's first word.
fn define(mock: &Mock, key: u64, name: &str) {
    register(vec![kernel(key, name, vec![Address { slot: 0 }])], 0);
    mock.define_kernel(name, |launch| set_word(launch, 0, 0, word(launch, 0, 0) + 1));
}

/// Runs `work` while the mock holds its commands, and lets them go as soon as it waits for one.
fn releasing_when_it_waits(mock: &Mock, work: impl FnOnce() + Send + 'static) {
    mock.hold();
    let (done, ended) = mpsc::channel();
    let worker = std::thread::spawn(move || {
        work();
        let _ = done.send(());
    });
    let early = ended.recv_timeout(Duration::from_millis(300)).is_ok();
    mock.release();
    worker.join().unwrap();
    assert!(!early, "it did not wait for the command in flight");
}

fn freed_in_use(mock: &Mock) -> bool {
    mock.log().iter().any(|call| matches!(call, Call::FreedInUse { .. }))
}

#[test]
fn memory_is_not_freed_while_a_kernel_uses_it_in_whatever_order_things_are_dropped() {
    for order in 0..6 {
        let mock = Mock::new();
        define(&mock, 901, "drops");
        let device = device(&mock);
        let (one, x) = (queue(&device), upload(&queue(&device), &[0, 0]));
        let part_of = mock.clone();
        releasing_when_it_waits(&mock, move || {
            let event = launch(&one, || 901, 1, &[part(&x, 1..2, Access::Write)]).unwrap();
            assert!(!freed_in_use(&part_of));
            let mut things: [Option<Box<dyn std::any::Any>>; 3] =
                [Some(Box::new(x)), Some(Box::new(one)), Some(Box::new(event))];
            let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]];
            for index in orders[order] {
                drop(things[index].take());
            }
        });
        drop(device);
        assert!(!freed_in_use(&mock), "order {order}");
        assert_eq!(mock.live_allocations(), 0, "order {order}");
    }
}

#[test]
fn unified_memory_is_not_freed_while_a_kernel_uses_it() {
    for kind in [UsmKind::Device, UsmKind::Host, UsmKind::Shared] {
        let mock = Mock::new();
        define(&mock, 902, "usm");
        let device = device(&mock);
        let one = queue(&device);
        let x = Buffer::allocate_usm(one.context(), kind, 8, 8).unwrap();
        releasing_when_it_waits(&mock, move || {
            launch(&one, || 902, 1, &[bind(&x, Access::Write)]).unwrap();
            drop(x);
        });
        assert!(!freed_in_use(&mock), "{kind}");
    }
}

#[test]
fn memory_is_not_freed_while_a_copy_or_a_fill_uses_it() {
    let mock = Mock::new();
    let device = device(&mock);
    let one = queue(&device);
    let (x, y) = (upload(&one, &[1, 2]), upload(&one, &[0, 0]));
    releasing_when_it_waits(&mock, move || {
        // SAFETY: two buffers of this test.
        unsafe { one.copy((&y).into(), (&x).into(), 0, &[]) }.unwrap();
        drop(x);
        // SAFETY: as above.
        unsafe { one.fill((&y).into(), &[1, 2, 3, 4], &[]) }.unwrap();
        drop(y);
    });
    assert!(!freed_in_use(&mock));
}

#[test]
fn disjoint_parts_may_both_be_written_and_overlapping_ones_may_not() {
    let mock = Mock::new();
    let parameters = vec![Address { slot: 0 }, Address { slot: 1 }];
    register(vec![kernel(903, "two", parameters)], 0);
    mock.define_kernel("two", |launch| {
        set_word(launch, 0, 0, 10);
        set_word(launch, 1, 0, 20);
    });
    let one = queue(&device(&mock));
    let x = upload(&one, &[1, 2, 3, 4]);
    let two =
        |a, b| launch(&one, || 903, 1, &[part(&x, a, Access::Write), part(&x, b, Access::Write)]);
    two(0..2, 2..4).unwrap();
    assert_eq!(download(&one, &x).unwrap(), [10, 2, 20, 4]);
    let error = two(0..3, 2..4).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.message().contains("reach over the same memory"), "{error}");
    two(3..4, 0..1).unwrap();
}

#[test]
fn a_part_is_handed_over_by_its_offset() {
    let mock = Mock::new();
    define(&mock, 904, "offset");
    let one = queue(&device(&mock));
    let x = upload(&one, &[1, 2, 3]);
    launch(&one, || 904, 1, &[part(&x, 2..3, Access::Write)]).unwrap();
    assert_eq!(download(&one, &x).unwrap(), [1, 2, 4]);
    let given = mock.log().into_iter().find_map(|call| match call {
        Call::Launch { arguments, .. } => arguments.into_iter().next(),
        _ => None,
    });
    assert!(matches!(given, Some(RecordedArgument::Memory { offset: 16, .. })), "{given:?}");
}

#[test]
fn without_addresses_a_part_anywhere_takes_a_detour() {
    let mock = Mock::with(MockOptions { memory: MockMemory::Objects, ..MockOptions::default() });
    define(&mock, 905, "detour");
    let one = queue(&device(&mock));
    let x = upload(&one, &(0..40).collect::<Vec<_>>());
    let live = mock.live_allocations();
    for start in [1, 15, 16, 17, 39] {
        launch(&one, || 905, 1, &[part(&x, start..start + 1, Access::Write)]).unwrap();
    }
    launch(&one, || 905, 1, &[part(&x, 3..5, Access::Read)]).unwrap();
    let mut expected: Vec<u64> = (0..40).collect();
    for start in [1, 15, 16, 17, 39] {
        expected[start] += 1;
    }
    assert_eq!(download(&one, &x).unwrap(), expected, "what is only read is not copied back");
    assert_eq!(mock.live_allocations(), live, "the copies are freed");
}

#[test]
fn a_part_whose_copy_back_is_refused_takes_no_other_part_with_it() {
    let mock = Mock::with(MockOptions { memory: MockMemory::Objects, ..MockOptions::default() });
    let parameters = vec![Address { slot: 0 }, Address { slot: 1 }, PanicRecord];
    register(vec![kernel(908, "two", parameters)], 0);
    mock.define_kernel("two", |launch| {
        set_word(launch, 0, 0, 10);
        set_word(launch, 1, 0, 20);
        set_word(launch, 2, 0, 1);
    });
    let one = queue(&device(&mock));
    let (x, y) = (upload(&one, &[1, 2]), upload(&one, &[3, 4]));
    // There go two copies.
    let refusal = DriverError { kind: DriverErrorKind::Other, call: "mock", code: -5, log: None };
    mock.fail(Operation::Copy, 2, refusal);
    let parts = [part(&x, 1..2, Access::Write), part(&y, 1..2, Access::Write)];
    let refused = launch(&one, || 908, 1, &parts).unwrap_err();
    assert_eq!(refused.driver_code(), Some(-5), "{refused}");
    let told = x.wait_to_read().unwrap_err();
    assert_eq!(
        told.kind(),
        ErrorKind::Panic,
        "whoever reads that part is told nevertheless: {told}"
    );
    assert_eq!(download(&one, &x).unwrap(), [1, 2]);
    assert_eq!(download(&one, &y).unwrap(), [3, 20]);
}

#[test]
fn without_addresses_shared_atomics_begin_where_the_device_can_have_them() {
    let mock = Mock::with(MockOptions { memory: MockMemory::Objects, ..MockOptions::default() });
    define(&mock, 906, "atomics");
    let one = queue(&device(&mock));
    let x = upload(&one, &[0; 40]);
    let shared = |elements| {
        let mut binding = part(&x, elements, Access::Write);
        if let Source::Buffer(region) = &mut binding.source {
            *region = region.shared();
        }
        launch(&one, || 906, 1, &[binding])
    };
    shared(16..17).unwrap();
    let error = shared(1..2).unwrap_err();
    assert!(error.help().unwrap().contains("multiple of 128 bytes"), "{error}");
}

#[test]
fn a_kind_of_memory_that_a_device_has_not_is_refused_by_its_name() {
    for (memory, kinds) in [
        (MockMemory::DeviceOnly, &[UsmKind::Host, UsmKind::Shared][..]),
        (MockMemory::Objects, &[UsmKind::Device, UsmKind::Host, UsmKind::Shared][..]),
    ] {
        let mock = Mock::with(MockOptions { memory, ..MockOptions::default() });
        let one = queue(&device(&mock));
        for kind in kinds {
            // Of no bytes, too: a program learns it from its first try.
            for size in [0, 8] {
                let error = Buffer::allocate_usm(one.context(), *kind, size, 8).unwrap_err();
                assert_eq!(error.kind(), ErrorKind::FeatureNotSupported);
                assert!(error.message().contains(&format!("usm_{kind}_allocations")), "{error}");
            }
        }
    }
}

#[test]
fn copies_between_contexts_go_through_the_host_in_pieces() {
    let mock = Mock::new();
    let device = device(&mock);
    let (one, two) = (queue(&device), Queue::new(&device.create_context().unwrap()).unwrap());
    let words: Vec<u64> = (0..1_300_000).collect();
    let (x, y) = (upload(&one, &words), upload(&two, &vec![0; words.len()]));
    mock.clear_log();
    // SAFETY: two buffers of this test.
    unsafe { one.copy((&y).into(), (&x).into(), 0, &[]) }.unwrap();
    let reads = mock.log().iter().filter(|call| matches!(call, Call::Read { .. })).count();
    assert_eq!(reads, 3, "ten megabytes in pieces of four");
    assert_eq!(download(&two, &y).unwrap(), words);
}

#[test]
fn a_refused_copy_leaves_everything_usable() {
    let mock = Mock::new();
    let one = queue(&device(&mock));
    let (x, y) = (upload(&one, &[1, 2]), upload(&one, &[3, 4]));
    let kind = DriverErrorKind::OutOfMemory;
    for operation in [Operation::Copy, Operation::Fill, Operation::Read] {
        mock.fail(operation, 0, DriverError { kind, call: "mock", code: -5, log: None });
        let outcome = match operation {
            // SAFETY: two buffers of this test.
            Operation::Copy => unsafe { one.copy((&y).into(), (&x).into(), 0, &[]) }.map(drop),
            // SAFETY: as above.
            Operation::Fill => unsafe { one.fill((&y).into(), &[0], &[]) }.map(drop),
            _ => download(&one, &y).map(drop),
        };
        assert_eq!(outcome.unwrap_err().kind(), ErrorKind::OutOfMemory);
        assert_eq!(download(&one, &y).unwrap(), [3, 4]);
    }
}

#[test]
fn any_pattern_fills_any_part() {
    for memory in [MockMemory::Unified, MockMemory::Objects] {
        let mock = Mock::with(MockOptions { memory, ..MockOptions::default() });
        let one = queue(&device(&mock));
        for length in (1..20usize).chain([128, 129, 256, 1000]) {
            let pattern: Vec<u8> = (0..length).map(|i| i as u8 ^ 0x5A).collect();
            for (start, times) in [(0usize, 1), (1, 3), (5, 8), (8, 17)] {
                let size = (start + length * times + 9).next_multiple_of(8);
                let x = upload(&one, &vec![0; size / 8]);
                let region = Region::new(&x, start..start + length * times).unwrap();
                // SAFETY: a buffer of this test.
                unsafe { one.fill(region, &pattern, &[]) }.unwrap();
                let found: Vec<u8> =
                    download(&one, &x).unwrap().iter().flat_map(|it| it.to_ne_bytes()).collect();
                let mut expected = vec![0; size];
                expected[start..start + length * times].copy_from_slice(&pattern.repeat(times));
                assert_eq!(found, expected, "{length} bytes, {times} times from {start} on");
            }
        }
        let x = upload(&one, &[0]);
        // SAFETY: as above.
        let error = unsafe { one.fill((&x).into(), &[1, 2, 3], &[]) }.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }
}

/// A launch that reads what somebody waits to write.
#[test]
fn who_waits_to_write_holds_up_nobody_else() {
    let mock = Mock::new();
    register(vec![kernel(909, "reads", vec![Address { slot: 0 }])], 0);
    mock.define_kernel("reads", |_| ());
    let device = device(&mock);
    let (one, other) = (queue(&device), queue(&device));
    let x = Buffer::allocate_usm(one.context(), UsmKind::Shared, 8, 8).unwrap();
    let x = Arc::new(x);
    launch(&one, || 909, 1, &[bind(&x, Access::Read)]).unwrap().wait().unwrap();
    mock.hold();
    launch(&one, || 909, 1, &[bind(&x, Access::Read)]).unwrap();
    let waits = Arc::clone(&x);
    let waiting = std::thread::spawn(move || waits.wait_to_write());
    // Until it waits, most likely: a wait that begins later holds up nobody either.
    std::thread::sleep(Duration::from_millis(300));
    let (done, ended) = mpsc::channel();
    let reads = Arc::clone(&x);
    let launching = std::thread::spawn(move || {
        launch(&other, || 909, 1, &[bind(&reads, Access::Read)]).unwrap();
        let _ = done.send(());
        // Dropping the queue waits.
    });
    let launched = ended.recv_timeout(Duration::from_secs(20));
    mock.release();
    launching.join().unwrap();
    waiting.join().unwrap().unwrap();
    assert_eq!(launched, Ok(()), "the launch waited");
}
