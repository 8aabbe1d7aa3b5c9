//! Programs on a Level Zero device: the real loader, with a driver of ours that has no hardware.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};

use crate::lab::{Lab, Run, lab};

/// A program on the fake device.
fn on_level_zero(lab: &Lab, what: &str) -> Run {
    let driver = format!("{DLL_PREFIX}crosscut_fake_level_zero{DLL_SUFFIX}");
    let driver = std::env::current_exe().expect("a test").with_file_name(driver);
    lab.probe("debug", what).with("ZE_ENABLE_ALT_DRIVERS", driver).device("level_zero:gpu")
}

#[test]
fn a_program_runs_on_a_level_zero_device() {
    let Some(lab) = lab() else { return };
    assert_eq!(on_level_zero(lab, "chosen").works(), "level_zero:0\n");
    assert_eq!(on_level_zero(lab, "count").works(), "1000\n");
}

#[test]
fn without_a_level_zero_driver_the_selector_says_so() {
    let Some(lab) = lab() else { return };
    let done = lab.probe("debug", "chosen").device("level_zero:*").run();
    assert_eq!((done.code, done.stdout.as_str()), (Some(1), ""));
    let start =
        "Error: CROSSCUT_DEVICE=`level_zero:*` accepts no device\n  there are:\n    host:0 ";
    assert!(done.stderr.starts_with(start), "{}", done.stderr);
}
