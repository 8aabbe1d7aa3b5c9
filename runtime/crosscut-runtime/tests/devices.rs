//! Choosing devices, in a program without images.

use std::sync::Arc;

use crosscut_adapter_api::DriverErrorKind;
use crosscut_adapter_api::{Adapter, CodeForm, DeviceInfo, DeviceKind, DriverError};
use crosscut_adapter_host::HostAdapter;
use crosscut_adapter_mock::{Call, Mock, MockOptions, Operation};
use crosscut_runtime::{Backend, Device, ErrorKind, Feature, Runtime};

fn runtime(mock: &Mock, selector: &str) -> Runtime {
    let adapters: Vec<Arc<dyn Adapter>> = vec![Arc::new(HostAdapter), Arc::new(mock.clone())];
    Runtime::with_selector(adapters, selector)
}

#[test]
fn without_images_the_default_is_the_host_and_no_driver_is_asked() {
    let mock = Mock::new();
    let device = runtime(&mock, "").default_device().unwrap();
    assert_eq!(device.backend(), Backend::Host);
    assert!(mock.log().is_empty());
}

#[test]
fn a_device_that_needs_images_is_refused_with_the_command_that_makes_them() {
    let error = runtime(&Mock::new(), "mock").default_device().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoDevice);
    assert!(error.to_string().contains("no device images"), "{error}");
    assert!(error.to_string().contains("cargo crosscut"), "{error}");
}

#[test]
fn a_selector_that_accepts_nothing_lists_what_there_is_and_why_not_more() {
    let mock = Mock::with(MockOptions { devices: vec![], ..MockOptions::default() });
    for selector in ["cuda:gpu", "hosts", "mock:0"] {
        let error = runtime(&mock, selector).default_device().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoDevice);
        assert!(error.message().contains("host:0 (cpu)"), "{error}");
        assert!(error.message().contains("mock: no device: the mock has no device"), "{error}");
        assert!(error.help().is_some());
    }
}

#[test]
fn the_list_has_what_the_selector_accepts() {
    let mut gpu = Mock::device_info();
    gpu.kind = DeviceKind::Gpu;
    let devices = vec![Mock::device_info(), gpu];
    let mock = Mock::with(MockOptions { devices, ..MockOptions::default() });
    let count = |selector| runtime(&mock, selector).devices().unwrap().len();
    assert_eq!(count(""), 3);
    assert_eq!(count("mock"), 2);
    assert_eq!(count("*:gpu"), 1);
    assert_eq!(count("*:*;!mock:0"), 2);
    let all = runtime(&mock, "mock:1").devices().unwrap();
    assert_eq!((all[0].index(), all[0].kind()), (1, DeviceKind::Gpu));
}

/// How often a device was cut.
fn cuts(mock: &Mock) -> usize {
    mock.log().iter().filter(|call| matches!(call, Call::Partition { .. })).count()
}

/// Where the devices are that the selector accepts.
fn places(runtime: &Runtime) -> Vec<String> {
    runtime.devices().unwrap().iter().map(Device::selector).collect()
}

#[test]
fn a_point_in_the_selector_chooses_parts_of_one_compute_unit() {
    let mock = Mock::new();
    assert_eq!(places(&runtime(&mock, "mock:0.1")), ["mock:0.1"]);
    assert_eq!(places(&runtime(&mock, "mock:0,acc.3")), ["mock:0", "mock:0.3"]);
    assert_eq!(places(&runtime(&mock, "mock:0.*;!mock:0.2")), ["mock:0.0", "mock:0.1", "mock:0.3"]);
    let runtime = runtime(&mock, "mock:0.9,*.1");
    let part = runtime.default_device_for_images().unwrap();
    assert_eq!((part.selector().as_str(), part.info().compute_units), ("mock:0.1", 1));
    assert_eq!(part.parent().unwrap().selector(), "mock:0");
}

#[test]
fn whoever_asks_for_the_selected_part_gets_the_same_one() {
    let mock = Mock::new();
    let runtime = runtime(&mock, "mock:0.*");
    let first = runtime.devices().unwrap();
    assert_eq!(first, runtime.devices().unwrap());
    assert_eq!(first[0], runtime.default_device_for_images().unwrap());
    assert_eq!(first, runtime.platforms().unwrap()[0].devices());
    assert_eq!(cuts(&mock), 1);
}

#[test]
fn a_device_is_cut_only_if_the_selector_asks_for_its_parts() {
    let devices = vec![Mock::device_info(), Mock::device_info()];
    let mock = Mock::with(MockOptions { devices, ..MockOptions::default() });
    assert_eq!(places(&runtime(&mock, "mock:1")), ["mock:1"]);
    assert_eq!(cuts(&mock), 0);
    assert_eq!(places(&runtime(&mock, "mock:1.0")), ["mock:1.0"]);
    assert_eq!(cuts(&mock), 1);
}

#[test]
fn parts_are_larger_where_a_driver_allows_fewer() {
    let mut coarse = Mock::device_info();
    coarse.limits.sub_devices = 2;
    let mock = Mock::with(MockOptions { devices: vec![coarse], ..MockOptions::default() });
    let parts = runtime(&mock, "mock:0.*").devices().unwrap();
    let units: Vec<u32> = parts.iter().map(|part| part.info().compute_units).collect();
    assert_eq!(units, [2, 2]);
    assert_eq!(places(&runtime(&mock, "mock:0.1.0")), ["mock:0.1.0"]);
}

#[test]
fn a_part_that_is_not_there_is_told_with_those_that_are() {
    let mut solid = Mock::device_info();
    solid.features = solid.features.without(Feature::PartitionEqually);
    let devices = vec![Mock::device_info(), solid];
    let mock = Mock::with(MockOptions { devices, ..MockOptions::default() });
    for (selector, words) in [
        ("mock:0.4", "mock:0 has the parts mock:0.0 to mock:0.3"),
        ("mock:0.18446744073709551615", "mock:0 has the parts mock:0.0 to mock:0.3"),
        ("mock:0.1.0", "mock:0.1 has no parts: "),
        ("mock:1.0", "mock:1 has no parts: "),
        ("mock:1.*", "does not have partition_equally"),
    ] {
        let error = runtime(&mock, selector).devices().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NoDevice);
        assert!(error.message().contains("accepts no device\n  there are:"), "{error}");
        assert!(error.message().contains(words) && error.help().is_some(), "{error}");
    }
    // As with whole devices, one that is there is enough.
    assert_eq!(places(&runtime(&mock, "mock:1.*,0.7,0.2")), ["mock:0.2"]);
}

#[test]
fn a_drivers_refusal_to_cut_for_a_selector_is_told() {
    let mock = Mock::new();
    let refusal =
        DriverError { kind: DriverErrorKind::Other, call: "mockPartition", code: -18, log: None };
    mock.fail(Operation::Partition, 0, refusal);
    let error = runtime(&mock, "mock:0.0").devices().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoDevice);
    assert!(error.message().contains("mock:0 has no parts: cutting "), "{error}");
    assert!(error.message().contains("mockPartition"), "{error}");
}

#[test]
fn a_selector_in_code_chooses_among_what_the_environment_leaves() {
    let native = |devices: usize| {
        let info = DeviceInfo {
            code_forms: vec![CodeForm::Native],
            compute_units: 4,
            ..Mock::device_info()
        };
        Mock::with(MockOptions { devices: vec![info; devices], ..MockOptions::default() })
    };
    let mock = native(2);
    let chosen = |environment: &str, text: &str| {
        runtime(&mock, environment).select_by_text(text).map(|device| device.selector())
    };
    assert_eq!(chosen("", "mock:1").unwrap(), "mock:1");
    assert_eq!(chosen("", "host").unwrap(), "host:0");
    assert_eq!(chosen("mock:1", "mock").unwrap(), "mock:1");
    assert_eq!(chosen("", "mock:1.2").unwrap(), "mock:1.2");
    // The part that the environment leaves is the device, under both names.
    assert_eq!(chosen("mock:1.2", "mock:acc").unwrap(), "mock:1.2");
    assert_eq!(chosen("mock:1.2", "mock:1.2").unwrap(), "mock:1.2");
    assert!(chosen("mock:1.2", "mock:1,1.*;!mock:1.2").is_err());
    let error = chosen("mock:1", "host").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NoDevice);
    assert!(error.message().contains("the selector `host` accepts no device"), "{error}");
    assert!(error.message().contains("CROSSCUT_DEVICE=`mock:1` leaves mock:1"), "{error}");
    assert_eq!(
        error.help(),
        Some(
            "pass what is there, for example `mock:1`, or have CROSSCUT_DEVICE accept more devices"
        )
    );
    assert!(chosen("mock:1", "mock:0").is_err());
    for unreadable in ["", "gpu", "mock:;"] {
        let error = chosen("", unreadable).unwrap_err();
        let expected = format!("the selector `{unreadable}` cannot be read: ");
        assert!(error.message().starts_with(&expected), "{error}");
        assert!(
            error.help().is_some_and(|help| help.starts_with("pass what is there, for example `"))
        );
    }
}

#[test]
fn a_selector_in_code_loads_no_driver_that_it_does_not_ask_for() {
    let mock = Mock::new();
    assert_eq!(runtime(&mock, "").select_by_text("host").unwrap().backend(), Backend::Host);
    assert!(mock.log().is_empty());
}

#[test]
fn a_device_without_a_code_form_says_why() {
    let mut info = Mock::device_info();
    info.code_forms = Vec::<CodeForm>::new();
    info.code_forms_note = Some("driver takes no SPIR-V".into());
    let mock = Mock::with(MockOptions { devices: vec![info], ..MockOptions::default() });
    let error = runtime(&mock, "mock").default_device().unwrap_err();
    assert!(error.message().contains("driver takes no SPIR-V"), "{error}");
}
