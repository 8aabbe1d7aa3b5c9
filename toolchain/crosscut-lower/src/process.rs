//! The two sides of the lowering process.

use std::fs;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::{Command, ExitCode, Stdio};

use serde::{Deserialize, Serialize};

use crate::dump::PROGRESS_FILE;
use crate::ending::{self, FILES_HELP};
use crate::job::{Job, Outcome};
use crate::{LowerError, names, pipeline};

/// What the child ends with if it could not leave an answer; its standard error then says why.
const NO_ANSWER: u8 = 75;

/// What the child writes.
#[derive(Serialize, Deserialize)]
enum Answer {
    Outcome(Outcome),
    Failed { message: String, help: String },
}

/// Has a child lower `job`. `child` is a command that ends in [`child_main`]; the job's file is
/// appended as its only argument.
///
/// # Errors
/// What the child could not do, or how it died.
pub fn lower(job: &Job, mut child: Command) -> Result<Outcome, LowerError> {
    let job_file = job.output_dir.join("job.json");
    let answer_file = job.output_dir.join("answer.json");
    let progress_file = job.output_dir.join(PROGRESS_FILE);
    // Answers of an earlier run must not be taken for this one's.
    let _ = fs::remove_file(&answer_file);
    let _ = fs::remove_file(&progress_file);
    let text = serde_json::to_vec_pretty(job).map_err(|e| LowerError::Process(e.to_string()))?;
    fs::write(&job_file, text)
        .map_err(|source| LowerError::Write { path: job_file.clone(), source })?;

    let output = child.arg(&job_file).stdin(Stdio::null()).output().map_err(LowerError::Start)?;
    match fs::read(&answer_file) {
        Ok(answer) => {
            return match serde_json::from_slice(&answer) {
                Ok(Answer::Outcome(outcome)) => Ok(outcome),
                Ok(Answer::Failed { message, help }) => Err(LowerError::Child { message, help }),
                Err(error) => Err(LowerError::Process(error.to_string())),
            };
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(source) => return Err(LowerError::Read { path: answer_file, source }),
    }
    if output.status.code() == Some(NO_ANSWER.into()) {
        let message = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        return Err(LowerError::Child { message, help: FILES_HELP.to_owned() });
    }
    let what = match fs::read_to_string(&progress_file) {
        Ok(entry) => format!("kernel `{}`", names::kernel(entry.trim())),
        Err(_) => "the program".into(),
    };
    Err(LowerError::Crash {
        what,
        how: ending::how(output.status),
        output: last_lines(&output.stderr),
        lacked_memory: ending::lacked_memory(output.status, &output.stderr),
    })
}

/// The last few lines of what a dead child wrote: LLVM says there what it did not like.
fn last_lines(stderr: &[u8]) -> String {
    const MOST: usize = 12;
    let text = String::from_utf8_lossy(stderr);
    let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
    let kept = &lines[lines.len().saturating_sub(MOST)..];
    if kept.is_empty() { String::new() } else { format!(":\n{}", kept.join("\n")) }
}

/// The child: lowers the job whose file is `job_file`, and leaves the answer beside it.
#[must_use]
pub fn child_main(job_file: &Path) -> ExitCode {
    match answer(job_file) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to be told if standard error is gone.
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::from(NO_ANSWER)
        }
    }
}

fn answer(job_file: &Path) -> Result<(), LowerError> {
    let text = fs::read(job_file)
        .map_err(|source| LowerError::Read { path: job_file.to_owned(), source })?;
    let job: Job =
        serde_json::from_slice(&text).map_err(|error| LowerError::Process(error.to_string()))?;
    let answer = match pipeline::run(&job) {
        Ok(outcome) => Answer::Outcome(outcome),
        Err(error) => Answer::Failed { message: error.to_string(), help: error.help() },
    };
    let text = serde_json::to_vec_pretty(&answer)
        .map_err(|error| LowerError::Process(error.to_string()))?;
    // A part of an answer must not be taken for one.
    let (path, part) = (job.output_dir.join("answer.json"), job.output_dir.join("answer.part"));
    fs::write(&part, text)
        .and_then(|()| fs::rename(&part, &path))
        .map_err(|source| LowerError::Write { path, source })
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn job(folder: &Path) -> Job {
        Job {
            crate_name: "p".into(),
            modules: Vec::new(),
            std_archives: Vec::new(),
            searched: Vec::new(),
            output_dir: folder.to_owned(),
            host_triple: "x86_64-unknown-linux-gnu".into(),
            dump_after: None,
            dump_dir: None,
        }
    }

    /// A child that does what a shell script says; the job's file is its first argument.
    fn child(script: &str) -> Command {
        let mut child = Command::new("sh");
        child.args(["-c", script, "sh"]);
        child
    }

    #[test]
    fn a_kernel_that_kills_llvm_is_named_with_the_signal_and_the_last_words() {
        let folder = tempfile::tempdir().unwrap();
        let script = "cd \"$(dirname \"$1\")\"; printf _RNvCsgbTIekHar5R_1p5saxpy > kernel-at-work; \
                      echo 'unable to legalize instruction' >&2; kill -SEGV $$";
        let error = lower(&job(folder.path()), child(script)).unwrap_err();
        assert_eq!(
            error.to_string(),
            "LLVM stopped by signal 11 while it compiled kernel `p::saxpy` for a device:\n\
             unable to legalize instruction"
        );
        assert!(error.help().starts_with("this is a limit of Crosscut or LLVM"));
    }

    #[test]
    fn a_child_that_ends_without_an_answer_is_a_crash_of_the_program() {
        let folder = tempfile::tempdir().unwrap();
        let error = lower(&job(folder.path()), child("exit 3")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "LLVM stopped with exit status: 3 while it compiled the program for a device"
        );
    }

    #[test]
    fn a_child_that_the_system_ended_or_that_lacked_memory_is_no_limit_of_llvm() {
        let folder = tempfile::tempdir().unwrap();
        for script in [
            "kill -KILL $$",
            "kill -TERM $$",
            "echo 'LLVM ERROR: out of memory' >&2; kill -ABRT $$",
            "echo 'memory allocation of 64 bytes failed' >&2; kill -ABRT $$",
        ] {
            let error = lower(&job(folder.path()), child(script)).unwrap_err();
            assert!(error.to_string().starts_with("LLVM stopped by signal "), "{error}");
            assert_eq!(
                error.help(),
                "the system ended it, mostly for want of memory: build with `-j1`, or give the \
                 build more memory",
                "{script}"
            );
        }
    }

    #[test]
    fn a_child_that_cannot_be_started_is_no_bug() {
        let folder = tempfile::tempdir().unwrap();
        let error = lower(&job(folder.path()), Command::new("/does/not/exist")).unwrap_err();
        assert_eq!(
            error.to_string(),
            "cannot start a process for LLVM: No such file or directory (os error 2)"
        );
        assert_eq!(
            error.help(),
            "build again; if that does not help, install `cargo-crosscut` again"
        );
    }

    #[test]
    fn an_answer_that_cannot_be_read_is_no_crash() {
        let folder = tempfile::tempdir().unwrap();
        let answer = folder.path().join("answer.json");
        let script = "mkdir \"$(dirname \"$1\")/answer.json\"";
        let error = lower(&job(folder.path()), child(script)).unwrap_err();
        assert!(error.to_string().starts_with(&format!("cannot read {}: ", answer.display())));
        assert_eq!(error.help(), FILES_HELP);
    }

    #[test]
    fn an_answer_of_an_earlier_run_is_not_taken_for_this_ones() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("answer.json"), "{\"Outcome\":\"NoKernels\"}").unwrap();
        assert!(lower(&job(folder.path()), child("exit 0")).is_err());
    }

    #[test]
    fn what_keeps_a_child_from_answering_is_told_as_the_child_tells_it() {
        let folder = tempfile::tempdir().unwrap();
        let script = format!("echo 'cannot write x: no space' >&2; exit {NO_ANSWER}");
        let error = lower(&job(folder.path()), child(&script)).unwrap_err();
        assert_eq!(error.to_string(), "cannot write x: no space");
        assert_eq!(error.help(), FILES_HELP);
    }

    #[test]
    fn an_answer_that_is_no_answer_is_told_apart_from_a_crash() {
        let folder = tempfile::tempdir().unwrap();
        let error =
            lower(&job(folder.path()), child("echo '{' > \"$(dirname \"$1\")/answer.json\""))
                .unwrap_err();
        assert!(error.to_string().starts_with("the lowering process gave no answer: "), "{error}");
    }
}
