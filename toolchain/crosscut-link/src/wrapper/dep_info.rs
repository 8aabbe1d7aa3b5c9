//! The file by which cargo learns what an output was made from.

use std::fs;
use std::path::Path;

use crate::variables;

/// Adds the command itself, and what it was asked to dump, to what a linked output depends on: with
/// another version of the command, device code is made anew.
///
/// Nothing is lost if that does not work out but such a rebuild, so errors are ignored.
pub(super) fn add(file: &Path, executable: &Path) {
    let Ok(text) = fs::read_to_string(file) else { return };
    let dump = std::env::var(variables::DUMP_AFTER).ok();
    if let Some(text) = with(&text, executable, dump.as_deref()) {
        let _ = fs::write(file, text);
    }
}

/// cargo reads the first rule and lines that begin with `# env-dep:`.
fn with(text: &str, executable: &Path, dump_after: Option<&str>) -> Option<String> {
    let executable = executable.to_str()?.replace(' ', "\\ ");
    let end = text
        .lines()
        .find(|line| line.contains(": "))
        .map(|line| line.as_ptr() as usize - text.as_ptr() as usize + line.len())?;
    let (rule, rest) = text.split_at(end);
    let dump = match dump_after {
        Some(name) => format!("# env-dep:{}={name}\n", variables::DUMP_AFTER),
        None => format!("# env-dep:{}\n", variables::DUMP_AFTER),
    };
    Some(format!("{rule} {executable}{rest}{dump}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_and_its_dump_become_dependencies_of_the_first_rule() {
        let text = "t/app-1.d: src/main.rs\n\nt/app-1: src/main.rs\n\nsrc/main.rs:\n";
        assert_eq!(
            with(text, Path::new("/my bin/cargo-crosscut"), None).unwrap(),
            "t/app-1.d: src/main.rs /my\\ bin/cargo-crosscut\n\nt/app-1: src/main.rs\n\n\
             src/main.rs:\n# env-dep:CROSSCUT_DUMP_AFTER\n"
        );
        let dumped = with(text, Path::new("/c"), Some("inline")).unwrap();
        assert!(dumped.ends_with("# env-dep:CROSSCUT_DUMP_AFTER=inline\n"), "{dumped}");
    }

    #[test]
    fn a_file_without_a_rule_is_left_alone() {
        assert_eq!(with("# nothing\n", Path::new("/c"), None), None);
    }
}
