//! The rustc wrapper that the user has set, for example a compiler cache. Ours runs it.
//!
//! cargo looks at `RUSTC_WRAPPER`, then `CARGO_BUILD_RUSTC_WRAPPER`, then `build.rustc-wrapper` in
//! the configuration files from the current folder upwards, then in cargo's home.

use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crosscut_link::tools::Role;
use crosscut_link::variables;

/// The wrapper that cargo would run without us.
pub(crate) fn find(executable: &Path) -> Option<OsString> {
    for name in ["RUSTC_WRAPPER", "CARGO_BUILD_RUSTC_WRAPPER"] {
        let Some(value) = env::var_os(name) else { continue };
        if value.is_empty() {
            // The way to say: none.
            return None;
        }
        let own = Role::of_program(Path::new(&value)).is_some()
            || fs::canonicalize(&value).is_ok_and(|file| file == executable);
        // A command inside a build of ours: what that one chains to.
        return if own { env::var_os(variables::CHAINED_WRAPPER) } else { Some(value) };
    }
    let current = env::current_dir().ok()?;
    let home = env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(env::var_os("HOME")?).join(".cargo")));
    let folders = current.ancestors().map(|folder| folder.join(".cargo")).chain(home);
    for folder in folders {
        for name in ["config", "config.toml"] {
            let Ok(text) = fs::read_to_string(folder.join(name)) else { continue };
            if let Some(value) = setting(&text) {
                return (!value.is_empty()).then(|| resolve(&folder, value));
            }
        }
    }
    None
}

/// A path with a separator is relative to the folder that holds `.cargo`.
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
        if key.trim() != wanted {
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
}
