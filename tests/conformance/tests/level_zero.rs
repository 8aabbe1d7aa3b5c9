//! The fake Level Zero device shows every behaviour, by way of the real loader.

#![allow(missing_docs, reason = "a test's name is its documentation")]

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::PathBuf;
use std::process::Command;

use crosscut_adapter_api::Adapter;
use crosscut_adapter_level_zero::LevelZero;
use crosscut_conformance::{TestDevice, run};

/// So many behaviours are shown at least: skipping is the exception.
const MOST: usize = 300;

/// What the loader reads, and what makes it take the fake driver.
const DRIVERS: &str = "ZE_ENABLE_ALT_DRIVERS";

/// The fake driver, which cargo has built beside this test.
fn fake_driver() -> PathBuf {
    let name = format!("{DLL_PREFIX}crosscut_fake_level_zero{DLL_SUFFIX}");
    std::env::current_exe().unwrap().with_file_name(name)
}

/// Runs on what there is; without a device says so, or fails if the environment requires one.
#[test]
#[allow(clippy::print_stderr, reason = "a test that could not run says so")]
fn the_fake_level_zero_device_shows_every_behaviour() {
    // The loader reads the environment, which only a process of its own can have from the start.
    if std::env::var_os(DRIVERS).is_none() {
        let this = std::env::current_exe().unwrap();
        let mut again = Command::new(this);
        again.env(DRIVERS, fake_driver()).args(["--nocapture", "--test-threads=1"]);
        assert!(again.status().unwrap().success());
        return;
    }
    match LevelZero.devices() {
        Ok(devices) => {
            for device in devices {
                let device = TestDevice::new(LevelZero.backend(), device);
                let report = run(&device, &[]).unwrap_or_else(|what| panic!("{what}"));
                assert!(report.passed >= MOST, "{report}");
            }
        }
        Err(absence) => {
            let required =
                std::env::var_os("CROSSCUT_REQUIRE_LEVEL_ZERO").is_some_and(|v| v == "1");
            assert!(!required, "CROSSCUT_REQUIRE_LEVEL_ZERO=1, but {absence}");
            eprintln!("not run: {absence}");
        }
    }
}
