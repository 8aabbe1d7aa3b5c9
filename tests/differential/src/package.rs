//! The package of some generated kernels: written, built, run.

use std::fmt::Write as _;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::generate::Kernel;

/// How a package is compiled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Unoptimised, with overflow checks.
    Debug,
    /// Optimised, without them.
    Release,
}

impl Profile {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Debug, Self::Release];

    fn folder(self) -> &'static str {
        match self {
            Self::Debug => "debug",
            Self::Release => "release",
        }
    }
}

/// What a kernel came to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The same answers everywhere.
    Same,
    /// It was built, and then differed, failed, crashed or took too long.
    Differs(String),
    /// It was not built.
    NotBuilt(String),
}

/// Where packages are made.
#[derive(Clone, Debug)]
pub struct Workshop {
    repository: PathBuf,
    folder: PathBuf,
    command: PathBuf,
}

/// Virtual memory of a compiler, in KiB: generated code that makes one swell must not take the machine.
const BUILD_MEMORY: u64 = 8 << 20;
/// Virtual memory of a run, in KiB: drivers reserve more than they use.
const RUN_MEMORY: u64 = 16 << 20;
const BUILD_TIME: Duration = Duration::from_secs(900);
/// What one kernel may take, on all devices, before it counts as one that never ends.
const KERNEL_TIME: Duration = Duration::from_secs(300);

impl Workshop {
    /// A workshop in `folder`, with `cargo crosscut` of the repository.
    ///
    /// # Errors
    /// The command does not build, or a file cannot be written.
    pub fn open(repository: &Path, target: &Path, folder: &Path) -> Result<Self, String> {
        let status = Command::new(cargo())
            .args(["build", "--quiet", "--release", "--package", "cargo-crosscut"])
            .arg("--target-dir")
            .arg(target)
            .current_dir(repository)
            .stdin(Stdio::null())
            .status()
            .map_err(|error| format!("cargo cannot be run: {error}"))?;
        if !status.success() {
            return Err("cargo-crosscut does not build".into());
        }
        let it = Self {
            repository: repository.to_owned(),
            folder: folder.to_owned(),
            command: target.join("release/cargo-crosscut"),
        };
        it.lay_out().map_err(|error| format!("{}: {error}", folder.display()))?;
        Ok(it)
    }

    fn lay_out(&self) -> io::Result<()> {
        fs::create_dir_all(self.folder.join("src"))?;
        let manifest = format!(
            "[package]\nname = \"generated\"\nversion = \"0.0.0\"\nedition = \"2024\"\n\n[workspace]\n\n\
             [dependencies]\ncrosscut = {{ path = {:?} }}\n\n[profile.dev]\ndebug = 0\nincremental = false\n\n\
             # Unoptimised crates lend their generic functions to one another, and then device code is made of\n\
             # all of them, round by round: most of the time, and the same for every kernel.\n\
             [profile.dev.package.\"*\"]\nopt-level = 2\n",
            self.repository.join("api/crosscut")
        );
        fs::write(self.folder.join("Cargo.toml"), manifest)?;
        fs::write(self.folder.join("src/main.rs"), include_str!("../template/main.rs"))?;
        fs::write(self.folder.join("src/support.rs"), include_str!("../template/support.rs"))?;
        // The versions that the repository is tested with, which are here already.
        fs::copy(self.repository.join("Cargo.lock"), self.folder.join("Cargo.lock"))?;
        Ok(())
    }

    /// Builds and runs kernels; the verdicts are in their order.
    ///
    /// # Errors
    /// Files cannot be written or processes started.
    pub fn judge(&self, kernels: &[Kernel], profile: Profile) -> Result<Vec<Verdict>, String> {
        match self.build(kernels, profile)? {
            Ok(()) => self.run(kernels.len(), profile),
            Err(error) if kernels.len() == 1 => Ok(vec![Verdict::NotBuilt(error)]),
            // One of them cannot be built: which?
            Err(_) => {
                let (some, others) = kernels.split_at(kernels.len() / 2);
                let mut verdicts = self.judge(some, profile)?;
                verdicts.extend(self.judge(others, profile)?);
                Ok(verdicts)
            }
        }
    }

    fn build(&self, kernels: &[Kernel], profile: Profile) -> Result<Result<(), String>, String> {
        fs::write(self.folder.join("src/kernels.rs"), text(kernels))
            .map_err(|error| format!("{}: {error}", self.folder.display()))?;
        let mut command = limited(BUILD_MEMORY, &self.command);
        command.args(["crosscut", "build", "--quiet", "--offline"]);
        command.arg("--target-dir").arg(self.folder.join("target")).current_dir(&self.folder);
        if profile == Profile::Release {
            command.arg("--release");
        }
        command.env("CARGO", cargo()).stdout(Stdio::null());
        let log = self.folder.join("build.log");
        let file = fs::File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
        let mut child = command.stderr(file).spawn().map_err(|error| error.to_string())?;
        let deadline = Instant::now() + BUILD_TIME;
        loop {
            if let Some(status) = child.try_wait().map_err(|error| error.to_string())? {
                let told = fs::read_to_string(&log).unwrap_or_default();
                return Ok(if status.success() { Ok(()) } else { Err(told) });
            }
            if Instant::now() > deadline {
                // It may be gone already, which is as good.
                let _ = child.kill();
                let _ = child.wait();
                return Ok(Err(format!("the build took longer than {} s", BUILD_TIME.as_secs())));
            }
            std::thread::sleep(Duration::from_millis(50));
        }
    }

    fn run(&self, count: usize, profile: Profile) -> Result<Vec<Verdict>, String> {
        let mut verdicts: Vec<Option<Verdict>> = vec![None; count];
        // Each round ends at the end or at a kernel that takes the process with it.
        for _ in 0..=count {
            let done = self.round(&mut verdicts, profile)?;
            if done {
                break;
            }
        }
        let missing = || Verdict::Differs("it was never run".into());
        Ok(verdicts.into_iter().map(|verdict| verdict.unwrap_or_else(missing)).collect())
    }

    /// Runs what has no verdict yet; false if the process did not come to its end.
    fn round(&self, verdicts: &mut [Option<Verdict>], profile: Profile) -> Result<bool, String> {
        use std::io::BufRead as _;
        let known = verdicts.iter().enumerate().filter(|(_, verdict)| verdict.is_some());
        let binary = self.folder.join("target/crosscut").join(profile.folder()).join("generated");
        let mut command = limited(RUN_MEMORY, &binary);
        command.args(known.map(|(number, _)| number.to_string()));
        // Every program is built from its SPIR-V: what a cache holds was judged before.
        command.env("CROSSCUT_CACHE", "0").env_remove("CROSSCUT_DEVICE");
        command.stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().map_err(|error| error.to_string())?;
        let output = child.stdout.take().ok_or("no output")?;
        let (sender, lines) = std::sync::mpsc::channel();
        let reader = std::thread::spawn(move || {
            for line in io::BufReader::new(output).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let mut begun = None;
        let mut told = None;
        let mut devices = 0;
        while let Ok(line) = lines.recv_timeout(KERNEL_TIME) {
            let mut words = line.splitn(3, ' ');
            let (word, number) = (words.next(), words.next().and_then(|n| n.parse::<usize>().ok()));
            let rest = words.next().unwrap_or_default();
            match (word, number) {
                (Some("devices"), Some(count)) => devices = count,
                (Some("begin"), Some(number)) => begun = Some(number),
                (Some("same"), Some(number)) => {
                    verdicts[number] = Some(Verdict::Same);
                    begun = None;
                }
                (Some("differs"), Some(number)) => {
                    verdicts[number] = Some(Verdict::Differs(rest.to_owned()));
                    begun = None;
                }
                (Some("end"), _) => told = Some(()),
                _ => {}
            }
        }
        let _ = child.kill();
        let status = child.wait().map_err(|error| error.to_string())?;
        // The process is gone, so its output has ended.
        let _ = reader.join();
        if devices < 2 && (told.is_some() || begun.is_some()) {
            return Err("no device but the host was found: run `cargo xtask setup`".into());
        }
        if let Some(number) = begun {
            let how = format!("the process ended while it ran, or it never ended: {status}");
            verdicts[number] = Some(Verdict::Differs(how));
            return Ok(false);
        }
        if told.is_none() {
            return Err(format!("the program ended early: {status}"));
        }
        Ok(true)
    }
}

/// The cargo that runs this, so that the toolchain is the same.
fn cargo() -> std::ffi::OsString {
    std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into())
}

/// A command with a limit of virtual memory.
fn limited(kibibytes: u64, program: &Path) -> Command {
    let mut command = Command::new("sh");
    command.arg("-c").arg(format!("ulimit -v {kibibytes}; exec \"$0\" \"$@\"")).arg(program);
    command.stdin(Stdio::null());
    // What the cargo around this was told is not meant for the one inside.
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        let of_cargo = text.starts_with("CARGO") && text != "CARGO_HOME";
        if of_cargo || text.starts_with("RUSTC") || text.starts_with("RUSTFLAGS") {
            command.env_remove(&name);
        }
    }
    command
}

/// The module of all kernels, and the table of them.
fn text(kernels: &[Kernel]) -> String {
    let mut text = String::from("use crate::{Case, Plain, launch, launch_groups, support};\n\n");
    let mut table = String::new();
    for (number, kernel) in kernels.iter().enumerate() {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "pub mod k{number} {{\n{}}}\n", kernel.source);
        let calls = if kernel.has_globals {
            format!("start: k{number}::start, launch: k{number}::launch")
        } else {
            format!(
                "start: || Box::new(Plain(k{number}::kernel)), \
                 launch: |q, inputs, mask| launch(q, inputs, mask, k{number}::kernel)"
            )
        };
        let _ = writeln!(
            table,
            "    Case {{ number: {number}, {calls}, \
             group: {}, ulps: {:?} }},",
            if kernel.grouped {
                format!(
                    "Some((k{number}::stage, |q, inputs| launch_groups(q, inputs, k{number}::stage)))"
                )
            } else {
                "None".to_owned()
            },
            kernel.ulps
        );
    }
    let _ = writeln!(text, "pub static CASES: &[Case] = &[\n{table}];");
    text
}
