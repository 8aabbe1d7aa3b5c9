//! What the mock adds to an adapter: the log, failures, kernels and holding.

#![allow(missing_docs, reason = "a test's name is its documentation")]

use std::num::NonZeroUsize;
use std::sync::Arc;

use crosscut_adapter_api::{
    Adapter, Argument, CodeForm, Context, DriverError, DriverErrorKind, Extent, Memory, MemoryKind,
    Queue, QueueOptions, QueueOrder,
};
use crosscut_adapter_mock::{Call, Mock, MockMemory, MockOptions, Operation, RecordedArgument};

const EIGHT: NonZeroUsize = NonZeroUsize::new(8).unwrap();
const SPIRV: [u8; 4] = 0x0723_0203_u32.to_le_bytes();

fn open(mock: &Mock) -> (Arc<dyn Context>, Box<dyn Queue>, Box<dyn Memory>) {
    let context = mock.devices().unwrap()[0].create_context().unwrap();
    let queue = context.create_queue(&QueueOptions::default()).unwrap();
    let memory = context.allocate(MemoryKind::HostVisible, EIGHT, 8).unwrap();
    (context, queue, memory)
}

fn an_error() -> DriverError {
    DriverError { kind: DriverErrorKind::Other, call: "test", code: 7, log: None }
}

#[test]
fn every_call_is_logged_in_order() {
    let mock = Mock::new();
    let (_context, queue, memory) = open(&mock);
    let size = EIGHT;
    // SAFETY: the memory lives to the end of the test.
    unsafe { queue.fill(&*memory, 0, &[3], size, &[]) }.unwrap().wait().unwrap();
    drop(memory);
    let expected = [
        Call::Devices,
        Call::CreateContext,
        Call::CreateQueue { queue: 1, order: QueueOrder::InOrder },
        Call::Allocate { memory: 2, kind: MemoryKind::HostVisible, size, align: 8 },
        Call::Fill {
            queue: 1,
            event: 3,
            memory: 2,
            offset: 0,
            pattern: vec![3],
            size,
            after: vec![],
        },
        Call::EventWait { event: 3 },
        Call::Free { memory: 2 },
    ];
    assert_eq!(mock.log(), expected);
}

#[test]
fn the_call_that_was_asked_to_fail_fails_and_no_other() {
    let mock = Mock::new();
    let (context, ..) = open(&mock);
    mock.fail(Operation::Allocate, 1, an_error());
    assert!(context.allocate(MemoryKind::Device, EIGHT, 8).is_ok());
    assert_eq!(context.allocate(MemoryKind::Device, EIGHT, 8).err(), Some(an_error()));
    assert!(context.allocate(MemoryKind::Device, EIGHT, 8).is_ok());
    assert_eq!(mock.live_allocations(), 0);
    assert_eq!(mock.log().iter().filter(|c| **c == Call::Failed(Operation::Allocate)).count(), 1);
}

#[test]
fn a_kernel_sees_its_values_and_its_memory() {
    let mock = Mock::new();
    mock.define_kernel("store", |launch| launch.memory(0).write(0, launch.value(1)));
    let (context, queue, memory) = open(&mock);
    let program = context.build(CodeForm::Spirv64, &SPIRV).unwrap();
    let kernel = program.kernel("store").unwrap();
    let extent = Extent { dimensions: 1, size: [1, 1, 1], group: None };
    let memory_argument = Argument::Memory { memory: &*memory, offset: 4 };
    let arguments = [memory_argument, Argument::Value(&[1, 2, 3, 4])];
    // SAFETY: the arguments fit what the kernel does, and the memory outlives the wait.
    unsafe { queue.launch(&*kernel, extent, &arguments, &[]) }.unwrap().wait().unwrap();
    let address = memory.host_address().unwrap().cast::<[u8; 8]>();
    // SAFETY: the memory is 8 initialised bytes, and the launch has completed.
    let bytes = unsafe { address.read() };
    assert_eq!(bytes[4..], [1, 2, 3, 4]);
    let launched = mock.log().into_iter().find_map(|call| match call {
        Call::Launch { arguments, .. } => Some(arguments),
        _ => None,
    });
    let Some([RecordedArgument::Memory { offset: 4, .. }, RecordedArgument::Value(value)]) =
        launched.as_deref()
    else {
        panic!("{launched:?}");
    };
    assert_eq!(value, &[1, 2, 3, 4]);
}

#[test]
fn a_held_command_does_nothing_until_it_is_released() {
    let mock = Mock::new();
    let (_context, queue, memory) = open(&mock);
    let mut found = [0_u8; 8];
    mock.hold();
    // SAFETY: the memory outlives the release below.
    let filled = unsafe { queue.fill(&*memory, 0, &[9], EIGHT, &[]) }.unwrap();
    // SAFETY: `found` is touched by nobody until the release below.
    let read = unsafe { queue.read(&*memory, 0, found.as_mut_ptr(), EIGHT, &[&*filled]) }.unwrap();
    assert_eq!((filled.is_complete(), read.is_complete()), (Ok(false), Ok(false)));
    mock.release();
    assert_eq!((filled.is_complete(), read.wait()), (Ok(true), Ok(())));
    assert_eq!(found, [9; 8]);
}

#[test]
fn memory_freed_under_a_held_command_is_reported_and_the_command_never_runs() {
    let mock = Mock::new();
    let (_context, queue, memory) = open(&mock);
    mock.hold();
    // SAFETY: this breaks the promise that the memory lives until the event completes, which the
    // mock is there to notice: it withdraws the command.
    let filled = unsafe { queue.fill(&*memory, 0, &[9], EIGHT, &[]) }.unwrap();
    drop(memory);
    assert!(matches!(mock.log().last(), Some(Call::FreedInUse { .. })));
    mock.release();
    assert_eq!(filled.wait().unwrap_err().kind, DriverErrorKind::DeviceLost);
}

#[test]
fn waiting_for_a_held_command_blocks_until_another_thread_releases_it() {
    let mock = Mock::new();
    let (_context, queue, memory) = open(&mock);
    mock.hold();
    // SAFETY: the memory outlives the wait below.
    let filled = unsafe { queue.fill(&*memory, 0, &[9], EIGHT, &[]) }.unwrap();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(|| queue.wait().and(filled.wait()));
        std::thread::sleep(std::time::Duration::from_millis(20));
        assert!(!waiter.is_finished());
        mock.release();
        assert_eq!(waiter.join().unwrap(), Ok(()));
    });
}

#[test]
fn poorer_memory_has_fewer_addresses() {
    let addresses = |memory| {
        let mock = Mock::with(MockOptions { memory, ..MockOptions::default() });
        let (context, _, memory) = open(&mock);
        let aligned = context.argument_alignment() > 1;
        (memory.host_address().is_some(), memory.device_address().is_some(), aligned)
    };
    assert_eq!(addresses(MockMemory::Unified), (true, true, false));
    assert_eq!(addresses(MockMemory::DeviceOnly), (false, true, false));
    assert_eq!(addresses(MockMemory::Objects), (false, false, true));
}

#[test]
fn a_mock_without_devices_is_absent() {
    let mock = Mock::with(MockOptions { devices: Vec::new(), ..MockOptions::default() });
    let absence = mock.devices().err().unwrap();
    assert_eq!(absence.to_string(), "the mock has no device (give it one in its options)");
}
