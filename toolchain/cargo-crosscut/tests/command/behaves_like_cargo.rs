//! `cargo crosscut` on packages without kernels: it does what cargo does.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use crate::workspace::{Workspace, manifest, text, works};
use serde_json::Value;

const HELLO: &str = "fn main() { println!(\"hello\"); std::process::exit(7) }";

#[test]
fn a_program_without_kernels_is_the_same_file() {
    for profile in [&["build"][..], &["build", "--release"]] {
        let workspace = Workspace::program(HELLO);
        works(&mut workspace.cargo(profile));
        works(&mut workspace.crosscut(profile));
        let folder = if profile.len() == 1 { "debug" } else { "release" };
        let plain = fs::read(workspace.path(&format!("target/{folder}/app"))).unwrap();
        let ours = fs::read(workspace.path(&format!("target/crosscut/{folder}/app"))).unwrap();
        assert!(plain == ours, "{profile:?}");
    }
}

#[test]
fn output_and_exit_code_are_the_programs() {
    let workspace = Workspace::program(HELLO);
    let output = workspace.crosscut(&["run", "-q"]).output().unwrap();
    assert_eq!(output.status.code(), Some(7));
    assert_eq!(text(&output.stdout), "hello\n");
    assert_eq!(text(&output.stderr), "");
}

#[test]
fn arguments_after_the_dashes_reach_the_program() {
    let source = "fn main() { println!(\"{:?}\", std::env::args().skip(1).collect::<Vec<_>>()) }";
    let workspace = Workspace::program(source);
    let run = ["run", "-q", "--", "--dump-after", "x", "--target-dir=y"];
    let output = works(&mut workspace.crosscut(&run));
    assert_eq!(text(&output.stdout), "[\"--dump-after\", \"x\", \"--target-dir=y\"]\n");
}

#[test]
fn arguments_after_the_first_word_reach_the_program_without_dashes_too() {
    let source = "fn main() { println!(\"{:?}\", std::env::args().skip(1).collect::<Vec<_>>()) }";
    let workspace = Workspace::program(source);
    for words in [
        &["scene.txt", "--config", "fast", "--dump-after", "x"][..],
        &["--bin", "app", "scene.txt", "--target-dir", "y", "--help"],
        &["-p", "app", "scene.txt", "--", "--dump-dir"],
    ] {
        let run = [&["run", "-q"], words].concat();
        let plain = works(&mut workspace.cargo(&run));
        let ours = works(&mut workspace.crosscut(&run));
        assert_eq!(text(&ours.stdout), text(&plain.stdout));
        assert!(text(&ours.stdout).starts_with("[\"scene.txt\", \"--"), "{words:?}");
    }
}

#[test]
fn a_program_sees_the_environment_it_sees_under_cargo() {
    let source = "fn main() { for (name, _) in std::env::vars() { println!(\"{name}\") } }";
    let workspace = Workspace::program(source);
    let names = |output: &[u8]| {
        let mut names: Vec<String> = text(output).lines().map(String::from).collect();
        names.retain(|name| !name.starts_with("CROSSCUT_"));
        names.sort();
        names
    };
    let plain = works(&mut workspace.cargo(&["run", "-q"]));
    let ours = works(&mut workspace.crosscut(&["run", "-q"]));
    assert_eq!(names(&plain.stdout), names(&ours.stdout));
}

#[test]
fn an_error_in_the_source_is_told_as_cargo_tells_it() {
    let workspace = Workspace::program("fn main() { let x: u32 = \"one\"; }");
    let plain = workspace.cargo(&["build", "-q"]).output().unwrap();
    let ours = workspace.crosscut(&["build", "-q"]).output().unwrap();
    assert_eq!(ours.status.code(), Some(101));
    assert_eq!(text(&ours.stderr), text(&plain.stderr));
}

#[test]
fn messages_for_programs_are_cargos() {
    let messages = |output: &[u8], folder: &str| -> Vec<Value> {
        let text = text(output).replace(folder, "target/");
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    let workspace = Workspace::program("fn main() { let unused = 1; }");
    let build = ["build", "-q", "--message-format=json"];
    let plain = works(&mut workspace.cargo(&build));
    let ours = works(&mut workspace.crosscut(&build));
    assert_eq!(messages(&plain.stdout, "\0"), messages(&ours.stdout, "target/crosscut/"));
}

#[test]
fn a_second_build_does_nothing_and_plain_cargo_does_not_disturb_it() {
    let workspace = Workspace::program(HELLO);
    works(&mut workspace.crosscut(&["build"]));
    works(&mut workspace.cargo(&["build"]));
    let output = works(&mut workspace.crosscut(&["build", "-v"]));
    assert!(text(&output.stderr).contains("Fresh app"), "{}", text(&output.stderr));
    let output = works(&mut workspace.cargo(&["build", "-v"]));
    assert!(text(&output.stderr).contains("Fresh app"), "{}", text(&output.stderr));
}

#[test]
fn tests_examples_and_benchmarks_are_built_and_run() {
    let workspace = Workspace::new(&[
        ("Cargo.toml", &manifest("app", "")),
        ("src/lib.rs", "#[test] fn inside() {}"),
        ("tests/outside.rs", "#[test] fn outside() {}"),
        ("examples/show.rs", "fn main() { println!(\"shown\") }"),
    ]);
    let output = works(&mut workspace.crosscut(&["test"]));
    let stdout = text(&output.stdout);
    assert!(stdout.contains("test inside ... ok"), "{stdout}");
    assert!(stdout.contains("test outside ... ok"), "{stdout}");
    let output = works(&mut workspace.crosscut(&["run", "-q", "--example", "show"]));
    assert_eq!(text(&output.stdout), "shown\n");
    works(&mut workspace.crosscut(&["bench", "-q"]));
}

#[test]
fn a_target_directory_given_to_cargo_is_the_one_that_is_used() {
    let workspace = Workspace::program(HELLO);
    works(&mut workspace.crosscut(&["build", "--target-dir", "one"]));
    assert!(workspace.path("one/crosscut/debug/app").exists());
    works(workspace.crosscut(&["build"]).env("CARGO_TARGET_DIR", "two"));
    assert!(workspace.path("two/crosscut/debug/app").exists());
    workspace.write(".cargo/config.toml", "[build]\ntarget-dir = \"three\"\n");
    works(&mut workspace.crosscut(&["build"]));
    assert!(workspace.path("three/crosscut/debug/app").exists());
    assert!(!workspace.path("target").exists());
}

#[test]
fn a_build_directory_given_to_cargo_is_not_shared_with_plain_cargo() {
    let workspace = Workspace::program(HELLO);
    works(&mut workspace.crosscut(&["build", "--config", "build.build-dir=\"elsewhere\""]));
    assert!(workspace.path("elsewhere/crosscut/debug/deps").exists());
    assert!(workspace.path("target/crosscut/debug/app").exists());
    assert!(!workspace.path("elsewhere/debug").exists());
}

#[test]
fn outside_of_a_package_cargos_own_error_is_shown() {
    let workspace = Workspace::new(&[("empty", "")]);
    let plain = workspace.cargo(&["build"]).output().unwrap();
    let ours = workspace.crosscut(&["build"]).output().unwrap();
    assert_eq!(text(&ours.stderr), text(&plain.stderr));
    assert_eq!(ours.status.code(), plain.status.code());
}

/// A cargo that answers what the workspace is by `answer`, and for everything else leaves a file
/// `built` beside itself.
fn cargo_that_answers(workspace: &Workspace, answer: &str) -> PathBuf {
    let script = format!(
        "#!/bin/sh\ncd \"$(dirname \"$0\")\"\nif [ \"$1\" = metadata ]; then {answer}; exit; fi\n\
         touch built\n"
    );
    workspace.write("tools/cargo", &script);
    let cargo = workspace.path("tools/cargo");
    fs::set_permissions(&cargo, fs::Permissions::from_mode(0o755)).unwrap();
    cargo
}

#[test]
fn where_cargo_does_not_know_the_workspace_nothing_is_built_without_device_code() {
    let workspace = Workspace::program(HELLO);
    let refused = "echo 'error: no idea' >&2; exit 101";
    let not_understood = "error: cannot understand what `cargo metadata` says of the workspace: EOF \
        while parsing an object at line 2 column 0\n |\n = help: check that `cargo metadata --no-deps \
        --format-version 1` works, and that its cargo is that of the compiler\n\n";
    for (answer, told) in [(refused, "error: no idea\n"), ("echo '{'", not_understood)] {
        let cargo = cargo_that_answers(&workspace, answer);
        for subcommand in ["build", "clean"] {
            let output = workspace.crosscut(&[subcommand]).env("CARGO", &cargo).output().unwrap();
            assert_eq!(text(&output.stderr), told, "{subcommand}");
            assert_eq!(output.status.code(), Some(101), "{subcommand}");
            assert!(!workspace.path("tools/built").exists(), "{subcommand}");
        }
    }
}

#[test]
fn what_cargo_says_of_its_options_needs_no_workspace() {
    let workspace = Workspace::new(&[("empty", "")]);
    for option in ["--help", "-h"] {
        let plain = works(&mut workspace.cargo(&["build", option]));
        let ours = works(&mut workspace.crosscut(&["build", option]));
        let (ours, plain) = (text(&ours.stdout), text(&plain.stdout));
        let before = ours.strip_suffix(&*plain).unwrap_or_else(|| panic!("{option}: {ours}"));
        assert!(before.contains("CROSSCUT_DEVICE"), "{before}");
    }
}

#[test]
fn options_that_are_not_stable_are_there_when_cargo_is_asked_for_the_workspace() {
    let workspace = Workspace::program(HELLO);
    let cargo = cargo_that_answers(&workspace, "echo \"$@\" > asked; exit 101");
    for line in [&["run", "-Zscript", "--", "-Zx"][..], &["run", "-Z", "script"]] {
        workspace.crosscut(line).env("CARGO", &cargo).output().unwrap();
        let asked = fs::read_to_string(workspace.path("tools/asked")).unwrap();
        let options = asked.trim_end().strip_prefix("metadata --no-deps --format-version 1 ");
        assert_eq!(options, Some(if line.len() == 4 { "-Zscript" } else { "-Z script" }));
    }
}

#[test]
fn a_wrong_command_is_refused_with_a_way_out() {
    let workspace = Workspace::program(HELLO);
    let output = workspace.crosscut(&["publish"]).output().unwrap();
    assert_eq!(output.status.code(), Some(101));
    assert_eq!(
        text(&output.stderr),
        "error: `publish` is not a command\n |\n = help: say `build`, `run`, `test`, `bench`, \
         `check`, `clean`, `ls` or `doctor`; `cargo crosscut --help` explains them, \
         and all else is for plain `cargo`\n\n"
    );
}

#[test]
fn help_teaches() {
    let workspace = Workspace::program(HELLO);
    let output = works(&mut workspace.crosscut(&["--help"]));
    let help = text(&output.stdout);
    for word in ["build", "run", "--dump-after", "CROSSCUT_DEVICE", "Examples:"] {
        assert!(help.contains(word), "{word}");
    }
}
