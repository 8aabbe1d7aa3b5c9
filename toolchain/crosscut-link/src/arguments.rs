//! A rustc command line, taken apart.
//!
//! Only what the wrapper must know has a name here; the rest is kept as it came, in its order.

use std::path::{Path, PathBuf};

/// One argument with its value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Argument {
    /// `-C name=value`, in any of its spellings.
    Codegen { name: String, value: Option<String> },
    /// An option with a value: `--name value`, `--name=value`, `-L value`, `-Lvalue`. The name has
    /// its dashes.
    Valued { name: String, value: String },
    /// Anything else: a flag or the source file.
    Plain(String),
}

/// Long options that take a value, as rustc 1.95 lists them.
const LONG_VALUED: &[&str] = &[
    "--allow",
    "--cap-lints",
    "--cfg",
    "--check-cfg",
    "--codegen",
    "--color",
    "--crate-name",
    "--crate-type",
    "--deny",
    "--diagnostic-width",
    "--edition",
    "--emit",
    "--env-set",
    "--error-format",
    "--explain",
    "--extern",
    "--forbid",
    "--force-warn",
    "--json",
    "--out-dir",
    "--print",
    "--remap-path-prefix",
    "--remap-path-scope",
    "--sysroot",
    "--target",
    "--warn",
];

/// Short options that take a value.
const SHORT_VALUED: &[&str] = &["-A", "-C", "-D", "-F", "-L", "-W", "-Z", "-l", "-o"];

/// A rustc command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Arguments(pub(crate) Vec<Argument>);

impl Arguments {
    /// Takes apart what follows rustc's own name. Argument files (`@file`) are to be expanded
    /// before.
    pub(crate) fn parse(words: impl IntoIterator<Item = String>) -> Self {
        let mut words = words.into_iter();
        let mut list = Vec::new();
        while let Some(word) = words.next() {
            list.push(match split(&word) {
                Split::Plain => Argument::Plain(word),
                Split::Complete(name, value) => named(name, value),
                Split::Open(name) => match words.next() {
                    Some(value) => named(name, value),
                    None => Argument::Plain(word),
                },
            });
        }
        Self(list)
    }

    /// The words to run rustc with.
    pub(crate) fn words(&self) -> Vec<String> {
        let mut words = Vec::new();
        for argument in &self.0 {
            match argument {
                Argument::Codegen { name, value } => {
                    words.push("-C".into());
                    words.push(match value {
                        Some(value) => format!("{name}={value}"),
                        None => name.clone(),
                    });
                }
                Argument::Valued { name, value } => {
                    words.push(name.clone());
                    words.push(value.clone());
                }
                Argument::Plain(word) => words.push(word.clone()),
            }
        }
        words
    }

    /// The values of an option, in order.
    pub(crate) fn values<'a>(&'a self, option: &'a str) -> impl Iterator<Item = &'a str> {
        self.0.iter().filter_map(move |argument| match argument {
            Argument::Valued { name, value } if name == option => Some(value.as_str()),
            _ => None,
        })
    }

    /// The value of a codegen option; the last one counts, as it does for rustc. An option without
    /// a value has the empty one.
    pub(crate) fn codegen(&self, option: &str) -> Option<&str> {
        self.0.iter().rev().find_map(|argument| match argument {
            Argument::Codegen { name, value } if name == option => {
                Some(value.as_deref().unwrap_or(""))
            }
            _ => None,
        })
    }

    /// Whether a flag was given.
    pub(crate) fn flag(&self, flag: &str) -> bool {
        self.0.iter().any(|argument| matches!(argument, Argument::Plain(word) if word == flag))
    }

    pub(crate) fn crate_name(&self) -> Option<&str> {
        self.values("--crate-name").last()
    }

    pub(crate) fn target(&self) -> Option<&str> {
        self.values("--target").last()
    }

    /// The kinds of output asked for, without the paths that may follow them.
    pub(crate) fn emits<'a>(&'a self, kind: &'a str) -> bool {
        self.values("--emit")
            .flat_map(|list| list.split(','))
            .any(|item| item.split('=').next() == Some(kind))
    }

    pub(crate) fn crate_types(&self) -> impl Iterator<Item = &str> {
        self.values("--crate-type").flat_map(|list| list.split(','))
    }

    /// Whether rustc will run a linker for this crate.
    pub(crate) fn links(&self) -> bool {
        self.flag("--test")
            || self.crate_types().next().is_none()
            || self.crate_types().any(|kind| matches!(kind, "bin" | "cdylib" | "dylib"))
    }

    /// Whether all that comes of this crate is an archive for other languages' linkers.
    pub(crate) fn makes_static_library_only(&self) -> bool {
        self.crate_types().next().is_some() && self.crate_types().all(|kind| kind == "staticlib")
    }

    /// Whether rustc merges the crates of a program (link-time optimisation) before it links.
    pub(crate) fn merges_crates(&self) -> bool {
        let off = |value: &str| matches!(value, "n" | "no" | "off" | "false");
        self.codegen("lto").is_some_and(|value| !off(value))
    }

    /// Where rustc puts its output, and the name it gives it, without `lib` and extension.
    pub(crate) fn output(&self) -> Option<(PathBuf, String)> {
        if let Some(file) = self.values("-o").last() {
            let file = Path::new(file);
            let folder = file.parent().map(Path::to_path_buf).unwrap_or_default();
            return Some((folder, crate::paths::stem_of(file)?));
        }
        let folder = self.values("--out-dir").last().unwrap_or("");
        let extra = self.codegen("extra-filename").unwrap_or("");
        Some((PathBuf::from(folder), format!("{}{extra}", self.crate_name()?)))
    }

    /// The files of the crates this one names: rlib, rmeta or dynamic library.
    pub(crate) fn externs(&self) -> impl Iterator<Item = &Path> {
        self.values("--extern").filter_map(|value| Some(Path::new(value.split_once('=')?.1)))
    }
}

/// How one word was written.
enum Split<'a> {
    /// Not an option with a value.
    Plain,
    /// The value is in the same word.
    Complete(&'a str, String),
    /// The value is the next word.
    Open(&'a str),
}

fn split(word: &str) -> Split<'_> {
    if word.starts_with("--") {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word, None),
        };
        if !LONG_VALUED.contains(&name) {
            return Split::Plain;
        }
        return match value {
            Some(value) => Split::Complete(name, value.into()),
            None => Split::Open(name),
        };
    }
    let Some(name) = SHORT_VALUED.iter().find(|name| word.starts_with(**name)) else {
        return Split::Plain;
    };
    match &word[2..] {
        "" => Split::Open(name),
        value => Split::Complete(name, value.into()),
    }
}

fn named(name: &str, value: String) -> Argument {
    if name != "-C" && name != "--codegen" {
        return Argument::Valued { name: name.into(), value };
    }
    // rustc takes `_` for `-` in the names of codegen options.
    match value.split_once('=') {
        Some((name, value)) => {
            Argument::Codegen { name: name.replace('_', "-"), value: Some(value.into()) }
        }
        None => Argument::Codegen { name: value.replace('_', "-"), value: None },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(line: &str) -> Arguments {
        Arguments::parse(line.split_whitespace().map(String::from))
    }

    #[test]
    fn every_spelling_of_an_option_is_the_same_option() {
        for line in
            ["-C opt-level=3", "-Copt-level=3", "--codegen opt-level=3", "--codegen=opt_level=3"]
        {
            assert_eq!(parse(line).codegen("opt-level"), Some("3"), "{line}");
            assert_eq!(parse(line).words(), ["-C", "opt-level=3"], "{line}");
        }
        for line in ["-L dependency=x", "-Ldependency=x"] {
            assert_eq!(parse(line).words(), ["-L", "dependency=x"], "{line}");
        }
        assert_eq!(parse("--emit=link").words(), parse("--emit link").words());
    }

    #[test]
    fn the_last_value_of_a_codegen_option_counts() {
        assert_eq!(parse("-C linker=a -C linker=b").codegen("linker"), Some("b"));
        assert_eq!(parse("-C prefer-dynamic").codegen("prefer-dynamic"), Some(""));
    }

    #[test]
    fn the_value_of_an_option_is_never_taken_for_the_source_file() {
        let arguments = parse("--crate-name x src/main.rs --cfg test -o out/x-1");
        let plain: Vec<_> =
            arguments.0.iter().filter(|a| matches!(a, Argument::Plain(_))).collect();
        assert_eq!(plain, [&Argument::Plain("src/main.rs".into())]);
        assert!(!arguments.flag("test"));
    }

    #[test]
    fn output_is_named_by_crate_and_extra_filename_or_by_the_output_option() {
        let cargo = parse("--crate-name app --out-dir t/deps -C extra-filename=-12ab");
        assert_eq!(cargo.output(), Some((PathBuf::from("t/deps"), "app-12ab".into())));
        let plain = parse("-o t/libapp.so --crate-name app");
        assert_eq!(plain.output(), Some((PathBuf::from("t"), "app".into())));
    }

    #[test]
    fn programs_tests_and_dynamic_libraries_link_and_libraries_do_not() {
        for line in ["--crate-type bin", "--crate-type lib --test", "--crate-type rlib,cdylib", ""]
        {
            assert!(parse(line).links(), "{line}");
        }
        for line in ["--crate-type lib", "--crate-type=rlib", "--crate-type staticlib"] {
            assert!(!parse(line).links(), "{line}");
        }
    }

    #[test]
    fn a_static_library_is_told_apart_from_crates_that_are_one_among_others() {
        assert!(parse("--crate-type staticlib").makes_static_library_only());
        for line in ["", "--crate-type lib", "--crate-type staticlib,rlib", "--test"] {
            assert!(!parse(line).makes_static_library_only(), "{line}");
        }
    }

    #[test]
    fn crates_are_merged_only_by_optimisation_across_crates() {
        for line in ["-C lto", "-C lto=thin", "-C lto=fat"] {
            assert!(parse(line).merges_crates(), "{line}");
        }
        for line in ["", "-C lto=off", "-C opt-level=3"] {
            assert!(!parse(line).merges_crates(), "{line}");
        }
    }

    #[test]
    fn emit_kinds_are_found_with_and_without_a_path() {
        let arguments = parse("--emit=dep-info=x.d,link --emit metadata");
        assert!(arguments.emits("dep-info") && arguments.emits("link"));
        assert!(arguments.emits("metadata") && !arguments.emits("asm"));
    }
}
