//! The rustc wrapper: cargo runs it where it would have run rustc.
//!
//! - Questions to rustc, build scripts, procedural macros and checks: rustc runs unchanged.
//! - Crates that do not reach the device crate: their [record](crate::record) is written, then rustc
//!   runs unchanged.
//! - Libraries that reach it: rustc runs, then the second pass. In this order, because other crates
//!   wait for the metadata that the first one writes. Static libraries get a warning instead.
//! - Programs, tests and dynamic libraries that reach it: rustc runs with our linker, which begins
//!   with this crate's second pass; so rustc's own errors always come first and alone.

mod dep_info;
mod messages;

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::arguments::Arguments;
use crate::diagnostic::{self, Form};
use crate::paths::CratePaths;
use crate::record::{Record, RecordError};
use crate::second_pass::{self, Mangling};
use crate::tools::Tools;
use crate::{environment, exec, response, variables};

/// The crate that every kernel reaches.
const DEVICE_CRATE: &str = "crosscut_device";

/// Runs the role. `words` is the whole command line, this process's name first.
#[must_use]
pub fn run(words: &[OsString]) -> ExitCode {
    match Compilation::new(words) {
        None => host_unchanged(words),
        Some(Ok(compilation)) => compilation
            .run(words)
            .unwrap_or_else(|error| refuse(form(&compilation.arguments), &error)),
        Some(Err((form, error))) => refuse(form, &error),
    }
}

fn refuse(form: Form, error: &Failure) -> ExitCode {
    diagnostic::print_error(form, &error.message, &error.help);
    ExitCode::FAILURE
}

/// Something other than the user's program is wrong.
struct Failure {
    message: String,
    help: String,
}

/// A crate that may have a part in device code.
struct Compilation {
    arguments: Arguments,
    paths: CratePaths,
    record: Record,
}

impl Compilation {
    /// `None` for every rustc command that has no part in device code. An error has the form in which
    /// the caller wants to be told.
    fn new(words: &[OsString]) -> Option<Result<Self, (Form, Failure)>> {
        let (program, rest) = split_program(words)?;
        let arguments = Arguments::parse(response::expand_for_rustc(rest)?);
        if !takes_part(&arguments, env::var_os("CARGO_BIN_NAME").is_some()) {
            return None;
        }
        let folder = env::current_dir().ok()?;
        let (output_folder, stem) = arguments.output()?;
        let paths = CratePaths::new(&folder.join(output_folder), stem);
        let crate_name = arguments.crate_name()?.to_string();
        let externs: Vec<PathBuf> = arguments.externs().map(|file| folder.join(file)).collect();
        let reaches_device = match reaches_device(&crate_name, &externs) {
            Ok(reaches_device) => reaches_device,
            Err(error) => {
                let failure = Failure { message: error.to_string(), help: error.help().into() };
                return Some(Err((form(&arguments), failure)));
            }
        };
        let mangling = if reaches_device { Mangling::Readable } else { Mangling::AsGiven };
        let bitcode = paths.bitcode();
        let second = second_pass::arguments(&arguments, mangling);
        let record = Record {
            crate_name,
            reaches_device,
            rustc: program.to_str()?.to_string(),
            arguments: second.words(),
            folder,
            variables: environment::of_one_crate(),
            bitcode,
            externs,
            target: arguments.target().map(String::from),
            merges_crates: arguments.merges_crates(),
        };
        Some(Ok(Self { arguments, paths, record }))
    }

    fn run(&self, words: &[OsString]) -> Result<ExitCode, Failure> {
        self.record.write(&self.paths).map_err(|error| Failure {
            message: format!("cannot write `{}`: {error}", self.paths.record().display()),
            help: "make the target directory writable, or name another by `--target-dir`".into(),
        })?;
        if !self.record.reaches_device {
            return Ok(host_unchanged(words));
        }
        let mut host = host_command(words);
        if let Some(argument) = Mangling::Readable.argument(&self.arguments) {
            host.args(Arguments(vec![argument]).words());
        }
        if self.arguments.links() {
            return self.run_linking(host, words);
        }
        let status = host.status().map_err(|error| cannot_start(&host, &error))?;
        if !status.success() {
            return Ok(exec::exit_code(status));
        }
        if self.arguments.makes_static_library_only() {
            self.warn_of_static_library();
            return Ok(ExitCode::SUCCESS);
        }
        self.record
            .compile()
            .map_err(|error| Failure { message: error.to_string(), help: error.help() })?;
        Ok(ExitCode::SUCCESS)
    }

    /// Nobody's linker is ours who links an archive, and no crate can name one.
    fn warn_of_static_library(&self) {
        let message = format!(
            "`{}` is a static library, which gets no device code: its kernels run on the host CPU only",
            self.record.crate_name
        );
        let help = "set `crate-type = [\"cdylib\"]`, or link the kernels into a Rust program";
        diagnostic::print_warning(form(&self.arguments), &message, help);
    }

    fn run_linking(&self, mut host: Command, words: &[OsString]) -> Result<ExitCode, Failure> {
        let executable = env::current_exe().map_err(|error| Failure {
            message: format!("cannot find the running program: {error}"),
            help: "mount /proc".into(),
        })?;
        let linker = self.arguments.codegen("linker").unwrap_or("cc");
        let wrapper = words.first().map(Path::new).unwrap_or(Path::new(""));
        let stand_in =
            Tools::of_wrapper(wrapper).linker(&executable, Path::new(linker)).map_err(|error| {
                Failure {
                    message: format!("cannot make the link to the linker wrapper: {error}"),
                    help: "make the target directory writable, or name another by `--target-dir`"
                        .into(),
                }
            })?;
        let mut option = OsString::from("linker=");
        option.push(&stand_in);
        host.arg("-C").arg(option);
        host.env(variables::LINKER, linker);
        host.env(variables::LINK_RECORD, self.paths.record());
        diagnostic::forget(&self.paths.diagnostics());
        let status = messages::run(&mut host, form(&self.arguments), &self.paths.diagnostics())
            .map_err(|error| cannot_start(&host, &error))?;
        if status.success() {
            dep_info::add(&self.paths.dep_info(), &executable);
        }
        Ok(exec::exit_code(status))
    }
}

/// How the caller wants to be told.
fn form(arguments: &Arguments) -> Form {
    if arguments.values("--error-format").last() != Some("json") {
        return Form::Text;
    }
    let ansi = arguments
        .values("--json")
        .flat_map(|list| list.split(','))
        .any(|item| item == "diagnostic-rendered-ansi");
    if ansi { Form::JsonAnsi } else { Form::Json }
}

/// Whether a crate is the device crate or names one that reaches it.
fn reaches_device(crate_name: &str, externs: &[PathBuf]) -> Result<bool, RecordError> {
    if crate_name == DEVICE_CRATE {
        return Ok(true);
    }
    for file in externs {
        if Record::of_output(file)?.is_some_and(|record| record.reaches_device) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether a rustc command makes code that could become part of a program with kernels. cargo says of programs, but not of
/// build scripts, what they are called.
fn takes_part(arguments: &Arguments, has_program_name: bool) -> bool {
    let question = arguments.values("--print").next().is_some() || arguments.crate_name().is_none();
    // It runs during the build.
    let build_script = arguments.crate_name().is_some_and(|name| name.starts_with("build_script_"))
        && arguments.crate_types().eq(["bin"])
        && !has_program_name;
    let procedural_macro = arguments.crate_types().any(|kind| kind == "proc-macro");
    arguments.emits("link") && !question && !build_script && !procedural_macro
}

/// The compiler and what follows it. cargo puts a workspace wrapper, if there is one, before it.
fn split_program(words: &[OsString]) -> Option<(&OsStr, &[OsString])> {
    let is_option = |word: &OsString| {
        let bytes = word.as_encoded_bytes();
        bytes.starts_with(b"-") || bytes.starts_with(b"@")
    };
    let is_rustc = |word: &OsString| {
        Path::new(word).file_stem().is_some_and(|stem| stem == "rustc") && !is_option(word)
    };
    let (program, rest) = words.get(1..)?.split_first()?;
    match rest.split_first() {
        Some((second, rest)) if is_rustc(second) => Some((second, rest)),
        _ => Some((program, rest)),
    }
}

/// The host's command as cargo gave it, under the wrapper that was there before ours.
fn host_command(words: &[OsString]) -> Command {
    let rest = words.get(1..).unwrap_or_default();
    let chained = env::var_os(variables::CHAINED_WRAPPER).filter(|name| !name.is_empty());
    let mut all = chained.iter().chain(rest);
    let mut command = Command::new(all.next().map_or(OsStr::new("rustc"), |word| word.as_os_str()));
    command.args(all);
    command
}

fn host_unchanged(words: &[OsString]) -> ExitCode {
    let command = host_command(words);
    let program = command.get_program().to_string_lossy().into_owned();
    let error = exec::replace(command);
    diagnostic::print_error(
        Form::Text,
        &format!("cannot run `{program}`: {error}"),
        "install Rust, or correct `RUSTC` or the rustc wrapper that is set",
    );
    ExitCode::FAILURE
}

fn cannot_start(command: &Command, error: &io::Error) -> Failure {
    Failure {
        message: format!("cannot run `{}`: {error}", command.get_program().to_string_lossy()),
        help: "install Rust, or correct `RUSTC` or the rustc wrapper that is set".into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(line: &str) -> Arguments {
        Arguments::parse(line.split_whitespace().map(String::from))
    }

    #[test]
    fn questions_build_scripts_macros_and_checks_take_no_part() {
        for line in [
            "-vV",
            "- --crate-name ___ --print=file-names --crate-type bin --emit=link",
            "--crate-name build_script_build --crate-type bin --emit=dep-info,link",
            "--crate-name derive --crate-type proc-macro --emit=dep-info,link",
            "--crate-name app --crate-type bin --emit=dep-info,metadata",
        ] {
            assert!(!takes_part(&arguments(line), false), "{line}");
        }
        for (line, has_program_name) in [
            ("--crate-name a --crate-type lib --emit=metadata,link", false),
            ("--crate-name a --emit=dep-info,link --test", false),
            ("--crate-name build_script_tools --crate-type lib --emit=metadata,link", false),
            ("--crate-name build_script_tools --crate-type bin --emit=dep-info,link", true),
        ] {
            assert!(takes_part(&arguments(line), has_program_name), "{line}");
        }
    }

    #[test]
    fn the_compiler_is_found_behind_a_workspace_wrapper() {
        let words = |line: &str| line.split(' ').map(OsString::from).collect::<Vec<_>>();
        let plain = words("self /bin/rustc --crate-name x");
        assert_eq!(split_program(&plain).unwrap().0, "/bin/rustc");
        let wrapped = words("self clippy-driver /bin/rustc --crate-name x");
        let (program, rest) = split_program(&wrapped).unwrap();
        assert_eq!((program, rest.len()), (OsStr::new("/bin/rustc"), 2));
    }
}
