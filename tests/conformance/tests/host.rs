//! The host CPU shows every behaviour.

#![allow(missing_docs, reason = "a test's name is its documentation")]

use crosscut_adapter_api::Adapter;
use crosscut_adapter_host::HostAdapter;
use crosscut_conformance::{TestDevice, run};

#[test]
fn the_host_cpu_shows_every_behaviour() {
    for device in HostAdapter.devices().unwrap() {
        let ran = run(&TestDevice::new(device), &[]).unwrap_or_else(|what| panic!("{what}"));
        assert!(ran >= 30, "only {ran} behaviours apply");
    }
}
