use std::fs;

use crosscut_lower::job::SourceSpan;

use super::*;

const SOURCE: &str = "fn load() {\n    let table = fs::read(\"weights.bin\");\n}\n";

fn diagnostic(file: &Path) -> Diagnostic {
    Diagnostic {
        message: "`std::fs::read` cannot run on a device".into(),
        span: Some(SourceSpan { file: file.into(), line: 2, column: 17 }),
        label: Some("reached from kernel `sum`".into()),
        notes: vec!["`sum` calls `load`, which calls `std::fs::read`".into()],
        help: "read the file on the host and pass its bytes in a buffer".into(),
    }
}

/// The folder's own name is not part of what is expected.
fn shown(text: &str, folder: &Path) -> String {
    text.replace(folder.to_str().unwrap(), "src")
}

#[test]
fn a_place_in_the_source_is_shown_as_rustc_shows_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sum.rs");
    fs::write(&file, SOURCE).unwrap();
    let expected = "\
error: `std::fs::read` cannot run on a device
 --> src/sum.rs:2:17
  |
2 |     let table = fs::read(\"weights.bin\");
  |                 ^^^^^^^^^^^^^^^^^^^^^^^ reached from kernel `sum`
  |
  = note: `sum` calls `load`, which calls `std::fs::read`
  = help: read the file on the host and pass its bytes in a buffer";
    assert_eq!(shown(&render(Severity::Error, &diagnostic(&file), false), folder.path()), expected);
}

#[test]
fn a_place_whose_source_is_absent_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("gone.rs");
    let expected = "\
error: `std::fs::read` cannot run on a device
--> src/gone.rs:2:17
 = note: reached from kernel `sum`
 = note: `sum` calls `load`, which calls `std::fs::read`
 = help: read the file on the host and pass its bytes in a buffer";
    assert_eq!(shown(&render(Severity::Error, &diagnostic(&file), false), folder.path()), expected);
}

#[test]
fn a_message_without_a_place_has_its_title_and_its_help() {
    let message = without_place("LLVM 22 is missing\nno libLLVM.so.22.1 was found", "install it");
    let expected = "\
error: LLVM 22 is missing
 |
 = note: no libLLVM.so.22.1 was found
 = help: install it";
    assert_eq!(render(Severity::Error, &message, false), expected);
    let warning = json_message(Severity::Warning, &message, false);
    assert_eq!(warning["level"], "warning");
    assert!(warning["rendered"].as_str().unwrap().starts_with("warning: LLVM 22 is missing\n"));
}

#[test]
fn cargo_gets_a_message_as_rustc_writes_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("sum.rs");
    fs::write(&file, SOURCE).unwrap();
    let message = json_message(Severity::Error, &diagnostic(&file), true);
    assert_eq!(message["$message_type"], "diagnostic");
    assert_eq!(message["level"], "error");
    assert!(message["rendered"].as_str().unwrap().contains("\u{1b}["));
    let span = &message["spans"][0];
    assert_eq!((&span["line_start"], &span["column_start"]), (&json!(2), &json!(17)));
    assert_eq!((&span["column_end"], &span["byte_start"]), (&json!(40), &json!(28)));
    assert_eq!(span["text"][0]["highlight_end"], 40);
    assert_eq!(message["children"][1]["level"], "help");
    let plain = json_message(Severity::Error, &diagnostic(&file), false);
    assert!(!plain["rendered"].as_str().unwrap().contains('\u{1b}'));
}

#[test]
fn what_is_left_is_taken_once() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("left");
    leave(&file, &[diagnostic(&file)]).unwrap();
    assert_eq!(take(&file), [diagnostic(&file)]);
    assert_eq!(take(&file), []);
}
