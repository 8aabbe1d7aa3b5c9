//! What comes from the system's package manager.
//!
//! A thing counts as there if it is found, whoever installed it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Result;
use crate::checkout::{output, show};

/// Something that must be on the machine.
#[derive(Clone, Copy)]
pub(super) struct Need {
    /// What it is and what for.
    pub(super) what: &'static str,
    /// Debian's package.
    pub(super) package: &'static str,
    /// How to see that it is there.
    pub(super) is_there: fn() -> bool,
}

/// What every machine needs.
pub(super) const ALWAYS: &[Need] = &[
    Need {
        what: "LLVM 22's shared library, which makes device code",
        package: "libllvm22",
        // The variable is the tool's own: the library's path where it is in no usual place.
        is_there: || std::env::var_os("CROSSCUT_LLVM").is_some() || has_library("libLLVM.so.22.1"),
    },
    Need {
        what: "spirv-tools, which tests use to check device code",
        package: "spirv-tools",
        is_there: || has_program("spirv-val") && has_program("spirv-as"),
    },
    Need {
        what: "the OpenCL loader, which finds OpenCL drivers",
        package: "ocl-icd-libopencl1",
        is_there: || has_library("libOpenCL.so.1"),
    },
    Need {
        what: "the Level Zero loader, by which tests load a driver of their own",
        package: "libze1",
        is_there: || has_library("libze_loader.so.1"),
    },
];

/// What only the tests need.
pub(super) const FOR_TESTS: &[Need] = &[Need {
    what: "clang 22, by which tests make SPIR-V of OpenCL C",
    package: "clang-22",
    is_there: || has_program("clang-22"),
}];

/// Installs those of `needs` that are not there.
pub(super) fn install(needs: &[Need]) -> Result {
    let missing: Vec<Need> = needs.iter().copied().filter(|need| !(need.is_there)()).collect();
    if missing.is_empty() {
        return Ok(());
    }
    for need in &missing {
        println!("missing: {} ({})", need.what, need.package);
    }
    let packages: Vec<&str> = missing.iter().map(|need| need.package).collect();
    if !is_debian_like() {
        return Err(format!(
            "this is not a Debian-like system: install what the Debian packages {} hold by your own \
             package manager, then run this again",
            packages.join(" ")
        ));
    }
    let Some(become_root) = way_to_root() else {
        return Err(format!(
            "installing needs root, and sudo wants a password or is not there: run\n  apt-get update\n  \
             apt-get install --no-install-recommends {}\nas root, then run this again",
            packages.join(" ")
        ));
    };
    // A failed update (one dead source among many) matters only if the packages are not found.
    let update = output(apt_get(become_root).args(["update", "-qq"]));
    let mut install = apt_get(become_root);
    install.args(["install", "-y", "-qq", "--no-install-recommends"]).args(&packages);
    println!("running: {}", show(&install));
    output(&mut install).map_err(|error| {
        let update = update.err().map(|error| format!("\n{error}")).unwrap_or_default();
        format!(
            "{error}{update}\nif a package is not found, this release is too old for it: libllvm22 is in \
             Debian 12's security updates, and apt.llvm.org has it for other releases"
        )
    })?;
    match missing.iter().find(|need| !(need.is_there)()) {
        None => Ok(()),
        Some(need) => Err(format!("{} is installed, but not found: {}", need.package, need.what)),
    }
}

fn is_debian_like() -> bool {
    has_program("apt-get") && Path::new("/etc/debian_version").exists()
}

/// The words before a command that make it run as root; `None` if there is no way without asking.
fn way_to_root() -> Option<&'static [&'static str]> {
    let succeeds = |program: &str, arguments: &[&str]| {
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null());
        output(&mut command)
    };
    if succeeds("id", &["-u"]).is_ok_and(|id| id.trim() == "0") {
        Some(&[])
    } else if succeeds("sudo", &["-n", "true"]).is_ok() {
        Some(&["sudo", "-n"])
    } else {
        None
    }
}

fn apt_get(become_root: &[&str]) -> Command {
    // By `env`, because sudo does not hand on the caller's variables.
    let words = [become_root, &["env", "DEBIAN_FRONTEND=noninteractive", "apt-get"]].concat();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).stdin(Stdio::null());
    command
}

fn has_program(name: &str) -> bool {
    folders("PATH").any(|folder| folder.join(name).exists())
}

/// Whether the loader would find a library by this name.
fn has_library(name: &str) -> bool {
    if folders("LD_LIBRARY_PATH").any(|folder| folder.join(name).exists()) {
        return true;
    }
    // Its folder is not on every user's path.
    ["ldconfig", "/sbin/ldconfig"]
        .iter()
        .filter_map(|program| output(Command::new(program).arg("-p")).ok())
        .any(|list| list.lines().any(|line| line.split_whitespace().next() == Some(name)))
}

fn folders(variable: &str) -> impl Iterator<Item = PathBuf> {
    let value = std::env::var_os(variable).unwrap_or_default();
    std::env::split_paths(&value).collect::<Vec<_>>().into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_every_machine_has_is_found_and_what_none_has_is_not() {
        assert!(has_program("sh"));
        assert!(!has_program("no-such-program"));
        assert!(!has_library("libno-such-library.so.1"));
        #[cfg(target_os = "linux")]
        assert!(has_library("libc.so.6"));
    }
}
