//! Where the cache is and how large it may grow, from the environment.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

const SWITCH: &str = "CROSSCUT_CACHE";
const FOLDER: &str = "CROSSCUT_CACHE_DIR";
const SIZE: &str = "CROSSCUT_CACHE_SIZE";

/// Some thousands of programs: drivers make 10 to 200 KiB of one.
const DEFAULT_SIZE: u64 = 512 << 20;

#[derive(Debug, PartialEq, Eq)]
pub(super) struct Settings {
    pub(super) folder: PathBuf,
    /// In bytes.
    pub(super) size: u64,
}

impl Settings {
    /// What `variable` gives for the names of environment variables; `None` for no cache.
    ///
    /// There is nobody to tell about a value that makes no sense: it counts as not set.
    pub(super) fn read(variable: impl Fn(&str) -> Option<OsString>) -> Option<Self> {
        let set = |name| variable(name).filter(|value| !value.is_empty());
        if set(SWITCH).is_some_and(|value| value == "0") {
            return None;
        }
        // The XDG rules: a path that is not absolute is to be ignored.
        let home = |name| set(name).map(PathBuf::from).filter(|path| path.is_absolute());
        let folder = set(FOLDER)
            // Made absolute now: the working directory may change later.
            .and_then(|path| std::path::absolute(path).ok())
            .or_else(|| Some(home("XDG_CACHE_HOME")?.join("crosscut")))
            .or_else(|| Some(home("HOME")?.join(".cache").join("crosscut")))?;
        let size = set(SIZE).and_then(|text| bytes(&text)).unwrap_or(DEFAULT_SIZE);
        Some(Self { folder, size })
    }
}

/// A number of bytes: digits, and `K`, `M` or `G` behind them for powers of 1024.
fn bytes(text: &OsStr) -> Option<u64> {
    let text = text.to_str()?.trim();
    let (digits, shift) = match text.char_indices().next_back()? {
        (at, 'k' | 'K') => (&text[..at], 10),
        (at, 'm' | 'M') => (&text[..at], 20),
        (at, 'g' | 'G') => (&text[..at], 30),
        _ => (text, 0),
    };
    digits.trim_end().parse::<u64>().ok()?.checked_mul(1 << shift)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Option<Settings> {
        Settings::read(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| value.into())
        })
    }

    fn folder(variables: &[(&str, &str)]) -> Option<PathBuf> {
        read(variables).map(|settings| settings.folder)
    }

    #[test]
    fn the_most_particular_folder_counts() {
        let (own, xdg, home) = ((FOLDER, "/own"), ("XDG_CACHE_HOME", "/xdg"), ("HOME", "/me"));
        assert_eq!(folder(&[home, xdg, own]), Some("/own".into()));
        assert_eq!(folder(&[home, xdg]), Some("/xdg/crosscut".into()));
        assert_eq!(folder(&[home]), Some("/me/.cache/crosscut".into()));
        assert_eq!(folder(&[]), None);
    }

    #[test]
    fn empty_and_relative_variables_count_as_not_set() {
        let home = ("HOME", "/me");
        let usual = Some("/me/.cache/crosscut".into());
        assert_eq!(folder(&[home, ("XDG_CACHE_HOME", "relative"), (FOLDER, "")]), usual);
        assert_eq!(folder(&[("HOME", "")]), None);
        assert!(folder(&[(FOLDER, "here")]).unwrap().is_absolute());
    }

    #[test]
    fn zero_turns_it_off() {
        assert_eq!(read(&[(FOLDER, "/own"), (SWITCH, "0")]), None);
        assert!(read(&[(FOLDER, "/own"), (SWITCH, "1")]).is_some());
    }

    #[test]
    fn sizes_have_units() {
        let size = |text| read(&[(FOLDER, "/own"), (SIZE, text)]).unwrap().size;
        assert_eq!(size("4096"), 4096);
        assert_eq!((size("2K"), size("3m"), size("1 G")), (2048, 3 << 20, 1 << 30));
        for nonsense in ["", "K", "-1", "1T", "1.5G", "99999999999G", "x"] {
            assert_eq!(size(nonsense), DEFAULT_SIZE, "{nonsense:?}");
        }
    }
}
