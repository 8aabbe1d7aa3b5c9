//! Where the program's device globals came to lie, written into the program, and the number of its layout.
//!
//! The object that the lowering made has an array of host objects. The linker has placed both it and
//! the statics; their distance is fixed from here on, wherever the program is loaded. It is found by
//! symbol, since statics are mostly private to their object file and nothing else can name them.

use std::collections::HashMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use crosscut_image::registration::{HOST_OBJECTS, HostObject, LAYOUT};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};

mod layout;

/// Why a program cannot be completed.
#[derive(Debug, thiserror::Error)]
pub(super) enum PatchError {
    #[error(transparent)]
    Io(#[from] io::Error),
    #[error("it is not an object file: {0}")]
    Format(#[from] object::Error),
    #[error("it is not a 64-bit little-endian ELF file")]
    Kind,
    #[error("the linker left out the symbol `{0}`")]
    Missing(&'static str),
    #[error("the array of host objects does not lie in the file")]
    ArrayOutside,
    #[error("the number of the layout does not lie in the file")]
    LayoutOutside,
}

/// Fills in the offsets of the host objects whose symbols these are, in the array's order, and the number of
/// the layout.
pub(super) fn run(program: &Path, symbols: &[String]) -> Result<(), PatchError> {
    let bytes = fs::read(program)?;
    let patches = patches(&bytes, symbols)?;
    let mut file = OpenOptions::new().write(true).open(program)?;
    for (place, number) in patches {
        file.seek(SeekFrom::Start(place))?;
        file.write_all(&number)?;
    }
    Ok(())
}

/// The places in the file and the numbers to write there.
fn patches(bytes: &[u8], symbols: &[String]) -> Result<Vec<(u64, [u8; 8])>, PatchError> {
    let file = object::File::parse(bytes)?;
    let elf = file.format() == object::BinaryFormat::Elf;
    if !elf || !file.is_64() || !file.is_little_endian() {
        return Err(PatchError::Kind);
    }
    let addresses = addresses(&file, symbols);
    let address = |symbol| addresses.get(symbol).copied().ok_or(PatchError::Missing(symbol));
    let (array, layout) = (address(HOST_OBJECTS)?, address(LAYOUT)?);
    let element = size_of::<HostObject>() as u64;
    let length = (symbols.len() as u64).saturating_mul(element);
    let start = file_place(&file, array, length).ok_or(PatchError::ArrayOutside)?;
    let place = file_place(&file, layout, 8).ok_or(PatchError::LayoutOutside)?;
    let offsets = (0_u64..).zip(symbols);
    Ok(offsets
        .map(|(index, symbol)| {
            let (whole, inside) = whole_and_offset(symbol);
            let address = match addresses.get(symbol.as_str()) {
                Some(address) => Some(*address),
                None => addresses.get(whole).map(|address| address.wrapping_add(inside)),
            };
            // Addresses of one program are less than 2^63 apart, so the difference is exact.
            let offset = address.map_or(0, |address| address.wrapping_sub(array).cast_signed());
            (start + index * element + OFFSET_FIELD, offset.to_le_bytes())
        })
        .chain([(place, layout::number(&file, array).to_le_bytes())])
        .collect())
}

/// The static that a symbol of its part `PAIR+8` speaks of, and where in it the part begins.
fn whole_and_offset(symbol: &str) -> (&str, u64) {
    let part = symbol.rsplit_once('+').and_then(|(whole, at)| Some((whole, at.parse().ok()?)));
    part.unwrap_or((symbol, 0))
}

const OFFSET_FIELD: u64 = std::mem::offset_of!(HostObject, offset) as u64;

/// The addresses of these symbols and of our own. A static that rustc's link-time optimisation
/// has made visible to other object files has `.llvm.` and a number behind its name.
fn addresses<'a>(file: &object::File<'a>, wanted: &'a [String]) -> HashMap<&'a str, u64> {
    let wanted: HashMap<&str, ()> = wanted
        .iter()
        .flat_map(|name| [name.as_str(), whole_and_offset(name).0])
        .chain([HOST_OBJECTS, LAYOUT])
        .map(|name| (name, ()))
        .collect();
    let mut found = HashMap::new();
    for symbol in file.symbols().filter(|symbol| symbol.is_definition()) {
        if matches!(symbol.kind(), SymbolKind::File | SymbolKind::Section) {
            continue;
        }
        let Ok(name) = symbol.name() else { continue };
        let name = name.split(".llvm.").next().unwrap_or(name);
        if let Some((name, ())) = wanted.get_key_value(name) {
            found.entry(*name).or_insert(symbol.address());
        }
    }
    found
}

/// Where the so many bytes at an address are in the file.
fn file_place(file: &object::File<'_>, address: u64, length: u64) -> Option<u64> {
    file.sections().find_map(|section| {
        let (start, size) = section.file_range()?;
        let inside = address.checked_sub(section.address())?;
        (section.address() != 0 && inside.checked_add(length)? <= size).then_some(start + inside)
    })
}

#[cfg(test)]
mod tests;
