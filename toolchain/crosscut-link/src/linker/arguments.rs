//! A linker command line, as far as the wrapper must understand it.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::response;

/// A linker command line without what asks for the symbols to be stripped.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct LinkArguments {
    /// The arguments, with argument files expanded.
    pub(super) words: Vec<OsString>,
    /// Whether all symbols are to be taken out of the output.
    pub(super) strip: bool,
    /// The output.
    pub(super) output: Option<PathBuf>,
}

impl LinkArguments {
    /// Reads what follows the linker's name.
    pub(super) fn read(words: &[OsString]) -> Self {
        let mut result = Self { words: Vec::new(), strip: false, output: None };
        for word in response::expand_for_linker(words) {
            if result.words.last().is_some_and(|last| last == "-o") {
                result.output = Some(PathBuf::from(&word));
            }
            match without_strip(&word) {
                None => result.words.push(word),
                Some(None) => {
                    result.strip = true;
                    // It hands one word on, and would take the next one for that.
                    result.words.pop_if(|last| last == "-Xlinker");
                }
                Some(Some(rest)) => {
                    result.strip = true;
                    result.words.push(rest);
                }
            }
        }
        result
    }
}

/// What remains of an argument that asks for stripping; `None` if it does not.
fn without_strip(word: &OsStr) -> Option<Option<OsString>> {
    let strips = |option: &str| matches!(option, "-s" | "--strip-all" | "-strip-all");
    let word = word.to_str()?;
    if strips(word) {
        return Some(None);
    }
    // A list of options for the linker behind the compiler.
    let list = word.strip_prefix("-Wl,")?;
    if !list.split(',').any(strips) {
        return None;
    }
    let kept: Vec<&str> = list.split(',').filter(|option| !strips(option)).collect();
    Some((!kept.is_empty()).then(|| format!("-Wl,{}", kept.join(",")).into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> LinkArguments {
        LinkArguments::read(&line.split(' ').map(OsString::from).collect::<Vec<_>>())
    }

    #[test]
    fn an_ordinary_command_is_kept_as_it_is() {
        let line = "-m64 a.o -Wl,--as-needed -Wl,--strip-debug -lc -o t/app -Wl,-z,relro,-z,now";
        let arguments = read(line);
        assert_eq!(arguments.words, line.split(' ').collect::<Vec<_>>());
        assert!(!arguments.strip);
        assert_eq!(arguments.output, Some(PathBuf::from("t/app")));
    }

    #[test]
    fn every_way_to_ask_for_stripping_is_found_and_taken_out() {
        for option in ["-s", "-Wl,--strip-all", "-Wl,-s", "--strip-all"] {
            let arguments = read(&format!("a.o {option} -o app"));
            assert!(arguments.strip, "{option}");
            assert_eq!(arguments.words, ["a.o", "-o", "app"], "{option}");
        }
        for option in ["-s", "--strip-all", "-strip-all"] {
            let arguments = read(&format!("a.o -Xlinker {option} -o app -Xlinker -z"));
            assert!(arguments.strip, "{option}");
            assert_eq!(arguments.words, ["a.o", "-o", "app", "-Xlinker", "-z"], "{option}");
            assert_eq!(arguments.output, Some(PathBuf::from("app")), "{option}");
        }
        let mixed = read("-Wl,-O1,--strip-all,-z,now");
        assert!(mixed.strip);
        assert_eq!(mixed.words, ["-Wl,-O1,-z,now"]);
    }
}
