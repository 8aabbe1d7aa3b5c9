//! How one crate was compiled: enough to compile it again, later, for a device.

mod error;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde::{Deserialize, Serialize};

use crate::paths::CratePaths;
use crate::{environment, tools};

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
        let dep_info = CratePaths::of_bitcode(&self.bitcode).dep_info();
        environment::give(&mut command, &self.variables, &dep_info);
        command.stdin(Stdio::null());
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
