//! What every source file must keep to.

use std::path::Path;

use crate::Result;
use crate::checkout::root;

const LONGEST_SOURCE: usize = 500;

/// The one place that may speak to LLVM.
const LLVM_FOLDER: &str = "toolchain/crosscut-lower/";

/// Folders of one machine, in pieces so that this file passes.
const MACHINE_FOLDERS: &[&str] =
    &[concat!("/ro", "ot/"), concat!("/wo", "rk/"), concat!("/ho", "me/")];

/// A text file of the repository.
pub(super) struct File {
    /// From the root, with `/`.
    pub(super) path: String,
    pub(super) text: String,
}

/// All text files, in order, without what cargo, git and set-up make.
pub(super) fn read_all() -> Result<Vec<File>> {
    let mut files = Vec::new();
    read_folder(root(), "", &mut files).map_err(|error| format!("cannot read sources: {error}"))?;
    files.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(files)
}

fn read_folder(folder: &Path, prefix: &str, files: &mut Vec<File>) -> std::io::Result<()> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = format!("{prefix}{name}");
        if entry.file_type()?.is_dir() {
            if !matches!(name.as_str(), "target" | ".git" | ".crosscut") {
                read_folder(&entry.path(), &format!("{path}/"), files)?;
            }
        } else if let Ok(text) = std::fs::read_to_string(entry.path()) {
            files.push(File { path, text });
        }
    }
    Ok(())
}

pub(super) fn check(files: &[File]) -> Vec<String> {
    files.iter().flat_map(check_file).collect()
}

fn check_file(file: &File) -> Vec<String> {
    let File { path, text } = file;
    let mut faults = Vec::new();
    if path.ends_with(".rs") {
        let lines = text.lines().count();
        if lines > LONGEST_SOURCE {
            faults.push(format!("{path} has {lines} lines, more than {LONGEST_SOURCE}"));
        }
        for line in exceptions_without_reason(text) {
            faults.push(format!("{path}:{line} makes an exception without `reason = \"...\"`"));
        }
        if !path.starts_with(LLVM_FOLDER) && mentions_llvm_function(text) {
            faults.push(format!("{path} names a function of LLVM's, outside {LLVM_FOLDER}"));
        }
    }
    for (number, line) in text.lines().enumerate() {
        if let Some(folder) = machine_folder(line) {
            faults.push(format!("{path}:{} has a path of one machine: {folder}", number + 1));
        }
    }
    faults
}

/// The lines of `allow` and `expect` attributes that give no reason.
fn exceptions_without_reason(text: &str) -> Vec<usize> {
    let openings = ["allow(", "expect("]
        .into_iter()
        .flat_map(|word| ["#[", "#!["].map(|start| format!("{start}{word}")));
    let mut lines: Vec<usize> = openings
        .flat_map(|opening| text.match_indices(&opening).map(|(at, _)| at).collect::<Vec<_>>())
        .filter(|&at| {
            let attribute = &text[at..];
            let end = attribute.find(")]").unwrap_or(attribute.len());
            !attribute[..end].contains("reason = \"")
        })
        .map(|at| text[..at].lines().count() + usize::from(text[..at].ends_with('\n')))
        .collect();
    lines.sort_unstable();
    lines
}

/// Whether `text` has a name like those of LLVM's C interface: the four letters and a word.
fn mentions_llvm_function(text: &str) -> bool {
    text.match_indices("LLVM").any(|(at, found)| {
        let mut after = text[at + found.len()..].chars();
        after.next().is_some_and(|letter| letter.is_ascii_uppercase())
            && after.next().is_some_and(|letter| letter.is_ascii_lowercase())
    })
}

/// An absolute path into a folder that another machine does not have.
fn machine_folder(line: &str) -> Option<&'static str> {
    MACHINE_FOLDERS.iter().copied().find(|folder| {
        line.match_indices(folder).any(|(at, _)| {
            // Inside a longer path or an address it is something else.
            let before = line[..at].chars().next_back();
            !before.is_some_and(|letter| letter.is_alphanumeric() || "_-./}~*".contains(letter))
        })
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of(path: &str, text: &str) -> Vec<String> {
        check_file(&File { path: path.into(), text: text.into() })
    }

    #[test]
    fn a_long_source_is_a_fault_and_a_long_table_is_not() {
        assert_eq!(faults_of("a.rs", &"\n".repeat(501)), ["a.rs has 501 lines, more than 500"]);
        assert_eq!(faults_of("a.rs", &"\n".repeat(500)), [""; 0]);
        assert_eq!(faults_of("a.txt", &"\n".repeat(501)), [""; 0]);
    }

    #[test]
    fn an_exception_without_reason_is_a_fault() {
        let attribute = |inside: &str| format!("fn a() {{}}\n#[{}({inside})]\n", "allow");
        let expected = "a.rs:2 makes an exception without `reason = \"...\"`";
        assert_eq!(faults_of("a.rs", &attribute("dead_code")), [expected]);
        assert_eq!(faults_of("a.rs", &attribute("\n dead_code,\n reason = \"why\"\n")), [""; 0]);
    }

    #[test]
    fn llvms_functions_are_named_in_one_place() {
        let text = format!("fn {}{}();", "LLVM", "Shutdown");
        assert_eq!(faults_of("runtime/a.rs", &text).len(), 1);
        assert_eq!(faults_of("toolchain/crosscut-lower/src/a.rs", &text), [""; 0]);
        assert_eq!(faults_of("runtime/a.rs", "// LLVM's back end, LLVM IR, LLVM_DIR"), [""; 0]);
    }

    #[test]
    fn a_path_of_one_machine_is_a_fault() {
        let folder = MACHINE_FOLDERS[1];
        let expected = format!("a.md:2 has a path of one machine: {folder}");
        assert_eq!(faults_of("a.md", &format!("\nsee {folder}x")), [expected]);
        assert_eq!(faults_of("a.md", &format!("see target{folder}x")), [""; 0]);
    }
}
