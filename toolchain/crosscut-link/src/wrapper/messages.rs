//! rustc's messages on their way to cargo.
//!
//! If the link step refuses a program, rustc says that its linker failed and shows the command line.
//! That is not what is wrong: in its place go the diagnostics that the link step left behind.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, ExitStatus, Stdio};

use crate::diagnostic::{self, Form};

/// Runs rustc, whose linker may leave diagnostics in `diagnostics`.
pub(super) fn run(rustc: &mut Command, form: Form, diagnostics: &Path) -> io::Result<ExitStatus> {
    if form == Form::Text {
        // A person's terminal: rustc must see it, so nothing can stand in between.
        let status = rustc.status()?;
        tell(form, diagnostics);
        return Ok(status);
    }
    let mut child = rustc.stderr(Stdio::piped()).spawn()?;
    if let Some(stderr) = child.stderr.take() {
        let mut stderr = BufReader::new(stderr);
        let mut line = Vec::new();
        while stderr.read_until(b'\n', &mut line)? != 0 {
            if !(is_link_failure(&line) && tell(form, diagnostics)) {
                let mut out = io::stderr().lock();
                // Nobody is left to be told if standard error is gone; rustc goes on.
                let _ = out.write_all(&line).and_then(|()| out.flush());
            }
            line.clear();
        }
    }
    let status = child.wait();
    // What rustc says of its linker may change.
    tell(form, diagnostics);
    status
}

/// Prints what the link step left; whether there was anything.
fn tell(form: Form, diagnostics: &Path) -> bool {
    let found = diagnostic::take(diagnostics);
    for diagnostic in &found {
        diagnostic::print(form, diagnostic);
    }
    !found.is_empty()
}

/// Whether this is rustc's message that its linker failed.
fn is_link_failure(line: &[u8]) -> bool {
    // A quick look first: rustc's messages are many and this one is rare.
    const MARK: &[u8] = b"linking with `";
    if !line.windows(MARK.len()).any(|window| window == MARK) {
        return false;
    }
    let Ok(message) = serde_json::from_slice::<serde_json::Value>(line) else { return false };
    message["level"] == "error"
        && message["message"].as_str().is_some_and(|text| text.starts_with("linking with `"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_link_step_left_is_told_whatever_rustc_says_of_it() {
        for form in [Form::Text, Form::Json] {
            for line in
                ["{\"level\":\"error\",\"message\":\"linking with `cc` failed\"}", "", "new words"]
            {
                let folder = tempfile::tempdir().unwrap();
                let file = folder.path().join("diagnostics");
                diagnostic::leave(&file, &[diagnostic::without_place("no", "yes")]).unwrap();
                let mut rustc = Command::new("sh");
                rustc.args(["-c", "printf '%s' \"$1\" >&2; exit 3", "sh", line]);
                assert_eq!(run(&mut rustc, form, &file).unwrap().code(), Some(3));
                assert!(!file.exists(), "{form:?} {line:?}");
            }
        }
    }

    #[test]
    fn only_the_error_that_the_linker_failed_counts() {
        let error = br#"{"level":"error","message":"linking with `t/cc` failed: exit status: 1"}"#;
        assert!(is_link_failure(error));
        for other in [
            &br#"{"level":"warning","message":"linking with `t/cc` was odd"}"#[..],
            br#"{"level":"error","message":"no: linking with `cc`"}"#,
            b"linking with `cc` failed",
            b"",
        ] {
            assert!(!is_link_failure(other), "{}", String::from_utf8_lossy(other));
        }
    }
}
