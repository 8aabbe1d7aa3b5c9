//! Turns a program's device bitcode into device images; the only crate that talks to LLVM.
//!
//! LLVM's back ends end the process on input they do not like, so the work is done by a child:
//!
//! 1. [`lower`] writes the [`Job`](job::Job) to a file and runs the command it is given with it.
//! 2. The child's [`child_main`] loads LLVM, runs the [`PASSES`], and writes the
//!    [`Outcome`](job::Outcome).
//! 3. If the child dies, [`lower`] names the kernel it was working on.
//!
//! Invariants:
//! - LLVM is loaded at run time; nothing of it is needed to build this crate.
//! - LLVM's verifier has seen the module after every pass; SPIR-V is checked before it is embedded.
//! - Files are written under the job's output directory only.

mod check;
mod dump;
pub mod ending;
mod error;
mod host_object;
mod ir;
pub mod job;
mod link;
mod llvm;
mod names;
mod passes;
mod pipeline;
mod process;
mod providers;
mod validate;

pub use error::LowerError;
pub use llvm::{LIBRARY_VARIABLE, LLVM_MAJOR, LoadError, find_llvm};
pub use passes::{PASSES, is_pass};
pub use process::{child_main, lower};
