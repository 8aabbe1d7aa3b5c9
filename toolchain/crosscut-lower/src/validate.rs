//! Asks `spirv-val` about finished SPIR-V, where it is installed.

use std::borrow::Cow;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crosscut_image::spirv;

use crate::{LowerError, ending};

/// The environment to validate for. OpenCL's leaves 64-bit atomics to an extension of the device and
/// refuses them, and its newest is that of SPIR-V 1.2; where a kernel uses them, or sub-groups that
/// exchange values, only SPIR-V's own rules are asked.
fn environment(file: &Path) -> Result<&'static str, LowerError> {
    const INT64_ATOMICS: u32 = 12;
    const GROUP_NON_UNIFORM_SHUFFLE: u32 = 65;
    let bytes =
        fs::read(file).map_err(|source| LowerError::Read { path: file.to_owned(), source })?;
    let module = spirv::check(&bytes).map_err(|error| LowerError::Invalid {
        path: file.to_owned(),
        reason: error.to_string(),
    })?;
    let has = |capability| module.capabilities.contains(&capability);
    Ok(match (has(GROUP_NON_UNIFORM_SHUFFLE), has(INT64_ATOMICS)) {
        (true, _) => "spv1.3",
        (false, true) => "spv1.2",
        (false, false) => "opencl2.2",
    })
}

/// The file to validate: a copy without what is said about variables, if it says something. Validators
/// of a few years ago do not know the capabilities for it.
fn plain(file: &Path) -> Result<Cow<'_, Path>, LowerError> {
    let bytes =
        fs::read(file).map_err(|source| LowerError::Read { path: file.to_owned(), source })?;
    let plain = spirv::keep_annotations(&bytes, |_| false).map_err(|error| {
        LowerError::Invalid { path: file.to_owned(), reason: error.to_string() }
    })?;
    let Cow::Owned(plain) = plain else { return Ok(Cow::Borrowed(file)) };
    let path = file.with_extension("plain.spv");
    fs::write(&path, plain).map_err(|source| LowerError::Write { path: path.clone(), source })?;
    Ok(Cow::Owned(path))
}

/// Has every file validated. Without the tool our own checks have to do.
pub(crate) fn validate(files: &[PathBuf]) -> Result<(), LowerError> {
    for file in files {
        let plain = plain(file)?;
        let run = Command::new("spirv-val")
            .args(["--target-env", environment(file)?])
            .arg(&*plain)
            .stdin(Stdio::null())
            .output();
        let output = match run {
            Ok(output) => output,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => {
                let help =
                    "make it run, or take it out of `PATH`: device code is then checked less";
                return Err(LowerError::Child {
                    message: format!("cannot run `spirv-val`: {error}"),
                    help: ending::start_help(&error, help),
                });
            }
        };
        if ending::lacked_memory(output.status, &output.stderr) {
            return Err(LowerError::Child {
                message: format!("`spirv-val` stopped {}", ending::how(output.status)),
                help: ending::MEMORY_HELP.into(),
            });
        }
        if !output.status.success() {
            let reason = format!(
                "{}{}",
                String::from_utf8_lossy(&output.stdout),
                String::from_utf8_lossy(&output.stderr)
            );
            return Err(LowerError::Invalid { path: file.clone(), reason });
        }
    }
    Ok(())
}
