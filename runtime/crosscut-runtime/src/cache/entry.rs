//! One file of the cache: a header, and behind it the driver's bytes.
//!
//! | Bytes | What                       |
//! |-------|----------------------------|
//! | 8     | [`MAGIC`]                  |
//! | 4     | [`VERSION`], little-endian |
//! | 32    | the key                    |
//! | 8     | length of the binary       |
//! | 32    | BLAKE3 of the binary       |
//! | ...   | the binary                 |
//!
//! Every byte is checked on reading: there is none that could change unnoticed.

use std::io::{self, Read, Write};

use super::key::Key;

const MAGIC: [u8; 8] = *b"XCUTPROG";

/// Of this format, and of what is hashed for a key. Files of other versions are under other names,
/// where nobody looks for them until they are evicted.
pub(super) const VERSION: u32 = 1;

pub(super) const HEADER_LENGTH: usize = 8 + 4 + Key::LENGTH + 8 + blake3::OUT_LEN;

/// The only header that an entry with this key and a binary of this length and hash can have.
fn header(key: &Key, length: u64, hash: &[u8; blake3::OUT_LEN]) -> [u8; HEADER_LENGTH] {
    let parts: [&[u8]; 5] =
        [&MAGIC, &VERSION.to_le_bytes(), key.bytes(), &length.to_le_bytes(), hash];
    let mut header = [0; HEADER_LENGTH];
    let mut rest = header.as_mut_slice();
    for part in parts {
        let (place, behind) = rest.split_at_mut(part.len());
        place.copy_from_slice(part);
        rest = behind;
    }
    header
}

pub(super) fn write(key: &Key, binary: &[u8], file: &mut impl Write) -> io::Result<()> {
    file.write_all(&header(key, binary.len() as u64, blake3::hash(binary).as_bytes()))?;
    file.write_all(binary)
}

/// The binary, if the whole file, which has this length, is an entry with this key; `None` for anything else.
pub(super) fn read(key: &Key, length: u64, file: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let Some(length) = length.checked_sub(HEADER_LENGTH as u64) else { return Ok(None) };
    let mut found = [0; HEADER_LENGTH];
    file.read_exact(&mut found)?;
    // Before there is memory for the rest, of which there may be any amount where the header is not an entry's.
    let Some((start, hash)) = found.split_last_chunk::<{ blake3::OUT_LEN }>() else {
        return Ok(None);
    };
    if !header(key, length, hash).starts_with(start) {
        return Ok(None);
    }
    let mut binary = Vec::new();
    binary.try_reserve_exact(usize::try_from(length).unwrap_or(usize::MAX))?;
    file.take(length).read_to_end(&mut binary)?;
    let right = binary.len() as u64 == length && blake3::hash(&binary) == *hash;
    Ok(right.then_some(binary))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BINARY: &[u8] = b"what the driver made";

    fn entry() -> Vec<u8> {
        let mut entry = Vec::new();
        write(&Key::of_test(1), BINARY, &mut entry).unwrap();
        entry
    }

    fn found(key: u64, mut bytes: &[u8]) -> Option<Vec<u8>> {
        read(&Key::of_test(key), bytes.len() as u64, &mut bytes).unwrap()
    }

    #[test]
    fn what_was_written_is_read() {
        assert_eq!(found(1, &entry()).as_deref(), Some(BINARY));
    }

    #[test]
    fn an_entry_with_any_bit_flipped_is_none() {
        let entry = entry();
        for at in 0..entry.len() {
            for bit in 0..8 {
                let mut flipped = entry.clone();
                flipped[at] ^= 1 << bit;
                assert_eq!(found(1, &flipped), None, "bit {bit} of byte {at}");
            }
        }
    }

    #[test]
    fn an_entry_cut_anywhere_or_continued_is_none() {
        let mut entry = entry();
        for length in 0..entry.len() {
            assert_eq!(found(1, &entry[..length]), None, "cut to {length} bytes");
        }
        entry.push(0);
        assert_eq!(found(1, &entry), None);
    }

    #[test]
    fn an_entry_of_another_key_is_none() {
        assert_eq!(found(2, &entry()), None);
    }

    #[test]
    fn nothing_is_read_behind_a_header_that_is_not_the_files() {
        struct Unread;
        impl Read for Unread {
            fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
                panic!("behind the header");
            }
        }
        let entry = entry();
        let of_length = |key, length: usize| {
            let mut file = entry[..HEADER_LENGTH].chain(Unread);
            read(&Key::of_test(key), length as u64, &mut file).unwrap()
        };
        assert_eq!(of_length(1, entry.len() + (2 << 30)), None);
        assert_eq!(of_length(2, entry.len()), None);
    }
}
