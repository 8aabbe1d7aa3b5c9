//! Platforms, selection by score, and sub-devices.

use std::sync::Arc;

use crosscut_adapter_api::{Adapter, DeviceInfo, DeviceKind, DriverError, DriverErrorKind};
use crosscut_adapter_host::HostAdapter;
use crosscut_adapter_mock::{Call, Mock, MockOptions, Operation};
use crosscut_image::global_properties;
use crosscut_runtime::{Device, ErrorKind, Feature, GlobalHandle, Queue, Runtime};

fn runtime(devices: Vec<DeviceInfo>) -> (Runtime, Mock) {
    let mock = Mock::with(MockOptions { devices, ..MockOptions::default() });
    let adapters: Vec<Arc<dyn Adapter>> = vec![Arc::new(HostAdapter), Arc::new(mock.clone())];
    (Runtime::with_selector(adapters, ""), mock)
}

fn mock_device() -> (Device, Mock) {
    let (runtime, mock) = runtime(vec![Mock::device_info()]);
    (runtime.devices().unwrap().pop().unwrap(), mock)
}

#[test]
fn platforms_have_the_devices_of_one_driver_each() {
    let mut other = Mock::device_info();
    other.platform_version = "another".into();
    let (runtime, _mock) = runtime(vec![Mock::device_info(), other, Mock::device_info()]);
    let platforms = runtime.platforms().unwrap();
    let counts: Vec<usize> = platforms.iter().map(|platform| platform.devices().len()).collect();
    assert_eq!(counts, [1, 2, 1]);
    assert_eq!((platforms[0].name(), platforms[2].version()), ("host", "another"));
    assert_eq!(platforms[1].backend(), platforms[1].devices()[0].backend());
}

#[test]
fn the_highest_score_is_chosen_and_the_first_of_several() {
    // Without images only native code runs, so that the host alone has a say.
    let (runtime, _mock) = runtime(vec![Mock::device_info()]);
    let asked = std::cell::RefCell::new(Vec::new());
    let chosen = runtime.select(|device| {
        asked.borrow_mut().push(device.backend().name());
        Some(0)
    });
    assert_eq!(chosen.unwrap().kind(), DeviceKind::Cpu);
    assert_eq!(*asked.borrow(), ["host"]);
    let none = runtime.select(|device| device.has(Feature::Fp16).then_some(1)).unwrap_err();
    assert_eq!(none.kind(), ErrorKind::NoDevice);
    assert!(none.message().contains("host:0 (cpu)"), "{none}");
}

/// A device global of 8 bytes that begins as zero.
fn global() -> GlobalHandle {
    let storage = Box::leak(Box::new([0u64; 2])).as_ptr().cast();
    // SAFETY: storage for 8 bytes and as many initial ones behind it, for ever.
    unsafe { GlobalHandle::new(storage, 8, 8, 0, global_properties::DEFAULT) }
}

#[test]
fn a_part_that_was_used_goes_with_its_last_user_and_its_memory_with_it() {
    let (device, mock) = mock_device();
    let global = global();
    let part = device.partition_equally(1).unwrap().remove(0);
    let queue = Queue::new(&part.default_context().unwrap()).unwrap();
    queue.reset_global(global, &[]).unwrap().wait().unwrap();
    // Its queue knows the same device, in the same context.
    assert_eq!(queue.context().device(), &part);
    assert_eq!(queue.context().device().selector(), "mock:0.0");
    drop(queue);
    // As long as somebody has the part, its context stays, and what is in it.
    assert_eq!(mock.live_allocations(), 1);
    let context = part.default_context().unwrap();
    drop(part);
    assert_eq!(mock.live_allocations(), 1);
    drop(context);
    assert_eq!(mock.live_allocations(), 0);
}

#[test]
fn a_part_goes_also_if_its_queues_own_device_was_asked_for_the_context() {
    let (device, mock) = mock_device();
    let part = device.partition_equally(1).unwrap().remove(0);
    let context = part.default_context().unwrap();
    let queue = Queue::new(&context).unwrap();
    queue.reset_global(global(), &[]).unwrap().wait().unwrap();
    let known = queue.context().device().clone();
    assert_eq!(known.default_context().unwrap(), context);
    drop((part, context, queue));
    assert_eq!(mock.live_allocations(), 0);
    // What is left of it opens the part anew.
    let again = known.default_context().unwrap();
    assert_eq!(known.default_context().unwrap(), again);
}

#[test]
fn parts_know_what_they_are_parts_of() {
    let (device, mock) = mock_device();
    let parts = device.partition_by_counts(&[1, 2]).unwrap();
    assert_eq!(parts.iter().map(Device::selector).collect::<Vec<_>>(), ["mock:0.0", "mock:0.1"]);
    assert_eq!(parts[1].info().compute_units, 2);
    assert!(parts.iter().all(|part| part.parent() == Some(&device)));
    assert!(device.parent().is_none() && parts[0] != parts[1]);
    let again = parts[1].partition_equally(1).unwrap();
    assert_eq!(again[1].selector(), "mock:0.1.1");
    assert!(mock.log().contains(&Call::Partition { units: vec![1, 2] }));
}

#[test]
fn what_cannot_be_cut_is_refused_before_a_driver_is_asked() {
    let (device, mock) = mock_device();
    let refused = |outcome: Result<Vec<Device>, crosscut_runtime::Error>, words: &str| {
        let error = outcome.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.message().contains(words) && error.help().is_some(), "{error}");
    };
    refused(device.partition_equally(0), "at least one compute unit");
    refused(device.partition_equally(5), "has 4 compute units");
    refused(device.partition_equally(3), "not enough for these parts");
    refused(device.partition_by_counts(&[]), "at least one compute unit");
    refused(device.partition_by_counts(&[1, 0]), "at least one compute unit");
    refused(device.partition_by_counts(&[3, 2]), "has 4 compute units");
    refused(device.partition_by_counts(&[u32::MAX, u32::MAX]), "has 4 compute units");
    let single = device.partition_equally(1).unwrap().remove(0);
    refused(single.partition_equally(1), "does not have partition_equally");
    let mut coarse = Mock::device_info();
    coarse.limits.sub_devices = 2;
    let (coarse, _mock) = {
        let (runtime, mock) = runtime(vec![coarse]);
        (runtime.devices().unwrap().pop().unwrap(), mock)
    };
    refused(coarse.partition_equally(1), "into 2 parts, not 4");
    let cuts = mock.log().iter().filter(|call| matches!(call, Call::Partition { .. })).count();
    assert_eq!(cuts, 1);
}

#[test]
fn a_drivers_refusal_to_cut_keeps_its_words() {
    let (device, mock) = mock_device();
    let refusal =
        DriverError { kind: DriverErrorKind::Other, call: "mockPartition", code: -18, log: None };
    mock.fail(Operation::Partition, 0, refusal);
    let error = device.partition_equally(2).unwrap_err();
    assert_eq!((error.driver_call(), error.driver_code()), (Some("mockPartition"), Some(-18)));
    assert_eq!(device.partition_equally(2).unwrap().len(), 2);
}
