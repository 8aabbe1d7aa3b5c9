//! The variables that a crate is compiled with: the user's own, and those that cargo sets for it.
//!
//! Only the latter are written down, since the former may be secrets. A crate that is compiled for a device
//! later, in the process that links another one, gets them in place of that one's.

use std::collections::hash_map::DefaultHasher;
use std::collections::{BTreeMap, HashMap};
use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::process::Command;

use crate::variables;

/// The command's environment, as it tells the wrapper: no values, only whether one is still the same.
type Known = HashMap<String, String>;

/// Describes the command's environment, for [`variables::COMMAND_VARIABLES`].
#[must_use]
pub fn described(variables: &BTreeMap<OsString, OsString>) -> String {
    let named = variables.iter().filter_map(|(name, value)| Some((name.to_str()?, value)));
    // No name has the separator in it.
    let words: Vec<String> = named.map(|(name, value)| format!("{name}={}", mark(value))).collect();
    words.join("=")
}

/// `None` if the wrapper was not started by the command, so that nobody says what the user's are.
fn known() -> Option<Known> {
    let text = env::var(variables::COMMAND_VARIABLES).ok()?;
    let words: Vec<&str> = text.split('=').collect();
    let pair = |pair: &[&str]| Some((pair.first()?.to_string(), pair.get(1)?.to_string()));
    Some(words.chunks(2).filter_map(pair).collect())
}

/// Tells values apart. The same in every process of one command, which is one executable.
fn mark(value: &OsStr) -> String {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    format!("{:x}", hasher.finish())
}

/// The variables of this process that cargo set for one crate.
pub(crate) fn of_one_crate() -> BTreeMap<String, String> {
    let known = known();
    env::vars_os()
        .filter(|(name, value)| whose(name, Some(value), known.as_ref()) == Whose::Crate)
        // rustc shows `env!` only what is UTF-8.
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .collect()
}

/// Gives a command the variables that a crate was compiled with: `written` is what cargo had set, and
/// `dep_info` where rustc says what it has read.
pub(crate) fn give(command: &mut Command, written: &BTreeMap<String, String>, dep_info: &Path) {
    let known = known();
    for (name, _) in env::vars_os() {
        // By its name alone: the user's own is not known here once somebody has set another, and
        // without any the compiler might not even be found.
        if whose(&name, None, known.as_ref()) == Whose::Crate {
            command.env_remove(name);
        }
    }
    command.envs(written);
    // What is another one's now may have been the user's when the crate was compiled.
    for (name, value) in read_by_rustc(&fs::read_to_string(dep_info).unwrap_or_default()) {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Whose {
    /// cargo sets it anew for each crate, or its build script does.
    Crate,
    /// The user's or the run's. Never written down.
    Other,
}

/// Whose a variable is. Secrets of the user are never a crate's, because what the user's own
/// environment has is not; where that is not known, only what cargo always sets.
fn whose(name: &OsStr, value: Option<&OsString>, known: Option<&Known>) -> Whose {
    let Some(text) = name.to_str() else { return Whose::Other };
    // The job server is that of the running cargo, not of the one that compiled the crate.
    let of_the_run = text.starts_with("CROSSCUT_") || matches!(text, "CARGO_MAKEFLAGS" | "PATH");
    if of_the_run || text.contains("TOKEN") {
        return Whose::Other;
    }
    // cargo sets these for every crate, also where the user's environment has them.
    let of_cargo = text == "OUT_DIR"
        || text == "LD_LIBRARY_PATH"
        || text.starts_with("CARGO_PKG_")
        || text.starts_with("CARGO_MANIFEST_")
        || text.starts_with("CARGO_BIN_")
        || matches!(text, "CARGO" | "CARGO_CRATE_NAME" | "CARGO_PRIMARY_PACKAGE");
    let is_new = known.is_some_and(|known| match (known.get(text), value) {
        (Some(had), Some(value)) => *had != mark(value),
        (had, _) => had.is_none(),
    });
    if of_cargo || is_new { Whose::Crate } else { Whose::Other }
}

/// What rustc has read of its environment, as it tells cargo: names with values, or without if they were
/// not set.
fn read_by_rustc(dep_info: &str) -> impl Iterator<Item = (String, Option<String>)> {
    dep_info.lines().filter_map(|line| line.strip_prefix("# env-dep:")).map(|variable| {
        match variable.split_once('=') {
            Some((name, value)) => (unescaped(name), Some(unescaped(value))),
            None => (unescaped(variable), None),
        }
    })
}

fn unescaped(text: &str) -> String {
    let mut characters = text.chars();
    let mut plain = String::new();
    while let Some(character) = characters.next() {
        plain.extend(match character {
            '\\' => characters.next().map(|next| match next {
                'n' => '\n',
                'r' => '\r',
                other => other,
            }),
            other => Some(other),
        });
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An environment that has each of these names with the value `mine`.
    fn known(names: &[&str]) -> Known {
        names.iter().map(|name| (name.to_string(), mark("mine".as_ref()))).collect()
    }

    #[test]
    fn a_crates_variables_are_those_cargo_sets_and_those_the_user_did_not_have() {
        let known = known(&["HOME", "OUT_DIR", "CARGO_HOME", "CARGO_PKG_NAME"]);
        let belongs =
            |name: &str| whose(name.as_ref(), Some(&"mine".into()), Some(&known)) == Whose::Crate;
        assert!(belongs("OUT_DIR"));
        assert!(belongs("CARGO_PKG_NAME"));
        assert!(belongs("SET_BY_A_BUILD_SCRIPT"));
        assert!(!belongs("HOME"));
        assert!(!belongs("CARGO_MAKEFLAGS"));
        assert!(!belongs("CARGO_HOME"));
    }

    #[test]
    fn a_variable_that_the_user_has_with_another_value_is_the_crates() {
        let known = known(&["SEED", "PATH"]);
        let whose =
            |name: &str, value: &str| whose(name.as_ref(), Some(&value.into()), Some(&known));
        assert_eq!(whose("SEED", "mine"), Whose::Other);
        assert_eq!(whose("SEED", "its own"), Whose::Crate);
        assert_eq!(whose("PATH", "longer"), Whose::Other, "rustc lengthens it for its linker");
    }

    #[test]
    fn tokens_are_never_written_down() {
        let name = OsStr::new("CARGO_REGISTRY_TOKEN");
        assert_eq!(whose(name, Some(&"x".into()), Some(&known(&[]))), Whose::Other);
    }

    #[test]
    fn a_wrapper_that_somebody_else_starts_writes_down_nothing_of_the_user() {
        let whose = |name: &str| whose(name.as_ref(), Some(&"x".into()), None);
        assert_eq!(whose("AWS_SECRET_ACCESS_KEY"), Whose::Other);
        assert_eq!(whose("CARGO_PKG_NAME"), Whose::Crate);
    }

    #[test]
    fn the_commands_environment_is_described_without_its_values() {
        let variables =
            [("A", "1:=2"), ("B:C", "")].map(|(name, value)| (name.into(), value.into()));
        let text = described(&variables.into());
        let words: Vec<&str> = text.split('=').collect();
        assert_eq!(words, ["A", &mark("1:=2".as_ref()), "B:C", &mark("".as_ref())]);
        assert!(!text.contains("1:"), "{text}");
    }

    #[test]
    fn what_rustc_has_read_is_found_with_its_value() {
        let text = "t/a-1.d: src/lib.rs\n\nsrc/lib.rs:\n\n# env-dep:A=1=\\\\2\\n3\n# env-dep:B\n";
        let read: Vec<_> = read_by_rustc(text).collect();
        assert_eq!(read, [("A".into(), Some("1=\\2\n3".into())), ("B".into(), None)]);
    }
}
