//! Libraries that come as packages of Python's, each set in a folder of its own.

use std::io::IsTerminal as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::packages::{self, Need};
use crate::Result;
use crate::checkout::{output, run};

const PYTHON: &[Need] = &[
    Need {
        what: "Python, which fetches packages from PyPI",
        package: "python3",
        is_there: || python(&["-c", "pass"]),
    },
    Need {
        what: "Python's venv module, which keeps them inside this checkout",
        package: "python3-venv",
        // Debian ships the module itself, but not what it needs to work.
        is_there: || python(&["-c", "import ensurepip, venv"]),
    },
];

/// Installs `wanted` into `folder`, unless that was done; `libraries` must be in its `lib` then.
pub(super) fn install(
    what: &str,
    size: &str,
    folder: &Path,
    wanted: &[&str],
    libraries: &[&str],
) -> Result {
    // Written last, so that a broken-off install is started again.
    let mark = folder.join("installed");
    let text = wanted.join("\n");
    let missing = || libraries.iter().find(|name| !folder.join("lib").join(name).exists());
    if missing().is_none() && std::fs::read_to_string(&mark).is_ok_and(|mark| mark == text) {
        return Ok(());
    }
    packages::install(PYTHON)?;
    println!("installing {what} from PyPI into .crosscut (about {size})");
    make_environment(folder, wanted)?;
    if let Some(library) = missing() {
        return Err(format!("PyPI's packages have no {library}: {}", wanted.join(" ")));
    }
    std::fs::write(&mark, text).map_err(|error| format!("cannot write {}: {error}", mark.display()))
}

fn make_environment(folder: &Path, packages: &[&str]) -> Result {
    let mut venv = Command::new("python3");
    venv.args(["-m", "venv", "--clear"]).arg(folder).stdin(Stdio::null());
    output(&mut venv)?;
    let mut pip = Command::new(folder.join("bin").join("python"));
    pip.args(["-m", "pip", "install", "--disable-pip-version-check", "--no-input"]);
    pip.args(packages).stdin(Stdio::null());
    // Hundreds of megabytes: whoever looks on sees them come.
    if std::io::stdout().is_terminal() {
        run(&mut pip)
    } else {
        output(pip.arg("--quiet")).map(drop)
    }
}

fn python(arguments: &[&str]) -> bool {
    output(Command::new("python3").args(arguments).stdin(Stdio::null())).is_ok()
}
