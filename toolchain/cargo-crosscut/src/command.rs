//! The command itself: runs cargo with our rustc wrapper and a target directory of its own.
//!
//! Both are given to cargo as arguments, not as variables: variables would reach tests and programs,
//! and a cargo that those run would then build in our directory.

use std::collections::BTreeMap;
use std::env;
use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};

use crosscut_link::diagnostic::{self, Form};
use crosscut_link::tools::Tools;
use crosscut_link::variables;
use serde::Deserialize;

use crate::options::{self, Misuse, Options, Request};
use crate::{doctor, environment, help, ls, wrapper_setting};

/// cargo's own code for a command that did not work.
const FAILED: u8 = 101;

const INSTALL_RUST: &str = "install Rust from https://rustup.rs";

/// Runs the command with what follows its name.
pub(crate) fn run(words: &[OsString]) -> ExitCode {
    match options::read(words) {
        Ok(Request::Help) => print(help::TEXT),
        Ok(Request::HelpFor(text)) => print(text),
        Ok(Request::Ls(options)) => with_workspace_variables(words, || ls::run(&options)),
        Ok(Request::Doctor) => with_workspace_variables(words, doctor::run),
        Ok(Request::Version) => print(concat!("cargo-crosscut ", env!("CARGO_PKG_VERSION"), "\n")),
        Ok(Request::Run(options)) => run_cargo(&options),
        Err(misuse) => refuse(&misuse),
    }
}

pub(crate) fn print(text: &str) -> ExitCode {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Runs `command` with the variables that the workspace's file sets. They must be there from the start
/// of a process, so if some are not, this one begins again with them.
fn with_workspace_variables(words: &[OsString], command: impl FnOnce() -> ExitCode) -> ExitCode {
    let (Some(workspace), Ok(executable)) = (workspace(&Options::default()), env::current_exe())
    else {
        return command();
    };
    let mut again = Command::new(executable);
    let set = |name: &OsStr| env::var_os(name).is_some();
    if let Err(misuse) = environment::apply(&mut again, &workspace.workspace_root, set) {
        return refuse(&misuse);
    }
    if again.get_envs().next().is_none() {
        return command();
    }
    become_program(again.args(words), "mount /proc")
}

/// The directory that device builds of this folder's workspace go to.
pub(crate) fn target_directory() -> Option<PathBuf> {
    Some(workspace(&Options::default())?.target_directory.join("crosscut"))
}

fn refuse(misuse: &Misuse) -> ExitCode {
    diagnostic::print_error(Form::Text, &misuse.message, &misuse.help);
    ExitCode::from(FAILED)
}

/// What cargo knows of the workspace.
#[derive(Deserialize)]
struct Workspace {
    workspace_root: PathBuf,
    target_directory: PathBuf,
    /// Where intermediate files go, if it is another place.
    build_directory: Option<PathBuf>,
}

fn cargo() -> Command {
    // Set by a cargo that runs us; the one that the user called.
    let mut command = Command::new(env::var_os("CARGO").unwrap_or("cargo".into()));
    // Set by `cargo run` for the package it runs, which is ours when an alias runs us.
    for (name, _) in env::vars_os() {
        let text = name.to_string_lossy();
        if text.starts_with("CARGO_PKG_")
            || text.starts_with("CARGO_MANIFEST_")
            || text == "CARGO_BIN_NAME"
            || text == "CARGO_CRATE_NAME"
        {
            command.env_remove(&name);
        }
    }
    command
}

/// Why there is no workspace.
enum NoWorkspace {
    /// cargo ended with this code.
    Cargo(ExitCode),
    /// For us to tell.
    Misuse(Misuse),
}

/// Asks cargo about the workspace. `stderr` is where its own word goes.
fn ask_for_workspace(options: &Options, stderr: Stdio) -> Result<Workspace, NoWorkspace> {
    let mut command = cargo();
    command.args(["metadata", "--no-deps", "--format-version", "1"]).args(&options.workspace);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(stderr);
    let output = command
        .spawn()
        .and_then(Child::wait_with_output)
        .map_err(|error| NoWorkspace::Misuse(cannot_run(&command, &error, INSTALL_RUST)))?;
    if !output.status.success() {
        let code = output.status.code().and_then(|code| u8::try_from(code).ok());
        return Err(NoWorkspace::Cargo(ExitCode::from(code.unwrap_or(FAILED))));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| {
        NoWorkspace::Misuse(Misuse {
            message: format!(
                "cannot understand what `cargo metadata` says of the workspace: {error}"
            ),
            help: "check that `cargo metadata --no-deps --format-version 1` works, and that its cargo \
                   is that of the compiler"
                .into(),
        })
    })
}

/// The workspace of this folder, if there is one.
fn workspace(options: &Options) -> Option<Workspace> {
    ask_for_workspace(options, Stdio::null()).ok()
}

/// Runs cargo. Not without a workspace: that would build in the user's own target directory, and
/// without device code.
fn run_cargo(options: &Options) -> ExitCode {
    if options.help.is_some() {
        print(help::BEFORE_CARGO);
    }
    let command = match (ask_for_workspace(options, Stdio::null()), &options.help) {
        (Ok(workspace), _) => cargo_command(options, workspace),
        (Err(_), Some(help)) => {
            let mut command = cargo();
            command.arg(&options.subcommand).arg(help);
            Ok(command)
        }
        // Again, and to be heard: where cargo has an answer, its warnings come with the build.
        (Err(_), None) => match ask_for_workspace(options, Stdio::inherit()) {
            Ok(workspace) => cargo_command(options, workspace),
            Err(NoWorkspace::Cargo(code)) => return code,
            Err(NoWorkspace::Misuse(misuse)) => Err(misuse),
        },
    };
    match command {
        Ok(mut command) => become_program(&mut command, INSTALL_RUST),
        Err(misuse) => refuse(&misuse),
    }
}

fn cargo_command(options: &Options, workspace: Workspace) -> Result<Command, Misuse> {
    let mut command = cargo();
    // What is ours comes after what is the user's: of two settings of one name the later counts.
    command.arg(&options.subcommand).args(&options.rest);
    let target = options.target_dir.as_ref().unwrap_or(&workspace.target_directory);
    let target = absolute(target)?.join("crosscut");
    command.arg("--target-dir").arg(&target);
    let set = |name: &OsStr| env::var_os(name).is_some();
    // The configuration may name the target directory here as well, so it is always told.
    let separate = workspace.build_directory.filter(|build| *build != workspace.target_directory);
    let build = separate.map_or_else(|| target.clone(), |build| build.join("crosscut"));
    configure(&mut command, "build.build-dir", &build);
    environment::apply(&mut command, &workspace.workspace_root, set)?;
    if options.makes_code() {
        // Where the intermediate files go, the records go.
        prepare(&build)?;
        add_wrapper(&mut command, options, &target)?;
    }
    command.args(&options.program);
    Ok(command)
}

fn add_wrapper(command: &mut Command, options: &Options, target: &Path) -> Result<(), Misuse> {
    let executable = env::current_exe().map_err(|error| Misuse {
        message: format!("cannot find the running program: {error}"),
        help: "mount /proc".into(),
    })?;
    let wrapper = prepare(target)?
        .rustc_wrapper(&executable)
        .map_err(|error| cannot_write(target, &error))?;
    if let Some(chained) = wrapper_setting::find(&executable, options.settings()) {
        command.env(variables::CHAINED_WRAPPER, chained);
    }
    // The first would count for more than the argument.
    command.env_remove("RUSTC_WRAPPER").env_remove("CARGO_BUILD_RUSTC_WRAPPER");
    configure(command, "build.rustc-wrapper", &wrapper);
    // Whatever this command sets for cargo is not one crate's either.
    let mut known: BTreeMap<OsString, OsString> = env::vars_os().collect();
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => known.insert(name.into(), value.into()),
            None => known.remove(name),
        };
    }
    command.env(variables::COMMAND_VARIABLES, crosscut_link::environment::described(&known));
    if let Some(name) = &options.dump_after {
        command.env(variables::DUMP_AFTER, name);
    }
    if let Some(folder) = &options.dump_dir {
        let folder = absolute(folder)?;
        std::fs::create_dir_all(&folder).map_err(|error| Misuse {
            message: format!("cannot make the folder `{}`: {error}", folder.display()),
            help: "name another by `--dump-dir`".into(),
        })?;
        command.env(variables::DUMP_DIR, folder);
    }
    Ok(())
}

/// Gives cargo a setting.
fn configure(command: &mut Command, name: &str, value: &Path) {
    // A string of JSON is one of TOML.
    let value = serde_json::Value::from(value.to_string_lossy());
    command.arg("--config").arg(format!("{name}={value}"));
}

/// The tools in this directory, which holds nothing of another version of the command any more.
fn prepare(directory: &Path) -> Result<Tools, Misuse> {
    let tools = Tools::in_target_directory(directory);
    tools.prepare().map_err(|error| cannot_write(directory, &error))?;
    Ok(tools)
}

fn cannot_write(directory: &Path, error: &std::io::Error) -> Misuse {
    Misuse {
        message: format!("cannot write to `{}`: {error}", directory.display()),
        help: "make it writable, or name another target directory by `--target-dir`".into(),
    }
}

fn absolute(path: &Path) -> Result<PathBuf, Misuse> {
    std::path::absolute(path).map_err(|error| Misuse {
        message: format!("`{}` is not a folder: {error}", path.display()),
        help: "name a folder".into(),
    })
}

/// Becomes another program, cargo as a rule: output, exit status and signals are its own.
fn become_program(command: &mut Command, help: &str) -> ExitCode {
    let error = std::os::unix::process::CommandExt::exec(command);
    refuse(&cannot_run(command, &error, help))
}

fn cannot_run(command: &Command, error: &std::io::Error, help: &str) -> Misuse {
    Misuse {
        message: format!("cannot run `{}`: {error}", command.get_program().to_string_lossy()),
        help: help.into(),
    }
}
