//! The host CPU shows every behaviour.

#![allow(missing_docs, reason = "a test's name is its documentation")]

use crosscut_adapter_api::Adapter;
use crosscut_adapter_host::HostAdapter;
use crosscut_conformance::{TestDevice, run};

/// So many behaviours are shown at least: skipping is the exception.
const MOST: usize = 200;

#[test]
fn the_host_cpu_shows_every_behaviour() {
    for device in HostAdapter.devices().unwrap() {
        let report = run(&TestDevice::new(HostAdapter.backend(), device), &[])
            .unwrap_or_else(|what| panic!("{what}"));
        assert!(report.passed >= MOST, "{report}");
    }
}
