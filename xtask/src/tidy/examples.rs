//! Every public function of the Rust API is called in an example on the page of its type.
//!
//! Calls and paths are looked for, whatever they are of, so that a name which many types have is found where
//! another's is called; trait methods and what macros make are not seen.
//!
//! The page of a type has the examples of the type, of its `impl` blocks and of its functions: what
//! rustdoc shows together. Sources are read as rustfmt leaves them: items begin at the margin, their
//! functions four columns further.

use std::collections::{BTreeMap, BTreeSet};

use super::sources::File;

/// The crates whose items `crosscut` re-exports, and where their sources are.
const LAYERS: &[(&str, &[&str])] = &[
    ("crosscut_device", &["device/crosscut-device/src/"]),
    ("crosscut_runtime", &["runtime/crosscut-runtime/src/", "runtime/crosscut-adapter-api/src/"]),
    ("", &["api/crosscut/src/"]),
];

const FACADE: &str = "api/crosscut/src/lib.rs";

/// What is known of a type, or of a function outside of types.
#[derive(Default)]
struct Page {
    examples: String,
    /// Its public functions, and where each is.
    functions: Vec<(String, String)>,
}

pub(super) fn check(files: &[File]) -> Vec<String> {
    let Some(facade) = files.iter().find(|file| file.path == FACADE) else {
        return vec![format!("{FACADE} is not there")];
    };
    let mut faults = Vec::new();
    for (krate, folders) in LAYERS {
        let exported = exports(&facade.text, krate);
        let mut pages = BTreeMap::new();
        for file in files {
            if file.path.ends_with(".rs") && folders.iter().any(|it| file.path.starts_with(it)) {
                read(file, &mut pages);
            }
        }
        for (name, page) in pages.iter().filter(|(name, _)| exported.contains(*name)) {
            let unseen = page.functions.iter().filter(|(it, _)| !calls(&page.examples, it));
            faults.extend(unseen.map(|(function, place)| {
                format!("{place} `{function}` is in no example on the page of `{name}`")
            }));
        }
    }
    faults
}

/// The names that the facade re-exports from a crate; from its own modules for no name.
fn exports(facade: &str, krate: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    for statement in facade.split("pub use ").skip(1) {
        let statement = statement.split(';').next().unwrap_or_default();
        let Some((from, items)) = statement.split_once("::") else { continue };
        let ours = match krate {
            "" => !from.starts_with("crosscut_"),
            _ => from == krate,
        };
        if ours {
            let paths = items.split(|letter: char| !is_word(letter) && letter != ':');
            let words = paths.filter_map(|path| path.rsplit("::").next());
            names.extend(words.filter(|word| !word.is_empty()).map(str::to_owned));
        }
    }
    names
}

fn read(file: &File, pages: &mut BTreeMap<String, Page>) {
    let (mut documents, mut is_hidden) = (Vec::new(), false);
    let mut header: Option<String> = None;
    let mut owner: Option<String> = None;
    for (number, line) in file.text.lines().enumerate() {
        let place = || format!("{}:{}", file.path, number + 1);
        let inside = line.trim_start();
        if line == "mod tests {" {
            break;
        }
        if let Some(document) = inside.strip_prefix("///") {
            documents.push(document.trim_start().to_owned());
            continue;
        }
        if inside.starts_with("//") || inside.starts_with("#[") {
            is_hidden |= inside.starts_with("#[doc(hidden)]");
            continue;
        }
        if line.starts_with("impl") {
            header = Some(String::new());
        } else if line == "}" {
            owner = None;
        }
        if let Some(text) = &mut header {
            *text += line;
            *text += " ";
            if line.contains('{') {
                owner = own_type(text);
                header = None;
                if let Some(owner) = &owner {
                    pages.entry(owner.clone()).or_default().examples += &examples(&documents);
                }
                documents.clear();
            }
            continue;
        }
        if let Some(name) = named(line, &["struct", "enum"]) {
            pages.entry(name).or_default().examples += &examples(&documents);
        } else if let Some(name) = named(line, &["fn"]) {
            // A function outside of types is a page of its own.
            let page = pages.entry(name.clone()).or_default();
            page.examples += &examples(&documents);
            page.functions.push((name, place()));
        } else if let (Some(owner), Some(line)) = (&owner, line.strip_prefix("    ")) {
            let page = pages.entry(owner.clone()).or_default();
            if let Some(name) = named(line, &["fn"])
                && !is_hidden
            {
                page.examples += &examples(&documents);
                page.functions.push((name, place()));
            }
        }
        documents.clear();
        is_hidden = false;
    }
}

/// The name of the public item that begins here, if it is one of these.
fn named(line: &str, kinds: &[&str]) -> Option<String> {
    let mut words = line.strip_prefix("pub ")?.split(' ');
    let kind = words.find(|word| !matches!(*word, "const" | "unsafe"))?;
    let rest = words.next().filter(|_| kinds.contains(&kind))?;
    Some(rest.chars().take_while(|letter| is_word(*letter)).collect())
}

/// The type that an `impl` without a trait is for.
fn own_type(header: &str) -> Option<String> {
    let mut rest = header.strip_prefix("impl")?;
    if rest.starts_with('<') {
        let mut depth = 0;
        let end = rest.char_indices().find(|(at, letter)| {
            match letter {
                '<' => depth += 1,
                '>' if !rest[..*at].ends_with('-') => depth -= 1,
                _ => (),
            }
            depth == 0
        })?;
        rest = &rest[end.0 + 1..];
    }
    let before_bounds = rest.split(" where ").next()?;
    if before_bounds.contains(" for ") {
        return None;
    }
    let path = before_bounds.trim_start().split(|letter: char| !is_word(letter) && letter != ':');
    Some(path.take(1).next()?.rsplit("::").next()?.to_owned())
}

/// The lines of the examples in a documentation.
fn examples(documents: &[String]) -> String {
    let (mut inside, mut found) = (false, String::new());
    for line in documents {
        if line.starts_with("```") {
            inside = !inside;
        } else if inside {
            found += line;
            found += "\n";
        }
    }
    found
}

/// Whether code calls a function of this name, or names it by its path. What comments and texts say is
/// no call.
fn calls(code: &str, name: &str) -> bool {
    let code = code_alone(code);
    code.match_indices(name).any(|(at, _)| {
        let (before, after) = (&code[..at], &code[at + name.len()..]);
        let is_whole = !before.ends_with(is_word) && !after.starts_with(is_word);
        // What comes before it in a definition is `fn`.
        let is_defined = before.trim_end().ends_with("fn");
        let is_called = after.starts_with('(') || after.starts_with("::<");
        is_whole && !is_defined && (is_called || before.ends_with("::"))
    })
}

/// The lines without what follows `//`, and with nothing between quotation marks.
fn code_alone(code: &str) -> String {
    let mut alone = String::new();
    for line in code.lines() {
        let line = line.split("//").next().unwrap_or_default();
        for part in line.split('"').step_by(2) {
            alone += part;
            alone.push('"');
        }
        alone.push('\n');
    }
    alone
}

fn is_word(letter: char) -> bool {
    letter.is_alphanumeric() || letter == '_'
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "pub use list::{List, first};\npub use crosscut_runtime::Other;\n";

    fn faults_of(list: &str) -> Vec<String> {
        let file = |path: &str, text: &str| File { path: path.into(), text: text.into() };
        check(&[file(FACADE, LIST), file("api/crosscut/src/list.rs", list)])
    }

    #[test]
    fn a_function_without_an_example_is_a_fault() {
        let list = "pub struct List;\n\nimpl<T: Fn() -> u8> List<T> {\n    /// It.\n    pub fn len(&self) {}\n}\n\npub fn first() {}\n";
        assert_eq!(
            faults_of(list),
            [
                "api/crosscut/src/list.rs:5 `len` is in no example on the page of `List`",
                "api/crosscut/src/list.rs:8 `first` is in no example on the page of `first`",
            ]
        );
    }

    #[test]
    fn an_example_on_the_type_its_impl_or_another_function_counts() {
        let page = |on_type: &str, on_impl: &str, on_other: &str| {
            let example = |code: &str| format!("/// ```\n/// {code}\n/// ```\n");
            let (on_type, on_impl) = (example(on_type), example(on_impl));
            let on_other = example(on_other).replace("///", "    ///");
            format!(
                "{on_type}pub struct List;\n\n{on_impl}impl List {{\n{on_other}    pub fn new() {{}}\n\n    #[must_use]\n    pub const fn len(&self) {{}}\n}}\n"
            )
        };
        assert_eq!(faults_of(&page("List::new().len()", "", "")), [""; 0]);
        assert_eq!(faults_of(&page("List::new()", "list.len()", "")), [""; 0]);
        assert_eq!(faults_of(&page("", "", "List::new().len()")), [""; 0]);
        assert_eq!(faults_of(&page("", "", "List::new().length()")).len(), 1);
    }

    #[test]
    fn only_a_call_or_a_path_counts() {
        for code in ["list.len()", "List::len", "lists.map(List::len)", "list.len::<u8>()"] {
            assert!(calls(code, "len"), "{code}");
        }
        for code in [
            "let len = 3;",
            "// its len() is 3",
            "fn len() {}",
            "print(\"len()\")",
            "list.len",
            "a.length()",
        ] {
            assert!(!calls(code, "len"), "{code}");
        }
    }

    #[test]
    fn what_the_facade_does_not_show_needs_no_example() {
        let list = "impl Other {\n    pub fn len(&self) {}\n}\n\nimpl Clone for List {\n    pub fn no() {}\n}\n\nimpl List {\n    #[doc(hidden)]\n    pub fn inner() {}\n\n    pub(crate) fn own() {}\n}\n";
        assert_eq!(faults_of(list), [""; 0]);
    }
}
