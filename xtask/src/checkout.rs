//! This checkout: where it is, its set-up and its cargo.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::Result;

/// The folder with the workspace's `Cargo.toml`.
pub(crate) fn root() -> &'static Path {
    // Known from the build: cargo builds this tool anew in every checkout.
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest)
}

/// The folder for what set-up makes; git ignores it.
pub(crate) fn setup_folder() -> PathBuf {
    root().join(".crosscut")
}

/// The file of lines `NAME=VALUE` that `cargo crosscut` reads as well.
pub(crate) fn environment_file() -> PathBuf {
    setup_folder().join("env")
}

/// The same cargo that runs this tool, in the root, with the set-up's environment.
///
/// A variable that the user has set is left as it is.
pub(crate) fn cargo() -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = Command::new(cargo);
    command.current_dir(root()).stdin(Stdio::null());
    let file = std::fs::read_to_string(environment_file()).unwrap_or_default();
    for (name, value) in environment(&file) {
        if std::env::var_os(name).is_none() {
            command.env(name, value);
        }
    }
    command
}

fn environment(file: &str) -> impl Iterator<Item = (&str, &str)> {
    file.lines().filter_map(|line| line.split_once('='))
}

/// Runs `command` with its output on the terminal.
pub(crate) fn run(command: &mut Command) -> Result {
    let status = command.status().map_err(|error| cannot_start(command, &error))?;
    if status.success() { Ok(()) } else { Err(format!("`{}` failed: {status}", show(command))) }
}

/// Runs `command` and takes what it prints; what it said goes into the error if it fails.
pub(crate) fn output(command: &mut Command) -> Result<String> {
    let output = command.output().map_err(|error| cannot_start(command, &error))?;
    let stdout = String::from_utf8_lossy(&output.stdout).into_owned();
    if output.status.success() {
        return Ok(stdout);
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    Err(format!("`{}` failed: {}\n{stdout}{stderr}", show(command), output.status))
}

/// Starts `command` beside whatever comes next. What it gives ends when the command has: it prints what that printed.
pub(crate) fn beside(mut command: Command) -> impl FnOnce() -> Result {
    let running = std::thread::spawn(move || output(&mut command));
    move || {
        let printed = running.join().map_err(|_| "the thread that waited for it panicked")??;
        print!("{printed}");
        Ok(())
    }
}

/// A command as a user would type it.
pub(crate) fn show(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let program = program.file_name().unwrap_or(program.as_os_str());
    let words = std::iter::once(program).chain(command.get_args());
    words.map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" ")
}

fn cannot_start(command: &Command, error: &std::io::Error) -> String {
    format!("cannot start `{}`: {error}", show(command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_environment_file_is_read_line_by_line() {
        let found: Vec<_> = environment("A=1\n\nB=x=y\nnothing\n").collect();
        assert_eq!(found, [("A", "1"), ("B", "x=y")]);
    }

    #[test]
    fn a_command_beside_others_fails_when_it_is_asked_for() {
        let word = |word: &str| {
            let mut command = cargo();
            command.arg(word);
            beside(command)
        };
        let (good, bad) = (word("--version"), word("no-such-command"));
        assert_eq!(good(), Ok(()));
        let error = bad().unwrap_err();
        assert!(error.contains("cargo no-such-command` failed"), "{error}");
        assert!(error.contains("no such command"), "what it said is there: {error}");
    }

    #[test]
    fn a_command_is_shown_as_typed() {
        assert_eq!(
            show(Command::new("/usr/bin/cargo").args(["fmt", "--check"])),
            "cargo fmt --check"
        );
    }
}
