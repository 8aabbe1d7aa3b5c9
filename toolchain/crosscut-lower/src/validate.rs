//! Asks `spirv-val` about finished SPIR-V, where it is installed.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::LowerError;

/// Has every file validated. Without the tool our own checks have to do.
pub(crate) fn validate(files: &[PathBuf]) -> Result<(), LowerError> {
    for file in files {
        let run = Command::new("spirv-val")
            .args(["--target-env", "opencl2.2"])
            .arg(file)
            .stdin(Stdio::null())
            .output();
        let output = match run {
            Ok(output) => output,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(()),
            Err(error) => {
                return Err(LowerError::Invalid { path: file.clone(), reason: error.to_string() });
            }
        };
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
