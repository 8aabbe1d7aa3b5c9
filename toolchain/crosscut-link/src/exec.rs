//! Running another program in place of this one, or for it.

use std::io;
use std::process::{Command, ExitCode, ExitStatus};

/// Becomes `command`: its exit status, its signals and its files are then this process's own.
/// Returns only if it cannot be started.
#[cfg(unix)]
pub(crate) fn replace(mut command: Command) -> io::Error {
    use std::os::unix::process::CommandExt;
    command.exec()
}

/// What this process ends with if `status` is how its child ended: 128 and the signal, as shells
/// say it, for a child that was killed.
pub(crate) fn exit_code(status: ExitStatus) -> ExitCode {
    if let Some(code) = status.code() {
        return ExitCode::from(u8::try_from(code).unwrap_or(1));
    }
    #[cfg(unix)]
    if let Some(signal) = std::os::unix::process::ExitStatusExt::signal(&status) {
        return ExitCode::from(128 + u8::try_from(signal).unwrap_or(0));
    }
    ExitCode::FAILURE
}
