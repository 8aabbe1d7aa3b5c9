//! Every OpenCL device shows every behaviour, with unified shared memory and without.

#![allow(missing_docs, reason = "a test's name is its documentation")]

use crosscut_adapter_api::Adapter;
use crosscut_adapter_opencl::OpenCl;
use crosscut_conformance::{TestDevice, run};

/// So many behaviours are shown at least: skipping is the exception.
const MOST: usize = 200;

/// Runs on what there is; without a device says so, or fails if the environment requires one.
#[allow(clippy::print_stderr, reason = "a test that could not run says so")]
fn check(adapter: OpenCl) {
    match adapter.devices() {
        Ok(devices) => {
            for device in devices {
                let device = TestDevice::new(adapter.backend(), device);
                let report = run(&device, &[]).unwrap_or_else(|what| panic!("{what}"));
                assert!(report.passed >= MOST, "{report}");
            }
        }
        Err(absence) => {
            let required = std::env::var_os("CROSSCUT_REQUIRE_OPENCL").is_some_and(|v| v == "1");
            assert!(!required, "CROSSCUT_REQUIRE_OPENCL=1, but {absence}");
            eprintln!("not run: {absence}");
        }
    }
}

#[test]
fn opencl_devices_show_every_behaviour() {
    check(OpenCl::new());
}

#[test]
fn opencl_devices_show_every_behaviour_with_memory_objects_only() {
    check(OpenCl::without_usm());
}
