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

/// The only header that an entry with this key and this binary can have.
fn header(key: &Key, binary: &[u8]) -> [u8; HEADER_LENGTH] {
    let hash = blake3::hash(binary);
    let parts: [&[u8]; 5] = [
        &MAGIC,
        &VERSION.to_le_bytes(),
        key.bytes(),
        &(binary.len() as u64).to_le_bytes(),
        hash.as_bytes(),
    ];
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
    file.write_all(&header(key, binary))?;
    file.write_all(binary)
}

/// The binary, if the whole file is an entry with this key; `None` for anything else.
pub(super) fn read(key: &Key, file: &mut impl Read) -> io::Result<Option<Vec<u8>>> {
    let mut binary = Vec::new();
    file.read_to_end(&mut binary)?;
    let Some((found, behind)) = binary.split_at_checked(HEADER_LENGTH) else {
        return Ok(None);
    };
    let right = found == header(key, behind);
    binary.drain(..HEADER_LENGTH);
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
        read(&Key::of_test(key), &mut bytes).unwrap()
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
}
