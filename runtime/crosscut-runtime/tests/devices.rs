//! Choosing devices, in a program without images.

use std::sync::Arc;

use crosscut_adapter_api::{Adapter, CodeForm, DeviceKind};
use crosscut_adapter_host::HostAdapter;
use crosscut_adapter_mock::{Mock, MockOptions};
use crosscut_runtime::{Backend, ErrorKind, Runtime};

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

#[test]
fn a_device_without_a_code_form_says_why() {
    let mut info = Mock::device_info();
    info.code_forms = Vec::<CodeForm>::new();
    info.code_forms_note = Some("driver takes no SPIR-V".into());
    let mock = Mock::with(MockOptions { devices: vec![info], ..MockOptions::default() });
    let error = runtime(&mock, "mock").default_device().unwrap_err();
    assert!(error.message().contains("driver takes no SPIR-V"), "{error}");
}
