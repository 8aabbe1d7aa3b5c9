//! Running the real linker.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus};

use super::Failure;
use super::arguments::LinkArguments;
use crate::diagnostic::{self, Form};
use crate::{exec, response};

/// Becomes the linker, with the arguments as rustc gave them.
pub(super) fn unchanged(linker: &OsStr, words: &[OsString]) -> ExitCode {
    let mut command = Command::new(linker);
    command.args(words);
    let error = exec::replace(command);
    let (message, help) = cannot_start(linker, &error);
    diagnostic::print_error(Form::Text, &message, help);
    ExitCode::FAILURE
}

/// Runs the linker with one object more.
///
/// It goes first: what it refers to is then found in the libraries behind it. `arguments_file` is
/// for a command line that is too long for the system.
pub(super) fn with_object(
    linker: &OsStr,
    arguments: &LinkArguments,
    object: &Path,
    arguments_file: &Path,
) -> Result<(), Failure> {
    let status = match start(linker, object, &arguments.words) {
        Err(error) if error.kind() == io::ErrorKind::ArgumentListTooLong => {
            fs::write(arguments_file, response::file_for_linker(&arguments.words)).and_then(|()| {
                let mut word = OsString::from("@");
                word.push(arguments_file);
                start(linker, object, &[word])
            })
        }
        other => other,
    };
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::Linker(exec::exit_code(status))),
        Err(error) => {
            let (message, help) = cannot_start(linker, &error);
            Err(Failure::new(&message, help))
        }
    }
}

fn start(linker: &OsStr, object: &Path, words: &[OsString]) -> io::Result<ExitStatus> {
    Command::new(linker).arg(object).args(words).status()
}

fn cannot_start(linker: &OsStr, error: &io::Error) -> (String, &'static str) {
    let message = format!("cannot run the linker `{}`: {error}", linker.to_string_lossy());
    (message, "install a C compiler, which rustc links with, or name one by `-C linker`")
}
