//! The same under the name `crosscut`: `crosscut ls` reads better where there is nothing to build.

use std::process::ExitCode;

fn main() -> ExitCode {
    cargo_crosscut::main()
}
