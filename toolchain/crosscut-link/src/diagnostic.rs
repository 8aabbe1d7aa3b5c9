//! Messages to the user, as rustc prints its own.

use std::fs;
use std::io::{self, Write};
use std::path::Path;

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use crosscut_lower::job::Diagnostic;
use serde_json::{Value, json};

use crate::source::{self, Excerpt};

/// How the reader takes messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// Text, for a person.
    Text,
    /// rustc's JSON messages, one a line, whose text has no colours.
    Json,
    /// rustc's JSON messages, whose text has colours.
    JsonAnsi,
}

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Severity {
    Error,
    Warning,
}

/// Prints an error that is not about a place in the source.
pub fn print_error(form: Form, message: &str, help: &str) {
    print(form, &without_place(message, help));
}

/// Prints a warning that is not about a place in the source. cargo counts it, and says it again for as long
/// as the crate is not compiled anew.
pub(crate) fn print_warning(form: Form, message: &str, help: &str) {
    print_as(Severity::Warning, form, &without_place(message, help));
}

/// A message that is not about a place in the source. Lines of `message` after the first become
/// notes.
pub(crate) fn without_place(message: &str, help: &str) -> Diagnostic {
    let (title, rest) = message.split_once('\n').unwrap_or((message, ""));
    let rest = rest.trim();
    Diagnostic {
        message: title.into(),
        span: None,
        label: None,
        notes: if rest.is_empty() { Vec::new() } else { vec![rest.into()] },
        help: help.into(),
    }
}

/// Prints one error on standard error.
pub(crate) fn print(form: Form, diagnostic: &Diagnostic) {
    print_as(Severity::Error, form, diagnostic);
}

fn print_as(severity: Severity, form: Form, diagnostic: &Diagnostic) {
    let colours = io::IsTerminal::is_terminal(&io::stderr());
    let mut text = match form {
        Form::Text => render(severity, diagnostic, colours) + "\n",
        Form::Json => json_message(severity, diagnostic, false).to_string(),
        Form::JsonAnsi => json_message(severity, diagnostic, true).to_string(),
    };
    text.push('\n');
    // Nobody is left to be told if standard error is gone.
    let _ = io::stderr().lock().write_all(text.as_bytes());
}

/// Leaves diagnostics for the process that waits for this one.
pub(crate) fn leave(file: &Path, diagnostics: &[Diagnostic]) -> io::Result<()> {
    fs::write(file, serde_json::to_vec(diagnostics)?)
}

/// Takes what was left; nothing if nothing was.
pub(crate) fn take(file: &Path) -> Vec<Diagnostic> {
    let Ok(bytes) = fs::read(file) else { return Vec::new() };
    forget(file);
    serde_json::from_slice(&bytes).unwrap_or_default()
}

/// Removes what an earlier run may have left.
pub(crate) fn forget(file: &Path) {
    // Mostly it is not there.
    let _ = fs::remove_file(file);
}

/// The diagnostic as text, without a final line end.
fn render(severity: Severity, diagnostic: &Diagnostic, colours: bool) -> String {
    let renderer = if colours { Renderer::styled() } else { Renderer::plain() };
    let excerpt = diagnostic.span.as_ref().and_then(source::excerpt);
    let level = match severity {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let mut group: Group<'_> = Group::with_title(level.primary_title(&diagnostic.message));
    let path = diagnostic.span.as_ref().map(|span| span.file.to_string_lossy());
    if let (Some(span), Some(path)) = (&diagnostic.span, &path) {
        group = match &excerpt {
            Some(excerpt) => {
                let mark = AnnotationKind::Primary
                    .span(excerpt.part.clone())
                    .label(diagnostic.label.as_deref());
                group.element(
                    Snippet::source(&excerpt.text)
                        .line_start(span.line as usize)
                        .path(path.as_ref())
                        .annotation(mark),
                )
            }
            None => {
                let mut origin = Origin::path(path.as_ref()).line(span.line as usize);
                if span.column > 0 {
                    origin = origin.char_column(span.column as usize);
                }
                group.element(origin)
            }
        };
    }
    for (level, text) in children(diagnostic) {
        let level = if level == "note" { Level::NOTE } else { Level::HELP };
        group = group.element(level.message(text));
    }
    renderer.render(&[group])
}

/// What follows the place: the label if there is no source line to put it on, notes, help.
fn children(diagnostic: &Diagnostic) -> impl Iterator<Item = (&'static str, &str)> {
    let on_source = diagnostic.span.as_ref().and_then(source::excerpt).is_some();
    let label = diagnostic.label.as_deref().filter(|_| !on_source);
    let notes = label.into_iter().chain(diagnostic.notes.iter().map(String::as_str));
    let help = Some(diagnostic.help.as_str()).filter(|help| !help.is_empty());
    notes.map(|note| ("note", note)).chain(help.map(|help| ("help", help)))
}

fn json_message(severity: Severity, diagnostic: &Diagnostic, colours: bool) -> Value {
    let excerpt = diagnostic.span.as_ref().and_then(source::excerpt);
    let children: Vec<Value> = children(diagnostic)
        .map(|(level, text)| {
            json!({
                "message": text, "code": null, "level": level,
                "spans": [], "children": [], "rendered": null,
            })
        })
        .collect();
    json!({
        "$message_type": "diagnostic",
        "message": diagnostic.message,
        "code": null,
        "level": match severity { Severity::Error => "error", Severity::Warning => "warning" },
        "spans": json_spans(diagnostic, excerpt.as_ref()),
        "children": children,
        // rustc leaves an empty line after each message.
        "rendered": render(severity, diagnostic, colours) + "\n\n",
    })
}

fn json_spans(diagnostic: &Diagnostic, excerpt: Option<&Excerpt>) -> Vec<Value> {
    let Some(span) = &diagnostic.span else { return Vec::new() };
    let column = |at: usize, text: &str| text[..at].chars().count() + 1;
    let (columns, bytes, text) = match excerpt {
        Some(Excerpt { text, part, offset }) => {
            let columns = [column(part.start, text), column(part.end, text)];
            let line = json!({
                "text": text, "highlight_start": columns[0], "highlight_end": columns[1],
            });
            (columns, [offset + part.start, offset + part.end], vec![line])
        }
        None => ([span.column.max(1) as usize; 2], [0; 2], Vec::new()),
    };
    vec![json!({
        "file_name": span.file.to_string_lossy(),
        "byte_start": bytes[0], "byte_end": bytes[1],
        "line_start": span.line, "line_end": span.line,
        "column_start": columns[0], "column_end": columns[1],
        "is_primary": true,
        "text": text,
        "label": diagnostic.label,
        "suggested_replacement": null, "suggestion_applicability": null, "expansion": null,
    })]
}

#[cfg(test)]
mod tests;
