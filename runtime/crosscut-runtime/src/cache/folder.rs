//! The folder of the cache, which many processes use at once and any of them may leave at any time.
//!
//! - A file appears under its name by a rename, whole. Nothing is flushed to the disk for it: what a
//!   power cut leaves of a file fails its check and is removed, and a cache need not outlast one.
//! - What a killed process leaves is a file with a name of its own, which others sweep.
//! - Nobody holds a lock: two processes that build the same program write the same file twice.
//! - The files used least recently go first. A file's use is its modification time, set anew at most
//!   once a day: access times are off or coarse on many systems, and reading should rarely write.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use super::key::Key;
use super::{entry, file_limit};

/// When a file's use is noted again.
const NOTED_FOR: Duration = Duration::from_hours(24);

/// When a file that is still being written has been given up by its writer.
const GIVEN_UP_AFTER: Duration = Duration::from_hours(1);

const UNFINISHED: &str = "tmp";

#[derive(Clone)]
pub(super) struct Folder {
    path: PathBuf,
    /// In bytes, of all files together.
    size: u64,
}

/// What a file in the folder is, by its name. Others' files are nothing.
#[derive(PartialEq, Eq)]
enum Kind {
    Entry,
    Unfinished,
}

impl Folder {
    pub(super) fn new(path: PathBuf, size: u64) -> Self {
        Self { path, size }
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Tries what [`put`](Self::put) will need.
    pub(super) fn check(&self) -> io::Result<()> {
        create_private(&self.path)?;
        if !is_ours_alone(&self.path) {
            return Err(io::Error::other(
                "others may write there, so it is not used: `chmod go-w` it, or choose a folder of your own",
            ));
        }
        let writer = RandomState::new().build_hasher().finish();
        let trial = self.path.join(format!("check.{writer:016x}.{UNFINISHED}"));
        open_private(&trial)?;
        fs::remove_file(trial)
    }

    pub(super) fn file(&self, key: &Key) -> PathBuf {
        self.path.join(key.to_string())
    }

    /// The binary with this key. What is there under its name and is not right is removed.
    pub(super) fn load(&self, key: &Key) -> Option<Vec<u8>> {
        // First: nothing of a folder that others may write to is touched.
        if !is_ours_alone(&self.path) {
            return None;
        }
        let path = self.file(key);
        // Before it is opened: to open a pipe is to wait for its other end.
        if !fs::metadata(&path).ok()?.is_file() {
            self.remove(key);
            return None;
        }
        let mut file = File::open(path).ok()?;
        let data = file.metadata().ok().filter(is_ours)?;
        let binary = match data.len() {
            // More than `put` would have written.
            length if length > self.size => None,
            length => entry::read(key, length, &mut file).ok().flatten(),
        };
        match binary {
            Some(_) => note_use(&file),
            None => self.remove(key),
        }
        binary
    }

    pub(super) fn remove(&self, key: &Key) {
        // Gone already, or not ours to remove: a file that is wrong stays a miss either way.
        let _ = fs::remove_file(self.file(key));
    }

    /// Keeps a binary, if that can be done.
    pub(super) fn store(&self, key: &Key, binary: &[u8]) {
        // A cache that cannot be written is a cache without this entry.
        let _ = self.put(key, binary.len(), |file| entry::write(key, binary, file));
    }

    /// Makes the file for a binary of this length: `write` fills it.
    pub(super) fn put(
        &self,
        key: &Key,
        length: usize,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> io::Result<()> {
        let length = (entry::HEADER_LENGTH + length) as u64;
        if length > self.size.min(file_limit::bytes()) {
            return Ok(());
        }
        create_private(&self.path)?;
        if !is_ours_alone(&self.path) {
            return Ok(());
        }
        self.make_room(length)?;
        // A number that no other writer has, in this process, on this machine or on another one.
        let writer = RandomState::new().build_hasher().finish();
        let unfinished = self.path.join(format!("{key}.{writer:016x}.{UNFINISHED}"));
        let mut file = open_private(&unfinished)?;
        let written = write(&mut file).and_then(|()| fs::rename(&unfinished, self.file(key)));
        if written.is_err() {
            let _ = fs::remove_file(&unfinished);
        }
        written
    }

    /// Removes what was given up, and as many of the oldest entries as it takes to have `length`
    /// bytes left.
    fn make_room(&self, length: u64) -> io::Result<()> {
        let now = SystemTime::now();
        let mut total = length;
        let mut entries = Vec::new();
        for item in fs::read_dir(&self.path)?.flatten() {
            let Some(kind) = kind(&item.file_name()) else { continue };
            // Somebody else may have removed it meanwhile.
            let Ok(data) = item.metadata() else { continue };
            let Ok(modified) = data.modified() else { continue };
            if !data.is_file() {
                continue;
            }
            let age = now.duration_since(modified).unwrap_or_default();
            match kind {
                Kind::Unfinished if age > GIVEN_UP_AFTER && is_removed(&item.path()) => continue,
                Kind::Unfinished => {}
                Kind::Entry => entries.push((modified, item.path(), data.len())),
            }
            total = total.saturating_add(data.len());
        }
        entries.sort();
        for (_, path, length) in entries {
            if total <= self.size {
                break;
            }
            if is_removed(&path) {
                total -= length;
            }
        }
        Ok(())
    }
}

/// What a file of this name is.
fn kind(name: &OsStr) -> Option<Kind> {
    let name = name.to_str()?;
    let is_hex = |text: &str, length| {
        text.len() == length && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'))
    };
    let mut parts = name.split('.');
    let key = parts.next()?;
    if !is_hex(key, 2 * Key::LENGTH) {
        return None;
    }
    match (parts.next(), parts.next(), parts.next()) {
        (None, ..) => Some(Kind::Entry),
        (Some(writer), Some(UNFINISHED), None) if is_hex(writer, 16) => Some(Kind::Unfinished),
        _ => None,
    }
}

/// Removes a file; whether it is gone.
fn is_removed(path: &Path) -> bool {
    match fs::remove_file(path) {
        Ok(()) => true,
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    }
}

fn note_use(file: &File) {
    let now = SystemTime::now();
    let noted = file.metadata().and_then(|data| data.modified());
    if noted.is_ok_and(|noted| now.duration_since(noted).is_ok_and(|age| age > NOTED_FOR)) {
        // Where it cannot be noted, in a folder that is only readable, nobody evicts either.
        let _ = file.set_modified(now);
    }
}

/// Creates the folder for its owner alone: what is in there is run.
fn create_private(path: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.recursive(true).create(path)
}

fn open_private(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.write(true).create_new(true).open(path)
}

/// Whether nobody else may put files there: what they hold is run.
#[cfg(unix)]
fn is_ours_alone(path: &Path) -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(path).is_ok_and(|data| data.mode() & 0o022 == 0 && is_ours(&data))
}

/// Whether it belongs to whom this process acts for.
#[cfg(unix)]
fn is_ours(data: &fs::Metadata) -> bool {
    unsafe extern "C" {
        /// C's own; it is part of every C library that Rust's standard library links.
        safe fn geteuid() -> u32;
    }
    std::os::unix::fs::MetadataExt::uid(data) == geteuid()
}

#[cfg(not(unix))]
fn is_ours(_: &fs::Metadata) -> bool {
    true
}

#[cfg(not(unix))]
fn is_ours_alone(_: &Path) -> bool {
    true
}
