//! `crosscut doctor`: looks whether everything is there that building and running needs.
//!
//! Drivers are asked by another process: one that crashes or never answers is a finding, not the end.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use crosscut_lower::{LLVM_MAJOR, find_llvm};
use crosscut_runtime::ProgramCache;

use crate::command::target_directory;
use crate::options::{Misuse, Request};
use crate::patience;
use crate::report::{Backend, Report};

const HELP: &str = "\
Look whether everything is there that building device code and running it needs

Usage: cargo crosscut doctor
       crosscut doctor

What is right is a line `ok: ...`; what is not is an error with what to do about it, and the exit
code is then 1. A note is about something that nothing depends on.
";

/// How long drivers may take to list their devices: a slow one compiles something first.
const PATIENCE: Duration = Duration::from_secs(60);

/// What was looked at.
enum Finding {
    Right(String),
    Note { message: String, help: String },
    Wrong { message: String, help: String },
}

fn wrong(message: impl Into<String>, help: impl Into<String>) -> Finding {
    Finding::Wrong { message: message.into(), help: help.into() }
}

/// Reads what follows `doctor`.
pub(crate) fn read(words: &[OsString]) -> Result<Request, Misuse> {
    match words.first().map(|word| word.to_string_lossy()) {
        None => Ok(Request::Doctor),
        Some(word) if word == "--help" || word == "-h" => Ok(Request::HelpFor(HELP)),
        Some(word) => Err(Misuse {
            message: format!("`doctor` has no option `{word}`"),
            help: "say `cargo crosscut doctor`".into(),
        }),
    }
}

/// Looks, and tells.
pub(crate) fn run() -> ExitCode {
    let checks: [fn() -> Vec<Finding>; 6] =
        [rustc, llvm, linker, drivers, cache_folder, target_folder];
    let mut wrongs = 0;
    for check in checks {
        // Each as it is found: a driver may take its time.
        for finding in check() {
            wrongs += usize::from(matches!(finding, Finding::Wrong { .. }));
            tell(&finding);
        }
    }
    let verdict = match wrongs {
        0 => "all is well".to_owned(),
        1 => "1 error".to_owned(),
        more => format!("{more} errors"),
    };
    line(&verdict);
    if wrongs == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn tell(finding: &Finding) {
    let (level, message, help) = match finding {
        Finding::Right(message) => ("ok", message, None),
        Finding::Note { message, help } => ("note", message, Some(help)),
        Finding::Wrong { message, help } => ("error", message, Some(help)),
    };
    line(&format!("{level}: {message}"));
    if let Some(help) = help {
        line(&format!("  = help: {help}"));
    }
}

fn line(text: &str) {
    // Whoever closed the output does not want to know.
    let _ = writeln!(std::io::stdout(), "{text}");
}

/// What a program prints, or why it cannot be run.
fn output(program: impl Into<OsString>, arguments: &[&str]) -> Result<String, String> {
    let program = program.into();
    let run = Command::new(&program).args(arguments).stdin(Stdio::null()).output();
    let name = program.to_string_lossy();
    match run {
        Ok(output) if output.status.success() => {
            Ok(String::from_utf8_lossy(&output.stdout).into_owned())
        }
        Ok(output) => Err(format!("`{name}` ended with {}", output.status)),
        Err(error) => Err(format!("cannot run `{name}`: {error}")),
    }
}

/// Its version must be new enough, and its LLVM the one that we read bitcode with.
fn rustc() -> Vec<Finding> {
    const INSTALL: &str =
        "install stable Rust from https://rustup.rs, or run `rustup update stable`";
    let text = match output(env::var_os("RUSTC").unwrap_or("rustc".into()), &["-vV"]) {
        Ok(text) => text,
        Err(message) => return vec![wrong(message, INSTALL)],
    };
    vec![judge_rustc(&text).unwrap_or_else(|message| wrong(message, INSTALL))]
}

fn judge_rustc(text: &str) -> Result<Finding, String> {
    let field = |name: &str| {
        text.lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
            .ok_or_else(|| format!("`rustc -vV` says nothing of its {name}"))
    };
    let (release, llvm) = (field("release")?, field("LLVM version")?);
    let needed = env!("CARGO_PKG_RUST_VERSION");
    if numbers(release) < numbers(needed) {
        return Err(format!("rustc {release} is older than {needed}"));
    }
    if numbers(llvm).first() != Some(&LLVM_MAJOR) {
        return Err(format!(
            "rustc {release} has LLVM {llvm}; this version of Crosscut goes with LLVM {LLVM_MAJOR}"
        ));
    }
    Ok(Finding::Right(format!("rustc {release} with LLVM {llvm}")))
}

/// The numbers of a version, without what follows them: `1.95.0-beta.2` is 1, 95, 0.
fn numbers(version: &str) -> Vec<u32> {
    let plain = version.split(['-', '+', ' ']).next().unwrap_or_default();
    plain.split('.').map_while(|part| part.parse().ok()).collect()
}

fn llvm() -> Vec<Finding> {
    vec![match find_llvm() {
        Ok((library, version)) => Finding::Right(format!("LLVM {version}: {library}")),
        Err(error) => wrong(error.to_string(), error.help()),
    }]
}

fn linker() -> Vec<Finding> {
    vec![match output("cc", &["--version"]) {
        Ok(text) => Finding::Right(format!("linker: {}", text.lines().next().unwrap_or("cc"))),
        Err(message) => wrong(message, "install a C compiler, which links (Debian: `gcc`)"),
    }]
}

fn drivers() -> Vec<Finding> {
    let executable = match env::current_exe() {
        Ok(executable) => executable,
        Err(error) => {
            return vec![wrong(format!("cannot find the running program: {error}"), "mount /proc")];
        }
    };
    let text = match listed(&executable) {
        Ok(text) => text,
        Err((message, what)) => {
            let help = format!(
                "a driver {what} while its devices were listed: update it, or remove its .icd file"
            );
            let mut findings = icd_files();
            findings.push(wrong(message, help));
            return findings;
        }
    };
    let Ok(report) = serde_json::from_str::<Report>(&text) else {
        return vec![wrong("`crosscut ls --json` cannot be read", "report this as a bug")];
    };
    let mut findings = icd_files();
    let mut takes_code = false;
    for backend in &report.backends {
        takes_code |= tell_backend(backend, &mut findings);
    }
    if let Some(error) = report.selector.and_then(|selector| selector.error) {
        findings.push(wrong(error, "unset the variable, or see `cargo crosscut ls`"));
    }
    if !takes_code {
        findings.push(wrong(
            "no device takes SPIR-V: programs run on the host CPU only",
            "install a driver that does (a CPU will do: `cargo xtask setup` in Crosscut's checkout fetches Intel's, and `export \"$(cat .crosscut/env)\"` there lets programs find it)",
        ));
    }
    findings
}

/// What `ls --json` of another process prints, or how that ended and what its driver did.
fn listed(executable: &Path) -> Result<String, (String, &'static str)> {
    let ended = patience::output(Command::new(executable).args(["ls", "--json"]), PATIENCE);
    let name = executable.display();
    match ended {
        // With 1 it tells of a selector, and lists nevertheless.
        Ok(Some((status, text))) if matches!(status.code(), Some(0 | 1)) && !text.is_empty() => {
            Ok(String::from_utf8_lossy(&text).into_owned())
        }
        Ok(Some((status, _))) => Err((format!("`{name}` ended with {status}"), "crashed")),
        Ok(None) => {
            let seconds = PATIENCE.as_secs();
            Err((format!("`{name} ls` had no answer after {seconds} seconds"), "did not answer"))
        }
        Err(error) => Err((format!("cannot run `{name}`: {error}"), "could not be asked")),
    }
}

/// Tells of its devices; whether one of them takes what the linker makes.
fn tell_backend(backend: &Backend, findings: &mut Vec<Finding>) -> bool {
    let mut takes_code = false;
    for device in &backend.devices {
        let name = format!("{} {}", device.selector, device.name);
        match &device.code_forms_note {
            None => findings.push(Finding::Right(format!(
                "{name}, driver {}, takes {}",
                device.driver_version,
                device.code_forms.join(" and ")
            ))),
            Some(note) => findings.push(Finding::Note {
                message: format!("{name} cannot run kernels: {note}"),
                help: "update its driver".into(),
            }),
        }
        takes_code |= device.code_forms.iter().any(|form| form != "native");
    }
    if let Some(absence) = &backend.absence {
        let message = format!("{}: {}", backend.name, absence.reason);
        findings.push(Finding::Note { message, help: absence.help.clone() });
    }
    takes_code
}

/// Files by which OpenCL's loader finds drivers, and whether their libraries are there.
fn icd_files() -> Vec<Finding> {
    let folder = match env::var_os("OCL_ICD_VENDORS") {
        Some(place) if !place.is_empty() => PathBuf::from(place),
        _ => PathBuf::from("/etc/OpenCL/vendors"),
    };
    let Ok(entries) = fs::read_dir(&folder) else {
        return vec![Finding::Note {
            message: format!("no folder `{}` with .icd files of OpenCL drivers", folder.display()),
            help: "install a driver, or set OCL_ICD_VENDORS to the folder that has them".into(),
        }];
    };
    let mut files: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "icd"));
    files.sort();
    if files.is_empty() {
        return vec![Finding::Note {
            message: format!("`{}` has no .icd file", folder.display()),
            help: "install a driver, or set OCL_ICD_VENDORS to the folder that has them".into(),
        }];
    }
    files.iter().map(|file| icd_file(file)).collect()
}

fn icd_file(file: &Path) -> Finding {
    let shown = file.display();
    let library = match fs::read_to_string(file) {
        Ok(text) => text.lines().next().unwrap_or_default().trim().to_owned(),
        Err(error) => {
            return wrong(format!("cannot read `{shown}`: {error}"), "make it readable");
        }
    };
    // A bare name is the dynamic linker's to find.
    if library.contains('/') && !Path::new(&library).exists() {
        let help = "install that driver again, or remove the file";
        return wrong(format!("`{shown}` names `{library}`, which is not there"), help);
    }
    Finding::Right(format!("OpenCL driver {library}"))
}

fn cache_folder() -> Vec<Finding> {
    let cache = ProgramCache::from_environment();
    let Some(folder) = cache.folder() else {
        return vec![Finding::Note {
            message: "built programs are not kept: every run compiles its kernels".into(),
            help: "unset CROSSCUT_CACHE, and set CROSSCUT_CACHE_DIR or HOME".into(),
        }];
    };
    let shown = folder.display();
    vec![match cache.check() {
        Ok(()) => Finding::Right(format!("built programs are kept in `{shown}`")),
        Err(error) => wrong(
            format!("built programs cannot be kept in `{shown}`: {error}"),
            "make the folder writable for you alone, or set CROSSCUT_CACHE_DIR to another",
        ),
    }]
}

fn target_folder() -> Vec<Finding> {
    let Some(folder) = target_directory() else {
        return vec![Finding::Note {
            message: "this folder is in no cargo workspace".into(),
            help: "run this again where you build, to have its target directory looked at".into(),
        }];
    };
    let shown = folder.display();
    let trial = folder.join(format!(".doctor-{}", std::process::id()));
    let written = fs::create_dir_all(&folder)
        .and_then(|()| fs::write(&trial, "").and_then(|()| fs::remove_file(&trial)));
    vec![match written {
        Ok(()) => Finding::Right(format!("device code is built in `{shown}`")),
        Err(error) => wrong(
            format!("cannot write to `{shown}`: {error}"),
            "make it writable, or name another target directory by CARGO_TARGET_DIR",
        ),
    }]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn judged(release: &str, llvm: &str) -> String {
        let text = format!("rustc x\nrelease: {release}\nLLVM version: {llvm}\n");
        match judge_rustc(&text) {
            Ok(Finding::Right(message)) => message,
            Ok(_) => unreachable!("nothing else is made"),
            Err(message) => message,
        }
    }

    #[test]
    fn rustc_must_be_new_enough_and_have_our_llvm() {
        assert_eq!(judged("1.95.0", "22.1.2"), "rustc 1.95.0 with LLVM 22.1.2");
        assert_eq!(judged("2.0.0-beta.1", "22.9"), "rustc 2.0.0-beta.1 with LLVM 22.9");
        assert_eq!(judged("1.94.1", "22.1.2"), "rustc 1.94.1 is older than 1.95");
        assert!(judged("1.99.0", "23.1.0").contains("goes with LLVM 22"));
        assert!(judge_rustc("rustc 1.95.0").is_err());
    }

    #[test]
    fn a_driver_that_is_not_there_is_found() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.icd");
        for (text, right) in [("/no/such/driver.so\n", false), ("libbare.so\n", true)] {
            fs::write(&file, text).unwrap();
            assert_eq!(matches!(icd_file(&file), Finding::Right(_)), right, "{text}");
        }
    }
}
