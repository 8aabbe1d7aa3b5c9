//! The command's own options among those for cargo.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::{doctor, ls};

/// What the user asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Options {
    /// cargo's subcommand.
    pub(crate) subcommand: OsString,
    /// What follows it, without our own options and without a target directory.
    pub(crate) rest: Vec<OsString>,
    /// What the program that cargo runs gets: from `--` or, for `run`, from the first word that is no
    /// option.
    pub(crate) program: Vec<OsString>,
    /// `--dump-after`.
    pub(crate) dump_after: Option<OsString>,
    /// `--dump-dir`.
    pub(crate) dump_dir: Option<PathBuf>,
    /// `--target-dir`.
    pub(crate) target_dir: Option<PathBuf>,
    /// Options of cargo that say where the workspace is, how it is configured, and what may be done
    /// with it.
    pub(crate) workspace: Vec<OsString>,
    /// `--help` or `-h`, which is for cargo to answer.
    pub(crate) help: Option<OsString>,
}

/// What the command line asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Request {
    /// To be told how it works.
    Help,
    /// To be told the version.
    Version,
    /// To run cargo.
    Run(Options),
    /// To list devices.
    Ls(ls::Options),
    /// To look whether all is there that is needed.
    Doctor,
    /// To be told about one of these two.
    HelpFor(&'static str),
}

/// A command line that makes no sense: what is wrong, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Misuse {
    pub(crate) message: String,
    pub(crate) help: String,
}

/// cargo's subcommands that make sense with device code, and their short forms.
const SUBCOMMANDS: &[&str] =
    &["build", "b", "run", "r", "test", "t", "bench", "check", "c", "clean"];

impl Options {
    /// Whether the subcommand compiles code. A check does for procedural macros and build scripts, and
    /// a later build takes from it what they share with the program.
    pub(crate) fn makes_code(&self) -> bool {
        self.subcommand != "clean"
    }

    /// The values of `--config`: files, or settings themselves.
    pub(crate) fn settings(&self) -> impl DoubleEndedIterator<Item = &OsStr> {
        let pairs = self.workspace.windows(2).filter(|pair| pair[0] == "--config");
        pairs.map(|pair| pair[1].as_os_str())
    }
}

/// Reads what follows the program's name.
pub(crate) fn read(words: &[OsString]) -> Result<Request, Misuse> {
    // cargo puts the subcommand's own name first; its aliases do not.
    let words = match words.split_first() {
        Some((first, rest)) if first == "crosscut" => rest,
        _ => words,
    };
    let Some((subcommand, rest)) = words.split_first() else { return Ok(Request::Help) };
    match subcommand.to_str() {
        Some("help" | "-h" | "--help") => return Ok(Request::Help),
        Some("-V" | "--version") => return Ok(Request::Version),
        Some(name) if SUBCOMMANDS.contains(&name) => {}
        Some("ls") => return ls::read(rest),
        Some("doctor") => return doctor::read(rest),
        _ => {
            return Err(Misuse {
                message: format!("`{}` is not a command", subcommand.to_string_lossy()),
                help: "say `build`, `run`, `test`, `bench`, `check`, `clean`, `ls` or `doctor`; \
                       `cargo crosscut --help` explains them, and all else is for plain `cargo`"
                    .into(),
            });
        }
    }
    let mut options = Options { subcommand: subcommand.clone(), ..Options::default() };
    let runs = subcommand == "run" || subcommand == "r";
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        if word == "--" || runs && !is_option(word) {
            options.program.push(word.clone());
            options.program.extend(words.cloned());
            break;
        }
        let Some((name, inline)) = split(word) else {
            options.rest.push(word.clone());
            if takes_next_word(word) {
                let value = words.as_slice().first().filter(|value| !is_option(value));
                options.rest.extend(value.and_then(|_| words.next()).cloned());
            }
            if word == "--help" || word == "-h" {
                options.help = Some(word.clone());
            }
            if word.as_encoded_bytes().starts_with(b"-Z") {
                options.workspace.push(word.clone());
            }
            continue;
        };
        let value = match inline {
            Some(value) => value,
            None => words.next().cloned().ok_or_else(|| Misuse {
                message: format!("`{name}` needs a value"),
                help: format!("say `{name} VALUE`; `cargo crosscut --help` explains it"),
            })?,
        };
        match name {
            "--dump-after" => options.dump_after = Some(pass(value)?),
            "--dump-dir" => options.dump_dir = Some(value.into()),
            "--target-dir" => options.target_dir = Some(value.into()),
            _ => {
                for list in [&mut options.rest, &mut options.workspace] {
                    list.extend([name.into(), value.clone()]);
                }
            }
        }
    }
    Ok(Request::Run(options))
}

/// The name of a pass, checked here because device code is not lowered where nothing has changed.
fn pass(name: OsString) -> Result<OsString, Misuse> {
    if name.to_str().is_some_and(crosscut_lower::is_pass) {
        return Ok(name);
    }
    let passes: Vec<String> =
        crosscut_lower::PASSES.iter().map(|(name, _)| format!("`{name}`")).collect();
    Err(Misuse {
        message: format!("the lowering has no pass `{}`", name.to_string_lossy()),
        help: format!("say one of {}", passes.join(", ")),
    })
}

/// The options this module knows, all of which take a value.
const KNOWN: &[&str] =
    &["--dump-after", "--dump-dir", "--target-dir", "--manifest-path", "--config", "-Z"];

/// cargo's other options with a value that may be the next word, as cargo 1.95 lists them for `run`.
const VALUED: &[&str] = &[
    "--bin",
    "--color",
    "--example",
    "--features",
    "--jobs",
    "--lockfile-path",
    "--message-format",
    "--package",
    "--profile",
    "--target",
];

/// The short ones.
const SHORT_VALUED: &[u8] = b"FZjp";

/// Whether the word after this one is its value, unless that is an option itself.
fn takes_next_word(word: &OsStr) -> bool {
    match word.as_encoded_bytes() {
        [b'-', b'-', ..] => VALUED.iter().any(|name| word == *name),
        // Several may stand together, as in `-qp app`. What follows one with a value is the value.
        [b'-', letters @ ..] => {
            let valued = letters.iter().position(|letter| SHORT_VALUED.contains(letter));
            valued.is_some_and(|place| place + 1 == letters.len())
        }
        _ => false,
    }
}

/// One dash alone is a word like any other.
fn is_option(word: &OsStr) -> bool {
    word.as_encoded_bytes().starts_with(b"-") && word != "-"
}

fn split(word: &OsStr) -> Option<(&'static str, Option<OsString>)> {
    let word = word.to_str()?;
    let (name, value) = match word.split_once('=') {
        Some((name, value)) => (name, Some(OsString::from(value))),
        None => (word, None),
    };
    KNOWN.iter().find(|known| **known == name).map(|known| (*known, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        line.split_whitespace().map(OsString::from).collect()
    }

    fn options(line: &str) -> Options {
        match read(&words(line)) {
            Ok(Request::Run(options)) => options,
            other => panic!("{line}: {other:?}"),
        }
    }

    #[test]
    fn cargos_arguments_stay_as_they_are() {
        let given = options("run --release -p app --features=a -- --dump-after x --target-dir y");
        assert_eq!(given.subcommand, "run");
        assert_eq!(given.rest, words("--release -p app --features=a"));
        assert_eq!(given.program, words("-- --dump-after x --target-dir y"));
        assert_eq!((given.dump_after, given.target_dir), (None, None));
    }

    #[test]
    fn the_first_word_that_is_no_option_and_all_behind_it_is_for_the_program_that_runs() {
        for before in [
            "--release -p app --bin app -F a --jobs 2",
            "-qp app -j2 --color never",
            "--features=a --example show --message-format short",
            "-q --package app --profile dev --target x -Z a",
        ] {
            for name in ["run", "r"] {
                let behind = "scene.txt --config fast --target-dir x --dump-after y -Zz --help";
                let given = options(&format!("{name} {before} {behind}"));
                assert_eq!(given.rest, words(before), "{before}");
                assert_eq!(given.program, words(behind), "{before}");
                assert_eq!((given.target_dir, given.help), (None, None), "{before}");
            }
        }
        assert_eq!(options("run --bin --quiet - -x").program, words("- -x"));
        let test = options("test name --target-dir x -- -q");
        assert_eq!((test.rest, test.target_dir), (words("name"), Some("x".into())));
    }

    #[test]
    fn it_is_the_same_with_and_without_its_own_name() {
        assert_eq!(options("crosscut build -v"), options("build -v"));
    }

    #[test]
    fn our_options_are_taken_out_in_both_spellings() {
        for line in [
            "build --dump-after optimise --dump-dir d --target-dir t -v",
            "build --dump-after=optimise --dump-dir=d --target-dir=t -v",
        ] {
            let given = options(line);
            assert_eq!(given.rest, words("-v"), "{line}");
            assert_eq!(given.dump_after, Some("optimise".into()), "{line}");
            assert_eq!(given.dump_dir, Some("d".into()), "{line}");
            assert_eq!(given.target_dir, Some("t".into()), "{line}");
        }
    }

    #[test]
    fn what_says_where_the_workspace_is_is_kept_and_known() {
        let given = options("build --manifest-path=a/Cargo.toml --config x=1 --lib");
        assert_eq!(given.rest, words("--manifest-path a/Cargo.toml --config x=1 --lib"));
        assert_eq!(given.workspace, words("--manifest-path a/Cargo.toml --config x=1"));
        assert_eq!(given.settings().collect::<Vec<_>>(), ["x=1"]);
        let unstable = options("run -Zscript -Z a -Z=b --manifest-path x.rs -- -Zc");
        assert_eq!(unstable.rest, words("-Zscript -Z a -Z b --manifest-path x.rs"));
        assert_eq!(unstable.program, words("-- -Zc"));
        assert_eq!(unstable.workspace, words("-Zscript -Z a -Z b --manifest-path x.rs"));
    }

    #[test]
    fn nonsense_is_refused_with_a_way_out() {
        let unknown = read(&words("publish")).unwrap_err();
        assert_eq!(unknown.message, "`publish` is not a command");
        assert!(unknown.help.contains("`build`"));
        let open = read(&words("build --dump-after")).unwrap_err();
        assert_eq!(open.message, "`--dump-after` needs a value");
        let pass = read(&words("build --dump-after sleep")).unwrap_err();
        assert_eq!(pass.message, "the lowering has no pass `sleep`");
        assert!(pass.help.starts_with("say one of `link`, "));
    }

    #[test]
    fn help_is_there_for_those_who_ask_and_those_who_say_nothing() {
        for line in ["", "crosscut", "--help", "crosscut -h", "help"] {
            assert_eq!(read(&words(line)), Ok(Request::Help), "{line}");
        }
    }
}
