//! Which symbols the files of a link define.
//!
//! A file that is not there defines nothing: where it is needed, the linker says so. One that is there and
//! cannot be read might define anything, so that is an error.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use crosscut_lower::ending::FILES_HELP;
use object::read::archive::ArchiveFile;
use object::{Object, ObjectSymbol, ReadCache};

use super::Failure;

/// Which of these symbols a library defines, by its own table. This finds functions whose names are
/// not mangled.
pub(super) fn of_library(library: &Path, wanted: &[String]) -> Result<HashSet<String>, Failure> {
    // Only the table is read: libraries are large.
    let Some(file) = if_there(library, File::open(library))? else { return Ok(HashSet::new()) };
    let cache = ReadCache::new(file);
    let broken = |error: object::Error| {
        Failure::new(
            &format!("cannot read the library `{}`: {error}", library.display()),
            "run `cargo crosscut clean` and build again",
        )
    };
    let archive = ArchiveFile::parse(&cache).map_err(broken)?;
    let wanted: HashSet<&[u8]> = wanted.iter().map(|symbol| symbol.as_bytes()).collect();
    let mut found = HashSet::new();
    // A library that defines nothing has no table.
    for symbol in archive.symbols().map_err(broken)?.into_iter().flatten() {
        let symbol = symbol.map_err(broken)?;
        if wanted.contains(symbol.name()) {
            found.insert(String::from_utf8_lossy(symbol.name()).into_owned());
        }
    }
    Ok(found)
}

/// Whether an object defines this symbol. What only a plugin of the linker understands does not.
pub(super) fn in_object(file: &Path, symbol: &str) -> Result<bool, Failure> {
    let Some(bytes) = if_there(file, fs::read(file))? else { return Ok(false) };
    let Ok(object) = object::File::parse(&*bytes) else { return Ok(false) };
    Ok(object.symbols().any(|found| found.is_definition() && found.name() == Ok(symbol)))
}

/// `None` if the file is not there.
fn if_there<T>(file: &Path, read: io::Result<T>) -> Result<Option<T>, Failure> {
    match read {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        other => other.map(Some).map_err(|error| {
            Failure::new(&format!("cannot read `{}`: {error}", file.display()), FILES_HELP)
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told<T>(result: Result<T, Failure>) -> (String, String) {
        let Err(Failure::Diagnostics(mut list)) = result else { panic!("no error") };
        let only = list.remove(0);
        (only.message, only.help)
    }

    #[test]
    fn a_file_that_is_not_there_defines_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let wanted = ["sum".to_string()];
        assert!(of_library(&folder.path().join("a.rlib"), &wanted).is_ok_and(|all| all.is_empty()));
        assert!(in_object(&folder.path().join("a.o"), "sum").is_ok_and(|found| !found));
    }

    #[test]
    fn a_file_that_cannot_be_read_is_an_error_and_not_one_without_symbols() {
        let folder = tempfile::tempdir().unwrap();
        let name = folder.path().display();
        for error in [told(in_object(folder.path(), "sum")), told(of_library(folder.path(), &[]))] {
            assert!(error.0.contains(&format!("`{name}`: ")), "{error:?}");
        }
        let loops = folder.path().join("loop");
        std::os::unix::fs::symlink(&loops, &loops).unwrap();
        for error in [told(in_object(&loops, "sum")), told(of_library(&loops, &[]))] {
            assert!(
                error.0.starts_with(&format!("cannot read `{}`: ", loops.display())),
                "{error:?}"
            );
            assert_eq!(error.1, FILES_HELP);
        }
    }

    #[test]
    fn a_library_that_is_cut_off_is_an_error_and_an_empty_one_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let library = folder.path().join("liba.rlib");
        fs::write(&library, "!<arch>\n").unwrap();
        assert!(of_library(&library, &[]).is_ok_and(|all| all.is_empty()));
        for cut_off in ["", "!<ar", "!<arch>\n/               0           0     0     0       99"] {
            fs::write(&library, cut_off).unwrap();
            let (message, help) = told(of_library(&library, &[]));
            let start = format!("cannot read the library `{}`: ", library.display());
            assert!(message.starts_with(&start), "{message}");
            assert_eq!(help, "run `cargo crosscut clean` and build again");
        }
    }
}
