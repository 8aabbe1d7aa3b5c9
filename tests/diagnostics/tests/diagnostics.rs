//! Each program of `programs/` is built by the real `cargo crosscut`, debug and release, and what it
//! prints is compared with the file beside it, whole. `CROSSCUT_BLESS=1` writes those files;
//! `CROSSCUT_ONLY=heap` builds only programs with that in their names.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().expect("the checkout")
}

/// Builds the command, where `cargo crosscut` in the checkout builds it too.
fn cargo_crosscut(scratch: &Path) -> PathBuf {
    let target = scratch.parent().expect("a target directory");
    let status = Command::new(env!("CARGO"))
        .args(["build", "--quiet", "--release", "--package", "cargo-crosscut"])
        .env("CARGO_TARGET_DIR", target)
        .current_dir(root())
        .status()
        .expect("cargo runs");
    assert!(status.success(), "cargo-crosscut does not build");
    target.join("release/cargo-crosscut")
}

fn programs() -> Vec<String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    let mut names: Vec<String> = fs::read_dir(folder)
        .expect("the folder of programs")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned())
        .filter(|name| std::env::var("CROSSCUT_ONLY").map_or(true, |only| name.contains(&only)))
        .collect();
    names.sort();
    names
}

/// A package outside the workspace with every program as an example.
fn make_package(folder: &Path) {
    let manifest = format!(
        "[package]\nname = \"wrong\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n\
         [dependencies]\ncrosscut = {{ path = {:?} }}\n\n[workspace]\n",
        root().join("api/crosscut")
    );
    fs::write(folder.join("Cargo.toml"), manifest).expect("the manifest is written");
    fs::create_dir_all(folder.join("src")).expect("a folder");
    let library = Path::new(env!("CARGO_MANIFEST_DIR")).join("library/lib.rs");
    fs::copy(library, folder.join("src/lib.rs")).expect("the library is written");
    fs::create_dir_all(folder.join("examples")).expect("a folder");
    fs::copy(root().join("Cargo.lock"), folder.join("Cargo.lock")).expect("the lock file");
    for name in programs() {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("programs/{name}.rs"));
        fs::copy(source, folder.join(format!("examples/{name}.rs"))).expect("a program");
    }
}

/// What the user sees, from the first error on, without what differs from machine to machine.
fn told(stderr: &[u8], folder: &Path) -> String {
    let text = String::from_utf8_lossy(stderr).replace(&*folder.to_string_lossy(), "$DIR");
    let lines = text.lines().skip_while(|line| !line.starts_with("error"));
    let mut told: String = lines.map(|line| format!("{}\n", line.trim_end())).collect();
    while told.ends_with("\n\n") {
        told.pop();
    }
    told
}

struct Builds {
    command: PathBuf,
    folder: PathBuf,
    target: PathBuf,
}

impl Builds {
    /// Builds every program, and returns those that were told otherwise than expected.
    fn all(&self, profile: &str) -> Vec<String> {
        programs().iter().filter_map(|name| self.one(name, profile)).collect()
    }

    fn one(&self, name: &str, profile: &str) -> Option<String> {
        let mut build = Command::new(&self.command);
        build.args(["build", "--quiet", "--example", name]);
        if profile == "release" {
            build.arg("--release");
        }
        let output = build
            .current_dir(&self.folder)
            .env("CARGO_TARGET_DIR", &self.target)
            .env_remove("RUSTC_WRAPPER")
            .output()
            .expect("cargo-crosscut runs");
        assert!(!output.status.success(), "{name} builds, but no device can run it");
        let told = told(&output.stderr, &self.folder);
        let expected_file =
            Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("programs/{name}.{profile}.stderr"));
        if std::env::var_os("CROSSCUT_BLESS").is_some() {
            fs::write(&expected_file, &told).expect("the expectation is written");
        }
        let expected = fs::read_to_string(&expected_file).unwrap_or_default();
        (told != expected)
            .then(|| format!("--- {name} ({profile})\n{told}\n--- expected\n{expected}"))
    }
}

#[test]
fn every_program_that_a_device_cannot_run_is_refused_with_its_reason() {
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let command = cargo_crosscut(scratch);
    let package = tempfile::tempdir().expect("a folder");
    let folder = package.path().canonicalize().expect("its path");
    make_package(&folder);
    let build = Builds { command, folder, target: scratch.join("programs") };
    // Each profile has a lock of its own in the target directory: two builds go side by side.
    let wrong: Vec<String> = std::thread::scope(|scope| {
        let profiles = ["debug", "release"].map(|profile| scope.spawn(|| build.all(profile)));
        profiles.into_iter().flat_map(|profile| profile.join().expect("no panic")).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
