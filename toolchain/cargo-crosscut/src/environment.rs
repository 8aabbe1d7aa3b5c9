//! The file `.crosscut/env` of a workspace: variables that its set-up found to be needed.
//!
//! It comes with a checkout, so it is not trusted: it may say where drivers and LLVM are, which only
//! concerns what the user builds and runs, and nothing that changes what cargo itself does.

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::Path;
use std::process::Command;

use crate::options::Misuse;

/// What the file may set.
const KNOWN: &[&str] = &["OCL_ICD_VENDORS", "OCL_ICD_FILENAMES", crosscut_lower::LIBRARY_VARIABLE];

/// Sets the variables of the file that are not set already.
pub(crate) fn apply(
    command: &mut Command,
    workspace: &Path,
    is_set: impl Fn(&OsStr) -> bool,
) -> Result<(), Misuse> {
    let file = workspace.join(".crosscut/env");
    let refused = |message: String| Misuse {
        message,
        help: format!(
            "let it have lines `NAME=VALUE` with names among {}; set anything else yourself",
            KNOWN.join(", ")
        ),
    };
    let text = match fs::read_to_string(&file) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(refused(format!("cannot read `{}`: {error}", file.display()))),
    };
    for (number, line) in (1..).zip(text.lines().map(str::trim)) {
        if line.is_empty() || line.starts_with('#') {
            continue;
        }
        // A zero byte in a value would keep cargo from being started at all.
        let variable =
            line.split_once('=').filter(|(name, _)| KNOWN.contains(name) && !line.contains('\0'));
        let Some((name, value)) = variable else {
            return Err(refused(format!("`{}` has a wrong line {number}", file.display())));
        };
        if !is_set(name.as_ref()) {
            command.env(name, value);
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What a file sets if `OCL_ICD_FILENAMES` is set already, or why it is refused.
    fn set_by(text: &[u8]) -> Result<Vec<(String, String)>, String> {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".crosscut")).unwrap();
        fs::write(folder.path().join(".crosscut/env"), text).unwrap();
        let mut command = Command::new("cargo");
        apply(&mut command, folder.path(), |name| name == "OCL_ICD_FILENAMES")
            .map_err(|misuse| misuse.message)?;
        let text = |text: &OsStr| text.to_str().unwrap().to_owned();
        Ok(command.get_envs().map(|(name, value)| (text(name), text(value.unwrap()))).collect())
    }

    #[test]
    fn variables_are_set_where_they_are_not() {
        let set = set_by(b"# set-up\nOCL_ICD_FILENAMES=1\n\nOCL_ICD_VENDORS=a=b c\n").unwrap();
        assert_eq!(set, [("OCL_ICD_VENDORS".into(), "a=b c".into())]);
    }

    #[test]
    fn a_workspace_without_the_file_sets_nothing() {
        let folder = tempfile::tempdir().unwrap();
        apply(&mut Command::new("cargo"), folder.path(), |_| false).unwrap();
    }

    #[test]
    fn what_would_change_cargo_or_keep_it_from_starting_is_refused() {
        for text in [
            &b"LD_PRELOAD=./evil.so\n"[..],
            b"# x\nRUSTC_WRAPPER=./evil\n",
            b"OCL_ICD_VENDORS=a\0b\n",
            b"OCL_ICD_VENDORS\n",
            b"=x\n",
            b"\xff=x\n",
        ] {
            let refusal = set_by(text).unwrap_err();
            assert!(refusal.contains(".crosscut/env"), "{refusal}");
        }
    }
}
