//! How processes that worked for this one ended, and what the user can do where that was not their fault.

use std::io;
use std::process::ExitStatus;

/// What the user can do about files that cannot be read or written.
pub const FILES_HELP: &str = "check the permissions and the space of the target directory";

/// What the user can do where [`lacked_memory`].
pub const MEMORY_HELP: &str = "the system ended it, mostly for want of memory: build with `-j1`, or give \
                               the build more memory";

const PROCESSES_HELP: &str = "the system has no room for one more process: build with `-j1`, or raise the \
                              limits of processes, open files and memory";

/// By which signal or exit code: `by signal 9`, `with exit status: 3`.
#[must_use]
pub fn how(status: ExitStatus) -> String {
    match signal(status) {
        Some(signal) => format!("by signal {signal}"),
        None => format!("with {status}"),
    }
}

/// Whether a process, which wrote `stderr` and ended like this, had to end because the system would
/// not have it go on, or would not give it memory.
#[must_use]
pub fn lacked_memory(status: ExitStatus, stderr: &[u8]) -> bool {
    const KILL: i32 = 9;
    const TERMINATE: i32 = 15;
    // The last words of LLVM, of Rust, of C++ and of the loader.
    const LAST_WORDS: [&str; 4] =
        ["ERROR: out of memory", "memory allocation of", "std::bad_alloc", "failed to map segment"];
    let text = String::from_utf8_lossy(stderr);
    matches!(signal(status), Some(KILL | TERMINATE))
        || !status.success() && LAST_WORDS.iter().any(|words| text.contains(words))
}

/// What the user can do about a process that did not start: `absent` where its program is not there or
/// is none.
#[must_use]
pub fn start_help(error: &io::Error, absent: &str) -> String {
    match error.kind() {
        io::ErrorKind::NotFound
        | io::ErrorKind::PermissionDenied
        | io::ErrorKind::NotADirectory => absent.into(),
        _ => PROCESSES_HELP.into(),
    }
}

#[cfg(unix)]
fn signal(status: ExitStatus) -> Option<i32> {
    std::os::unix::process::ExitStatusExt::signal(&status)
}

#[cfg(not(unix))]
fn signal(_: ExitStatus) -> Option<i32> {
    None
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::process::ExitStatusExt as _;

    use super::*;

    #[test]
    fn signals_and_last_words_tell_whether_memory_was_lacking() {
        let (killed, aborted) = (ExitStatus::from_raw(9), ExitStatus::from_raw(6));
        let refused = ExitStatus::from_raw(1 << 8);
        assert!(lacked_memory(killed, b""));
        assert!(lacked_memory(aborted, b"LLVM ERROR: out of memory\nAllocation failed\n"));
        assert!(lacked_memory(refused, b"rustc-LLVM ERROR: out of memory\n"));
        assert!(!lacked_memory(aborted, b"unable to legalize instruction\n"));
        assert!(!lacked_memory(ExitStatus::from_raw(0), b"out of memory\n"));
        assert_eq!(
            (how(killed), how(refused)),
            ("by signal 9".into(), "with exit status: 1".into())
        );
    }

    #[test]
    fn a_system_without_room_for_a_process_is_told_apart_from_a_program_that_is_not_there() {
        const TRY_AGAIN: i32 = 11;
        const NO_FILE: i32 = 2;
        let help = |code| start_help(&io::Error::from_raw_os_error(code), "install it");
        assert!(help(TRY_AGAIN).starts_with("the system has no room for one more process: "));
        assert_eq!(help(NO_FILE), "install it");
    }
}
