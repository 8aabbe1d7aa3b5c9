//! Why a crate could not be compiled for a device, or its record not be read.

use std::io;
use std::path::PathBuf;
use std::process::Output;

use crosscut_lower::ending;

/// The second pass did not work.
#[derive(Debug, thiserror::Error)]
pub enum SecondPassError {
    /// What it makes could not be written.
    #[error("cannot compile `{crate_name}` for a device: {error}")]
    Files {
        /// The crate.
        crate_name: String,
        /// What the system said.
        error: io::Error,
    },
    /// rustc could not be run.
    #[error("cannot compile `{crate_name}` for a device: cannot run `{rustc}`: {error}")]
    Start {
        /// The crate.
        crate_name: String,
        /// The compiler.
        rustc: String,
        /// What the system said.
        error: io::Error,
    },
    /// rustc refused.
    #[error("rustc cannot compile `{crate_name}` for a device\n{messages}")]
    Refused {
        /// The crate.
        crate_name: String,
        /// What rustc said.
        messages: String,
    },
    /// rustc did not come to an end of its own.
    #[error("rustc stopped {how} while it compiled `{crate_name}` for a device\n{messages}")]
    Stopped {
        /// The crate.
        crate_name: String,
        /// By which signal or exit code.
        how: String,
        /// What rustc said until then.
        messages: String,
        /// Whether the system is to blame, mostly for want of memory.
        lacked_memory: bool,
    },
}

impl SecondPassError {
    /// How rustc ended, which did not do what it was asked.
    pub(super) fn refused(crate_name: String, output: &Output) -> Self {
        const REFUSED: i32 = 1;
        let messages = String::from_utf8_lossy(&output.stderr).into_owned();
        let lacked_memory = ending::lacked_memory(output.status, &output.stderr);
        if output.status.code() == Some(REFUSED) && !lacked_memory && !messages.is_empty() {
            return Self::Refused { crate_name, messages };
        }
        Self::Stopped { crate_name, how: ending::how(output.status), messages, lacked_memory }
    }

    /// What the user can do.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            Self::Files { .. } => ending::FILES_HELP.into(),
            // rustc names the system's error where a file is the matter, and has read the same source
            // for the host.
            Self::Refused { messages, .. } if messages.contains("(os error ") => {
                ending::FILES_HELP.into()
            }
            Self::Start { error, .. } => ending::start_help(
                error,
                "install Rust, or correct `RUSTC` or the rustc wrapper that is set",
            ),
            Self::Stopped { lacked_memory: true, .. } => ending::MEMORY_HELP.into(),
            Self::Refused { .. } | Self::Stopped { .. } => {
                "report this with the source: rustc took it for the host".into()
            }
        }
    }
}

/// A record cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum RecordError {
    /// The system does not give it.
    #[error("cannot read `{}`, which `cargo crosscut` has written: {error}", file.display())]
    Files {
        /// The record.
        file: PathBuf,
        /// What the system said.
        error: io::Error,
    },
    /// It is no record.
    #[error("cannot read `{}`, which `cargo crosscut` has written: {error}", file.display())]
    Form {
        /// The record.
        file: PathBuf,
        /// What is wrong with it.
        error: serde_json::Error,
    },
    /// It is not there, and was: somebody removed it, or compiled the crate without us.
    #[error("`cargo crosscut` has not written down how `{}` was compiled", library.display())]
    Missing {
        /// What rustc made of the crate.
        library: PathBuf,
    },
}

impl RecordError {
    /// What the user can do.
    #[must_use]
    pub fn help(&self) -> &'static str {
        match self {
            Self::Files { error, .. } if error.kind() != io::ErrorKind::NotFound => {
                ending::FILES_HELP
            }
            _ => "run `cargo crosscut clean` and build again",
        }
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::fs;
    use std::path::Path;

    use super::super::Record;
    use super::*;
    use crate::tools::Tools;

    /// What comes of a second pass in `folder` whose rustc is a shell that runs `script`.
    fn told(folder: &Path, script: &str, rustc: &str) -> (String, String) {
        let record = Record {
            crate_name: "kernels".into(),
            reaches_device: true,
            rustc: rustc.into(),
            arguments: vec!["-c".into(), script.into(), "sh".into()],
            folder: Path::new("/").into(),
            variables: Default::default(),
            bitcode: folder.join("kernels.bc"),
            externs: Vec::new(),
            target: None,
            merges_crates: false,
        };
        let error = record.compile().unwrap_err();
        (error.to_string(), error.help())
    }

    const REPORT: &str = "report this with the source: rustc took it for the host";

    #[test]
    fn a_rustc_that_refuses_or_crashes_is_to_be_reported_and_says_how_it_ended() {
        let folder = tempfile::tempdir().unwrap();
        for (script, message) in [
            (
                "echo 'error: no' >&2; exit 1",
                "rustc cannot compile `kernels` for a device\nerror: no\n",
            ),
            (
                "echo 'error: internal' >&2; exit 101",
                "rustc stopped with exit status: 101 while it compiled `kernels` for a \
                 device\nerror: internal\n",
            ),
            (
                "exit 1",
                "rustc stopped with exit status: 1 while it compiled `kernels` for a device\n",
            ),
            (
                "kill -SEGV $$",
                "rustc stopped by signal 11 while it compiled `kernels` for a device\n",
            ),
        ] {
            assert_eq!(told(folder.path(), script, "sh"), (message.into(), REPORT.into()));
        }
    }

    #[test]
    fn a_rustc_that_the_system_ended_or_gave_no_memory_is_not() {
        let folder = tempfile::tempdir().unwrap();
        for script in ["kill -KILL $$", "echo 'rustc-LLVM ERROR: out of memory' >&2; exit 1"] {
            let (message, help) = told(folder.path(), script, "sh");
            assert!(message.starts_with("rustc stopped "), "{message}");
            assert_eq!(help, ending::MEMORY_HELP, "{script}");
        }
    }

    #[test]
    fn files_that_cannot_be_written_and_compilers_that_are_not_there_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a file");
        fs::write(&file, "").unwrap();
        let (message, help) = told(&file, "exit 0", "sh");
        assert_eq!(message, "cannot compile `kernels` for a device: Not a directory (os error 20)");
        assert_eq!(help, ending::FILES_HELP);
        let full =
            "echo 'error: could not copy: No space left on device (os error 28)' >&2; exit 1";
        assert_eq!(told(folder.path(), full, "sh").1, ending::FILES_HELP);
        let (message, help) = told(folder.path(), "exit 0", "/does/not/exist");
        assert_eq!(
            message,
            "cannot compile `kernels` for a device: cannot run `/does/not/exist`: No such file or \
             directory (os error 2)"
        );
        assert_eq!(help, "install Rust, or correct `RUSTC` or the rustc wrapper that is set");
    }

    #[test]
    fn a_record_is_missed_where_all_libraries_have_one_and_nowhere_else() {
        let folder = tempfile::tempdir().unwrap();
        let deps = folder.path().join("debug/deps");
        let of_output = |name: &str| Record::of_output(&deps.join(name));
        for name in ["libkernels-1.rlib", "libkernels-1.rmeta", "libderive-1.so"] {
            assert_eq!(of_output(name).unwrap(), None, "{name}: nothing of this is ours");
        }
        Tools::in_target_directory(folder.path()).prepare().unwrap();
        assert_eq!(of_output("libderive-1.so").unwrap(), None, "it may be a procedural macro");
        for name in ["libkernels-1.rlib", "libkernels-1.rmeta"] {
            let missing = of_output(name).unwrap_err();
            let library = deps.join(name);
            assert_eq!(
                missing.to_string(),
                format!(
                    "`cargo crosscut` has not written down how `{}` was compiled",
                    library.display()
                )
            );
            assert_eq!(missing.help(), "run `cargo crosscut clean` and build again");
        }
    }

    #[test]
    fn a_record_that_is_not_there_is_told_apart_from_one_that_cannot_be_read() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kernels.json");
        assert_eq!(Record::read(&file).unwrap(), None);
        fs::write(&file, "{").unwrap();
        let broken = Record::read(&file).unwrap_err();
        assert_eq!(broken.help(), "run `cargo crosscut clean` and build again");
        fs::remove_file(&file).unwrap();
        fs::create_dir(&file).unwrap();
        let unreadable = Record::read(&file).unwrap_err();
        assert_eq!(
            unreadable.to_string(),
            format!(
                "cannot read `{}`, which `cargo crosscut` has written: Is a directory (os error 21)",
                file.display()
            )
        );
        assert_eq!(unreadable.help(), ending::FILES_HELP);
    }
}
