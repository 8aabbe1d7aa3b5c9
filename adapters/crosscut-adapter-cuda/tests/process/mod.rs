//! A process in which the fake driver is the CUDA driver.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::Path;
use std::process::{Command, Output};

/// Set in processes that this made.
const CHILD: &str = "CROSSCUT_FAKE_CUDA";

/// The name under which the adapter looks for the driver.
const DRIVER: &str = "libcuda.so.1";

/// Whether this is such a process.
pub(crate) fn is_child() -> bool {
    std::env::var_os(CHILD).is_some()
}

/// Runs one test once more, in a process that finds the fake driver first.
pub(crate) fn again(test: &str) -> Output {
    let this = std::env::current_exe().unwrap();
    let fake = this.with_file_name(format!("{DLL_PREFIX}crosscut_fake_cuda{DLL_SUFFIX}"));
    let name = format!("fake-cuda-{}-{test}", std::process::id());
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    std::fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink(fake, folder.join(DRIVER)).unwrap();
    let arguments = ["--exact", test, "--nocapture"];
    let mut again = Command::new(&this);
    again.args(arguments).env("LD_LIBRARY_PATH", &folder).env(CHILD, "1");
    let output = again.output().unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    output
}

/// Whether this process has the fake driver; if not, runs the test in one that has.
pub(crate) fn is_fake(test: &str) -> bool {
    if is_child() {
        return true;
    }
    let Output { status, stdout, stderr } = again(test);
    let [stdout, stderr] = [stdout, stderr].map(|text| String::from_utf8_lossy(&text).into_owned());
    assert!(status.success(), "{stdout}{stderr}");
    // A name that no test has would run none, and succeed.
    assert!(stdout.contains("1 passed"), "{stdout}");
    false
}

/// The driver that the adapter has loaded.
pub(crate) fn driver() -> libloading::Library {
    // SAFETY: it is loaded already.
    unsafe { libloading::Library::new(DRIVER) }.unwrap()
}
