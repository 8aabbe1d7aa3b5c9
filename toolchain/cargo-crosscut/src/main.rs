//! `cargo crosscut`.

use std::process::ExitCode;

fn main() -> ExitCode {
    cargo_crosscut::main()
}
