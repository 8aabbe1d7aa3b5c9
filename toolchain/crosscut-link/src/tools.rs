//! The names under which the command is run again: symbolic links to it in the target directory.
//!
//! The name a process was started by tells its role. An environment variable would not do: it
//! reaches build scripts, tests and programs too, which may run the command themselves. And rustc
//! tells from a linker's name which arguments it takes, so the link has the name of the real one.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::record;

const FOLDER: &str = "crosscut-tools";
const STAMP: &str = "form-and-place";
const RUSTC: &str = "crosscut-rustc";
const LINKERS: &str = "crosscut-linker";
const LOWER: &str = "crosscut-lower";

/// What a process was started as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// By cargo, in place of rustc.
    RustcWrapper,
    /// By rustc, in place of the linker.
    Linker,
    /// By the linker's stand-in, to have LLVM in a process of its own.
    Lower,
}

impl Role {
    /// The role that belongs to a program's name, as found in its first argument.
    #[must_use]
    pub fn of_program(name: &Path) -> Option<Self> {
        if name.file_name()? == RUSTC {
            return Some(Self::RustcWrapper);
        }
        if name.file_name()? == LOWER {
            return Some(Self::Lower);
        }
        (name.parent()?.file_name()? == LINKERS).then_some(Self::Linker)
    }
}

/// The folder of links.
#[derive(Clone, Debug)]
pub struct Tools {
    folder: PathBuf,
}

impl Tools {
    /// The folder in this target directory.
    #[must_use]
    pub fn in_target_directory(target_directory: &Path) -> Self {
        Self { folder: target_directory.join(FOLDER) }
    }

    /// The folder that this link to the rustc wrapper is in.
    pub(crate) fn of_wrapper(wrapper: &Path) -> Self {
        Self { folder: wrapper.parent().map(Path::to_path_buf).unwrap_or_default() }
    }

    /// Makes the folder. If it is there from a version of the command with records of another form, or
    /// from another place (records name files by their whole paths, cargo does not mind a move), the
    /// whole target directory goes first: cargo would take what is in it for good.
    ///
    /// # Errors
    /// What the file system said.
    pub fn prepare(&self) -> io::Result<()> {
        let target_directory = self.folder.parent().unwrap_or(Path::new(""));
        let is_current = |text: String| stamp(target_directory).is_ok_and(|stamp| text == stamp);
        let is_ready = || fs::read_to_string(self.folder.join(STAMP)).is_ok_and(is_current);
        if is_ready() {
            return Ok(());
        }
        let _alone = lock_parent(target_directory)?;
        if is_ready() {
            // Another process was faster, and may be building in it.
            return Ok(());
        }
        if self.folder.exists() {
            fs::remove_dir_all(target_directory)?;
        }
        // Never there without its stamp, so that nobody takes it for an old one.
        let fresh = self.folder.with_extension(format!("new-{}", std::process::id()));
        fs::create_dir_all(&fresh)?;
        fs::write(fresh.join(STAMP), stamp(target_directory)?)?;
        match fs::rename(&fresh, &self.folder) {
            // Another process was faster.
            Err(_) if self.folder.join(STAMP).exists() => fs::remove_dir_all(&fresh),
            other => other,
        }
    }

    /// The rustc wrapper, as a link to `executable`.
    ///
    /// # Errors
    /// What the file system said.
    pub fn rustc_wrapper(&self, executable: &Path) -> io::Result<PathBuf> {
        link(executable, self.folder.join(RUSTC))
    }

    /// A stand-in for `linker`, as a link to `executable`.
    pub(crate) fn linker(&self, executable: &Path, linker: &Path) -> io::Result<PathBuf> {
        let name = linker.file_name().unwrap_or("cc".as_ref());
        link(executable, self.folder.join(LINKERS).join(name))
    }
}

/// Whether a file is in a directory where [`Tools::prepare`] was before the first compiler: every library
/// there has a record.
pub(crate) fn has_records(file: &Path) -> bool {
    file.ancestors().skip(1).any(|folder| folder.join(FOLDER).join(STAMP).exists())
}

/// Keeps others from making or removing the target directory until the result is dropped. What is locked
/// is the folder around it: that stays, whoever removes what.
fn lock_parent(target_directory: &Path) -> io::Result<Option<File>> {
    let parent = target_directory.parent().filter(|parent| !parent.as_os_str().is_empty());
    let parent = parent.unwrap_or(Path::new("."));
    fs::create_dir_all(parent)?;
    // Some file systems have no locks, and some systems none for folders: then there is none.
    Ok(File::open(parent).ok().filter(|folder| folder.lock().is_ok()))
}

/// What a target directory must have been made with for its records to be of use: their form, and
/// where it is.
fn stamp(target_directory: &Path) -> io::Result<String> {
    Ok(format!("{} {}", record::FORMAT, fs::canonicalize(target_directory)?.display()))
}

/// The running program, to be run again as the lowering. No link is needed: its name can be given.
#[cfg(unix)]
pub(crate) fn lowering() -> io::Result<Command> {
    let mut command = Command::new(std::env::current_exe()?);
    std::os::unix::process::CommandExt::arg0(&mut command, LOWER);
    Ok(command)
}

/// Makes or renews a symbolic link. Other processes may do the same at the same time, so a link is
/// never absent once it was there.
#[cfg(unix)]
fn link(executable: &Path, place: PathBuf) -> io::Result<PathBuf> {
    if fs::read_link(&place).is_ok_and(|target| target == executable) {
        return Ok(place);
    }
    let folder = place.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder)?;
    let fresh = folder.join(format!(".new-{}", std::process::id()));
    // A process of the same number may have been killed here.
    let _ = fs::remove_file(&fresh);
    std::os::unix::fs::symlink(executable, &fresh)?;
    fs::rename(&fresh, &place)?;
    Ok(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_process_tells_its_role() {
        let role = |name: &str| Role::of_program(Path::new(name));
        assert_eq!(role("/t/crosscut-tools/crosscut-rustc"), Some(Role::RustcWrapper));
        assert_eq!(role("/t/crosscut-tools/crosscut-linker/cc"), Some(Role::Linker));
        assert_eq!(role("/t/crosscut-tools/crosscut-linker/ld.lld"), Some(Role::Linker));
        assert_eq!(role("crosscut-lower"), Some(Role::Lower));
        assert_eq!(role("/bin/cargo-crosscut"), None);
        assert_eq!(role("cargo-crosscut"), None);
    }

    #[test]
    fn what_another_form_of_records_left_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("crosscut");
        let tools = Tools::in_target_directory(&target);
        fs::create_dir_all(target.join("debug")).unwrap();
        tools.prepare().unwrap();
        tools.prepare().unwrap();
        assert!(target.join("debug").exists(), "it was not made with another form");
        fs::write(tools.folder.join(STAMP), "another").unwrap();
        tools.prepare().unwrap();
        assert!(!target.join("debug").exists());
        assert_eq!(fs::read_dir(&target).unwrap().count(), 1);
    }

    #[test]
    fn what_a_faster_process_made_meanwhile_is_not_removed() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("crosscut");
        let tools = Tools::in_target_directory(&target);
        tools.prepare().unwrap();
        let current = fs::read_to_string(tools.folder.join(STAMP)).unwrap();
        fs::write(tools.folder.join(STAMP), "another").unwrap();
        fs::create_dir(target.join("debug")).unwrap();
        // The faster process is at work.
        let faster = lock_parent(&target).unwrap().unwrap();
        let slower = std::thread::spawn({
            let tools = tools.clone();
            move || tools.prepare()
        });
        std::thread::sleep(std::time::Duration::from_millis(200));
        assert!(target.join("debug").exists(), "two processes remove it at once");
        fs::write(tools.folder.join(STAMP), current).unwrap();
        drop(faster);
        slower.join().unwrap().unwrap();
        assert!(target.join("debug").exists(), "the slower one removes what the faster one made");
    }

    #[test]
    fn what_was_made_in_another_place_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let (old, new) = (folder.path().join("old"), folder.path().join("new"));
        Tools::in_target_directory(&old).prepare().unwrap();
        fs::create_dir(old.join("debug")).unwrap();
        fs::rename(&old, &new).unwrap();
        Tools::in_target_directory(&new).prepare().unwrap();
        assert!(!new.join("debug").exists(), "its records name files of the old place");
        // The same place under another name is the same place.
        fs::create_dir(new.join("debug")).unwrap();
        std::os::unix::fs::symlink(&new, &old).unwrap();
        Tools::in_target_directory(&old).prepare().unwrap();
        assert!(new.join("debug").exists());
    }

    #[test]
    fn a_link_that_a_killed_process_left_half_made_is_in_nobodys_way() {
        let folder = tempfile::tempdir().unwrap();
        let tools = Tools::in_target_directory(folder.path());
        fs::create_dir_all(&tools.folder).unwrap();
        let left = tools.folder.join(format!(".new-{}", std::process::id()));
        std::os::unix::fs::symlink("/killed", left).unwrap();
        let place = tools.rustc_wrapper(Path::new("/one")).unwrap();
        assert_eq!(fs::read_link(place).unwrap(), Path::new("/one"));
    }

    #[test]
    fn a_link_is_renewed_when_the_executable_moves() {
        let folder = tempfile::tempdir().unwrap();
        let tools = Tools::in_target_directory(folder.path());
        for executable in ["/one", "/one", "/two"] {
            let place = tools.rustc_wrapper(Path::new(executable)).unwrap();
            assert_eq!(fs::read_link(&place).unwrap(), Path::new(executable));
            let linker = tools.linker(Path::new(executable), Path::new("/usr/bin/clang")).unwrap();
            assert!(linker.ends_with("crosscut-linker/clang"));
        }
    }
}
