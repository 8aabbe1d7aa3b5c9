//! A module as words: its header checked, and its instructions one after the other.

use super::{LARGEST_BOUND, SpirvError};

const MAGIC: u32 = 0x0723_0203;
pub(super) const HEADER_WORDS: usize = 5;

/// The words of a module whose header is right.
pub(super) struct Words {
    pub(super) version: (u8, u8),
    pub(super) bound: u32,
    words: Vec<u32>,
}

/// One instruction.
pub(super) struct Instruction<'a> {
    pub(super) opcode: u32,
    /// Where it starts, counted from the start of the module.
    pub(super) word: usize,
    /// All its words, the one with its length first: there is always that one.
    pub(super) words: &'a [u32],
}

impl<'a> Instruction<'a> {
    pub(super) fn operands(&self) -> &'a [u32] {
        &self.words[1..]
    }
}

impl Words {
    pub(super) fn of(bytes: &[u8]) -> Result<Self, SpirvError> {
        let (words, rest) = bytes.as_chunks::<4>();
        if !rest.is_empty() {
            return Err(SpirvError::Length { length: bytes.len() });
        }
        let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        let Some(&[magic, version, _generator, bound, schema]) =
            words.first_chunk::<HEADER_WORDS>()
        else {
            return Err(SpirvError::TooShort { words: words.len() });
        };
        if magic != MAGIC {
            return Err(SpirvError::Magic);
        }
        let version = match version.to_be_bytes() {
            [0, 1, minor @ 0..=6, 0] => (1, minor),
            _ => return Err(SpirvError::Version { found: version }),
        };
        if bound == 0 || bound > LARGEST_BOUND {
            return Err(SpirvError::Bound { found: bound });
        }
        if schema != 0 {
            return Err(SpirvError::Schema { found: schema });
        }
        Ok(Self { version, bound, words })
    }

    pub(super) fn header(&self) -> &[u32] {
        &self.words[..HEADER_WORDS]
    }

    /// The instructions; an error is the last item.
    pub(super) fn instructions(&self) -> Instructions<'_> {
        Instructions { rest: &self.words[HEADER_WORDS..], all: self.words.len() }
    }
}

pub(super) struct Instructions<'a> {
    rest: &'a [u32],
    all: usize,
}

impl<'a> Iterator for Instructions<'a> {
    type Item = Result<Instruction<'a>, SpirvError>;

    fn next(&mut self) -> Option<Self::Item> {
        let &first = self.rest.first()?;
        let word = self.all - self.rest.len();
        let (opcode, count) = (first & 0xffff, (first >> 16) as usize);
        match self.rest.split_at_checked(count) {
            Some((words, after)) if !words.is_empty() => {
                self.rest = after;
                Some(Ok(Instruction { opcode, word, words }))
            }
            _ => {
                let remaining = self.rest.len();
                self.rest = &[];
                Some(Err(SpirvError::Instruction { opcode, word, words: count, remaining }))
            }
        }
    }
}
