//! What the link step asks of the lowering process, and what it gets back.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// One program's device code, to be lowered.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Job {
    /// The crate being linked.
    pub crate_name: String,
    /// Bitcode files of the crates in the link, this crate's first.
    pub modules: Vec<PathBuf>,
    /// Archives whose members carry bitcode in a `.llvmbc` section: the standard library.
    /// They are opened only if symbols are missing without them.
    pub std_archives: Vec<PathBuf>,
    /// Symbols that were looked for in vain: they are not asked for again.
    #[serde(default)]
    pub searched: Vec<String>,
    /// Where results go. It exists.
    pub output_dir: PathBuf,
    /// The triple of the host program.
    pub host_triple: String,
    /// A pass whose result is to be written as text.
    pub dump_after: Option<String>,
    /// Where that text goes; `output_dir` if not given.
    pub dump_dir: Option<PathBuf>,
}

/// What became of a [`Job`].
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Outcome {
    /// There is no kernel in the program.
    NoKernels,
    /// Kernels call functions that no module defines, or whose definitions tell what a panic shows. Ask again with the modules that define them;
    /// those that nobody defines go into [`Job::searched`].
    NeedSymbols(Vec<String>),
    /// Images were made.
    Lowered(Lowered),
    /// The program does something that a device cannot do.
    Rejected(Vec<Diagnostic>),
}

/// The files a lowering left behind.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Lowered {
    /// A host object with the images, the table of host objects, and the constructor.
    pub object: PathBuf,
    /// The symbols of the host objects, in the order of their table.
    pub host_symbols: Vec<String>,
    /// The device code alone, for inspection.
    pub images: Vec<PathBuf>,
}

/// A problem in the user's program, told so that the user can act on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Diagnostic {
    /// What is wrong, in the user's terms. One line, no full stop.
    pub message: String,
    /// Where, as the user wrote it. `None` only where rustc gave no debug info.
    pub span: Option<SourceSpan>,
    /// What stands beside the place.
    pub label: Option<String>,
    /// How the kernel reaches it, and whatever else explains it.
    pub notes: Vec<String>,
    /// What to do instead.
    pub help: String,
}

/// A place in a source file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceSpan {
    /// The file, as the debug info names it: absolute, or relative to where rustc ran.
    pub file: PathBuf,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1; 0 if unknown.
    pub column: u32,
}
