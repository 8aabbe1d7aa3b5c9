//! Everything that must pass before a change lands.

use std::time::Instant;

use crate::checkout::{beside, cargo, root, run as run_command};
use crate::steps::Steps;
use crate::{Result, demo, differential, setup, tidy};

pub(crate) fn run() -> Result {
    let start = Instant::now();
    setup::for_tests()?;
    let mut steps = Steps::default();
    // Cheap before dear, and all in one target directory and profile as far as may be.
    steps.run("format", || run_command(cargo().args(["fmt", "--all", "--check"])));
    steps.run("tidy", tidy::run);
    steps.run("lints", || {
        let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
        run_command(cargo().args(clippy))
    });
    steps.run("tests", || {
        // The language suite compares devices, and plain cargo makes code for the host alone.
        let packages = ["--workspace", "--exclude", "crosscut-language"];
        let targets = ["--lib", "--bins", "--tests", "--examples"];
        run_command(tests().arg("--no-fail-fast").args(packages).args(targets))
    });
    steps.run("schedules", || run_command(&mut schedules()));
    // Long, and each for itself on one core for much of its time: profiles have folders of their own.
    let release = beside(kernels(&["--release"]));
    steps.run("kernels on every device, debug", || run_command(&mut kernels(&[])));
    steps.run("kernels on every device, release", release);
    steps.run("random kernels on every device", || differential::compare(&differential::FIXED));
    steps.run("the Rust API on OpenCL", rust_api_on_opencl);
    steps.run("a timeline of a device", || {
        let trace = ["--package", "crosscut-examples", "--test", "trace"];
        run_command(crosscut_tests().args(trace).env("CROSSCUT_DEVICE", "opencl"))
    });
    steps.run("doc tests", || run_command(tests().args(["--workspace", "--doc"])));
    steps.run("documents", || {
        let doc = ["doc", "--package", "crosscut", "--no-deps"];
        run_command(cargo().args(doc).env("RUSTDOCFLAGS", "-D warnings"))
    });
    steps.run("examples", demo::check);
    let result = steps.finish();
    println!("{:.0} s in all", start.elapsed().as_secs_f64());
    result
}

/// What tests run with: an OpenCL device and the fake Level Zero device are required, and programs are
/// built anew from their SPIR-V, not taken from the user's cache.
const TEST_VARIABLES: [(&str, &str); 3] = [
    ("CROSSCUT_REQUIRE_OPENCL", "1"),
    ("CROSSCUT_REQUIRE_LEVEL_ZERO", "1"),
    ("CROSSCUT_CACHE", "0"),
];

/// The tests of the Rust API that no device can run: kernels that only native code allows, groups that
/// break the rules of barriers, and programs that do not compile.
const NOT_ON_DEVICES: [&str; 4] = ["host_only", "work_groups", "sub_groups", "compile_fail"];

fn rust_api_on_opencl() -> Result {
    let mut command = crosscut_tests();
    command.args(["--package", "crosscut"]).env("CROSSCUT_DEVICE", "opencl");
    let folder = root().join("api/crosscut/tests");
    let unreadable = |error| format!("cannot read {}: {error}", folder.display());
    for file in std::fs::read_dir(&folder).map_err(unreadable)? {
        let file = file.map_err(unreadable)?.path();
        if let (Some(name), Some("rs")) = (
            file.file_stem().and_then(|name| name.to_str()),
            file.extension().and_then(|extension| extension.to_str()),
        ) && !NOT_ON_DEVICES.contains(&name)
        {
            command.args(["--test", name]);
        }
    }
    run_command(&mut command)
}

/// The language suite, which compares devices in one process.
fn kernels(profile: &[&str]) -> std::process::Command {
    let mut command = crosscut_tests();
    command.args(["--package", "crosscut-language"]).args(profile);
    command
}

/// The event graph under many schedules of its threads: a build of its own, with other locks.
pub(crate) fn schedules() -> std::process::Command {
    let mut command = tests();
    let package = ["--package", "crosscut-runtime", "--features", "shuttle"];
    command.args(package).args(["--lib", "schedules"]);
    command
}

/// `cargo crosscut test`, failing without an OpenCL device as [`tests`] does.
pub(crate) fn crosscut_tests() -> std::process::Command {
    let mut command = cargo();
    command.args(["crosscut", "test", "--no-fail-fast"]).envs(TEST_VARIABLES);
    command
}

/// `cargo test`, where a test that needs an OpenCL device fails without one instead of passing.
pub(crate) fn tests() -> std::process::Command {
    let mut command = cargo();
    command.arg("test").envs(TEST_VARIABLES);
    command
}
