//! Whether all kernels mean the same device global by one symbol.
//!
//! Rust's own declarations agree, because there is one of each static. Two that meet only under a symbol,
//! by `#[no_mangle]` and `extern`, may have other sizes, alignments or properties: a device would read
//! past the end of one, or look for the other in the wrong place.

use std::collections::BTreeMap;

use super::debug::{DebugInfo, is_users};
use super::{location_of, reachable};
use crate::ir::{Ir, Item, Kind, tokens};
use crate::job::{Diagnostic, SourceSpan};
use crate::names;
use crate::passes::globals::{Layout, direct_accesses, extent};

/// One access: what it takes the global to be, and where.
struct Use {
    layout: Layout,
    kernel: String,
    span: Option<SourceSpan>,
}

/// A diagnostic for every global that is taken for two different things, or that nobody defines.
pub(super) fn contradictions(
    ir: &Ir,
    entries: &[String],
    debug: &DebugInfo<'_>,
) -> Vec<Diagnostic> {
    let mut uses: BTreeMap<String, Vec<Use>> = BTreeMap::new();
    for entry in entries {
        let kernel = names::kernel(entry);
        for function in reachable(ir, entry) {
            for (line, layout, symbols) in direct_accesses(function) {
                let span = place(debug, line);
                for symbol in symbols {
                    let kernel = kernel.clone();
                    uses.entry(symbol).or_default().push(Use {
                        layout,
                        kernel,
                        span: span.clone(),
                    });
                }
            }
        }
    }
    for uses in uses.values_mut() {
        // Symbols come in the order of hashes, which depend on where a crate lies: the message must not.
        uses.sort_by_key(|one| {
            let span = one.span.as_ref();
            (one.kernel.clone(), span.map(|span| (span.file.clone(), span.line, span.column)))
        });
    }
    uses.iter().filter_map(|(symbol, uses)| contradiction(ir, symbol, uses, debug)).collect()
}

fn contradiction(ir: &Ir, symbol: &str, uses: &[Use], debug: &DebugInfo<'_>) -> Option<Diagnostic> {
    let (first, rest) = uses.split_first()?;
    let variable = ir.find(symbol).filter(|item| item.kind == Kind::Variable)?;
    let name = names::display(symbol.trim_start_matches('@').trim_matches('"'));
    if variable.lines[0].contains(" = external ") {
        return Some(Diagnostic {
            message: format!(
                "a kernel uses the device global `{name}`, which no crate of this program defines"
            ),
            span: first.span.clone(),
            label: first.span.as_ref().map(|_| "used here".to_owned()),
            notes: vec![format!("in kernel `{}`", first.kernel)],
            help: "define it: a `static` of this name with `#[unsafe(no_mangle)]`, in a crate that is \
                   linked"
                .into(),
        });
    }
    // A symbol's static, or one with more than the global in it, is larger.
    let too_large = |one: &&Use| match extent(variable) {
        Some((size, align)) => !one.layout.has_room(size, align),
        None => false,
    };
    let wrong = uses
        .iter()
        .find(too_large)
        .or_else(|| rest.iter().find(|one| one.layout != first.layout))?;
    let other = match uses.iter().find(|one| one.layout != wrong.layout) {
        Some(Use { layout, kernel, span }) => {
            let place = at("used", span.as_ref());
            format!("`{name}` is {} in kernel `{kernel}`, {place}", layout.describe())
        }
        None => {
            let (size, align) = extent(variable)?;
            let storage = wrong.layout.storage_of(size);
            let place = definition_span(variable, debug);
            let place = place.map_or("where it is defined".into(), |it| at("defined", Some(&it)));
            format!("`{name}` is {storage} bytes aligned to {align}, {place}")
        }
    };
    let layout = wrong.layout.describe();
    Some(Diagnostic {
        message: format!("the device global `{name}` is declared in two ways"),
        span: wrong.span.clone(),
        label: wrong.span.as_ref().map(|_| layout.clone()),
        notes: vec![format!("`{name}` is {layout} in kernel `{}`", wrong.kernel), other],
        help: "declare it with the same type and properties everywhere; better, name the one static by \
               its path"
            .into(),
    })
}

fn at(verb: &str, span: Option<&SourceSpan>) -> String {
    match span {
        Some(SourceSpan { file, line, column: 0 }) => {
            format!("{verb} at {}:{line}", file.display())
        }
        Some(SourceSpan { file, line, column }) => {
            format!("{verb} at {}:{line}:{column}", file.display())
        }
        None => format!("{verb} where rustc left no debug info"),
    }
}

/// Where the user wrote what a line does.
fn place(debug: &DebugInfo<'_>, line: &str) -> Option<SourceSpan> {
    let frames = debug.frames(&location_of(line)?);
    let users = |own| frames.iter().find(|frame| is_users(frame, own));
    users(true).or_else(|| users(false)).map(|frame| frame.span.clone())
}

fn definition_span(variable: &Item, debug: &DebugInfo<'_>) -> Option<SourceSpan> {
    let mut words = tokens(&variable.lines[0]).map(|token| token.1);
    words.find(|word| *word == "!dbg")?;
    debug.variable(words.next()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(definition: &str, accesses: &[&str]) -> Vec<(String, Vec<String>)> {
        let mut text = format!("{definition}\n");
        for (number, operands) in accesses.iter().enumerate() {
            text.push_str(&format!(
                "define void @k{number}() {{\n  \
                 %g = call ptr @__crosscut_global_address(ptr @G, {operands})\n  ret void\n}}\n"
            ));
        }
        let ir = Ir::parse(&text);
        let entries: Vec<String> = (0..accesses.len()).map(|number| format!("k{number}")).collect();
        let found = contradictions(&ir, &entries, &DebugInfo::of(&ir));
        found.into_iter().map(|diagnostic| (diagnostic.message, diagnostic.notes)).collect()
    }

    const G: &str = "@G = global [8 x i8] zeroinitializer, align 4";

    #[test]
    fn one_layout_everywhere_is_no_contradiction() {
        let same = "i64 4, i64 4, i64 6";
        assert!(told(G, &[same, same]).is_empty());
        let symbol = "@G = global <{ [64 x i8] }> zeroinitializer, align 8";
        assert!(told(symbol, &[same, same]).is_empty());
    }

    #[test]
    fn a_layout_that_does_not_fit_the_definition_is_told_with_the_definition() {
        let [(_, notes)] = &told(G, &["i64 8, i64 8, i64 6"])[..] else { panic!() };
        assert!(notes[0].contains("`G` is 8 bytes aligned to 8"), "{notes:?}");
        assert_eq!(notes[1], "`G` is 4 bytes aligned to 4, where it is defined");
    }

    #[test]
    fn other_properties_in_two_kernels_are_told_with_both() {
        let two = told(G, &["i64 4, i64 4, i64 6", "i64 4, i64 4, i64 7"]);
        let [(_, notes)] = &two[..] else { panic!() };
        let wanted = "4 bytes aligned to 4, read and written by the host, with image scope";
        assert!(notes[0].contains(wanted), "{notes:?}");
        assert!(notes[1].contains("in kernel `k0`"), "{notes:?}");
    }

    #[test]
    fn what_nobody_defines_is_told() {
        let missing = told("@G = external global [8 x i8], align 4", &["i64 4, i64 4, i64 6"]);
        assert!(missing[0].0.contains("which no crate of this program defines"), "{missing:?}");
    }
}
