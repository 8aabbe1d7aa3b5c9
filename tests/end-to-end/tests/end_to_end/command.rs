//! `cargo crosscut` itself.

use std::collections::BTreeSet;
use std::fs;

use crate::lab::{Run, Workspace::Programs, lab};

/// The crates that a build with `-v` compiled.
fn compiled(run: Run) -> Vec<String> {
    let done = run.run();
    assert_eq!(done.code, Some(0), "{}", done.stderr);
    assert!(done.stderr.contains("Fresh crosscut "), "{}", done.stderr);
    let lines = done.stderr.lines().map(str::trim_start);
    lines
        .filter(|line| line.starts_with("Compiling") || line.starts_with("Dirty"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn a_second_run_compiles_nothing_and_plain_cargo_does_not_disturb_it() {
    let Some(lab) = lab() else { return };
    let build = ["build", "-v", "-p", "probe", "--bin", "probe"];
    lab.crosscut(Programs, &build).works();
    lab.cargo(Programs, &build).works();
    let run = ["run", "-v", "-p", "probe", "--", "chosen"];
    for _ in 0..2 {
        assert_eq!(compiled(lab.crosscut(Programs, &run).device("opencl:cpu")), [""; 0]);
        assert_eq!(compiled(lab.cargo(Programs, &run)), [""; 0]);
    }
}

#[test]
fn exit_codes_are_the_programs() {
    let Some(lab) = lab() else { return };
    for code in [0, 1, 7, 101] {
        let run = ["run", "--quiet", "-p", "plain", "--", &code.to_string()];
        let done = lab.crosscut(Programs, &run).run();
        assert_eq!(done.code, Some(code), "{}", done.stderr);
    }
}

#[test]
fn messages_for_programs_are_cargos() {
    let Some(lab) = lab() else { return };
    let build = ["build", "-p", "probe", "--bin", "probe", "--message-format=json"];
    let stdout = lab.crosscut(Programs, &build).works();
    let messages: Vec<serde_json::Value> =
        stdout.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let executables: Vec<&str> =
        messages.iter().filter_map(|message| message["executable"].as_str()).collect();
    let expected = lab.made("debug/probe");
    assert_eq!(executables, [expected.to_str().expect("text")]);
    let finished = messages.last().expect("a message");
    assert_eq!(finished["reason"], "build-finished");
    assert_eq!(finished["success"], true);
}

#[test]
fn every_pass_can_be_dumped_and_others_are_refused_with_their_names() {
    let Some(lab) = lab() else { return };
    let dump = |pass: &str, folder: &str| {
        let dump = ["--dump-after", pass, "--dump-dir", folder];
        let build = ["build", "--quiet", "-p", "probe", "--example", "two"];
        lab.crosscut(Programs, &[&build[..], &dump].concat())
    };
    let refused = dump("nonsense", "nowhere").run();
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(101), ""));
    let (message, help) = refused.stderr.split_once("= help: say one of ").expect("help");
    assert!(message.starts_with("error: the lowering has no pass `nonsense`\n"), "{message}");
    let passes: Vec<&str> = help.split('`').skip(1).step_by(2).collect();
    assert!(passes.starts_with(&["link", "optimise", "check"]), "{passes:?}");
    assert!(passes.ends_with(&["legalise", "turns", "emit"]), "{passes:?}");

    let whole = BTreeSet::from(["link", "optimise", "check"]);
    for pass in passes {
        let folder = tempfile::tempdir().expect("a folder");
        dump(pass, folder.path().to_str().expect("text")).works();
        let mut files: Vec<String> = fs::read_dir(folder.path())
            .expect("a folder")
            .map(|entry| entry.expect("a file").file_name().into_string().expect("text"))
            .collect();
        files.sort();
        let expected = match whole.contains(pass) {
            true => vec![format!("{pass}.ll")],
            false => vec![format!("{pass}.crosscut_0.ll"), format!("{pass}.crosscut_1.ll")],
        };
        assert_eq!(files, expected);
        for file in files {
            let text = fs::read_to_string(folder.path().join(&file)).expect("text");
            assert!(text.contains("define "), "{file}");
            // What only host branches and panics would call is not linked: it is most of `core`.
            assert!(!text.contains("9Formatter3pad"), "{file} formats text");
        }
    }
}

/// Debug builds share instances of what is generic: that of a dependency is nowhere else.
#[test]
fn instances_of_std_are_taken_from_a_crate_without_kernels() {
    let Some(lab) = lab() else { return };
    for (example, text) in [
        ("instance_of_alloc", "[5, 6, 7, 8]\n"),
        ("instance_of_core", "at checks/src/lib.rs:28:5: as it should not: 2\n"),
    ] {
        for profile in [&[][..], &["--release"]] {
            let run = [&["run", "--quiet", "-p", "probe", "--example", example], profile].concat();
            for device in ["host", "opencl:cpu"] {
                let printed = lab.crosscut(Programs, &run).device(device).works();
                assert_eq!(printed, text, "{profile:?} on {device}");
            }
        }
    }
}
