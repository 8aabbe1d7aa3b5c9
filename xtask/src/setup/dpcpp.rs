//! DPC++'s run time with its run-time compiler: a peer of the benchmarks.

use std::path::PathBuf;

use super::pypi;
use crate::Result;
use crate::checkout::setup_folder;

/// Of one version, so that they fit each other, and not of the newest: since 2026.2 the second has no
/// adapter for OpenCL.
const PACKAGES: &[&str] =
    &["intel-sycl-rt==2026.0.0", "intel-cmplr-lib-ur==2026.0.0", "intel-cmplr-lib-rt==2026.0.0"];

/// What must be there afterwards.
const LIBRARIES: &[&str] = &["libsycl.so", "libsycl-jit.so", "libur_adapter_opencl.so"];

/// Installs it; answers with its folder.
pub(super) fn install() -> Result<PathBuf> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        return Err("DPC++'s run time is on PyPI for Linux on x86-64 only".into());
    }
    let folder = setup_folder().join("dpcpp");
    pypi::install("DPC++'s run time", "1 GB", &folder, PACKAGES, LIBRARIES)?;
    Ok(folder)
}
