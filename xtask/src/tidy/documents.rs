//! What the documents must hold to stay true.

use std::collections::BTreeSet;
use std::path::Path;

use super::workspace::Workspace;
use crate::Result;
use crate::checkout::root;

const LONGEST_README: usize = 20;

pub(super) fn check(workspace: &Workspace) -> Result<Vec<String>> {
    let path = root().join("ARCHITECTURE.md");
    let text = std::fs::read_to_string(&path)
        .map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let crates = workspace.packages.keys().map(String::as_str).collect();
    let mut faults = check_architecture(&text, &crates);
    faults.extend(check_paths(&text, root()));
    faults.extend(check_readmes(root())?);
    Ok(faults)
}

/// Every crate is named, in backticks, and nothing that looks like one of ours is not.
fn check_architecture(text: &str, crates: &BTreeSet<&str>) -> Vec<String> {
    let named: BTreeSet<&str> = in_backticks(text).collect();
    let missing = crates
        .difference(&named)
        .map(|name| format!("ARCHITECTURE.md does not name crate `{name}`"));
    let unknown = named
        .iter()
        .filter(|name| looks_like_a_crate(name) && !crates.contains(*name))
        .map(|name| format!("ARCHITECTURE.md names `{name}`, which is no crate"));
    missing.chain(unknown).collect()
}

/// What is written as a path is there.
fn check_paths(text: &str, root: &Path) -> Vec<String> {
    in_backticks(text)
        .filter(|span| span.contains('/') && !root.join(span).exists())
        .map(|path| format!("ARCHITECTURE.md names `{path}`, which is not there"))
        .collect()
}

fn in_backticks(text: &str) -> impl Iterator<Item = &str> {
    text.split('`').skip(1).step_by(2)
}

fn looks_like_a_crate(name: &str) -> bool {
    (name.starts_with("crosscut-") || name.starts_with("cargo-"))
        && name.chars().all(|letter| letter.is_ascii_lowercase() || letter == '-')
}

/// Every top folder says in a few lines what it holds.
fn check_readmes(root: &Path) -> Result<Vec<String>> {
    let entries = std::fs::read_dir(root).map_err(|error| format!("cannot list files: {error}"))?;
    let mut faults = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        // An empty folder is none for git.
        let is_empty =
            std::fs::read_dir(entry.path()).is_ok_and(|mut inside| inside.next().is_none());
        let is_folder = entry.path().is_dir() && !is_empty;
        if !is_folder || name.starts_with('.') || name == "target" {
            continue;
        }
        match std::fs::read_to_string(entry.path().join("README.md")) {
            Err(_) => faults.push(format!("folder {name} has no README.md")),
            Ok(text) if text.lines().count() > LONGEST_README => {
                faults.push(format!("{name}/README.md has more than {LONGEST_README} lines"));
            }
            Ok(_) => {}
        }
    }
    Ok(faults)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_and_architecture_must_agree() {
        let crates = BTreeSet::from(["crosscut", "crosscut-image"]);
        assert_eq!(
            check_architecture("`crosscut` and `crosscut-image`, `cargo`", &crates),
            [""; 0]
        );
        assert_eq!(
            check_architecture("`crosscut` and `crosscut-old`", &crates),
            [
                "ARCHITECTURE.md does not name crate `crosscut-image`",
                "ARCHITECTURE.md names `crosscut-old`, which is no crate",
            ]
        );
    }

    #[test]
    fn a_path_that_is_not_there_is_a_fault() {
        let root = tempfile::tempdir().expect("a folder");
        std::fs::create_dir(root.path().join("docs")).expect("a folder");
        std::fs::write(root.path().join("docs/a.md"), "").expect("a file");
        assert_eq!(
            check_paths("`docs/a.md`, `docs/b.md`, `b.md`", root.path()),
            ["ARCHITECTURE.md names `docs/b.md`, which is not there"]
        );
    }

    #[test]
    fn a_folder_without_a_short_readme_is_a_fault() {
        let root = tempfile::tempdir().expect("a folder");
        for name in ["good", "long", "none", ".hidden", "target"] {
            std::fs::create_dir(root.path().join(name)).expect("a folder");
        }
        std::fs::create_dir(root.path().join("empty")).expect("a folder");
        std::fs::write(root.path().join("none/notes.md"), "other\n").expect("a file");
        std::fs::write(root.path().join("good/README.md"), "short\n").expect("a file");
        std::fs::write(root.path().join("long/README.md"), "line\n".repeat(21)).expect("a file");
        let mut faults = check_readmes(root.path()).expect("a list");
        faults.sort();
        assert_eq!(
            faults,
            ["folder none has no README.md", "long/README.md has more than 20 lines"]
        );
    }
}
