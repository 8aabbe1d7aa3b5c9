//! The file `.crosscut/env` of a workspace: variables that its set-up found to be needed.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Sets the variables of the file that are not set already.
pub(crate) fn apply(command: &mut Command, workspace: &Path, is_set: impl Fn(&OsStr) -> bool) {
    let Ok(text) = fs::read_to_string(workspace.join(".crosscut/env")) else { return };
    for (name, value) in lines(&text) {
        if !is_set(name.as_ref()) {
            command.env(name, value);
        }
    }
}

/// `NAME=VALUE` a line; other lines mean nothing.
fn lines(text: &str) -> impl Iterator<Item = (&str, &str)> {
    text.lines().filter_map(|line| {
        let (name, value) = line.trim().split_once('=')?;
        (!name.is_empty() && !name.starts_with('#')).then_some((name, value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_set_where_they_are_not() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join(".crosscut")).unwrap();
        let text = "# set-up\nONE=1\n\nTWO=a=b\nnonsense\n=x\n";
        fs::write(folder.path().join(".crosscut/env"), text).unwrap();
        let mut command = Command::new("cargo");
        apply(&mut command, folder.path(), |name| name == "ONE");
        let set: Vec<_> = command.get_envs().collect();
        assert_eq!(set, [(OsStr::new("TWO"), Some(OsStr::new("a=b")))]);
    }
}
