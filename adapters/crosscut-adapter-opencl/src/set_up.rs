//! Whether `cargo crosscut` would find a driver where this process has found none.
//!
//! A workspace's set-up may have written into `.crosscut/env` where the OpenCL loader finds its drivers. `cargo crosscut`
//! gives the programs that it runs these variables; plain cargo, and whoever starts a program by hand, do not.
//! The file is looked at to tell the user so: nothing in it is used.

use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};

/// The variables by which a set-up says where drivers are.
const VARIABLES: [&str; 2] = ["OCL_ICD_VENDORS", "OCL_ICD_FILENAMES"];

/// No set-up writes more; a file of another kind is not read to its end.
const LONGEST: u64 = 1 << 16;

/// What to do about an absent driver: `otherwise`, and before that `cargo crosscut` where it would do.
pub(crate) fn help(otherwise: &str) -> String {
    let is_set = |variable: &str| std::env::var_os(variable).is_some();
    // Cargo tells a program that it runs where the package is.
    let start = std::env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from);
    let start = start.or_else(|| std::env::current_dir().ok()).unwrap_or_default();
    match knows_drivers(&start, read, is_set) {
        true => format!(
            "use `cargo crosscut` in place of `cargo`: it reads in `.crosscut/env` where a driver is; or {otherwise}"
        ),
        false => otherwise.to_owned(),
    }
}

/// Whether the set-up of the workspace around `start` sets a variable that is not set here.
fn knows_drivers(
    start: &Path,
    read: impl Fn(&Path) -> Option<String>,
    is_set: impl Fn(&str) -> bool,
) -> bool {
    for folder in start.ancestors() {
        if let Some(text) = read(&folder.join(".crosscut/env")) {
            let sets = |name: &str| text.lines().any(|line| assigned(line) == Some(name));
            return VARIABLES.iter().any(|variable| sets(variable) && !is_set(variable));
        }
        // What is above the root of the workspace is another's set-up.
        let manifest = read(&folder.join("Cargo.toml"));
        if manifest.is_some_and(|text| text.lines().any(|line| line.starts_with("[workspace"))) {
            return false;
        }
    }
    false
}

/// The variable that a line sets.
fn assigned(line: &str) -> Option<&str> {
    line.trim().split_once('=').map(|(name, _)| name)
}

/// The text of a file; `None` where there is none.
fn read(path: &Path) -> Option<String> {
    let mut text = String::new();
    let file = path.is_file().then(|| File::open(path).ok()).flatten()?;
    file.take(LONGEST).read_to_string(&mut text).ok()?;
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether a program in `/a/b/c` is told, with these files and this variable set.
    fn is_told(files: &[(&str, &str)], set: &str) -> bool {
        let read = |path: &Path| {
            let file = files.iter().find(|(name, _)| Path::new(name) == path);
            file.map(|(_, text)| (*text).to_owned())
        };
        knows_drivers(Path::new("/a/b/c"), read, |variable| variable == set)
    }

    #[test]
    fn a_set_up_around_the_program_that_it_does_not_have_is_told() {
        let set_up = ("/a/.crosscut/env", "# drivers\nOCL_ICD_VENDORS=/somewhere\n");
        assert!(is_told(&[set_up], ""));
        assert!(is_told(
            &[set_up, ("/a/Cargo.toml", "[workspace]"), ("/a/b/Cargo.toml", "[package]")],
            ""
        ));
        assert!(is_told(&[("/a/b/c/.crosscut/env", "OCL_ICD_FILENAMES=x")], "OCL_ICD_VENDORS"));
    }

    #[test]
    fn what_would_change_nothing_is_not_told() {
        let set_up = ("/a/.crosscut/env", "OCL_ICD_VENDORS=/somewhere\n");
        assert!(!is_told(&[], ""));
        assert!(!is_told(&[set_up], "OCL_ICD_VENDORS"));
        assert!(!is_told(&[("/a/.crosscut/env", "CROSSCUT_LLVM=x\nOCL_ICD_VENDORSX=1")], ""));
        assert!(!is_told(&[set_up, ("/a/b/Cargo.toml", "[workspace]")], ""), "another's");
        assert!(!is_told(&[set_up, ("/a/b/.crosscut/env", "")], ""), "the nearest counts");
    }
}
