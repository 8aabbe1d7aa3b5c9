//! Where an instruction comes from: the chain of calls that inlining folded into it.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use crate::ir::{Ir, Kind, tokens, unescape};
use crate::job::SourceSpan;
use crate::names;

/// One function of a call chain, and the place in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    /// The function's symbol.
    pub(crate) symbol: String,
    /// The place: of the instruction, or of the call of the frame before.
    pub(crate) span: SourceSpan,
}

/// A module's debug info.
pub(crate) struct DebugInfo<'a> {
    metadata: HashMap<&'a str, &'a str>,
}

/// No call chain is longer; a broken one might close a circle.
const MOST_FRAMES: usize = 1000;

impl<'a> DebugInfo<'a> {
    /// Finds the metadata of a module.
    pub(crate) fn of(ir: &'a Ir) -> Self {
        let items = ir.items.iter().filter(|item| item.kind == Kind::Metadata);
        Self { metadata: items.map(|item| (item.name.as_str(), item.lines[0].as_str())).collect() }
    }

    /// The call chain of a location, innermost first.
    pub(crate) fn frames(&self, location: &str) -> Vec<Frame> {
        let mut frames = Vec::new();
        let mut next = Some(location);
        for _ in 0..MOST_FRAMES {
            let Some(line) = next.and_then(|name| self.metadata.get(name).copied()) else { break };
            frames.extend(self.frame(line));
            next = field(line, "inlinedAt");
        }
        frames
    }

    fn frame(&self, location: &str) -> Option<Frame> {
        let number = |name| field(location, name).and_then(|value| value.parse().ok());
        let mut scope = *self.metadata.get(field(location, "scope")?)?;
        let file = self.file(field(scope, "file")?)?;
        let mut depth = 0;
        while !scope.contains("!DISubprogram(") {
            scope = self.metadata.get(field(scope, "scope")?)?;
            depth += 1;
            if depth > MOST_FRAMES {
                return None;
            }
        }
        let name = field(scope, "linkageName").or_else(|| field(scope, "name"))?;
        Some(Frame {
            symbol: text(name),
            span: SourceSpan {
                file,
                line: number("line").unwrap_or(0),
                column: number("column").unwrap_or(0),
            },
        })
    }

    /// Where a variable is defined, by the name of the metadata that describes it.
    pub(crate) fn variable(&self, name: &str) -> Option<SourceSpan> {
        let mut line = *self.metadata.get(name)?;
        if line.contains("!DIGlobalVariableExpression(") {
            line = self.metadata.get(field(line, "var")?)?;
        }
        let file = self.file(field(line, "file")?)?;
        Some(SourceSpan { file, line: field(line, "line")?.parse().ok()?, column: 0 })
    }

    fn file(&self, name: &str) -> Option<PathBuf> {
        let line = self.metadata.get(name)?;
        let directory = field(line, "directory").map(text).unwrap_or_default();
        let name = text(field(line, "filename")?);
        // rustc names files as it was given them, and this process runs where rustc does.
        let here = std::env::current_dir().is_ok_and(|here| here == Path::new(&directory));
        Some(if here { PathBuf::from(name) } else { Path::new(&directory).join(name) })
    }
}

fn text(token: &str) -> String {
    String::from_utf8_lossy(&unescape(token)).into_owned()
}

/// The value of `name: value` in a metadata line.
fn field<'a>(line: &'a str, name: &str) -> Option<&'a str> {
    let mut words = tokens(line).map(|token| token.1);
    let mut before = "";
    loop {
        let word = words.next()?;
        if word == ":" && before == name {
            return words.next();
        }
        before = word;
    }
}

/// Whether a frame is the user's to change: not the standard library, not Crosscut, and (`own`) not
/// a crate fetched from elsewhere.
pub(crate) fn is_users(frame: &Frame, own: bool) -> bool {
    let path = frame.span.file.to_string_lossy();
    let of_std = path.starts_with("/rustc/")
        || path.starts_with("/rust/deps/")
        || path.contains("/rustlib/src/rust/library/");
    let crate_name = names::crate_of(&frame.symbol);
    let of_crosscut =
        matches!(crate_name.as_deref(), Some("crosscut" | "crosscut_device" | "crosscut_runtime"));
    let fetched = path.contains("/registry/src/") || path.contains("/git/checkouts/");
    !(of_std || of_crosscut || own && fetched)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_is_followed_through_what_was_inlined() {
        let ir = Ir::parse(
            "!0 = !DIFile(filename: \"src/a.rs\", directory: \"/p\")\n\
             !1 = distinct !DISubprogram(name: \"f\", linkageName: \"_RNvCsgbTIekHar5R_1p1f\", scope: !9, file: !0, line: 1)\n\
             !2 = distinct !DISubprogram(name: \"g\", scope: !9, file: !0, line: 5)\n\
             !3 = distinct !DILexicalBlock(scope: !1, file: !0, line: 2, column: 3)\n\
             !4 = !DILocation(line: 2, column: 5, scope: !3, inlinedAt: !5)\n\
             !5 = distinct !DILocation(line: 6, column: 7, scope: !2)\n",
        );
        let frames = DebugInfo::of(&ir).frames("!4");
        assert_eq!(frames.len(), 2);
        assert_eq!(names::display(&frames[0].symbol), "p::f");
        assert_eq!(frames[0].span.file, Path::new("/p/src/a.rs"));
        assert_eq!((frames[0].span.line, frames[0].span.column), (2, 5));
        assert_eq!((frames[1].symbol.as_str(), frames[1].span.line), ("g", 6));
    }
}
