//! Globals in memory that the host shares with the device, on a mock that says it is a CPU.

mod program;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use crosscut_adapter_mock::{Call, Mock, MockMemory, MockOptions};
use crosscut_image::{Kernel, Parameter};
use crosscut_runtime::{DeviceKind, Event, GlobalHandle, Queue, QueueOptions, QueueOrder};
use program::{device, kernel, launch, queue, register};

fn cpu(memory: MockMemory) -> Mock {
    let mut info = Mock::device_info();
    info.kind = DeviceKind::Cpu;
    Mock::with(MockOptions { devices: vec![info], memory })
}

fn set(queue: &Queue, global: GlobalHandle, value: u64, after: &[Event]) {
    let source = (&raw const value).cast();
    // SAFETY: 8 bytes are there, as many as the global has, and any are valid in it.
    unsafe { queue.copy_to_global(global, 0, source, 8, after) }.unwrap();
}

fn get(queue: &Queue, global: GlobalHandle) -> u64 {
    let mut value = 0u64;
    // SAFETY: there is room for 8 bytes, as many as the global has.
    unsafe { queue.copy_from_global(global, 0, (&raw mut value).cast(), 8, &[]) }.unwrap();
    value
}

fn copies(mock: &Mock) -> usize {
    let copied = |call: &Call| matches!(call, Call::Write { .. } | Call::Read { .. });
    mock.log().iter().filter(|call| copied(call)).count()
}

/// A kernel that writes the global.
fn writer(key: u64, name: &str) -> Kernel {
    let mut kernel = kernel(key, name, vec![Parameter::Global { index: 0 }]);
    kernel.writes = vec![0];
    kernel
}

#[test]
fn a_small_global_in_shared_memory_is_copied_without_the_driver() {
    let global = register(vec![], 7);
    for (memory, copied) in [(MockMemory::Unified, 0), (MockMemory::DeviceOnly, 3)] {
        let mock = cpu(memory);
        let queue = queue(&device(&mock));
        assert_eq!(get(&queue, global), 7);
        let first = copies(&mock);
        set(&queue, global, 8, &[]);
        assert_eq!(get(&queue, global), 8);
        set(&queue, global, 9, &[]);
        assert_eq!(copies(&mock) - first, copied);
    }
}

#[test]
fn a_write_returns_at_once_and_comes_after_what_the_queue_was_given_before() {
    let global = register(vec![writer(604, "ten")], 1);
    let mock = cpu(MockMemory::Unified);
    mock.define_kernel("ten", |_| ());
    let queue = queue(&device(&mock));
    set(&queue, global, 2, &[]);
    mock.hold();
    let slow = launch(&queue, || 604, 1, &[]).unwrap();
    set(&queue, global, 3, &[]);
    assert!(!slow.is_complete().unwrap());
    let first = copies(&mock);
    mock.release();
    assert_eq!(get(&queue, global), 3);
    // The write was the driver's; the initial value, the first write and the read were not.
    assert_eq!((first, copies(&mock)), (1, 1));
}

#[test]
fn a_read_by_the_host_waits_for_what_the_queue_was_given_before() {
    let global = register(vec![kernel(601, "slow", vec![])], 1);
    let mock = cpu(MockMemory::Unified);
    mock.define_kernel("slow", |_| ());
    let queue = queue(&device(&mock));
    set(&queue, global, 2, &[]);
    mock.hold();
    let slow = launch(&queue, || 601, 1, &[]).unwrap();
    std::thread::scope(|scope| {
        let written = scope.spawn(|| {
            get(&queue, global);
            slow.is_complete().unwrap()
        });
        std::thread::sleep(Duration::from_millis(20));
        mock.release();
        assert!(written.join().unwrap());
    });
}

#[test]
fn a_read_by_the_host_waits_for_kernels_of_other_queues_that_use_the_global() {
    let global = register(vec![writer(602, "write")], 1);
    let mock = cpu(MockMemory::Unified);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let told = Arc::clone(&seen);
    mock.define_kernel("write", move |_| told.lock().unwrap().push("kernel"));
    let device = device(&mock);
    let (one, two) = (queue(&device), queue(&device));
    set(&one, global, 2, &[]);
    mock.hold();
    launch(&one, || 602, 1, &[]).unwrap();
    std::thread::scope(|scope| {
        let read = scope.spawn(|| {
            get(&two, global);
            seen.lock().unwrap().push("read");
        });
        std::thread::sleep(Duration::from_millis(20));
        mock.release();
        read.join().unwrap();
    });
    assert_eq!(*seen.lock().unwrap(), ["kernel", "read"]);
}

#[test]
fn a_copy_comes_after_its_events_and_after_barriers_out_of_order() {
    let global = register(vec![kernel(603, "first", vec![])], 1);
    let mock = cpu(MockMemory::Unified);
    mock.define_kernel("first", |_| ());
    let device = device(&mock);
    let options = QueueOptions { order: QueueOrder::OutOfOrder, ..QueueOptions::default() };
    let context = &device.default_context().unwrap();
    let loose = Queue::with_options(context, options).unwrap();
    let other = queue(&device);
    set(&loose, global, 2, &[]);
    mock.hold();
    let first = launch(&other, || 603, 1, &[]).unwrap();
    set(&loose, global, 3, std::slice::from_ref(&first));
    loose.barrier(std::slice::from_ref(&first)).unwrap();
    set(&loose, global, 4, &[]);
    // Neither was made by the host: the kernel has not run.
    assert!(!first.is_complete().unwrap());
    assert_eq!(copies(&mock), 2);
    mock.release();
    assert_eq!(get(&loose, global), 4);
}

/// Drivers promise only to those who wait that what a command wrote is visible.
#[test]
fn what_a_kernel_wrote_is_acquired_before_the_host_reads_it() {
    let global = register(vec![writer(960, "acquired")], 7);
    let mock = cpu(MockMemory::Unified);
    mock.define_kernel("acquired", |launch| program::set_word(launch, 0, 0, 8));
    let device = device(&mock);
    for reader in [None, Some(queue(&device))] {
        let writer = queue(&device);
        // Complete when it returns, and nobody waits for it.
        drop(launch(&writer, || 960, 1, &[]).unwrap());
        let before = mock.log().len();
        assert_eq!(get(reader.as_ref().unwrap_or(&writer), global), 8);
        let since = &mock.log()[before..];
        let waits = since.iter().filter(|call| matches!(call, Call::EventWait { .. })).count();
        // On another queue it is waited for once more, after the read, for what it has to tell.
        assert_eq!(waits, if reader.is_some() { 2 } else { 1 }, "{since:?}");
        assert!(!since.iter().any(|call| matches!(call, Call::Read { .. })), "{since:?}");
    }
}
