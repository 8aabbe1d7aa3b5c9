//! Values of device globals, kept by name: in memory, as bytes, and in files.
//!
//! Numbers are little-endian. The bytes:
//!
//! | What                | Bytes                                                               |
//! |---------------------|---------------------------------------------------------------------|
//! | magic               | 8                                                                   |
//! | format version      | 4                                                                   |
//! | number of entries   | 8                                                                   |
//! | each entry          | 8 for the length of its name, the name, 4 x 8 for its layout, value |
//! | BLAKE3 of the above | 32                                                                  |
//!
//! Reading trusts no byte: lengths are compared with what is left before anything is allocated.

use std::collections::HashMap;
use std::fmt;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::{Error, ErrorKind};

const MAGIC: [u8; 8] = *b"CCGLOBAL";
const VERSION: u32 = 1;
const HASH: usize = 32;

/// What must be equal for a value to fit a global.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GlobalLayout {
    /// The bytes of the value.
    pub size: u64,
    /// Its alignment.
    pub align: u64,
    /// The bytes of the atomics it is made of; 0 if there are none.
    pub atomic_width: u64,
    /// The bytes of the innermost elements of its arrays.
    pub element: u64,
}

/// The values of some device globals at one moment, by name.
///
/// ```
/// use crosscut::prelude::*;
/// use crosscut::{Named, Snapshot};
///
/// static STEP: DeviceGlobal<u32> = DeviceGlobal::new(7);
/// const STATE: &[Named] = &[("step", &STEP)];
///
/// let queue = Queue::new()?;
/// let saved = queue.snapshot(STATE)?;
/// assert!(saved.names().eq(["step"]));
/// assert_eq!(Snapshot::from_bytes(&saved.to_bytes())?, saved);
/// let file = std::env::temp_dir().join(format!("state-{}.snapshot", std::process::id()));
/// saved.save(&file)?;
/// assert_eq!(Snapshot::load(&file)?, saved);
/// # std::fs::remove_file(&file).expect("it was just written");
/// # Ok::<(), crosscut::Error>(())
/// ```
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Snapshot {
    entries: Vec<Entry>,
    /// Where each name is among them.
    places: HashMap<String, usize>,
}

#[derive(Clone, PartialEq, Eq)]
struct Entry {
    name: String,
    layout: GlobalLayout,
    value: Vec<u8>,
}

impl Snapshot {
    /// Adds a value.
    ///
    /// # Errors
    /// The name is there already, or the value has not the bytes that its layout says.
    #[doc(hidden)]
    pub fn add(&mut self, name: &str, layout: GlobalLayout, value: Vec<u8>) -> Result<(), Error> {
        if self.places.contains_key(name) {
            return Err(Error::invalid(
                format!("two device globals of a snapshot are called `{name}`"),
                "give each a name of its own",
            ));
        }
        if layout.size != value.len() as u64 {
            return Err(damaged("a value has another length than its layout says"));
        }
        self.places.insert(name.to_owned(), self.entries.len());
        self.entries.push(Entry { name: name.to_owned(), layout, value });
        Ok(())
    }

    /// The value of this name, for a global of this layout.
    ///
    /// # Errors
    /// There is none, or it has another layout.
    #[doc(hidden)]
    pub fn value(&self, name: &str, layout: GlobalLayout) -> Result<&[u8], Error> {
        let Some(entry) = self.places.get(name).map(|&at| &self.entries[at]) else {
            return Err(Error::invalid(
                format!("the snapshot has no device global called `{name}`"),
                "restore what was saved, under the names it was saved by",
            ));
        };
        if entry.layout != layout {
            return Err(Error::invalid(
                format!(
                    "`{name}` was saved as {} and is {} now",
                    describe(entry.layout),
                    describe(layout)
                ),
                "restore into a device global of the type that was saved",
            ));
        }
        Ok(&entry.value)
    }

    /// The names of the globals in it, in the order they were given.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// The snapshot as bytes, for [`from_bytes`](Self::from_bytes).
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&VERSION.to_le_bytes());
        bytes.extend_from_slice(&(self.entries.len() as u64).to_le_bytes());
        for Entry { name, layout, value } in &self.entries {
            bytes.extend_from_slice(&(name.len() as u64).to_le_bytes());
            bytes.extend_from_slice(name.as_bytes());
            for number in [layout.size, layout.align, layout.atomic_width, layout.element] {
                bytes.extend_from_slice(&number.to_le_bytes());
            }
            bytes.extend_from_slice(value);
        }
        let hash = blake3::hash(&bytes);
        bytes.extend_from_slice(hash.as_bytes());
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote.
    ///
    /// # Errors
    /// It did not write these bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let end = bytes.len().checked_sub(HASH).ok_or_else(|| damaged("it is too short"))?;
        let (body, hash) = bytes.split_at(end);
        let mut reader = Reader(body);
        if reader.take(MAGIC.len())? != MAGIC {
            return Err(damaged("it does not begin like one"));
        }
        let version = u32::from_le_bytes(reader.array()?);
        if version != VERSION {
            return Err(Error::invalid(
                format!("a snapshot of format {version}; this version reads {VERSION}"),
                "take it again with this version of crosscut",
            ));
        }
        if blake3::hash(body) != *hash {
            return Err(damaged("its checksum is wrong"));
        }
        let count = reader.number()?;
        let mut snapshot = Self::default();
        for _ in 0..count {
            let length = reader.number()?;
            let name = std::str::from_utf8(reader.long(length)?)
                .map_err(|_| damaged("a name is not text"))?;
            let layout = GlobalLayout {
                size: reader.number()?,
                align: reader.number()?,
                atomic_width: reader.number()?,
                element: reader.number()?,
            };
            let value = reader.long(layout.size)?.to_vec();
            snapshot.add(name, layout, value)?;
        }
        if !reader.0.is_empty() {
            return Err(damaged("there is more behind its end"));
        }
        Ok(snapshot)
    }

    /// Writes the snapshot to a file; one that is there is replaced as a whole.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn save(&self, path: impl AsRef<Path>) -> Result<(), Error> {
        let path = path.as_ref();
        static NEXT: AtomicU64 = AtomicU64::new(0);
        // Whoever is interrupted in between has the old file or the new one; and nobody else, in this
        // process or another, writes to the same part.
        let mut part = path.as_os_str().to_owned();
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        part.push(format!(".{}.{number}.part", std::process::id()));
        std::fs::write(&part, self.to_bytes()).and_then(|()| std::fs::rename(&part, path)).map_err(
            |error| {
                // It may not be there.
                let _ = std::fs::remove_file(&part);
                file_error("writing", path, &error)
            },
        )
    }

    /// Reads the snapshot from a file.
    ///
    /// # Errors
    /// The file cannot be read, or [`save`](Self::save) did not write it.
    pub fn load(path: impl AsRef<Path>) -> Result<Self, Error> {
        let path = path.as_ref();
        let bytes = std::fs::read(path).map_err(|error| file_error("reading", path, &error))?;
        Self::from_bytes(&bytes)
    }
}

impl fmt::Debug for Snapshot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.names()).finish()
    }
}

struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, length: usize) -> Result<&'a [u8], Error> {
        let (taken, rest) =
            self.0.split_at_checked(length).ok_or_else(|| damaged("it ends too early"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn long(&mut self, length: u64) -> Result<&'a [u8], Error> {
        self.take(usize::try_from(length).map_err(|_| damaged("it ends too early"))?)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], Error> {
        let taken = self.take(N)?;
        Ok(std::array::from_fn(|index| taken[index]))
    }

    fn number(&mut self) -> Result<u64, Error> {
        self.array().map(u64::from_le_bytes)
    }
}

fn damaged(how: &str) -> Error {
    Error::invalid(
        format!("these bytes are no snapshot of device globals: {how}"),
        "take the snapshot again",
    )
}

fn file_error(what: &str, path: &Path, error: &std::io::Error) -> Error {
    Error::new(ErrorKind::Invalid, format!("{what} the snapshot `{}`: {error}", path.display()))
        .with_help("name a file that this program may read and write")
}

fn describe(layout: GlobalLayout) -> String {
    let GlobalLayout { size, align, atomic_width, element } = layout;
    let atomics = if atomic_width > 0 { " of atomics" } else { "" };
    format!("{size} bytes{atomics} in elements of {element}, aligned to {align}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(size: u64) -> GlobalLayout {
        GlobalLayout { size, align: 4, atomic_width: 0, element: 4 }
    }

    fn sample() -> Snapshot {
        let mut snapshot = Snapshot::default();
        snapshot.add("one", layout(4), vec![1, 2, 3, 4]).unwrap();
        snapshot.add("none", layout(0), vec![]).unwrap();
        snapshot
    }

    #[test]
    fn a_snapshot_survives_the_way_through_its_bytes() {
        let read = Snapshot::from_bytes(&sample().to_bytes()).unwrap();
        assert_eq!(read, sample());
        assert_eq!(read.value("one", layout(4)).unwrap(), [1, 2, 3, 4]);
        assert!(read.value("one", layout(8)).is_err());
        assert!(read.value("two", layout(4)).is_err());
    }

    #[test]
    fn no_change_of_any_byte_passes() {
        let bytes = sample().to_bytes();
        for at in 0..bytes.len() {
            assert!(Snapshot::from_bytes(&bytes[..at]).is_err(), "cut at {at}");
            for bit in 0..8 {
                let mut changed = bytes.clone();
                changed[at] ^= 1 << bit;
                assert!(Snapshot::from_bytes(&changed).is_err(), "bit {bit} of byte {at}");
            }
        }
    }

    #[test]
    fn lengths_are_checked_also_where_the_checksum_is_right() {
        let good = sample().to_bytes();
        for at in (12..good.len() - HASH).step_by(4) {
            for word in [u32::MAX, 1 << 31, 5] {
                let mut bytes = good[..good.len() - HASH].to_vec();
                let end = (at + 4).min(bytes.len());
                bytes[at..end].copy_from_slice(&word.to_le_bytes()[..end - at]);
                let hash = blake3::hash(&bytes);
                bytes.extend_from_slice(hash.as_bytes());
                // Whatever it is taken for, nothing panics and no memory is asked for in vain.
                if let Ok(read) = Snapshot::from_bytes(&bytes) {
                    assert!(read.entries.len() <= 2);
                }
            }
        }
    }
}
