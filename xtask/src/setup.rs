//! Installs what is missing, or says what to install.
//!
//! 1. `packages`: LLVM's library, spirv-tools, the loaders of OpenCL and Level Zero, and clang for the tests, from the
//!    system's package manager.
//! 2. `intel`: Intel's CPU runtime for OpenCL, from PyPI, into the checkout.
//! 3. `dpcpp`: DPC++'s run time, the same way, for whoever wants to measure beside it.
//! 4. Here: the list of OpenCL drivers and the file of variables that point to it; and the command itself is built, whose
//!    alias would do that in silence.

mod dpcpp;
mod intel;
mod packages;
mod pypi;

use std::path::Path;

use crate::Result;
use crate::checkout::{cargo, environment_file, run as run_command, setup_folder};

/// The system's own list of OpenCL drivers.
const SYSTEM_VENDORS: &str = "/etc/OpenCL/vendors";

pub(crate) fn run() -> Result {
    packages::install(packages::ALWAYS)?;
    let driver = intel::install()?;
    let vendors = setup_folder().join("opencl-vendors");
    if let Some(driver) = &driver {
        write_vendors(&vendors, driver, Path::new(SYSTEM_VENDORS))?;
        let line = format!("OCL_ICD_VENDORS={}\n", vendors.display());
        write_if_changed(&environment_file(), &line)?;
    }
    // As the alias does, but with messages: it takes a minute.
    run_command(cargo().args(["build", "--release", "--package", "cargo-crosscut"]))?;
    let cpu = if driver.is_some() { ", Intel's CPU runtime" } else { "" };
    println!("set up: LLVM 22, spirv-tools, OpenCL{cpu}, `cargo crosscut`");
    if driver.is_some() {
        println!("in other projects: export OCL_ICD_VENDORS={}", vendors.display());
    }
    Ok(())
}

/// The same, and what only the tests need.
pub(crate) fn for_tests() -> Result {
    packages::install(packages::FOR_TESTS)?;
    run()
}

/// What the benchmarks set Crosscut beside.
pub(crate) fn peers() -> Result {
    let folder = dpcpp::install()?;
    println!("set up: DPC++'s run time in {}", folder.display());
    Ok(())
}

/// Lists Intel's driver beside those of the system, which would be hidden otherwise.
fn write_vendors(folder: &Path, driver: &Path, system: &Path) -> Result {
    std::fs::create_dir_all(folder).map_err(|error| cannot_write(folder, &error))?;
    write_if_changed(&folder.join("intel.icd"), &format!("{}\n", driver.display()))?;
    let Ok(entries) = std::fs::read_dir(system) else { return Ok(()) };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let text = std::fs::read_to_string(entry.path()).unwrap_or_default();
        // The same driver twice would be the same device twice.
        if name.ends_with(".icd") && !text.contains(intel::LIBRARY) {
            write_if_changed(&folder.join(format!("system-{name}")), &text)?;
        }
    }
    Ok(())
}

fn write_if_changed(path: &Path, text: &str) -> Result {
    if std::fs::read_to_string(path).is_ok_and(|old| old == text) {
        return Ok(());
    }
    std::fs::write(path, text).map_err(|error| cannot_write(path, &error))
}

fn cannot_write(path: &Path, error: &std::io::Error) -> String {
    format!("cannot write {}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drivers_of_the_system_stay_visible_and_intels_is_listed_once() {
        let system = tempfile::tempdir().expect("a folder");
        let vendors = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            std::fs::write(system.path().join(name), text).expect("a file");
        };
        write("pocl.icd", "libpocl.so.2\n");
        write("other.icd", "libintelocl.so\n");
        write("notes.txt", "not a driver\n");
        write_vendors(vendors.path(), Path::new("here/libintelocl.so"), system.path())
            .expect("a list");
        let mut found: Vec<_> = std::fs::read_dir(vendors.path())
            .expect("the list")
            .map(|entry| entry.expect("an entry").file_name())
            .collect();
        found.sort();
        assert_eq!(found, ["intel.icd", "system-pocl.icd"]);
    }
}
