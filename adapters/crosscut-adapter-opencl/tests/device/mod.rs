//! The device that tests run on, and the kernels they run.

use std::io::Write;
use std::num::NonZeroUsize;
use std::process::{Command, Stdio};
use std::sync::{Arc, OnceLock};

use crosscut_adapter_api::{Adapter, CodeForm, Device};
use crosscut_adapter_opencl::OpenCl;

/// The devices that take SPIR-V: with the memory each has, and restricted to memory objects.
///
/// Where there is none, says why; and fails if the environment says that there must be one.
#[allow(clippy::print_stderr, reason = "a test that could not run says so")]
pub(crate) fn devices() -> Vec<Arc<dyn Device>> {
    let mut found = Vec::new();
    for adapter in [OpenCl::new(), OpenCl::without_usm()] {
        match adapter.devices() {
            Ok(devices) => found.extend(
                devices.into_iter().filter(|d| d.info().code_forms.contains(&CodeForm::Spirv64)),
            ),
            Err(absence) => eprintln!("{absence}"),
        }
    }
    if found.is_empty() {
        let required = std::env::var_os("CROSSCUT_REQUIRE_OPENCL").is_some_and(|v| v == "1");
        assert!(!required, "CROSSCUT_REQUIRE_OPENCL=1, but no OpenCL device takes SPIR-V");
        eprintln!("not run: no OpenCL device takes SPIR-V");
    }
    found
}

/// The kernels of `kernels.spvasm`, assembled.
pub(crate) fn kernels() -> &'static [u8] {
    static KERNELS: OnceLock<Vec<u8>> = OnceLock::new();
    KERNELS.get_or_init(|| assemble(include_bytes!("../kernels.spvasm")))
}

/// Assembles the text of a SPIR-V module.
pub(crate) fn assemble(text: &[u8]) -> Vec<u8> {
    let mut assembler = Command::new("spirv-as")
        .args(["--target-env", "spv1.2", "-o", "-", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("spirv-as runs (Debian: spirv-tools)");
    let mut input = assembler.stdin.take().expect("a pipe was asked for");
    input.write_all(text).expect("spirv-as reads");
    drop(input);
    let output = assembler.wait_with_output().expect("spirv-as ends");
    assert!(output.status.success(), "spirv-as refused the kernels");
    output.stdout
}

/// A length that is not zero.
pub(crate) fn bytes(count: usize) -> NonZeroUsize {
    NonZeroUsize::new(count).unwrap_or(NonZeroUsize::MIN)
}
