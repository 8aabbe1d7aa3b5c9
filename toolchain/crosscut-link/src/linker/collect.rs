//! Which crates a program is made of, and where their device bitcode is.
//!
//! Every crate's record names the crates it depends on. rustc leaves out those that are not used, so
//! only those count that the linker is given; unless rustc has merged the crates, when the linker is
//! given none.

use std::cell::OnceCell;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crosscut_image::registration::REGISTER;

use super::{Failure, defines};
use crate::paths::CratePaths;
use crate::record::{Record, SecondPassError};
use crate::symbols;

/// A crate of the program and the library that rustc made of it for the host.
struct Member {
    record: Record,
    library: PathBuf,
    /// Its bitcode takes part in the lowering.
    taken: bool,
}

/// The program that is linked.
pub(super) struct Program {
    record: Record,
    paths: CratePaths,
    members: Vec<Member>,
    libraries: OnceCell<PathBuf>,
}

impl Program {
    /// Follows the records from the crate that is linked. Crates that have none and need none (those of
    /// the standard library, procedural macros) have no part here.
    pub(super) fn collect(record: Record, link: &[OsString]) -> Result<Self, Failure> {
        let paths = CratePaths::of_bitcode(&record.bitcode);
        let linked: HashSet<&OsStr> =
            link.iter().filter_map(|word| Path::new(word).file_name()).collect();
        let mut members = Vec::new();
        let mut seen = HashSet::new();
        let mut open: Vec<PathBuf> = record.externs.iter().rev().cloned().collect();
        while let Some(output) = open.pop() {
            let Some(found) = Record::of_output(&output)? else { continue };
            if !seen.insert(found.bitcode.clone()) {
                continue;
            }
            open.extend(found.externs.iter().rev().cloned());
            let taken = found.reaches_device;
            let library = output.with_extension("rlib");
            if record.merges_crates || library.file_name().is_some_and(|it| linked.contains(it)) {
                members.push(Member { record: found, library, taken });
            }
        }
        Ok(Self { record, paths, members, libraries: OnceCell::new() })
    }

    /// Whether the linker is given a runtime, which is what takes device images.
    pub(super) fn has_runtime(&self, link: &[OsString]) -> Result<bool, Failure> {
        let wanted = [String::from(REGISTER)];
        for member in &self.members {
            if !defines::of_library(&member.library, &wanted)?.is_empty() {
                return Ok(true);
            }
        }
        for file in link.iter().map(Path::new) {
            if file.extension().is_some_and(|it| it == "o") && defines::in_object(file, REGISTER)? {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// The crate that is linked.
    pub(super) fn record(&self) -> &Record {
        &self.record
    }

    /// Its files.
    pub(super) fn paths(&self) -> &CratePaths {
        &self.paths
    }

    /// Makes the bitcode of every crate that reaches the device crate and whose bitcode is not
    /// there: that of the crate itself, and what a `cargo clean` took away.
    pub(super) fn compile(&self) -> Result<(), SecondPassError> {
        self.record.compile()?;
        self.members
            .iter()
            .filter(|member| member.taken)
            .try_for_each(|member| member.record.compile())
    }

    /// Adds the crates that these symbols may come from. Gives the symbols that no crate was added
    /// for.
    pub(super) fn add_crates_of(
        &mut self,
        mut wanted: Vec<String>,
    ) -> Result<Vec<String>, Failure> {
        let mut found = HashSet::new();
        for member in self.members.iter_mut().filter(|member| !member.taken) {
            let name = &member.record.crate_name;
            let defined = defines::of_library(&member.library, &wanted)?;
            let mut here = wanted
                .iter()
                .filter(|symbol| defined.contains(*symbol) || symbols::mentions(symbol, name))
                .peekable();
            if here.peek().is_none() {
                continue;
            }
            found.extend(here.cloned());
            member.record.compile()?;
            member.taken = true;
        }
        wanted.retain(|symbol| !found.contains(symbol));
        Ok(wanted)
    }

    /// The bitcode files, the linked crate's first.
    pub(super) fn modules(&self) -> Vec<PathBuf> {
        let taken = self.members.iter().filter(|member| member.taken);
        std::iter::once(&self.record)
            .chain(taken.map(|member| &member.record))
            .map(|record| record.bitcode.clone())
            .collect()
    }

    /// The standard library's archives.
    pub(super) fn std_archives(&self) -> Result<Vec<PathBuf>, Failure> {
        let libraries = self.libraries()?;
        let mut archives = fs::read_dir(libraries)
            .and_then(|folder| {
                folder.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()
            })
            .map_err(|error| no_libraries(&format!("`{}`: {error}", libraries.display())))?;
        archives.retain(|file| file.extension().is_some_and(|extension| extension == "rlib"));
        archives.sort();
        Ok(archives)
    }

    /// The triple of the program: as given to rustc, or rustc's own.
    pub(super) fn host_triple(&self) -> Result<String, Failure> {
        if let Some(target) = &self.record.target {
            return Ok(target.clone());
        }
        // <sysroot>/lib/rustlib/<triple>/lib
        let folder = self.libraries()?.parent().and_then(Path::file_name);
        Ok(folder.map(|name| name.to_string_lossy().into_owned()).unwrap_or_default())
    }

    fn libraries(&self) -> Result<&Path, Failure> {
        if let Some(known) = self.libraries.get() {
            return Ok(known);
        }
        let mut rustc = Command::new(&self.record.rustc);
        rustc.args(["--print", "target-libdir"]).current_dir(&self.record.folder);
        if let Some(target) = &self.record.target {
            rustc.args(["--target", target]);
        }
        let output = rustc.output().map_err(|error| no_libraries(&error.to_string()))?;
        if !output.status.success() {
            return Err(no_libraries(&String::from_utf8_lossy(&output.stderr)));
        }
        let folder = String::from_utf8_lossy(&output.stdout).trim().into();
        Ok(self.libraries.get_or_init(|| folder))
    }
}

fn no_libraries(reason: &str) -> Failure {
    Failure::new(
        &format!("cannot find the libraries of rustc: {}", reason.trim()),
        "check that `rustc --print target-libdir` works and names a folder",
    )
}

#[cfg(test)]
pub(super) mod fixture {
    use super::*;

    /// Writes the record of a crate in `folder`, with bitcode, so that nothing is compiled.
    pub(in crate::linker) fn record(
        folder: &Path,
        name: &str,
        externs: &[&str],
        reaches_device: bool,
    ) -> Record {
        let paths = CratePaths::new(folder, name.into());
        let externs = externs.iter().map(|name| folder.join(format!("lib{name}.rlib")));
        let record = Record {
            crate_name: name.into(),
            reaches_device,
            rustc: "rustc".into(),
            arguments: Vec::new(),
            folder: folder.into(),
            variables: Default::default(),
            bitcode: paths.bitcode(),
            externs: externs.collect(),
            target: None,
            merges_crates: true,
        };
        record.write(&paths).unwrap();
        fs::write(&record.bitcode, "").unwrap();
        record
    }
}

#[cfg(test)]
mod tests {
    use super::fixture::record;
    use super::*;

    fn collect(app: Record, link: &[OsString]) -> Program {
        Program::collect(app, link).ok().expect("every record can be read")
    }

    fn added(program: &mut Program, wanted: Vec<String>) -> Vec<String> {
        program.add_crates_of(wanted).ok().expect("there is nothing to compile")
    }

    fn names(program: &Program) -> Vec<String> {
        let stem = |file: &PathBuf| file.file_stem().unwrap().to_string_lossy().into_owned();
        program.modules().iter().map(stem).collect()
    }

    #[test]
    fn crates_that_reach_the_device_crate_take_part_and_others_when_they_are_asked_for() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        record(folder, "crosscut_device", &[], true);
        record(folder, "numbers", &[], false);
        record(folder, "vectors", &["numbers"], false);
        record(folder, "kernels", &["crosscut_device", "vectors"], true);
        let app = record(folder, "app", &["kernels", "numbers", "absent"], true);
        let mut program = collect(app, &[]);
        assert_eq!(names(&program), ["app", "kernels", "crosscut_device"]);
        let wanted = || vec!["_RNvCs1_7numbers3sum".to_string(), "sinf".into()];
        assert_eq!(added(&mut program, wanted()), ["sinf"]);
        assert_eq!(names(&program), ["app", "kernels", "crosscut_device", "numbers"]);
        assert_eq!(added(&mut program, wanted()), wanted());
    }

    #[test]
    fn a_rustc_that_does_not_answer_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let mut app = record(folder.path(), "app", &[], true);
        for rustc in ["/does/not/exist", "false"] {
            app.rustc = rustc.into();
            let program = collect(app.clone(), &[]);
            assert!(program.std_archives().is_err(), "{rustc}");
            assert!(program.host_triple().is_err(), "{rustc}");
        }
    }

    #[test]
    fn a_crate_that_is_not_linked_takes_no_part() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        record(folder, "used", &[], true);
        record(folder, "unused", &[], true);
        let mut app = record(folder, "app", &["used", "unused"], true);
        app.merges_crates = false;
        let link = ["-lc".into(), folder.join("libused.rlib").into()];
        assert_eq!(names(&collect(app, &link)), ["app", "used"]);
    }
}
