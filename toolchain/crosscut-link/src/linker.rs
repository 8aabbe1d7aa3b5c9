//! The linker wrapper: rustc runs it where it would have run the linker.
//!
//! One run takes four steps, each in the module of that name:
//!
//! 1. `collect`: find the device bitcode of every crate in the program. Without a runtime among them
//!    nothing more is done.
//! 2. `lower`: get an object with device images from `crosscut-lower`, giving it more bitcode for as
//!    long as it asks for more.
//! 3. `forward`: run the real linker, with that object added.
//! 4. `patch`: write into the linked program where its device globals came to lie.
//!
//! Invariants:
//! - A link without kernels forwards the command line unchanged.
//! - What is wrong with the user's program is left for the wrapper to print; the real linker's own
//!   messages go to standard error, where rustc expects them.

mod arguments;
mod collect;
mod defines;
mod forward;
mod lower;
mod patch;

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use crosscut_lower::job::{Diagnostic, Job, Lowered, Outcome};

use crate::record::{Record, RecordError, SecondPassError};
use crate::{diagnostic, exec, tools, variables};

use arguments::LinkArguments;
use collect::Program;
use lower::Lowering;

/// Why there is no linked program.
enum Failure {
    /// The real linker failed and has said why.
    Linker(ExitCode),
    /// For the wrapper to print.
    Diagnostics(Vec<Diagnostic>),
}

impl Failure {
    fn new(message: &str, help: &str) -> Self {
        Self::Diagnostics(vec![diagnostic::without_place(message, help)])
    }
}

impl From<RecordError> for Failure {
    fn from(error: RecordError) -> Self {
        Self::new(&error.to_string(), error.help())
    }
}

impl From<SecondPassError> for Failure {
    fn from(error: SecondPassError) -> Self {
        Self::new(&error.to_string(), &error.help())
    }
}

/// Runs the role. `words` is the whole command line, this process's name first.
#[must_use]
pub fn run(words: &[OsString]) -> ExitCode {
    let rest = words.get(1..).unwrap_or_default();
    let linker = real_linker(words);
    let Some(file) = env::var_os(variables::LINK_RECORD).map(PathBuf::from) else {
        return forward::unchanged(&linker, rest);
    };
    link_crate_of(&file, &linker, rest)
}

/// Links the crate that the wrapper wrote this record of.
fn link_crate_of(file: &Path, linker: &OsString, words: &[OsString]) -> ExitCode {
    let record = Record::load(file).map_err(Failure::from);
    match record.and_then(|record| link(linker, words, record)) {
        Ok(code) | Err(Failure::Linker(code)) => code,
        Err(Failure::Diagnostics(list)) => {
            let file = file.with_extension("diagnostics");
            if diagnostic::leave(&file, &list).is_err() {
                for diagnostic in &list {
                    diagnostic::print(diagnostic::Form::Text, diagnostic);
                }
            }
            ExitCode::FAILURE
        }
    }
}

/// The linker that the wrapper names; without one, the linker of the same name as this process has.
fn real_linker(words: &[OsString]) -> OsString {
    if let Some(linker) = env::var_os(variables::LINKER).filter(|name| !name.is_empty()) {
        return linker;
    }
    let own = words.first().and_then(|word| Path::new(word).file_name());
    own.unwrap_or("cc".as_ref()).to_os_string()
}

fn link(linker: &OsString, words: &[OsString], record: Record) -> Result<ExitCode, Failure> {
    let arguments = LinkArguments::read(words);
    let mut program = Program::collect(record, &arguments.words)?;
    // A test or program that does not use what it depends on: rustc leaves those crates out.
    if !program.has_runtime(&arguments.words)? {
        return Ok(forward::unchanged(linker, words));
    }
    // What an earlier link left there would be taken for this one's.
    let _ = std::fs::remove_dir_all(program.paths().lowered());
    let lowered = match lower::run(&mut program, job, lower_once)? {
        Lowering::NoKernels => return Ok(forward::unchanged(linker, words)),
        Lowering::Done(lowered) => lowered,
    };
    forward::with_object(linker, &arguments, &lowered.object, &program.paths().link_arguments())?;
    finish(&arguments, &lowered)?;
    Ok(ExitCode::SUCCESS)
}

/// What `crosscut-lower` is asked to do for the program as it is known so far.
fn job(program: &Program, searched: &[String]) -> Result<Job, Failure> {
    let output_dir = program.paths().lowered();
    std::fs::create_dir_all(&output_dir).map_err(|error| {
        Failure::new(
            &format!("cannot make the folder `{}`: {error}", output_dir.display()),
            "make the target directory writable, or name another by `--target-dir`",
        )
    })?;
    let dump_after = env::var(variables::DUMP_AFTER).ok().filter(|name| !name.is_empty());
    Ok(Job {
        crate_name: program.record().crate_name.clone(),
        modules: program.modules(),
        std_archives: program.std_archives()?,
        searched: searched.to_vec(),
        output_dir,
        host_triple: program.host_triple()?,
        dump_after,
        dump_dir: env::var_os(variables::DUMP_DIR).map(PathBuf::from),
    })
}

/// One run of the lowering.
fn lower_once(job: &Job) -> Result<Outcome, Failure> {
    let child = tools::lowering().map_err(|error| {
        Failure::new(&format!("cannot find the running program: {error}"), "mount /proc")
    })?;
    crosscut_lower::lower(job, child)
        .map_err(|error| Failure::new(&error.to_string(), &error.help()))
}

/// Completes the linked file: the places of device globals, then the stripping that had to wait
/// because they are found by their symbols.
fn finish(arguments: &LinkArguments, lowered: &Lowered) -> Result<(), Failure> {
    let Some(output) = &arguments.output else {
        return Err(Failure::new(
            "rustc did not tell its linker the name of the program",
            "report this with the output of `cargo crosscut build -v`",
        ));
    };
    patch::run(output, &lowered.host_symbols).map_err(|error| {
        Failure::new(
            &format!("cannot complete `{}`: {error}", output.display()),
            "link an ELF program for a 64-bit little-endian machine, with its symbols",
        )
    })?;
    if !arguments.strip {
        return Ok(());
    }
    let status = Command::new("strip").arg("--strip-all").arg(output).stdin(Stdio::null()).status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::Linker(exec::exit_code(status))),
        Err(error) => Err(Failure::new(
            &format!("cannot run `strip` to take the symbols out of the program: {error}"),
            "install binutils, or set `strip = \"none\"` in the profile",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_cannot_be_read_is_an_error_and_not_a_program_without_device_code() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("app-1.json");
        std::fs::write(&file, "{").unwrap();
        assert_eq!(link_crate_of(&file, &"true".into(), &[]), ExitCode::FAILURE);
        let told = diagnostic::take(&folder.path().join("app-1.diagnostics"));
        assert!(told[0].message.starts_with("cannot read `"), "{told:?}");
    }
}
