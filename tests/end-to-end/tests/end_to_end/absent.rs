//! What is not there: drivers, the OpenCL library, device images, LLVM.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::lab::{Lab, Run, Workspace::Programs, lab};

/// The line of the host device in a list of what there is.
fn host_line(lab: &Lab) -> String {
    let devices = lab.probe("debug", "devices").device("host").works();
    format!("    {devices}")
}

/// Both ways to ask: a device that must be OpenCL's is refused, any device is the host.
fn no_opencl(lab: &Lab, absent: impl Fn(Run) -> Run) -> String {
    let any = absent(lab.probe("debug", "count"));
    assert_eq!(any.works(), "1000\n");
    let done = absent(lab.probe("debug", "count")).device("opencl:cpu").run();
    assert_eq!((done.code, done.stdout.as_str()), (Some(1), ""));
    let start = format!(
        "Error: CROSSCUT_DEVICE=`opencl:cpu` accepts no device\n  there are:\n{}    opencl: no device: ",
        host_line(lab)
    );
    let reason = done.stderr.strip_prefix(&start).unwrap_or_else(|| panic!("{}", done.stderr));
    let end = "\n  help: unset CROSSCUT_DEVICE, or set it to what is there, for example `host:0`\n";
    reason.strip_suffix(end).unwrap_or_else(|| panic!("{}", done.stderr)).to_owned()
}

#[test]
fn without_a_driver_kernels_run_on_the_host_and_opencl_says_why_not() {
    let Some(lab) = lab() else { return };
    let empty = tempfile::tempdir().expect("a folder");
    assert_eq!(
        no_opencl(lab, |run| run.with("OCL_ICD_VENDORS", empty.path())),
        "the OpenCL library found no driver \
         (install your device's OpenCL driver, or point OCL_ICD_VENDORS at the folder with its .icd file, as `.crosscut/env` \
         in a checkout of Crosscut does once set up; `cargo crosscut doctor` looks for both)"
    );
}

#[test]
fn without_an_opencl_library_kernels_run_on_the_host_and_opencl_says_why_not() {
    let Some(lab) = lab() else { return };
    // The real ones cannot be taken away, but others come first.
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["libOpenCL.so.1", "libOpenCL.so"] {
        fs::write(folder.path().join(name), "not a library").expect("a file");
    }
    let reason = no_opencl(lab, |run| run.with("LD_LIBRARY_PATH", folder.path()));
    let name = |name| folder.path().join(name).display().to_string();
    let (first, second) = (name("libOpenCL.so.1"), name("libOpenCL.so"));
    assert_eq!(
        reason,
        format!(
            "no OpenCL library: {first}: file too short; {second}: file too short \
             (install an OpenCL loader (Debian: ocl-icd-libopencl1) and your device's driver)"
        )
    );
}

#[test]
fn a_plain_build_runs_on_the_host_and_a_chosen_device_says_what_is_missing() {
    let Some(lab) = lab() else { return };
    lab.cargo(Programs, &["build", "--quiet", "-p", "probe"]).works();
    let file = lab.made("../debug/probe");
    assert_eq!(lab.program(&file, &["count"]).works(), "1000\n");
    let done = lab.program(&file, &["count"]).device("opencl:0").run();
    assert_eq!((done.code, done.stdout.as_str()), (Some(1), ""));
    let (device, rest) = done.stderr.split_once(" (opencl) ").expect("a device");
    assert!(device.starts_with("Error: `"), "{device}");
    assert_eq!(
        rest,
        "was chosen, and this program has no device images\n\
         \x20 help: if it has kernels, build and run it with `cargo crosscut run`; programs without any, \
         plain cargo builds and examples in documentation run on `host`\n"
    );
}

/// Builds a program with a kernel with this LLVM, and demands that it does not work. What was never
/// built with success is never left as it is.
fn build_with(lab: &Lab, llvm: &Path) -> String {
    let build = ["build", "--quiet", "-p", "probe", "--example", "one"];
    let done = lab.crosscut(Programs, &build).with("CROSSCUT_LLVM", llvm).run();
    assert_eq!((done.code, done.stdout.as_str()), (Some(101), ""));
    let end = "\n |\n = help: install it (Debian: `apt-get install libllvm22`), or set CROSSCUT_LLVM \
               to the path of libLLVM.so.22.1\n\n\
               error: could not compile `probe` (example \"one\") due to 1 previous error\n";
    done.stderr.strip_suffix(end).unwrap_or_else(|| panic!("{}", done.stderr)).to_owned()
}

#[test]
fn without_llvm_a_link_with_kernels_says_how_to_get_it() {
    let Some(lab) = lab() else { return };
    assert_eq!(
        build_with(lab, "/does/not/exist.so".as_ref()),
        "error: LLVM 22 is needed to make device code, and its library was not found: \
         /does/not/exist.so: cannot open shared object file: No such file or directory"
    );
}

#[test]
fn an_llvm_of_another_major_is_refused() {
    let Some(lab) = lab() else { return };
    let folder = tempfile::tempdir().expect("a folder");
    let old = library(&folder, "old", "ContextCreate", "");
    assert_eq!(
        build_with(lab, &old),
        format!(
            "error: LLVM 22 is needed to make device code, but {} is LLVM 15 or older",
            old.display()
        )
    );
    let body = "unsafe { *major = 21; *minor = 1; *patch = 8 }";
    let other = library(&folder, "other", "GetVersion", body);
    assert_eq!(
        build_with(lab, &other),
        format!(
            "error: LLVM 22 is needed to make device code, but {} is LLVM 21.1.8",
            other.display()
        )
    );
    let none = library(&folder, "none", "Nothing", "");
    assert_eq!(
        build_with(lab, &none),
        format!(
            "error: {} is not a usable LLVM: it has no function `{}`",
            none.display(),
            concat!("LLVM", "GetVersion")
        )
    );
}

/// A shared library with one function of LLVM's.
fn library(folder: &tempfile::TempDir, name: &str, function: &str, body: &str) -> PathBuf {
    let source = folder.path().join(format!("{name}.rs"));
    let text = format!(
        "#[unsafe(export_name = \"{}{function}\")]\n\
         pub extern \"C\" fn function(major: *mut u32, minor: *mut u32, patch: *mut u32) {{\n\
         let _ = (major, minor, patch); {body} }}\n",
        "LLVM"
    );
    fs::write(&source, text).expect("a file");
    let file = folder.path().join(format!("lib{name}.so"));
    let mut rustc = Command::new("rustc");
    rustc.args(["--edition=2024", "--crate-type=cdylib", "-o"]).arg(&file).arg(&source);
    assert!(rustc.status().expect("rustc").success());
    file
}
