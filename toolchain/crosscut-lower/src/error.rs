//! Why a lowering did not come to a result.

use std::path::PathBuf;

use crate::ending;
use crate::llvm::{LlvmError, LoadError};

/// What SPIR-V's universal limits allow a function: a word of what is captured is one each.
pub(crate) const MOST_PARAMETERS: usize = 255;

/// Why a lowering did not come to a result. Problems in the user's program are not among them: see
/// [`Diagnostic`](crate::job::Diagnostic).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LowerError {
    /// LLVM cannot be used.
    #[error(transparent)]
    Load(#[from] LoadError),
    /// A file cannot be read.
    #[error("cannot read {}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's word.
        source: std::io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {}: {source}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's word.
        source: std::io::Error,
    },
    /// Bitcode that LLVM does not take.
    #[error("{origin} holds no usable bitcode: {reason}")]
    Bitcode {
        /// The file, or the archive and its member.
        origin: String,
        /// LLVM's word.
        reason: String,
    },
    /// A kernel that cannot be lowered.
    #[error("kernel `{kernel}` cannot be compiled for a device: {reason}")]
    Kernel {
        /// The kernel.
        kernel: String,
        /// What stopped it.
        reason: String,
    },
    /// A kernel with more parameters than SPIR-V has.
    #[error(
        "kernel `{kernel}` needs {parameters} parameters, and a device takes {MOST_PARAMETERS}: {}",
        needs(*captured, *globals)
    )]
    Parameters {
        /// The kernel.
        kernel: String,
        /// How many it would have.
        parameters: usize,
        /// The bytes of its closure.
        captured: u32,
        /// How many of them are device globals.
        globals: usize,
    },
    /// LLVM ended the process.
    #[error("LLVM stopped {how} while it compiled {what} for a device{output}")]
    Crash {
        /// The kernel at work, or the step.
        what: String,
        /// By which signal or exit code.
        how: String,
        /// What it wrote last.
        output: String,
        /// Whether the system is to blame, mostly for want of memory.
        lacked_memory: bool,
    },
    /// A pass left a module that LLVM's verifier does not take.
    #[error("pass `{pass}` broke the module: {reason}")]
    Broken {
        /// The pass.
        pass: &'static str,
        /// The verifier's word.
        reason: String,
    },
    /// SPIR-V that `spirv-val` does not take.
    #[error("{} is not valid SPIR-V: {reason}", path.display())]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The validator's word.
        reason: String,
    },
    /// Linking did not come to an end.
    #[error("linking device code did not come to an end; wanted were {symbols:?}")]
    Endless {
        /// What was still wanted.
        symbols: Vec<String>,
    },
    /// LLVM's word about something we asked of it.
    #[error("LLVM: {0}")]
    Llvm(String),
    /// The system did not start a child, or a copy of one.
    #[error("cannot start a process for LLVM: {0}")]
    Start(std::io::Error),
    /// The child's answer, or its job, makes no sense.
    #[error("the lowering process gave no answer: {0}")]
    Process(String),
    /// An error that says itself what to do: mostly the child's own, as it put it.
    #[error("{message}")]
    Child {
        /// What went wrong.
        message: String,
        /// What to do.
        help: String,
    },
}

impl From<LlvmError> for LowerError {
    fn from(error: LlvmError) -> Self {
        Self::Llvm(error.0)
    }
}

impl LowerError {
    /// What the user can do.
    #[must_use]
    pub fn help(&self) -> String {
        match self {
            Self::Load(error) => error.help(),
            Self::Child { help, .. } => help.clone(),
            Self::Read { .. } | Self::Write { .. } => ending::FILES_HELP.into(),
            Self::Start(error) => ending::start_help(
                error,
                "build again; if that does not help, install `cargo-crosscut` again",
            ),
            Self::Crash { lacked_memory: true, .. } => ending::MEMORY_HELP.into(),
            Self::Bitcode { .. } => {
                "run `cargo crosscut clean` and build again; the compiler and LLVM must be of one major \
                 version"
                    .into()
            }
            // A device global takes one parameter, and so do eight bytes of the closure.
            Self::Parameters { captured, globals, .. } if *globals > *captured as usize / 8 => {
                "make one device global of several: of an array, or of a struct".into()
            }
            Self::Parameters { .. } => {
                "upload a large value to a buffer and pass that, or make it a `static` or a device global"
                    .into()
            }
            Self::Kernel { .. } | Self::Crash { .. } => {
                "this is a limit of Crosscut or LLVM, not a mistake of yours: write the kernel \
                 differently, and please report it with the files that `--dump-after optimise` writes"
                    .into()
            }
            _ => "this is a bug in Crosscut: please report it with the files that `--dump-after \
                  link` writes"
                .into(),
        }
    }
}

fn needs(captured: u32, globals: usize) -> String {
    match globals {
        0 => format!("its closure captures {captured} bytes"),
        1 => format!("its closure captures {captured} bytes, and it names a device global"),
        _ => {
            format!("it names {globals} device globals, and its closure captures {captured} bytes")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn too_many_parameters_are_told_by_what_takes_them() {
        let told = |captured, globals| {
            let parameters = captured as usize / 8 + globals;
            let kernel = "k".to_owned();
            let error = LowerError::Parameters { kernel, parameters, captured, globals };
            format!("{error}; {}", error.help())
        };
        assert_eq!(
            told(16, 300),
            "kernel `k` needs 302 parameters, and a device takes 255: it names 300 device globals, \
             and its closure captures 16 bytes; \
             make one device global of several: of an array, or of a struct"
        );
        assert_eq!(
            told(4000, 1),
            "kernel `k` needs 501 parameters, and a device takes 255: its closure captures 4000 \
             bytes, and it names a device global; \
             upload a large value to a buffer and pass that, or make it a `static` or a device global"
        );
    }
}
