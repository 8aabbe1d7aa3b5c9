//! How one crate was compiled: enough to compile it again, later, for a device.

mod error;

use std::collections::{BTreeMap, HashSet};
use std::env;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::paths::CratePaths;
use crate::{tools, variables};

pub use error::{RecordError, SecondPassError};

/// Changes with [`Record`] and with what the second pass makes: what was left by a version of the
/// command with another form is not used.
pub(crate) const FORMAT: u32 = 2;

/// One crate of the build.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its name.
    pub crate_name: String,
    /// Whether it depends on the device crate, or is it. Its bitcode is then made in any case.
    pub reaches_device: bool,
    /// The rustc that compiles it.
    pub rustc: String,
    /// The arguments of the second pass, without where its output goes.
    pub arguments: Vec<String>,
    /// Where rustc runs.
    pub folder: PathBuf,
    /// What cargo set for this crate, beyond what the command was given.
    pub variables: BTreeMap<String, String>,
    /// Its bitcode, once it is made.
    pub bitcode: PathBuf,
    /// The outputs of the crates it names.
    pub externs: Vec<PathBuf>,
    /// The triple it is compiled for, if it was given one.
    pub target: Option<String>,
    /// Whether rustc merges the crates of a program before the linker sees them.
    pub merges_crates: bool,
}

impl Record {
    /// Reads the record of a crate; `None` if there is none, which is so for crates that were not
    /// compiled by the wrapper.
    ///
    /// # Errors
    /// There is one, and it cannot be read. That is no crate without device code.
    pub fn read(file: &Path) -> Result<Option<Self>, RecordError> {
        match Self::load(file) {
            Err(RecordError::Files { error, .. }) if error.kind() == io::ErrorKind::NotFound => {
                Ok(None)
            }
            other => other.map(Some),
        }
    }

    /// Reads a record that has been written.
    pub(crate) fn load(file: &Path) -> Result<Self, RecordError> {
        let bytes = fs::read(file)
            .map_err(|error| RecordError::Files { file: file.to_path_buf(), error })?;
        serde_json::from_slice(&bytes)
            .map_err(|error| RecordError::Form { file: file.to_path_buf(), error })
    }

    /// The record of the crate that rustc wrote this rlib, rmeta or dynamic library of. `None` for
    /// procedural macros, which are dynamic libraries, and for what others than `cargo crosscut` made.
    ///
    /// # Errors
    /// As [`read`](Self::read), and if there is none where all libraries have one: the crate might be
    /// one with kernels.
    pub fn of_output(file: &Path) -> Result<Option<Self>, RecordError> {
        let Some(paths) = CratePaths::of_output(file) else { return Ok(None) };
        let found = Self::read(&paths.record())?;
        let is_rust = file.extension().is_some_and(|it| it == "rlib" || it == "rmeta");
        if found.is_none() && is_rust && tools::has_records(file) {
            return Err(RecordError::Missing { library: file.to_path_buf() });
        }
        Ok(found)
    }

    /// Writes it, and forgets the bitcode of an earlier compilation.
    pub(crate) fn write(&self, paths: &CratePaths) -> io::Result<()> {
        fs::create_dir_all(paths.folder())?;
        match fs::remove_file(&self.bitcode) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
            _ => {}
        }
        // A part of a record is never there under its name.
        let record = paths.record();
        let part = record.with_added_extension(std::process::id().to_string());
        fs::write(&part, serde_json::to_vec(self)?).and_then(|()| fs::rename(&part, &record))
    }

    /// Makes the bitcode, unless it is there.
    ///
    /// # Errors
    /// rustc's refusal. It has accepted the same source for the host, so this is rare.
    pub fn compile(&self) -> Result<(), SecondPassError> {
        if self.bitcode.exists() {
            return Ok(());
        }
        // Two programs may be linked at the same time and want the same crate, so each works in a
        // folder of its own and the bitcode appears at once.
        let mut folder = self.bitcode.clone().into_os_string();
        folder.push(format!(".{}", std::process::id()));
        let folder = PathBuf::from(folder);
        let result = self.compile_in(&folder);
        // What is left there is of no use to anybody.
        let _ = fs::remove_dir_all(&folder);
        result
    }

    fn compile_in(&self, folder: &Path) -> Result<(), SecondPassError> {
        let crate_name = || self.crate_name.clone();
        let files = |error| SecondPassError::Files { crate_name: crate_name(), error };
        fs::create_dir_all(folder).map_err(files)?;
        let fresh = folder.join("bitcode");
        let mut emit = OsString::from("llvm-bc=");
        emit.push(&fresh);
        let mut command = Command::new(&self.rustc);
        command.args(&self.arguments).current_dir(&self.folder);
        command.arg("--out-dir").arg(folder).arg("--emit").arg(emit);
        let known = command_variables();
        for (name, _) in env::vars_os() {
            if belongs_to_one_crate(&name, &known) {
                command.env_remove(name);
            }
        }
        command.envs(&self.variables).stdin(Stdio::null());
        let output = command.output().map_err(|error| SecondPassError::Start {
            crate_name: crate_name(),
            rustc: self.rustc.clone(),
            error,
        })?;
        if output.status.success() {
            return fs::rename(fresh, &self.bitcode).map_err(files);
        }
        Err(SecondPassError::refused(crate_name(), &output))
    }
}

/// The variables of this process that cargo set for one crate.
pub(crate) fn crate_variables() -> BTreeMap<String, String> {
    let known = command_variables();
    env::vars_os()
        .filter(|(name, _)| belongs_to_one_crate(name, &known))
        // rustc shows `env!` only what is UTF-8.
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// `None` if the wrapper was not started by the command, so that nobody says what the user's are.
fn command_variables() -> Option<HashSet<OsString>> {
    let names = env::var_os(variables::COMMAND_VARIABLES)?;
    Some(names.to_string_lossy().split(':').map(OsString::from).collect())
}

/// Whether cargo sets this variable anew for each crate. Secrets of the user are never among them,
/// because what the user's own environment has is not; where that is not known, only what cargo
/// always sets.
fn belongs_to_one_crate(name: &OsString, known: &Option<HashSet<OsString>>) -> bool {
    let Some(text) = name.to_str() else { return false };
    // The job server is that of the running cargo, not of the one that compiled the crate.
    let of_the_run = text.starts_with("CROSSCUT_") || text == "CARGO_MAKEFLAGS";
    if of_the_run || text.contains("TOKEN") {
        return false;
    }
    // cargo sets these for every crate, also where the user's environment has them.
    let of_cargo = text == "OUT_DIR"
        || text == "LD_LIBRARY_PATH"
        || text.starts_with("CARGO_PKG_")
        || text.starts_with("CARGO_MANIFEST_")
        || text.starts_with("CARGO_BIN_")
        || matches!(text, "CARGO" | "CARGO_CRATE_NAME" | "CARGO_PRIMARY_PACKAGE");
    of_cargo || known.as_ref().is_some_and(|known| !known.contains(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crates_variables_are_those_cargo_sets_and_those_the_user_did_not_have() {
        let known = ["HOME", "OUT_DIR", "CARGO_HOME", "CARGO_PKG_NAME"].map(OsString::from);
        let known = Some(HashSet::from(known));
        let belongs = |name: &str| belongs_to_one_crate(&name.into(), &known);
        assert!(belongs("OUT_DIR"));
        assert!(belongs("CARGO_PKG_NAME"));
        assert!(belongs("SET_BY_A_BUILD_SCRIPT"));
        assert!(!belongs("HOME"));
        assert!(!belongs("CARGO_MAKEFLAGS"));
        assert!(!belongs("CARGO_HOME"));
    }

    #[test]
    fn tokens_are_never_written_down() {
        let nothing_known = Some(HashSet::new());
        assert!(!belongs_to_one_crate(&"CARGO_REGISTRY_TOKEN".into(), &nothing_known));
    }

    #[test]
    fn a_wrapper_that_somebody_else_starts_writes_down_nothing_of_the_user() {
        assert!(!belongs_to_one_crate(&"AWS_SECRET_ACCESS_KEY".into(), &None));
        assert!(belongs_to_one_crate(&"CARGO_PKG_NAME".into(), &None));
    }
}
