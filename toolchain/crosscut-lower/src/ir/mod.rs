//! A module as text.
//!
//! LLVM's assembly puts one instruction on a line, one definition after the other. That is all the
//! structure our passes need, and it lets each be read and tested as text in, text out. LLVM parses
//! and verifies what they leave behind.

pub(crate) mod graph;
mod instruction;
mod lex;

use std::collections::{HashMap, HashSet};

pub(crate) use instruction::{Call, Instruction, pointer_space, pointer_type, value_of};
pub(crate) use lex::{replace_tokens, split_at_commas, tokens, unescape};

/// What an [`Item`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `%T = type ...`
    Type,
    /// `@v = ...`
    Variable,
    /// `declare ...`
    Declaration,
    /// `define ... { ... }`
    Function,
    /// `attributes #0 = ...`
    Attributes,
    /// `!0 = ...`
    Metadata,
    /// `target ...`, `source_filename ...`, `$c = comdat ...`
    Other,
}

/// One definition of a module.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    /// What it is.
    pub(crate) kind: Kind,
    /// Its name with sigil: `@f`, `!3`, `#0`; empty for `Other`.
    pub(crate) name: String,
    /// Its lines; a function's first is its head with `{`, its last `}`.
    pub(crate) lines: Vec<String>,
}

/// A module as a list of definitions.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ir {
    /// In the order of the text.
    pub(crate) items: Vec<Item>,
}

impl Ir {
    /// Reads a module that LLVM has printed.
    pub(crate) fn parse(text: &str) -> Self {
        let mut items = Vec::new();
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let Some((_, first)) = tokens(line).next() else { continue };
            let mut item = Item {
                kind: Kind::Other,
                name: String::new(),
                lines: vec![without_comment(line).to_owned()],
            };
            match first {
                "define" | "declare" => {
                    item.name = symbol_of(line).unwrap_or_default().to_owned();
                    item.kind = Kind::Declaration;
                    if first == "define" {
                        item.kind = Kind::Function;
                        for line in lines.by_ref() {
                            let line = without_comment(line);
                            if line.is_empty() {
                                continue;
                            }
                            item.lines.push(line.to_owned());
                            if line == "}" {
                                break;
                            }
                        }
                    }
                }
                "attributes" => {
                    item.kind = Kind::Attributes;
                    item.name = tokens(line).nth(1).map_or("", |token| token.1).to_owned();
                }
                name if name.starts_with('@') => {
                    item.kind = Kind::Variable;
                    item.name = name.to_owned();
                }
                name if name.starts_with('!') => {
                    item.kind = Kind::Metadata;
                    item.name = name.to_owned();
                }
                name if name.starts_with('%') => {
                    item.kind = Kind::Type;
                    item.name = name.to_owned();
                }
                _ => {}
            }
            items.push(item);
        }
        Self { items }
    }

    /// The module's text.
    pub(crate) fn print(&self) -> String {
        let mut text = String::new();
        for item in &self.items {
            for line in &item.lines {
                text.push_str(line);
                text.push('\n');
            }
        }
        text
    }

    /// A definition by name.
    pub(crate) fn find(&self, name: &str) -> Option<&Item> {
        self.items.iter().find(|item| item.name == name)
    }

    /// The functions with bodies.
    pub(crate) fn functions(&self) -> impl Iterator<Item = &Item> {
        self.items.iter().filter(|item| item.kind == Kind::Function)
    }

    /// The functions with bodies, to be changed.
    pub(crate) fn functions_mut(&mut self) -> impl Iterator<Item = &mut Item> {
        self.items.iter_mut().filter(|item| item.kind == Kind::Function)
    }

    /// A copy with only what `roots` need, directly or through others.
    ///
    /// Of the metadata only what is reached goes along; named lists (`!llvm.ident`) do not.
    pub(crate) fn only(&self, roots: &[&str]) -> Self {
        let index: HashMap<&str, usize> = self
            .items
            .iter()
            .enumerate()
            .filter(|(_, item)| !item.name.is_empty())
            .map(|(number, item)| (item.name.as_str(), number))
            .collect();
        let mut wanted: HashSet<usize> = HashSet::new();
        let mut queue: Vec<usize> =
            roots.iter().filter_map(|root| index.get(root).copied()).collect();
        while let Some(number) = queue.pop() {
            if wanted.insert(number) {
                let lines = &self.items[number].lines;
                let names = lines.iter().flat_map(|line| tokens(line)).map(|(_, token)| token);
                queue.extend(names.filter_map(|name| index.get(name).copied()));
            }
        }
        let items = self
            .items
            .iter()
            .enumerate()
            .filter(|(number, item)| item.kind == Kind::Other || wanted.contains(number))
            .map(|(_, item)| item.clone())
            .collect();
        Self { items }
    }
}

/// The symbol of a `define` or `declare` line: the first `@` name at bracket depth 0.
fn symbol_of(line: &str) -> Option<&str> {
    tokens(line).map(|(_, token)| token).find(|token| token.starts_with('@'))
}

/// A line without its comment and the blanks before it.
fn without_comment(line: &str) -> &str {
    if !line.contains(';') {
        return line.trim_end();
    }
    let end = tokens(line).last().map_or(0, |(start, token)| start + token.len());
    &line[..end]
}

impl Item {
    /// The instructions of a function, labels left out.
    pub(crate) fn instructions(&self) -> impl Iterator<Item = Instruction<'_>> {
        self.lines.iter().skip(1).filter_map(|line| Instruction::parse(line))
    }

    /// The calls of a function.
    pub(crate) fn calls(&self) -> impl Iterator<Item = Call<'_>> {
        self.lines.iter().skip(1).filter_map(|line| Call::parse(line))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
; ModuleID = 'x'
source_filename = \"x\"
@a = constant [3 x i8] c\"a;b\", align 1
@b = constant ptr @a
define void @f() #0 {
start:
  call void @g(ptr @b), !x !1 ; a note
  ret void
}

declare void @g(ptr)
declare void @h()
attributes #0 = { nounwind }
!1 = !{i64 1}
!2 = !{i64 2}
";

    #[test]
    fn a_module_survives_without_its_comments() {
        let printed = Ir::parse(TEXT).print();
        assert!(printed.contains("c\"a;b\", align 1"));
        assert!(!printed.contains("note"));
        assert_eq!(Ir::parse(&printed).print(), printed);
    }

    #[test]
    fn only_what_a_root_needs_is_kept() {
        let names: Vec<String> =
            Ir::parse(TEXT).only(&["@f"]).items.into_iter().map(|item| item.name).collect();
        assert_eq!(names, ["", "@a", "@b", "@f", "@g", "#0", "!1"]);
    }
}
