//! Writes the module after a pass, and says which kernel is at work.

use std::fs;
use std::path::PathBuf;

use crate::LowerError;
use crate::job::Job;

/// The file that names the kernel at work: if LLVM ends the process, it is the one to blame.
pub(crate) const PROGRESS_FILE: &str = "kernel-at-work";

/// Where dumps go, if any are wanted.
pub(crate) struct Dump {
    after: Option<String>,
    directory: PathBuf,
    progress: PathBuf,
}

impl Dump {
    pub(crate) fn new(job: &Job) -> Self {
        Self {
            after: job.dump_after.clone(),
            directory: job.dump_dir.clone().unwrap_or_else(|| job.output_dir.clone()),
            progress: job.output_dir.join(PROGRESS_FILE),
        }
    }

    /// Notes that work on the kernel with this entry begins.
    pub(crate) fn begin(&self, entry: &str) -> Result<(), LowerError> {
        fs::write(&self.progress, entry)
            .map_err(|source| LowerError::Write { path: self.progress.clone(), source })
    }

    /// Writes the text that `text` makes if `pass` is the one asked for.
    ///
    /// A dump that cannot be written is no reason to fail a build; it is simply not there.
    pub(crate) fn write(&self, pass: &str, kernel: Option<&str>, text: impl FnOnce() -> String) {
        if self.after.as_deref() == Some(pass) {
            let name = match kernel {
                Some(kernel) => format!("{pass}.{kernel}.ll"),
                None => format!("{pass}.ll"),
            };
            let _ = fs::write(self.directory.join(name), text());
        }
    }
}
