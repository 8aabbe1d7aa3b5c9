//! What a module says about its kernels and variables.

use std::collections::BTreeMap;

/// A parameter of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Parameter {
    /// An address of memory.
    Address,
    /// So much memory of the work-group.
    Local,
    Value,
}

/// What there is to know about a module.
#[derive(Default)]
pub(crate) struct Module {
    /// The parameters of each kernel.
    pub(crate) kernels: BTreeMap<String, Vec<Parameter>>,
    /// The names that `HostAccessINTEL` gives, by variable.
    hosted: BTreeMap<u32, String>,
    /// The names that `LinkageAttributes` gives, by variable.
    linked: BTreeMap<u32, String>,
    /// What it wants of other modules.
    pub(crate) imports: Vec<String>,
}

const MAGIC: u32 = 0x0723_0203;
const ENTRY_POINT: u32 = 15;
const TYPE_POINTER: u32 = 32;
const TYPE_FUNCTION: u32 = 33;
const FUNCTION: u32 = 54;
const VARIABLE: u32 = 59;
const DECORATE: u32 = 71;
const LINKAGE_ATTRIBUTES: u32 = 41;
const HOST_ACCESS: u32 = 6188;
const IMPORT: u32 = 1;
const INPUT: u32 = 1;
const WORKGROUP: u32 = 4;

impl Module {
    /// Reads a module; `None` if it is none.
    pub(crate) fn read(code: &[u8]) -> Option<Self> {
        let (words, rest) = code.as_chunks::<4>();
        let words: Vec<u32> = words.iter().map(|word| u32::from_le_bytes(*word)).collect();
        if !rest.is_empty() || words.len() < 5 || words[0] != MAGIC {
            return None;
        }
        let mut module = Self::default();
        let (mut entries, mut functions) = (Vec::new(), BTreeMap::new());
        let (mut signatures, mut pointers) = (BTreeMap::new(), BTreeMap::new());
        let (mut imported, mut variables) = (Vec::new(), Vec::new());
        let mut left = &words[5..];
        while let Some(first) = left.first() {
            let (length, code) = ((first >> 16) as usize, first & 0xffff);
            if length == 0 || length > left.len() {
                return None;
            }
            let (operands, after) = (&left[1..length], &left[length..]);
            left = after;
            match (code, operands) {
                (ENTRY_POINT, [_, function, name @ ..]) => entries.push((*function, text(name).0)),
                (TYPE_POINTER, [id, space, ..]) => drop(pointers.insert(*id, *space)),
                (TYPE_FUNCTION, [id, _, takes @ ..]) => {
                    signatures.insert(*id, takes.to_vec());
                }
                (FUNCTION, [_, id, _, signature]) => drop(functions.insert(*id, *signature)),
                (VARIABLE, [_, id, space, ..]) if *space != INPUT => variables.push(*id),
                (DECORATE, [id, HOST_ACCESS, _, name @ ..]) => {
                    module.hosted.insert(*id, text(name).0);
                }
                (DECORATE, [id, LINKAGE_ATTRIBUTES, name @ ..]) => {
                    let (name, words) = text(name);
                    if operands.get(2 + words) == Some(&IMPORT) {
                        imported.push((*id, name.clone()));
                    }
                    module.linked.insert(*id, name);
                }
                _ => {}
            }
        }
        let parameter = |kind: &u32| match pointers.get(kind) {
            Some(&WORKGROUP) => Parameter::Local,
            Some(_) => Parameter::Address,
            None => Parameter::Value,
        };
        for (function, name) in entries {
            let signature = functions.get(&function).and_then(|kind| signatures.get(kind));
            module.kernels.insert(name, signature?.iter().map(parameter).collect());
        }
        // Functions of the device's own library, and what each item has of its own, may be called
        // imports too: nobody links those.
        let is_variable = |(id, name): (u32, String)| variables.contains(&id).then_some(name);
        module.imports = imported.into_iter().filter_map(is_variable).collect();
        Some(module)
    }

    /// The name under which a variable is known below, by the name that the host says: first that of
    /// `HostAccessINTEL`, then that of `LinkageAttributes`.
    pub(crate) fn variable(&self, name: &str) -> Option<&str> {
        let by = |names: &BTreeMap<u32, String>| {
            names.iter().find(|(_, known)| *known == name).map(|(id, _)| *id)
        };
        let id = by(&self.hosted).or_else(|| by(&self.linked))?;
        self.hosted.get(&id).or_else(|| self.linked.get(&id)).map(String::as_str)
    }
}

/// Text at the start of operands, and how many of them it takes.
fn text(words: &[u32]) -> (String, usize) {
    let bytes: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    (String::from_utf8_lossy(&bytes[..end]).into_owned(), end / 4 + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_for_the_host_come_before_names_for_linking() {
        let named = |names: &[(u32, &str)]| {
            names.iter().map(|(id, name)| (*id, (*name).to_owned())).collect::<BTreeMap<_, _>>()
        };
        let module = Module {
            linked: named(&[(1, "one"), (2, "two"), (3, "three")]),
            hosted: named(&[(1, "two"), (2, "far")]),
            ..Module::default()
        };
        // The first has `two` for the host, the second for linking.
        assert_eq!(module.variable("two"), Some("two"));
        assert_eq!(module.variable("far"), Some("far"));
        assert_eq!(module.variable("one"), Some("two"));
        assert_eq!(module.variable("three"), Some("three"));
        assert_eq!(module.variable("four"), None);
    }

    #[test]
    fn what_ends_too_early_is_no_module() {
        let words = [MAGIC, 0x1_0000, 0, 9, 0, 5 << 16 | ENTRY_POINT, 6, 1, 0];
        let code: Vec<u8> = words.iter().flat_map(|word| word.to_le_bytes()).collect();
        assert!(Module::read(&code).is_none());
        assert!(Module::read(&code[..20]).is_some());
        assert!(Module::read(&code[..19]).is_none());
        assert!(Module::read(&[]).is_none());
    }
}
