//! The number of how a program's statics lie.
//!
//! A device global that no kernel names has no entry in the array of host objects. When its program is unloaded
//! and loaded again the runtime knows it by its distance from that array, and by this number knows that the
//! same static is there.

use object::elf::{SHF_TLS, SHF_WRITE};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};

/// The number, never 0, of the statics of `file` and their distances from `array`. Code is no part of it: a program
/// that was changed and built again has the same one as long as its statics stay where they are.
pub(super) fn number(file: &object::File<'_>, array: u64) -> u64 {
    let mut statics: Vec<(i64, u64, &str)> = file
        .symbols()
        .filter(|symbol| symbol.is_definition() && symbol.kind() == SymbolKind::Data)
        .filter(|symbol| {
            let section =
                symbol.section_index().and_then(|index| file.section_by_index(index).ok());
            section.is_some_and(|section| is_writable(&section))
        })
        .filter_map(|symbol| {
            let name = symbol.name().ok()?;
            // What rustc's link-time optimisation puts behind a name changes with every build.
            let name = name.split(".llvm.").next().unwrap_or(name);
            Some((symbol.address().wrapping_sub(array).cast_signed(), symbol.size(), name))
        })
        .collect();
    statics.sort_unstable();
    let mut hash = Hash::new();
    for (distance, size, name) in statics {
        hash.add(&distance.to_le_bytes());
        hash.add(&size.to_le_bytes());
        hash.add(name.as_bytes());
        hash.add(&[0]);
    }
    hash.0.max(1)
}

/// Whether device globals may be there: in what is written, whatever its name is, unless it becomes constant once it is
/// loaded.
fn is_writable(section: &object::Section<'_, '_>) -> bool {
    let object::SectionFlags::Elf { sh_flags, .. } = section.flags() else { return false };
    sh_flags & (SHF_WRITE | SHF_TLS) == SHF_WRITE
        && section
            .name()
            .is_ok_and(|name| !CONSTANT.contains(&name) && !name.starts_with(".data.rel.ro."))
}

/// What the loader writes and nobody after it.
const CONSTANT: [&str; 7] = [
    ".data.rel.ro",
    ".init_array",
    ".fini_array",
    ".preinit_array",
    ".dynamic",
    ".got",
    ".got.plt",
];

/// FNV-1a, whose results are the same in every build of this program.
struct Hash(u64);

impl Hash {
    fn new() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }

    fn add(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
}
