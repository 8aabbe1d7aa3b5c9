//! Images as bytes.
//!
//! Numbers are little-endian. The header:
//!
//! | Bytes    | What                              |
//! |----------|-----------------------------------|
//! | 0 to 8   | [`MAGIC`]                         |
//! | 8 to 12  | [`FORMAT_VERSION`]                |
//! | 12 to 20 | the length of the body            |
//! | 20 to 28 | XXH3 (64 bits) of the body        |
//! | 28 to .. | the body, up to the last byte     |
//!
//! The body is the list of images: the fields of [`Image`](crate::Image) in the order of their
//! declaration, but `globals` before the `kernels` that count into them. A list is its count as 64
//! bits and its elements; a text or byte string is its length as 64 bits and its bytes; a `bool` and
//! a [`Target`](crate::Target) are one byte, a [`Parameter`](crate::Parameter) is one byte and its
//! number (0 where it has none).
//!
//! What must stay true:
//! - A change of the layout is a change of [`FORMAT_VERSION`].
//! - Reading allocates no more than a small multiple of the input's length, whatever the counts in
//!   it say. The checksum finds accidents; the checks behind it are for input made on purpose.

mod read;
mod write;

use xxhash_rust::xxh3::xxh3_64;

use crate::Image;
use read::Reader;

/// The first bytes of encoded images.
pub const MAGIC: [u8; 8] = *b"CROSSCUT";

/// The version of the layout; another one is refused.
pub const FORMAT_VERSION: u32 = 2;

const HEADER_SIZE: usize = 28;

/// Why bytes are not images. Offsets count from the first byte of the header.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// Less than a header.
    #[error(
        "device images are {length} bytes long, less than their header; link the program again"
    )]
    TooShort {
        /// How many bytes there are.
        length: usize,
    },
    /// Something else than images.
    #[error("device images do not begin with their magic bytes; link the program again")]
    Magic,
    /// Written by another version of the tool.
    #[error(
        "device images have format {found}, this runtime reads {FORMAT_VERSION}; link the program \
         again with the cargo-crosscut of the same version as its crosscut crate"
    )]
    Version {
        /// The version in the header.
        found: u32,
    },
    /// Cut off, or followed by something.
    #[error("device images say {stated} bytes and have {found}; link the program again")]
    Length {
        /// The body's length by the header.
        stated: u64,
        /// The body's length as found.
        found: usize,
    },
    /// Changed since they were written.
    #[error("the checksum of the device images is wrong; link the program again")]
    Checksum,
    /// A field reaches beyond the end.
    #[error("{what} at byte {offset} reaches beyond the end of the device images")]
    Truncated {
        /// Which field.
        what: &'static str,
        /// Where it starts.
        offset: usize,
    },
    /// A list longer than the bytes that are left could hold.
    #[error("the list of {what} at byte {offset} has {count} elements, more than its bytes hold")]
    Count {
        /// The list of what.
        what: &'static str,
        /// Its stated length.
        count: u64,
        /// Where it starts.
        offset: usize,
    },
    /// A text that is not UTF-8.
    #[error("{what} at byte {offset} is not UTF-8")]
    Text {
        /// Which text.
        what: &'static str,
        /// Where it starts.
        offset: usize,
    },
    /// A number that means nothing in its place.
    #[error("{what} at byte {offset} is {value}, {expected}")]
    Value {
        /// Which number.
        what: &'static str,
        /// What it is.
        value: u64,
        /// What it may be.
        expected: &'static str,
        /// Where it starts.
        offset: usize,
    },
    /// An index beyond its list.
    #[error("{what} at byte {offset} names global {index} of {count}")]
    Index {
        /// Which field.
        what: &'static str,
        /// The index.
        index: u32,
        /// How long the list is.
        count: usize,
        /// Where the field starts.
        offset: usize,
    },
    /// Bytes after the last image.
    #[error("the device images end at byte {offset}, before the end of their bytes")]
    Trailing {
        /// The first byte too many.
        offset: usize,
    },
}

/// Writes images as bytes.
///
/// [`decode`] takes them back if they keep to what [`Image`] says of its fields.
#[must_use]
pub fn encode(images: &[Image]) -> Vec<u8> {
    let body = write::body(images);
    let mut bytes = Vec::with_capacity(HEADER_SIZE + body.len());
    bytes.extend_from_slice(&MAGIC);
    bytes.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
    bytes.extend_from_slice(&(body.len() as u64).to_le_bytes());
    bytes.extend_from_slice(&xxh3_64(&body).to_le_bytes());
    bytes.extend_from_slice(&body);
    bytes
}

/// Reads images from untrusted bytes.
///
/// # Errors
/// Says what is wrong with the first field that is wrong.
pub fn decode(bytes: &[u8]) -> Result<Vec<Image>, DecodeError> {
    let too_short = || DecodeError::TooShort { length: bytes.len() };
    let (magic, rest) = bytes.split_first_chunk::<8>().ok_or_else(too_short)?;
    let (version, rest) = rest.split_first_chunk::<4>().ok_or_else(too_short)?;
    let (length, rest) = rest.split_first_chunk::<8>().ok_or_else(too_short)?;
    let (checksum, body) = rest.split_first_chunk::<8>().ok_or_else(too_short)?;
    if *magic != MAGIC {
        return Err(DecodeError::Magic);
    }
    // Before anything that another version may have laid out differently.
    let found = u32::from_le_bytes(*version);
    if found != FORMAT_VERSION {
        return Err(DecodeError::Version { found });
    }
    let stated = u64::from_le_bytes(*length);
    if stated != body.len() as u64 {
        return Err(DecodeError::Length { stated, found: body.len() });
    }
    if u64::from_le_bytes(*checksum) != xxh3_64(body) {
        return Err(DecodeError::Checksum);
    }
    let mut reader = Reader::new(body, HEADER_SIZE);
    let images = reader.images()?;
    reader.finish()?;
    Ok(images)
}
