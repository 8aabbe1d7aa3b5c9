//! The mock shows every behaviour: a test that passes on it means something for real devices.

#![allow(missing_docs, reason = "a test's name is its documentation")]

use crosscut_adapter_api::Adapter;
use crosscut_adapter_mock::{Launch, Mock, MockMemory, MockOptions, Resolved, View};
use crosscut_conformance::{TestDevice, run};

/// So many behaviours are shown at least: skipping is the exception.
const MOST: usize = 200;

fn word(view: &View, index: usize) -> u32 {
    let mut bytes = [0; 4];
    view.read(index * 4, &mut bytes);
    u32::from_ne_bytes(bytes)
}

fn value(launch: &Launch<'_>, index: usize) -> u64 {
    let mut bytes = [0; 8];
    let value = launch.value(index);
    bytes[..value.len()].copy_from_slice(value);
    u64::from_ne_bytes(bytes)
}

fn items(launch: &Launch<'_>) -> usize {
    launch.extent.size.iter().product()
}

/// The kernels of the conformance crate, as closures.
fn define_kernels(mock: &Mock) {
    mock.define_kernel("copy", |launch| {
        for i in 0..items(launch) {
            launch.memory(0).write(i * 4, &word(launch.memory(1), i).to_ne_bytes());
        }
    });
    mock.define_kernel("add", |launch| {
        let number = value(launch, 2) as u32;
        for i in 0..items(launch) {
            let sum = word(launch.memory(1), i).wrapping_add(number);
            launch.memory(0).write(i * 4, &sum.to_ne_bytes());
        }
    });
    mock.define_kernel("store_value", |launch| {
        for i in 0..items(launch) {
            launch.memory(0).write(i * 8, &value(launch, 1).to_ne_bytes());
        }
    });
    mock.define_kernel("store_indices", |launch| {
        let count = usize::from(launch.extent.dimensions);
        let mut size = [1; 3];
        size[3 - count..].copy_from_slice(&launch.extent.size[..count]);
        for i in 0..items(launch) {
            let (x, y, z) = (i % size[2], i / size[2] % size[1], i / (size[1] * size[2]));
            let index = (z * 10_000 + y * 100 + x) as u64;
            launch.memory(0).write(i * 8, &index.to_ne_bytes());
        }
    });
    mock.define_kernel("follow_address", |launch| {
        let mut address = [0; 8];
        launch.memory(1).read(0, &mut address);
        let found = launch.at_address(u64::from_ne_bytes(address), |view| word(view, 0));
        launch.memory(0).write(0, &found.unwrap().to_ne_bytes());
    });
    mock.define_kernel("count", |launch| {
        let sum = word(launch.memory(0), 0).wrapping_add(items(launch) as u32);
        launch.memory(0).write(0, &sum.to_ne_bytes());
    });
    mock.define_kernel("spin", |launch| {
        let times = (items(launch) as u32).wrapping_mul(value(launch, 1) as u32);
        let sum = word(launch.memory(0), 0).wrapping_add(times);
        launch.memory(0).write(0, &sum.to_ne_bytes());
    });
    mock.define_kernel("turn_around", |launch| {
        let [group, ..] = launch.extent.group.unwrap();
        assert!(matches!(launch.arguments[1], Resolved::Local(bytes) if bytes == group * 4));
        for i in 0..items(launch) {
            let other = i / group * group + (group - 1 - i % group);
            launch.memory(0).write(i * 4, &(other as u32).to_ne_bytes());
        }
    });
    mock.define_kernel("nothing", |_| {});
}

fn check(memory: MockMemory) {
    let mock = Mock::with(MockOptions { memory, ..MockOptions::default() });
    define_kernels(&mock);
    for device in mock.devices().unwrap() {
        let report = run(&TestDevice::new(mock.backend(), device), &[])
            .unwrap_or_else(|what| panic!("{what}"));
        assert!(report.passed >= MOST, "{report}");
    }
    assert_eq!(mock.live_allocations(), 0, "an allocation was not freed");
}

#[test]
fn the_mock_shows_every_behaviour() {
    check(MockMemory::Unified);
}

#[test]
fn the_mock_shows_every_behaviour_without_host_addresses() {
    check(MockMemory::DeviceOnly);
}

#[test]
fn the_mock_shows_every_behaviour_with_memory_objects_only() {
    check(MockMemory::Objects);
}
