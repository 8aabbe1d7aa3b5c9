//! Built programs on disk, with a real driver: a process finds what another one built.

mod counting;
mod program;

use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use crosscut_adapter_opencl::OpenCl;
use crosscut_image::Parameter::Address;
use crosscut_runtime::{Access, Device, ProgramCache, Runtime};
use program::{bind, download, kernel, launch, queue, register_payload, upload};

/// Where the process that is one run of the program keeps built programs.
const FOLDER: &str = "CROSSCUT_TEST_CACHE_FOLDER";

/// `kernels.spvasm` of the OpenCL adapter's tests has `copy(u32 *to, const u32 *from)`.
const KERNELS: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../adapters/crosscut-adapter-opencl/tests/kernels.spvasm"
);

/// Not a test of its own: one run of the program, on every device; says how it came there.
#[test]
#[allow(clippy::print_stdout, reason = "what the process that started this one reads")]
fn child() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let assembled = Command::new("spirv-as")
        .args(["--target-env", "spv1.2", "-o", "-", KERNELS])
        .output()
        .expect("spirv-as runs (Debian: spirv-tools)");
    assert!(assembled.status.success());
    let parameters = vec![Address { slot: 0 }, Address { slot: 1 }];
    register_payload(vec![kernel(1, "copy", parameters)], 0, assembled.stdout);
    let adapter = counting::Counting::new(Arc::new(OpenCl::new()));
    let runtime = Runtime::with_selector(vec![Arc::new(adapter.clone())], "")
        .with_cache(ProgramCache::at(folder, 64 << 20));
    for device in usable(&runtime) {
        let queue = queue(&device);
        let (to, from) = (upload(&queue, &[0; 4]), upload(&queue, &[1, 2, 3, 4]));
        let bindings = [bind(&to, Access::Write), bind(&from, Access::Read)];
        launch(&queue, || 1, 8, &bindings).unwrap();
        assert_eq!(download(&queue, &to).unwrap(), [1, 2, 3, 4]);
    }
    println!("\nbuilt {} loaded {}", adapter.built(), adapter.loaded());
}

fn usable(runtime: &Runtime) -> Vec<Device> {
    let mut devices = runtime.devices().unwrap();
    devices.retain(|device| !device.info().code_forms.is_empty());
    devices
}

/// One run in a process of its own: how many programs were built and how many loaded.
fn run(folder: &Path) -> (usize, usize) {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env(FOLDER, folder)
        .output()
        .unwrap();
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{text}{}", String::from_utf8_lossy(&output.stderr));
    let line = text.lines().find_map(|line| line.strip_prefix("built ")).unwrap();
    let (built, loaded) = line.split_once(" loaded ").unwrap();
    (built.parse().unwrap(), loaded.parse().unwrap())
}

#[test]
#[allow(clippy::print_stderr, reason = "a test that could not run says so")]
fn the_second_process_loads_what_the_first_built_and_a_damaged_file_is_built_anew() {
    if usable(&Runtime::with_selector(vec![Arc::new(OpenCl::new())], "")).is_empty() {
        let required = std::env::var_os("CROSSCUT_REQUIRE_OPENCL").is_some_and(|v| v == "1");
        assert!(!required, "CROSSCUT_REQUIRE_OPENCL=1, but no OpenCL device takes SPIR-V");
        eprintln!("not run: no OpenCL device takes SPIR-V");
        return;
    }
    let place = tempfile::tempdir().unwrap();
    // The second of two devices of one name loads what was built for the first.
    let first @ (built, loaded) = run(place.path());
    assert!(built > 0, "nothing built, {loaded} loaded");
    assert_eq!(run(place.path()), (0, built + loaded));
    for file in std::fs::read_dir(place.path()).unwrap() {
        let file = file.unwrap().path();
        let mut bytes = std::fs::read(&file).unwrap();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        std::fs::write(&file, bytes).unwrap();
    }
    assert_eq!(run(place.path()), first);
    assert_eq!(run(place.path()), (0, built + loaded));
}
