//! `cargo crosscut`: cargo, with device code.
//!
//! One program in four roles, told apart by the name it was started by (see
//! [`crosscut_link::tools`]):
//!
//! 1. the command: runs cargo with our rustc wrapper and a target directory of its own;
//! 2. in place of rustc: compiles each crate for the host, and where wanted for devices;
//! 3. in place of the linker: makes the device images and links them in;
//! 4. the lowering: LLVM in a process of its own, because it may end it.
//!
//! Two commands are not cargo's: `ls` lists devices, `doctor` looks whether all is there, both by the
//! runtime that programs use. This crate is above compile time and run time, and the only one that
//! sees both; neither sees the other.

mod command;
mod doctor;
mod environment;
mod help;
mod ls;
mod options;
mod patience;
mod report;
mod wrapper_setting;

use std::env;
use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use crosscut_link::tools::Role;
use crosscut_link::{linker, wrapper};

/// What both binaries are: `cargo-crosscut`, which cargo finds, and `crosscut`.
#[must_use]
pub fn main() -> ExitCode {
    let words: Vec<OsString> = env::args_os().collect();
    let name = words.first().map(Path::new).unwrap_or(Path::new(""));
    match Role::of_program(name) {
        Some(Role::RustcWrapper) => wrapper::run(&words),
        Some(Role::Linker) => linker::run(&words),
        Some(Role::Lower) => {
            let job = words.get(1).map(Path::new).unwrap_or(Path::new(""));
            crosscut_lower::child_main(job)
        }
        None => {
            env_logger::init();
            command::run(words.get(1..).unwrap_or_default())
        }
    }
}
