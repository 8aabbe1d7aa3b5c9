//! Intel's CPU runtime for OpenCL: a real SPIR-V device on any x86-64 machine.

use std::path::PathBuf;

use super::pypi;
use crate::Result;
use crate::checkout::setup_folder;

/// The driver's library.
pub(super) const LIBRARY: &str = "libintelocl.so";

/// The driver, and the libraries that it links but does not name as a dependency.
const PACKAGES: &[&str] = &["intel-opencl-rt==2026.2.0", "intel-cmplr-lib-rt==2026.2.0"];

/// Installs the runtime where it exists; answers with the driver's path.
pub(super) fn install() -> Result<Option<PathBuf>> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        println!("Intel's CPU runtime is for Linux on x86-64: left out");
        return Ok(None);
    }
    let folder = setup_folder().join("intel-opencl");
    pypi::install("Intel's CPU runtime for OpenCL", "800 MB", &folder, PACKAGES, &[LIBRARY])?;
    Ok(Some(folder.join("lib").join(LIBRARY)))
}
