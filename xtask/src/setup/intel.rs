//! Intel's CPU runtime for OpenCL: a real SPIR-V device on any x86-64 machine.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::packages::{self, Need};
use crate::Result;
use crate::checkout::{output, setup_folder};

/// The driver's library.
pub(super) const LIBRARY: &str = "libintelocl.so";

/// The driver, and the libraries that it links but does not name as a dependency.
const PACKAGES: &[&str] = &["intel-opencl-rt==2026.2.0", "intel-cmplr-lib-rt==2026.2.0"];

const PYTHON: &[Need] = &[
    Need {
        what: "Python, which fetches Intel's CPU runtime",
        package: "python3",
        is_there: || python(&["-c", "pass"]),
    },
    Need {
        what: "Python's venv module, which keeps that inside this checkout",
        package: "python3-venv",
        // Debian ships the module itself, but not what it needs to work.
        is_there: || python(&["-c", "import ensurepip, venv"]),
    },
];

/// Installs the runtime where it exists; answers with the driver's path.
pub(super) fn install() -> Result<Option<PathBuf>> {
    if !cfg!(all(target_os = "linux", target_arch = "x86_64")) {
        println!("Intel's CPU runtime is for Linux on x86-64: left out");
        return Ok(None);
    }
    let folder = setup_folder().join("intel-opencl");
    let driver = folder.join("lib").join(LIBRARY);
    // Written last, so that a broken-off install is started again.
    let mark = folder.join("installed");
    let wanted = PACKAGES.join("\n");
    if driver.exists() && std::fs::read_to_string(&mark).is_ok_and(|mark| mark == wanted) {
        return Ok(Some(driver));
    }
    packages::install(PYTHON)?;
    println!("installing Intel's CPU runtime for OpenCL from PyPI into .crosscut (about 800 MB)");
    make_environment(&folder)?;
    if !driver.exists() {
        return Err(format!("PyPI's package has no {LIBRARY}: {}", PACKAGES.join(" ")));
    }
    std::fs::write(&mark, wanted)
        .map_err(|error| format!("cannot write {}: {error}", mark.display()))?;
    Ok(Some(driver))
}

fn make_environment(folder: &Path) -> Result {
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv", "--clear"]).arg(folder).stdin(Stdio::null());
    output(&mut venv)?;
    let mut pip = Command::new(folder.join("bin").join("python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-input"]);
    output(pip.args(PACKAGES).stdin(Stdio::null())).map(drop)
}

fn python(arguments: &[&str]) -> bool {
    output(Command::new("python3").args(arguments).stdin(Stdio::null())).is_ok()
}
