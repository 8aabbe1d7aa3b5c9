//! The chores of this repository, each in the module of its name.
//!
//! - `setup`: installs what is missing, or says what to install.
//! - `demo`: runs every example on every device found.
//! - `test`: everything that must pass before a change lands; CI runs this and nothing else.
//! - `soak`: the long forms of tests that `test` runs briefly.
//! - `differential`: random kernels, on every device what they are on the host.
//! - `tidy`: the architecture and the habits that a machine can check.
//! - `bless`: accepts what the tools print now as what tests expect.
//!
//! Invariants:
//! - Nothing is written outside the checkout, except packages of the system by its own manager.
//! - No question is asked: what may not be done is printed, and the command fails.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command talks to the terminal, and nothing else uses this crate"
)]

mod bless;
mod checkout;
mod demo;
mod differential;
mod setup;
mod soak;
mod steps;
mod test;
mod tidy;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// What a chore answers: on failure, what to tell the user.
type Result<T = ()> = std::result::Result<T, String>;

/// The chores of the Crosscut repository.
///
/// In a fresh clone, `cargo xtask demo` shows what Crosscut does, and `cargo xtask test` whether all of
/// it works.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Arguments {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Installs what is missing: LLVM 22's library, spirv-tools, the loaders of OpenCL and Level Zero, an
    /// OpenCL device; builds `cargo crosscut`.
    ///
    /// Plain `cargo build` and `cargo run` need none of it. Packages come from Debian's apt-get, as
    /// root or by sudo without a password; where that cannot be, the commands are printed instead.
    /// Intel's CPU runtime for OpenCL goes from PyPI into `.crosscut` in this checkout, which git
    /// ignores. Running it again is quick and changes nothing.
    Setup {
        /// Also DPC++'s run time, from PyPI into `.crosscut`: the benchmarks set Crosscut beside it.
        #[arg(long)]
        peers: bool,
    },
    /// Sets up, then runs every example on every device found and prints a table.
    Demo,
    /// Sets up, then runs all that must pass before a change lands: format, lints, tests, examples.
    Test,
    /// Sets up, then runs for an hour or two what `test` runs for seconds: 2,000 random kernels, 50
    /// rounds of every way to end a process, threads for minutes, and more.
    Soak,
    /// Makes random kernels and compares every device with the host, debug and release.
    ///
    /// A kernel that differs is shrunk and printed. `--kernels N --seed N` choose how many and which,
    /// `--only K` takes one of them; `--help` after `--` has the rest.
    Differential {
        /// What the tester is told.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<String>,
    },
    /// Checks dependency edges, documents against crates, file lengths, exceptions without reasons.
    Tidy,
    /// Rewrites the expected outputs of text tests; read the difference before you commit it.
    Bless,
}

fn main() -> ExitCode {
    let result = match Arguments::parse().chore {
        Chore::Setup { peers } => {
            setup::run().and_then(|()| if peers { setup::peers() } else { Ok(()) })
        }
        Chore::Demo => demo::run(),
        Chore::Test => test::run(),
        Chore::Soak => soak::run(),
        Chore::Differential { arguments } => differential::run(&arguments),
        Chore::Tidy => tidy::run(),
        Chore::Bless => bless::run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::FAILURE
        }
    }
}
