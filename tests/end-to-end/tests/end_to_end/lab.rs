//! Where programs are built: two workspaces outside the repository, one target directory for both,
//! and the command under test.
//!
//! Sources are kept from one run of the tests to the next and only changed where they differ, so
//! that cargo has little to do. Tests must not change them.

use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

/// A workspace of the fixture.
#[derive(Clone, Copy)]
pub(crate) enum Workspace {
    /// A library, and a program with an example, tests and a library it loads.
    Outside,
    /// Small programs that do one thing each.
    Programs,
}

impl Workspace {
    fn name(self) -> &'static str {
        match self {
            Self::Outside => "outside",
            Self::Programs => "programs",
        }
    }
}

/// The command under test and where it works.
pub(crate) struct Lab {
    command: PathBuf,
    folder: PathBuf,
}

/// The lab; `None` if there is no OpenCL device and the environment does not require one.
#[allow(clippy::print_stderr, reason = "a test that could not run says so")]
pub(crate) fn lab() -> Option<&'static Lab> {
    static LAB: OnceLock<Result<Lab, String>> = OnceLock::new();
    match LAB.get_or_init(Lab::set_up) {
        Ok(lab) => Some(lab),
        Err(absence) => {
            let required = std::env::var_os("CROSSCUT_REQUIRE_OPENCL").is_some_and(|v| v == "1");
            assert!(!required, "CROSSCUT_REQUIRE_OPENCL=1, but {absence}");
            eprintln!("not run: {absence}");
            None
        }
    }
}

/// The repository.
fn repository() -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    folder.canonicalize().expect("the repository")
}

/// The target directory that this test was built in.
fn target() -> &'static Path {
    let tmp = Path::new(env!("CARGO_TARGET_TMPDIR"));
    tmp.parent().unwrap_or(tmp)
}

impl Lab {
    fn set_up() -> Result<Self, String> {
        let folder = folder().expect("a folder for the workspaces");
        let lab = Self { command: build_command(), folder };
        for workspace in [Workspace::Outside, Workspace::Programs] {
            lab.lay_out(workspace).expect("the workspace's files");
        }
        let build = lab.crosscut(Workspace::Programs, &["build", "--quiet", "-p", "probe"]).run();
        if build.code != Some(0) {
            assert!(build.stderr.contains("is needed to make device code"), "{}", build.stderr);
            return Err(build.stderr);
        }
        let chosen = lab.probe("debug", "chosen").device("opencl:cpu").run();
        if chosen.code == Some(0) { Ok(lab) } else { Err(chosen.stderr) }
    }

    fn lay_out(&self, workspace: Workspace) -> io::Result<()> {
        let fixture = Path::new(env!("CARGO_MANIFEST_DIR")).join("fixture").join(workspace.name());
        let place = self.source(workspace);
        copy(&fixture, &place, &repository().display().to_string())?;
        // The versions that the repository is tested with, which are here already.
        write(&place.join("Cargo.lock"), &fs::read(repository().join("Cargo.lock"))?)
    }

    /// A workspace's folder.
    pub(crate) fn source(&self, workspace: Workspace) -> PathBuf {
        self.folder.join(workspace.name())
    }

    /// A file that `cargo crosscut` made.
    pub(crate) fn made(&self, path: &str) -> PathBuf {
        built().join("crosscut").join(path)
    }

    /// A file that plain cargo made.
    pub(crate) fn built_by_cargo(&self, path: &str) -> PathBuf {
        built().join(path)
    }

    /// `cargo crosscut` with these arguments.
    pub(crate) fn crosscut(&self, workspace: Workspace, arguments: &[&str]) -> Run {
        let mut run = self.run(&self.command, workspace);
        run.command.arg("crosscut");
        run.cargo_arguments(arguments)
    }

    /// Plain cargo with these arguments.
    pub(crate) fn cargo(&self, workspace: Workspace, arguments: &[&str]) -> Run {
        self.run(env!("CARGO").as_ref(), workspace).cargo_arguments(arguments)
    }

    /// The program `probe` of this profile, as the file it is.
    pub(crate) fn probe(&self, profile: &str, what: &str) -> Run {
        self.program(&self.made(profile).join("probe"), &[what])
    }

    /// A program, run as the file it is.
    pub(crate) fn program(&self, file: &Path, arguments: &[&str]) -> Run {
        let mut run = self.run(file, Workspace::Programs);
        run.command.args(arguments);
        run
    }

    fn run(&self, program: &Path, workspace: Workspace) -> Run {
        let mut command = Command::new(program);
        command.current_dir(self.source(workspace)).stdin(Stdio::null());
        // What the cargo that runs this test was told is not meant for those it tests.
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            let of_cargo = text.starts_with("CARGO") && text != "CARGO_HOME";
            let of_rustc = text.starts_with("RUSTC") || text.starts_with("RUSTFLAGS");
            let of_ours = text.starts_with("CROSSCUT_") && text != "CROSSCUT_LLVM";
            if of_cargo || of_rustc || of_ours || text == "ONEAPI_DEVICE_SELECTOR" {
                command.env_remove(&name);
            }
        }
        command.env("CARGO", env!("CARGO"));
        if std::env::var_os("OCL_ICD_VENDORS").is_none()
            && let Ok(text) = fs::read_to_string(repository().join(".crosscut/env"))
        {
            command.envs(text.lines().filter_map(|line| line.split_once('=')));
        }
        Run { command }
    }
}

/// A process to be run.
pub(crate) struct Run {
    pub(crate) command: Command,
}

/// What came of it.
#[derive(Debug)]
pub(crate) struct Done {
    pub(crate) code: Option<i32>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

impl Run {
    fn cargo_arguments(mut self, arguments: &[&str]) -> Self {
        let split = arguments.iter().position(|word| *word == "--").unwrap_or(arguments.len());
        self.command.args(&arguments[..split]).arg("--offline");
        self.command.arg("--target-dir").arg(built()).args(&arguments[split..]);
        self
    }

    /// With this `CROSSCUT_DEVICE`.
    pub(crate) fn device(self, selector: &str) -> Self {
        self.with("CROSSCUT_DEVICE", selector)
    }

    /// With this variable.
    pub(crate) fn with(mut self, name: &str, value: impl AsRef<std::ffi::OsStr>) -> Self {
        self.command.env(name, value);
        self
    }

    pub(crate) fn run(mut self) -> Done {
        let Output { status, stdout, stderr } = self.command.output().expect("a process");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        // Whether this machine has a loader and drivers of Level Zero is not what is asked here.
        let of_level_zero = |line: &&str| line.starts_with("    level_zero: no device: ");
        let stderr = text(stderr);
        let stderr = stderr.split_inclusive('\n').filter(|line| !of_level_zero(line)).collect();
        Done { code: status.code(), stdout: text(stdout), stderr }
    }

    /// Runs it, demands that it works, gives its output.
    pub(crate) fn works(self) -> String {
        let shown = format!("{:?}", self.command);
        let done = self.run();
        assert_eq!(done.code, Some(0), "{shown}\n{}{}", done.stdout, done.stderr);
        done.stdout
    }
}

/// Where both workspaces are built.
fn built() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("end-to-end")
}

/// The same folder in every run, outside of the repository, and nobody else's.
fn folder() -> io::Result<PathBuf> {
    let mut hasher = DefaultHasher::new();
    env!("CARGO_TARGET_TMPDIR").hash(&mut hasher);
    let folder = std::env::temp_dir().join(format!("crosscut-{:016x}", hasher.finish()));
    match fs::DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
        _ => {}
    }
    let owner = fs::symlink_metadata(&folder)?.uid();
    assert_eq!(owner, fs::metadata(env!("CARGO_TARGET_TMPDIR"))?.uid(), "{}", folder.display());
    Ok(folder)
}

/// `cargo crosscut` as the repository's alias builds it.
fn build_command() -> PathBuf {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["build", "--release", "-p", "cargo-crosscut", "--message-format=json"]);
    cargo.arg("--target-dir").arg(target()).current_dir(repository()).stderr(Stdio::inherit());
    let output = cargo.output().expect("cargo");
    assert!(output.status.success(), "cargo-crosscut does not build");
    let messages = String::from_utf8(output.stdout).expect("text");
    messages
        .lines()
        .filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok())
        .filter(|message| message["target"]["name"] == "cargo-crosscut")
        .find_map(|message| message["executable"].as_str().map(PathBuf::from))
        .expect("an executable")
}

/// Makes `to` what `from` is; files `manifest.toml` become `Cargo.toml`, so that the repository's own
/// cargo does not take them for packages of its.
fn copy(from: &Path, to: &Path, repository: &str) -> io::Result<()> {
    fs::create_dir_all(to)?;
    let mut wanted = vec!["Cargo.lock".into()];
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let is_manifest = entry.file_name() == "manifest.toml";
        let name = if is_manifest { "Cargo.toml".into() } else { entry.file_name() };
        let place = to.join(&name);
        wanted.push(name);
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &place, repository)?;
        } else {
            let text = fs::read_to_string(entry.path())?.replace("REPOSITORY", repository);
            write(&place, text.as_bytes())?;
        }
    }
    for entry in fs::read_dir(to)? {
        let entry = entry?;
        if wanted.contains(&entry.file_name()) {
            continue;
        }
        match entry.file_type()?.is_dir() {
            true => fs::remove_dir_all(entry.path())?,
            false => fs::remove_file(entry.path())?,
        }
    }
    Ok(())
}

/// Writes a file, unless it holds that already: cargo goes by its time.
fn write(file: &Path, bytes: &[u8]) -> io::Result<()> {
    if fs::read(file).is_ok_and(|known| known == bytes) {
        return Ok(());
    }
    fs::write(file, bytes)
}
