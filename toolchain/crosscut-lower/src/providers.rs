//! Who defines which symbol: the crates of the program, and the standard library.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};

use object::read::archive::ArchiveFile;
use object::{Object, ObjectSection};

use crate::LowerError;
use crate::llvm::{Llvm, LlvmError, Module};

/// Bitcode that can be linked in when a symbol of it is wanted.
pub(crate) struct Provider {
    /// Where it came from, for messages.
    pub(crate) origin: String,
    /// Whether it is a part of the standard library.
    pub(crate) is_std: bool,
    bitcode: Vec<u8>,
}

/// All bitcode at hand, by the symbols it defines.
#[derive(Default)]
pub(crate) struct Providers {
    list: Vec<Provider>,
    by_symbol: HashMap<String, usize>,
}

impl Provider {
    /// Reads the whole module; each call gives a fresh one.
    pub(crate) fn load(&self, llvm: &Llvm) -> Result<Module, LowerError> {
        read(llvm, &self.bitcode, false).map_err(|error| LowerError::Bitcode {
            origin: self.origin.clone(),
            reason: error.to_string(),
        })
    }
}

/// Reads bitcode, or LLVM's assembly.
fn read(llvm: &Llvm, bytes: &[u8], lazy: bool) -> Result<Module, LlvmError> {
    match std::str::from_utf8(bytes) {
        Ok(text) if !bytes.starts_with(b"BC") => Module::from_text(llvm, text),
        _ => Module::from_bitcode(llvm, bytes, lazy),
    }
}

impl Providers {
    /// Adds a bitcode file of a crate and returns its number.
    pub(crate) fn add_file(&mut self, llvm: &Llvm, path: &Path) -> Result<usize, LowerError> {
        let bitcode =
            fs::read(path).map_err(|source| LowerError::Read { path: path.to_owned(), source })?;
        self.add(llvm, path.display().to_string(), bitcode, false)
    }

    /// Adds the members of an archive that carry bitcode in a `.llvmbc` section.
    ///
    /// Rust code optimised for the host is of no use as a whole, but small functions of `core` that
    /// are not generic exist nowhere else.
    pub(crate) fn add_archive(&mut self, llvm: &Llvm, path: &PathBuf) -> Result<(), LowerError> {
        let bytes =
            fs::read(path).map_err(|source| LowerError::Read { path: path.clone(), source })?;
        let broken = |reason: object::Error| LowerError::Bitcode {
            origin: path.display().to_string(),
            reason: reason.to_string(),
        };
        let archive = ArchiveFile::parse(&*bytes).map_err(broken)?;
        for member in archive.members() {
            let member = member.map_err(broken)?;
            let data = member.data(&*bytes).map_err(broken)?;
            // Metadata members are no objects.
            let Ok(file) = object::File::parse(data) else { continue };
            let Some(section) = file.section_by_name(".llvmbc") else { continue };
            let bitcode = section.data().map_err(broken)?.to_vec();
            if bitcode.is_empty() {
                continue;
            }
            let origin = format!("{}({})", path.display(), String::from_utf8_lossy(member.name()));
            self.add(llvm, origin, bitcode, true)?;
        }
        Ok(())
    }

    fn add(
        &mut self,
        llvm: &Llvm,
        origin: String,
        bitcode: Vec<u8>,
        is_std: bool,
    ) -> Result<usize, LowerError> {
        let number = self.list.len();
        let module = read(llvm, &bitcode, true).map_err(|error| LowerError::Bitcode {
            origin: origin.clone(),
            reason: error.to_string(),
        })?;
        for name in module.exported_names() {
            // The first one counts: the program's own crates come before the standard library.
            self.by_symbol.entry(name).or_insert(number);
        }
        self.list.push(Provider { origin, is_std, bitcode });
        Ok(number)
    }

    /// The provider with this number.
    pub(crate) fn get(&self, number: usize) -> &Provider {
        &self.list[number]
    }

    /// The number of the provider that defines `symbol`.
    pub(crate) fn of(&self, symbol: &str) -> Option<usize> {
        self.by_symbol.get(symbol).copied()
    }
}
