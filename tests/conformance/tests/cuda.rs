//! The fake CUDA devices show every behaviour.

#![cfg(target_os = "linux")]
#![allow(missing_docs, reason = "a test's name is its documentation")]

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::Path;
use std::process::Command;

use crosscut_adapter_api::Adapter;
use crosscut_adapter_cuda::Cuda;
use crosscut_conformance::{TestDevice, run};

/// So many behaviours are shown at least: skipping is the exception.
const MOST: usize = 270;

/// Set in the process that has the fake driver.
const CHILD: &str = "CROSSCUT_FAKE_CUDA";

#[test]
fn the_fake_cuda_devices_show_every_behaviour() {
    // Libraries are looked for where the environment says, which only a process of its own can have
    // from the start.
    if std::env::var_os(CHILD).is_none() {
        let this = std::env::current_exe().unwrap();
        let fake = this.with_file_name(format!("{DLL_PREFIX}crosscut_fake_cuda{DLL_SUFFIX}"));
        let name = format!("conformance-cuda-{}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        std::fs::create_dir_all(&folder).unwrap();
        std::os::unix::fs::symlink(fake, folder.join("libcuda.so.1")).unwrap();
        let mut again = Command::new(this);
        again.env("LD_LIBRARY_PATH", &folder).env(CHILD, "1");
        let status = again.args(["--nocapture", "--test-threads=1"]).status().unwrap();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(status.success());
        return;
    }
    let devices = Cuda.devices().unwrap();
    assert_eq!(devices.len(), 2);
    for device in devices {
        let device = TestDevice::new(Cuda.backend(), device);
        let report = run(&device, &[]).unwrap_or_else(|what| panic!("{what}"));
        assert!(report.passed >= MOST, "{report}");
    }
}
