//! Argument files: `@file` stands for the arguments written in that file.

use std::ffi::{OsStr, OsString};
use std::fs;

/// Expands the argument files of a rustc command: one argument a line, taken as it is.
///
/// `None` if an argument is not UTF-8 or a file cannot be read; rustc itself will say so.
pub(crate) fn expand_for_rustc(words: &[OsString]) -> Option<Vec<String>> {
    let mut list = Vec::new();
    for word in words {
        let word = word.to_str()?;
        match word.strip_prefix('@') {
            Some(file) => list.extend(fs::read_to_string(file).ok()?.lines().map(String::from)),
            None => list.push(word.into()),
        }
    }
    Some(list)
}

/// Expands the argument files of a linker command, which rustc writes where the command line would
/// be too long: arguments separated by white space, with `\` before a character that stands for
/// itself and quotes around text with spaces. A file that cannot be read is kept as an argument.
pub(crate) fn expand_for_linker(words: &[OsString]) -> Vec<OsString> {
    let mut list = Vec::new();
    for word in words {
        let file = word.to_str().and_then(|word| word.strip_prefix('@'));
        match file.and_then(|file| fs::read_to_string(file).ok()) {
            Some(text) => list.extend(split(&text).into_iter().map(OsString::from)),
            None => list.push(word.clone()),
        }
    }
    list
}

/// The text of an argument file for a linker.
pub(crate) fn file_for_linker(words: &[OsString]) -> String {
    words.iter().map(|word| quote(word) + "\n").collect()
}

fn quote(word: &OsStr) -> String {
    let mut quoted = String::new();
    for character in word.to_string_lossy().chars() {
        if character.is_whitespace() || matches!(character, '\\' | '"' | '\'') {
            quoted.push('\\');
        }
        quoted.push(character);
    }
    if quoted.is_empty() { "\"\"".into() } else { quoted }
}

fn split(text: &str) -> Vec<String> {
    let mut list = Vec::new();
    let mut word: Option<String> = None;
    let mut inside = None;
    let mut characters = text.chars();
    while let Some(character) = characters.next() {
        match (character, inside) {
            ('\\', Some('"') | None) => {
                word.get_or_insert_default().extend(characters.next());
            }
            (quote, Some(open)) if quote == open => inside = None,
            ('"' | '\'', None) => {
                inside = Some(character);
                word.get_or_insert_default();
            }
            (space, None) if space.is_whitespace() => list.extend(word.take()),
            (other, _) => word.get_or_insert_default().push(other),
        }
    }
    list.extend(word);
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linker_file_is_read_as_it_was_meant() {
        assert_eq!(
            split("-o\na\\ b\n\"c d\" 'e\\f'\n\"\" x"),
            ["-o", "a b", "c d", "e\\f", "", "x"]
        );
    }

    #[test]
    fn what_is_written_is_read_back() {
        let words = ["-Wl,--as-needed", "a b", "c\\d", "\"", "", "'"].map(OsString::from);
        let text = file_for_linker(&words);
        let back: Vec<OsString> = split(&text).into_iter().map(OsString::from).collect();
        assert_eq!(back, words);
    }

    #[test]
    fn files_are_expanded_in_place_and_a_missing_one_is_kept() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("args");
        fs::write(&file, "-lm\n-o\nx y\n").unwrap();
        let at = |path: &std::path::Path| OsString::from(format!("@{}", path.display()));
        let missing = at(&folder.path().join("none"));
        let words = [OsString::from("first"), at(&file), missing.clone()];
        let expanded = expand_for_linker(&words);
        assert_eq!(
            expanded,
            ["first".into(), "-lm".into(), "-o".into(), "x".into(), "y".into(), missing]
        );
        assert_eq!(expand_for_rustc(&words[..2]).unwrap(), ["first", "-lm", "-o", "x y"]);
        assert_eq!(expand_for_rustc(&words), None);
    }
}
