//! Where the files of one crate's device code are: in a folder `device` beside rustc's output.

use std::path::{Path, PathBuf};

/// The name of the folder.
const FOLDER: &str = "device";

/// One crate of a build: the folder of rustc's output and the name of that output without `lib` and
/// extension.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CratePaths {
    folder: PathBuf,
    stem: String,
}

impl CratePaths {
    pub(crate) fn new(output_folder: &Path, stem: String) -> Self {
        Self { folder: output_folder.join(FOLDER), stem }
    }

    /// The crate that rustc wrote this rlib, rmeta or dynamic library of.
    pub(crate) fn of_output(file: &Path) -> Option<Self> {
        Some(Self::new(file.parent()?, stem_of(file)?))
    }

    /// The crate with this bitcode.
    pub(crate) fn of_bitcode(bitcode: &Path) -> Self {
        let folder = bitcode.parent().and_then(Path::parent).unwrap_or(Path::new(""));
        let stem = bitcode.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Self::new(folder, stem)
    }

    /// Where rustc tells cargo what it has read. Beside its output, not in the folder for device code.
    pub(crate) fn dep_info(&self) -> PathBuf {
        self.folder.with_file_name(format!("{}.d", self.stem))
    }

    /// The folder for device code.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The command that compiles it, and what it depends on.
    pub(crate) fn record(&self) -> PathBuf {
        self.file("json")
    }

    /// Its device bitcode.
    pub(crate) fn bitcode(&self) -> PathBuf {
        self.file("bc")
    }

    /// What the link step has to tell the user.
    pub(crate) fn diagnostics(&self) -> PathBuf {
        self.file("diagnostics")
    }

    /// What the lowering leaves behind.
    pub(crate) fn lowered(&self) -> PathBuf {
        self.file("lowered")
    }

    /// The arguments of a link whose command line would be too long.
    pub(crate) fn link_arguments(&self) -> PathBuf {
        self.file("link-arguments")
    }

    // Not `with_extension`: a stem may have dots in it.
    fn file(&self, extension: &str) -> PathBuf {
        self.folder.join(format!("{}.{extension}", self.stem))
    }
}

/// The name of a file that rustc wrote, without `lib` and extension.
///
/// Programs have neither. Only known extensions are cut off, since a program may have a dot in its
/// name; and `lib` only together with one, since a program may be named `library`.
pub(crate) fn stem_of(file: &Path) -> Option<String> {
    let name = file.file_name()?.to_str()?;
    let Some((stem, "rlib" | "rmeta" | "so" | "a")) = name.rsplit_once('.') else {
        return Some(name.into());
    };
    Some(stem.strip_prefix("lib").unwrap_or(stem).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_forms_of_one_crate_share_their_device_files() {
        let rlib = CratePaths::of_output(Path::new("t/deps/libab-1.rlib")).unwrap();
        assert_eq!(CratePaths::of_output(Path::new("t/deps/libab-1.rmeta")), Some(rlib.clone()));
        assert_eq!(CratePaths::of_output(Path::new("t/deps/libab-1.so")), Some(rlib.clone()));
        assert_eq!(CratePaths::new(Path::new("t/deps"), "ab-1".into()), rlib);
        assert_eq!(rlib.bitcode(), Path::new("t/deps/device/ab-1.bc"));
    }

    #[test]
    fn the_paths_of_a_crate_are_found_from_its_bitcode() {
        let paths = CratePaths::of_bitcode(Path::new("t/deps/device/v1.2-3.bc"));
        assert_eq!(paths, CratePaths::new(Path::new("t/deps"), "v1.2-3".into()));
        assert_eq!(paths.bitcode(), Path::new("t/deps/device/v1.2-3.bc"));
        assert_eq!(paths.dep_info(), Path::new("t/deps/v1.2-3.d"));
    }

    #[test]
    fn a_programs_name_is_kept_whole() {
        assert_eq!(stem_of(Path::new("t/library-1")).unwrap(), "library-1");
        assert_eq!(stem_of(Path::new("t/v1.2")).unwrap(), "v1.2");
    }
}
