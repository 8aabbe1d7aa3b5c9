//! Contexts of several devices on the mock, which runs held commands in any order that the events which
//! they wait for allow.

mod program;

use std::sync::{Arc, mpsc};
use std::time::Duration;

use crosscut_adapter_api::{DriverError, DriverErrorKind};
use crosscut_adapter_mock::{Call, Mock, MockOptions, Operation};
use crosscut_image::Parameter::Address;
use crosscut_runtime::{
    Access, Buffer, Context, Device, ErrorKind, Queue, QueueOptions, QueueOrder, Runtime,
};
use program::{bind, device, download, kernel, launch, register, set_word, upload, word};

fn devices(mock: &Mock) -> Vec<Device> {
    Runtime::with_selector(vec![Arc::new(mock.clone())], "").devices().unwrap()
}

/// A context of the mock's device and its parts.
fn context(mock: &Mock) -> Context {
    let whole = device(mock);
    let parts = whole.partition_equally(1).unwrap();
    let devices: Vec<Device> = std::iter::once(whole).chain(parts).collect();
    Context::new(&devices).unwrap()
}

/// A queue out of order on each device.
fn queues(context: &Context) -> Vec<Queue> {
    let options = QueueOptions { order: QueueOrder::OutOfOrder, ..QueueOptions::default() };
    let queue = |device| Queue::with_options(&context.on(device).unwrap(), options).unwrap();
    context.devices().iter().map(queue).collect()
}

/// A kernel of this key and name: its first argument's word becomes one made of those of both.
fn add(key: u64, name: &str) {
    register(vec![kernel(key, name, vec![Address { slot: 0 }, Address { slot: 1 }])], 0);
}

fn define(mock: &Mock, name: &str) {
    mock.define_kernel(name, |launch| {
        let (target, source) = (word(launch, 0, 0), word(launch, 1, 0));
        set_word(launch, 0, 0, target.wrapping_mul(31).wrapping_add(source).wrapping_add(1));
    });
}

#[test]
fn commands_on_several_devices_keep_the_order_of_the_memory_they_use() {
    add(811, "mix_on_devices");
    for seed in 0..100 {
        let mock = Mock::new();
        define(&mock, "mix_on_devices");
        let queues = queues(&context(&mock));
        let buffers: Vec<Buffer> = (0..3).map(|i| upload(&queues[0], &[i])).collect();
        let mut model = [0u64, 1, 2];
        mock.clear_log();
        mock.hold();
        for step in 0..40 {
            let (queue, to) = (&queues[(step * 7 + seed) % queues.len()], (step / 2 + seed) % 3);
            let from = (to + 1 + step % 2) % 3;
            let bindings = [bind(&buffers[to], Access::Write), bind(&buffers[from], Access::Read)];
            launch(queue, || 811, 1, &bindings).unwrap();
            model[to] = model[to].wrapping_mul(31).wrapping_add(model[from]).wrapping_add(1);
        }
        mock.release_shuffled(seed as u64);
        for (buffer, expected) in buffers.iter().zip(model) {
            assert_eq!(download(&queues[1], buffer).unwrap(), [expected], "seed {seed}");
        }
        let bridged = mock.log().iter().any(|call| matches!(call, Call::Promise { .. }));
        assert!(!bridged, "the driver knows the events of all devices, and was given others");
    }
}

#[test]
fn devices_are_opened_by_one_call_and_each_builds_for_itself() {
    let mock = Mock::new();
    add(812, "mix_alone");
    define(&mock, "mix_alone");
    let queues = queues(&context(&mock));
    let (to, from) = (upload(&queues[0], &[1]), upload(&queues[0], &[2]));
    for queue in &queues {
        launch(queue, || 812, 1, &[bind(&to, Access::Write), bind(&from, Access::Read)]).unwrap();
    }
    let log = mock.log();
    let count = queues.len();
    assert!(log.contains(&Call::CreateContexts { count }), "{log:?}");
    assert!(!log.contains(&Call::CreateContext), "{log:?}");
    let builds = log.iter().filter(|call| matches!(call, Call::Build { .. })).count();
    assert_eq!(builds, count);
}

#[test]
fn memory_is_not_freed_while_a_kernel_on_another_device_uses_it() {
    let mock = Mock::new();
    add(813, "mix_and_drop");
    define(&mock, "mix_and_drop");
    let queues = queues(&context(&mock));
    let (to, from) = (upload(&queues[0], &[1]), upload(&queues[0], &[2]));
    mock.hold();
    let last = queues.last().unwrap();
    launch(last, || 813, 1, &[bind(&to, Access::Write), bind(&from, Access::Read)]).unwrap();
    let (done, ended) = mpsc::channel();
    let dropper = std::thread::spawn(move || {
        drop((to, from));
        let _ = done.send(());
    });
    let early = ended.recv_timeout(Duration::from_millis(200)).is_ok();
    mock.release();
    dropper.join().unwrap();
    assert!(!early, "it did not wait for the kernel");
    assert!(!mock.log().iter().any(|call| matches!(call, Call::FreedInUse { .. })));
}

#[test]
fn memory_is_such_as_the_smallest_device_gives() {
    let large = Mock::device_info();
    let small = crosscut_adapter_api::DeviceInfo { largest_allocation: 100, ..large.clone() };
    let mock = Mock::with(MockOptions { devices: vec![large, small], ..MockOptions::default() });
    let devices = devices(&mock);
    let context = Context::new(&devices).unwrap();
    assert!(Buffer::allocate(&context, 100, 8).is_ok());
    let error = Buffer::allocate(&context, 101, 8).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfMemory, "{error}");
    assert!(Buffer::allocate(&devices[0].create_context().unwrap(), 101, 8).is_ok());
}

#[test]
fn devices_of_different_platforms_or_drivers_share_no_context() {
    let here = Mock::device_info();
    let elsewhere = crosscut_adapter_api::DeviceInfo { platform: "other".into(), ..here.clone() };
    let mock = Mock::with(MockOptions { devices: vec![here, elsewhere], ..MockOptions::default() });
    let error = Context::new(&devices(&mock)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.message().contains("of `mock` and of `other`"), "{error}");
    let error = Context::new(&[device(&Mock::new()), device(&Mock::new())]).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.message().contains("does not open them together"), "{error}");
}

#[test]
fn a_driver_that_refuses_to_open_devices_together_is_quoted() {
    let mock = Mock::new();
    let whole = device(&mock);
    let parts = whole.partition_equally(1).unwrap();
    let (call, log) = ("mockCreateContext", None);
    let refusal = DriverError { kind: DriverErrorKind::Other, call, code: -7, log };
    mock.fail(Operation::CreateContext, 0, refusal);
    let error = Context::new(&parts).unwrap_err();
    assert_eq!(error.driver_code(), Some(-7), "{error}");
    assert!(error.message().contains("together"), "{error}");
    assert!(Context::new(&parts).is_ok());
}
