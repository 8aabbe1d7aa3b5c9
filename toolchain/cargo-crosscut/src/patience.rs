//! Running a program that may never end.

use std::io::{self, Read as _};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

/// How often is looked whether the program has ended.
const LOOK_EVERY: Duration = Duration::from_millis(10);

/// How a program ended, and what it printed; `None` if it had not after `limit`: it is killed then.
pub(crate) fn output(
    command: &mut Command,
    limit: Duration,
) -> io::Result<Option<(ExitStatus, Vec<u8>)>> {
    let deadline = Instant::now() + limit;
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn()?;
    let (sender, printed) = mpsc::channel();
    if let Some(mut stdout) = child.stdout.take() {
        // Not joined: where the program left others behind, they may keep the pipe open.
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            let read = stdout.read_to_end(&mut bytes).map(|_| bytes);
            // Nobody listens once it took too long.
            let _ = sender.send(read);
        });
    }
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        std::thread::sleep(LOOK_EVERY);
    };
    match printed.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
        Ok(bytes) => Ok(Some((status, bytes?))),
        Err(_) => Ok(None),
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn sh(script: &str, limit: Duration) -> Option<(ExitStatus, Vec<u8>)> {
        output(Command::new("sh").args(["-c", script]), limit).unwrap()
    }

    #[test]
    fn what_a_program_prints_and_how_it_ends_is_told() {
        let (status, printed) = sh("echo yes; exit 3", Duration::from_secs(60)).unwrap();
        assert_eq!((status.code(), printed.as_slice()), (Some(3), b"yes\n".as_slice()));
        // More than a pipe holds.
        let (status, printed) =
            sh("yes | head -c 300000", Duration::from_secs(60)).expect("it ends");
        assert!(status.success() && printed.len() == 300_000);
    }

    #[test]
    fn a_program_that_does_not_end_is_killed() {
        let started = Instant::now();
        assert!(sh("exec sleep 600", Duration::from_millis(200)).is_none());
        assert!(started.elapsed() < Duration::from_secs(60));
    }
}
