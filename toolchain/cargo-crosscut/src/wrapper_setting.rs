//! The rustc wrapper that the user has set, for example a compiler cache. Ours runs it.
//!
//! cargo looks at `RUSTC_WRAPPER`, then `build.rustc-wrapper` among the arguments (`--config`), then
//! `CARGO_BUILD_RUSTC_WRAPPER`, then the configuration files from the current folder upwards, then
//! those in cargo's home.

use std::env;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};

use crosscut_link::tools::Role;
use crosscut_link::variables;

/// The wrapper that cargo would run without us. `arguments` are the values of `--config`.
pub(crate) fn find<'a>(
    executable: &Path,
    arguments: impl DoubleEndedIterator<Item = &'a OsStr>,
) -> Option<OsString> {
    if let Some(value) = env::var_os("RUSTC_WRAPPER") {
        return of_variable(value, executable);
    }
    let current = env::current_dir().ok()?;
    if let Some(found) = arguments.rev().find_map(|argument| in_argument(&current, argument)) {
        return found;
    }
    if let Some(value) = env::var_os("CARGO_BUILD_RUSTC_WRAPPER") {
        return of_variable(value, executable);
    }
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")));
    let mut folders = current.ancestors().map(|folder| folder.join(".cargo")).chain(home);
    folders.find_map(|folder| {
        ["config", "config.toml"].into_iter().find_map(|name| in_file(&folder.join(name)))
    })?
}

/// The wrapper that a variable names; empty, it says that there is none.
fn of_variable(value: OsString, executable: &Path) -> Option<OsString> {
    let own = Role::of_program(Path::new(&value)).is_some()
        || fs::canonicalize(&value).is_ok_and(|file| file == executable);
    // A command inside a build of ours: what that one chains to.
    let value = if own { env::var_os(variables::CHAINED_WRAPPER)? } else { value };
    (!value.is_empty()).then_some(value)
}

/// What a value of `--config` says: a file, if it is the name of one, or else one setting, in which
/// paths are relative to the current folder. `Some(None)` if it says that there is no wrapper.
fn in_argument(current: &Path, argument: &OsStr) -> Option<Option<OsString>> {
    let file = current.join(argument);
    if file.exists() {
        return in_file(&file);
    }
    in_text(&current.join(".cargo"), argument.to_str()?)
}

fn in_file(file: &Path) -> Option<Option<OsString>> {
    in_text(file.parent()?, &fs::read_to_string(file).ok()?)
}

fn in_text(folder: &Path, text: &str) -> Option<Option<OsString>> {
    setting(text).map(|value| (!value.is_empty()).then(|| resolve(folder, value)))
}

/// A path with a separator is relative to the folder that holds that of the configuration, `.cargo` as a
/// rule.
fn resolve(folder: &Path, value: &str) -> OsString {
    match folder.parent() {
        Some(base) if value.contains('/') => base.join(value).into(),
        _ => value.into(),
    }
}

/// `build.rustc-wrapper` in a configuration file, in the ways people write it. What is written in
/// some other way of TOML is not found, and then not chained.
fn setting(text: &str) -> Option<&str> {
    let mut in_build = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with('[') {
            in_build = line.trim_start_matches('[').trim_start().starts_with("build]");
            continue;
        }
        let Some((key, value)) = line.split_once('=') else { continue };
        let wanted = if in_build { "rustc-wrapper" } else { "build.rustc-wrapper" };
        if key.replace([' ', '"', '\''], "") != wanted {
            continue;
        }
        let value = value.trim();
        let quote = value.chars().next().filter(|c| matches!(c, '"' | '\''))?;
        return value[1..].split(quote).next();
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_setting_is_found_as_people_write_it() {
        for text in [
            "[build]\nrustc-wrapper = \"sccache\"\n",
            "[alias]\nx = \"y\"\n[build]\njobs = 1\nrustc-wrapper = 'sccache' # cache\n",
            "build.rustc-wrapper = \"sccache\"\n",
            "build.'rustc-wrapper'='sccache'",
        ] {
            assert_eq!(setting(text), Some("sccache"), "{text}");
        }
        for text in ["", "[build]\njobs = 2\n", "[other]\nrustc-wrapper = \"x\"\n"] {
            assert_eq!(setting(text), None, "{text}");
        }
    }

    #[test]
    fn a_path_is_relative_to_the_folder_of_the_configuration() {
        assert_eq!(resolve(Path::new("/w/.cargo"), "tools/wrap"), "/w/tools/wrap");
        assert_eq!(resolve(Path::new("/w/.cargo"), "sccache"), "sccache");
        assert_eq!(resolve(Path::new("/w/.cargo"), "/bin/wrap"), "/bin/wrap");
    }

    #[test]
    fn an_argument_is_a_setting_or_the_name_of_a_file_with_some() {
        let folder = tempfile::tempdir().unwrap();
        let current = folder.path();
        let path = |path: &str| Some(Some(current.join(path).into_os_string()));
        let said = |argument: &str| in_argument(current, argument.as_ref());
        assert_eq!(said("build.rustc-wrapper='tools/wrap'"), path("tools/wrap"));
        assert_eq!(said("build.rustc-wrapper=''"), Some(None));
        assert_eq!(said("build.jobs=1"), None);
        assert_eq!(said("tools/cargo.toml"), None);
        fs::create_dir(current.join("tools")).unwrap();
        let text = "[build]\nrustc-wrapper = 'tools/wrap'\n";
        fs::write(current.join("tools/cargo.toml"), text).unwrap();
        assert_eq!(said("tools/cargo.toml"), path("tools/wrap"));
    }
}
