//! A cargo workspace in a temporary folder, and the two ways to build it.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// The workspace; dropping it removes it.
pub(crate) struct Workspace {
    folder: tempfile::TempDir,
}

impl Workspace {
    /// With these files, by path and text.
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        let workspace = Self { folder: tempfile::tempdir().unwrap() };
        for (path, text) in files {
            workspace.write(path, text);
        }
        workspace
    }

    /// One package `app` whose program is `source`.
    pub(crate) fn program(source: &str) -> Self {
        Self::new(&[("Cargo.toml", &manifest("app", "")), ("src/main.rs", source)])
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    pub(crate) fn write(&self, path: &str, text: &str) {
        let file = self.path(path);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    /// Plain cargo.
    pub(crate) fn cargo(&self, arguments: &[&str]) -> Command {
        self.command(env!("CARGO").as_ref(), arguments)
    }

    /// The command under test, as cargo starts it.
    pub(crate) fn crosscut(&self, arguments: &[&str]) -> Command {
        self.crosscut_at(env!("CARGO_BIN_EXE_cargo-crosscut").as_ref(), arguments)
    }

    /// A copy of it.
    pub(crate) fn crosscut_at(&self, executable: &Path, arguments: &[&str]) -> Command {
        let mut command = self.command(executable, &["crosscut"]);
        command.args(arguments);
        command
    }

    fn command(&self, program: &Path, arguments: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(arguments).current_dir(self.folder.path()).env("CARGO", env!("CARGO"));
        // What the cargo that runs this test was told is not meant for the one it tests.
        for name in [
            "CARGO_TARGET_DIR",
            "CARGO_BUILD_BUILD_DIR",
            "RUSTC_WRAPPER",
            "RUSTFLAGS",
            "CARGO_ENCODED_RUSTFLAGS",
            "CARGO_TERM_COLOR",
            "RUSTC",
        ] {
            command.env_remove(name);
        }
        command
    }

    /// All files below a folder whose paths contain `part`.
    pub(crate) fn find(&self, part: &str) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut open = vec![self.folder.path().to_path_buf()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    open.push(path);
                } else if path.to_str().unwrap().contains(part) {
                    found.push(path);
                }
            }
        }
        found.sort();
        found
    }
}

pub(crate) fn manifest(name: &str, rest: &str) -> String {
    format!("[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n{rest}\n")
}

/// Runs it and demands that it works.
pub(crate) fn works(command: &mut Command) -> Output {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{command:?}\n{}", text(&output.stderr));
    output
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}
