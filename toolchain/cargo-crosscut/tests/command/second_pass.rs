//! Which crates get device bitcode, and what the host's build shows of it.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, SystemTime};

use crate::workspace::{Workspace, manifest, text, works};

/// `app` → `kernels` → `crosscut-device`, and `numbers`, which knows nothing of devices.
fn layered() -> Workspace {
    let members = "[workspace]\nmembers = [\"crosscut-device\", \"numbers\", \"kernels\"]\n\
        [dependencies]\nkernels = { path = \"kernels\" }\nnumbers = { path = \"numbers\" }\n";
    let kernels = "[dependencies]\ncrosscut-device = { path = \"../crosscut-device\" }\n\
        numbers = { path = \"../numbers\" }\n";
    Workspace::new(&[
        ("Cargo.toml", &manifest("app", members)),
        ("src/main.rs", "fn main() { println!(\"{}\", kernels::twice(numbers::seven())) }"),
        ("numbers/Cargo.toml", &manifest("numbers", "")),
        ("numbers/build.rs", "fn main() { println!(\"cargo:rustc-env=SEVEN=7\") }"),
        ("numbers/src/lib.rs", "pub fn seven() -> u32 { env!(\"SEVEN\").parse().unwrap() }"),
        ("kernels/Cargo.toml", &manifest("kernels", kernels)),
        ("kernels/src/lib.rs", "pub fn twice(x: u32) -> u32 { crosscut_device::one(x) * 2 }"),
        ("crosscut-device/Cargo.toml", &manifest("crosscut-device", "")),
        ("crosscut-device/src/lib.rs", "pub fn one(x: u32) -> u32 { x }"),
    ])
}

/// Writes a script that can be run.
fn script(workspace: &Workspace, path: &str, text: &str) -> PathBuf {
    workspace.write(path, text);
    let file = workspace.path(path);
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).unwrap();
    file
}

fn bitcode(workspace: &Workspace) -> Vec<String> {
    let name = |file: &PathBuf| {
        let name = file.file_name().unwrap().to_str().unwrap();
        name.split('-').next().unwrap().to_string()
    };
    workspace.find(".bc").iter().map(name).collect()
}

#[test]
fn only_crates_that_reach_the_device_crate_get_bitcode() {
    let workspace = layered();
    let output = works(&mut workspace.crosscut(&["run", "-q"]));
    assert_eq!(text(&output.stdout), "14\n");
    // `app` reaches it too, but without a runtime in the program nobody asks for its bitcode.
    assert_eq!(bitcode(&workspace), ["crosscut_device", "kernels"]);
    let folder = "debug/deps/device/";
    assert_eq!(workspace.find(&format!("{folder}numbers-")).len(), 1, "its command is recorded");
    assert_eq!(workspace.find("device/build_script").len(), 0);
}

#[test]
fn a_check_makes_no_device_code() {
    let workspace = layered();
    works(&mut workspace.crosscut(&["check"]));
    assert_eq!(bitcode(&workspace), [""; 0]);
}

#[test]
fn rustcs_errors_come_once_and_as_without_us() {
    let workspace = layered();
    for (file, source) in [
        ("src/main.rs", "fn main() { let x: u32 = kernels::twice(\"\"); }"),
        ("kernels/src/lib.rs", "pub fn twice(x: u32) -> u32 { x.nothing() }"),
    ] {
        workspace.write(file, source);
        let plain = workspace.cargo(&["build", "-q"]).output().unwrap();
        let ours = workspace.crosscut(&["build", "-q"]).output().unwrap();
        assert_eq!(ours.status.code(), Some(101));
        assert_eq!(text(&ours.stderr), text(&plain.stderr));
    }
}

#[test]
fn a_warning_comes_once() {
    let workspace = layered();
    let source = "pub fn twice(x: u32) -> u32 { let unused = 1; crosscut_device::one(x) * 2 }";
    workspace.write("kernels/src/lib.rs", source);
    let output = works(&mut workspace.crosscut(&["build", "-q"]));
    assert_eq!(text(&output.stderr).matches("unused variable").count(), 1);
}

#[test]
fn a_real_linker_that_fails_is_heard() {
    let workspace = layered();
    let source = "unsafe extern \"C\" { fn nowhere(); }\n\
        fn main() { kernels::twice(1); unsafe { nowhere() } }";
    workspace.write("src/main.rs", source);
    let output = workspace.crosscut(&["build", "-q"]).output().unwrap();
    let stderr = text(&output.stderr);
    assert_eq!(output.status.code(), Some(101));
    assert!(stderr.contains("undefined symbol: nowhere"), "{stderr}");
}

#[test]
fn the_linker_of_the_configuration_is_the_one_that_links() {
    let workspace = layered();
    let text = "#!/bin/sh\ntouch \"$(dirname \"$0\")/linked\"\nexec cc \"$@\"\n";
    let linker = script(&workspace, "tools/my-cc", text);
    let flags = format!("-Clinker={}", linker.display());
    works(workspace.crosscut(&["build", "-q"]).env("RUSTFLAGS", flags));
    assert!(workspace.path("tools/linked").exists());
}

#[test]
fn a_rustc_wrapper_that_was_there_before_still_runs() {
    let text = "#!/bin/sh\necho \"$2 $3\" >> \"$(dirname \"$0\")/seen\"\nexec \"$@\"\n";
    let setting = "build.rustc-wrapper = \"tools/wrap\"";
    for (place, more) in [
        ("the environment", &[][..]),
        (".cargo/config.toml", &[]),
        ("tools/config.toml", &["--config", "tools/config.toml"]),
        ("the command line", &["--config", setting]),
        ("the command line", &["--config=build.'rustc-wrapper'='tools/wrap'", "--bins"]),
    ] {
        let workspace = layered();
        let wrapper = script(&workspace, "tools/wrap", text);
        let mut build = workspace.crosscut(&[&["build", "-q"], more].concat());
        if place.ends_with(".toml") {
            workspace.write(place, &format!("{setting}\n"));
        } else if more.is_empty() {
            build.env("RUSTC_WRAPPER", &wrapper);
        }
        works(&mut build);
        let seen = fs::read_to_string(workspace.path("tools/seen")).unwrap();
        for name in ["app", "numbers", "kernels", "crosscut_device"] {
            let line = format!("--crate-name {name}");
            assert_eq!(seen.lines().filter(|seen| **seen == line).count(), 1, "{name}\n{seen}");
        }
        assert_eq!(bitcode(&workspace), ["crosscut_device", "kernels"], "{place}");
    }
}

#[test]
fn variables_of_the_set_up_are_set_where_the_user_did_not() {
    let source = "fn main() { println!(\"{:?}\", [\"OCL_ICD_VENDORS\", \"OCL_ICD_FILENAMES\"]\
        .map(|name| std::env::var(name))) }";
    let workspace = Workspace::program(source);
    workspace.write(".crosscut/env", "OCL_ICD_VENDORS=1\nOCL_ICD_FILENAMES=2\n");
    let mut run = workspace.crosscut(&["run", "-q"]);
    let output = works(run.env_remove("OCL_ICD_VENDORS").env("OCL_ICD_FILENAMES", "mine"));
    assert_eq!(text(&output.stdout), "[Ok(\"1\"), Ok(\"mine\")]\n");
}

#[test]
fn another_version_of_the_command_links_anew_and_compiles_nothing_else() {
    let workspace = layered();
    let copy = workspace.path("cargo-crosscut");
    fs::copy(env!("CARGO_BIN_EXE_cargo-crosscut"), &copy).unwrap();
    let dirty = || {
        let output = works(&mut workspace.crosscut_at(&copy, &["build", "-v"]));
        let stderr = text(&output.stderr);
        stderr.lines().filter(|line| line.trim_start().starts_with("Dirty")).count()
    };
    works(&mut workspace.crosscut_at(&copy, &["build", "-q"]));
    assert_eq!(dirty(), 0);
    let later = SystemTime::now() + Duration::from_secs(2);
    fs::File::options().append(true).open(&copy).unwrap().set_modified(later).unwrap();
    assert_eq!(dirty(), 1);
}

#[test]
fn what_was_made_with_another_form_of_records_is_made_anew() {
    for build_directory in ["target", "elsewhere"] {
        let workspace = layered();
        let configuration = format!("[build]\nbuild-dir = \"{build_directory}\"\n");
        workspace.write(".cargo/config.toml", &configuration);
        works(&mut workspace.crosscut(&["build", "-q"]));
        let stamp = format!("{build_directory}/crosscut/crosscut-tools/form-and-place");
        assert!(workspace.path(&stamp).exists());
        workspace.write(&stamp, "0");
        let output = works(&mut workspace.crosscut(&["build"]));
        let compiled = text(&output.stderr).matches("Compiling").count();
        assert_eq!(compiled, 4, "{build_directory}");
    }
}

/// Where the build has written down how a crate was compiled.
fn record_of(workspace: &Workspace, name: &str) -> PathBuf {
    let mut files = workspace.find(&format!("device/{name}-"));
    files.retain(|file| file.extension().is_some_and(|extension| extension == "json"));
    let [record] = &files[..] else { panic!("{files:?}") };
    record.clone()
}

#[test]
fn a_record_that_cannot_be_read_is_an_error_and_not_a_crate_without_device_code() {
    // The wrapper reads the one, the link step the other.
    for name in ["kernels", "crosscut_device"] {
        let workspace = layered();
        works(&mut workspace.crosscut(&["build", "-q"]));
        let record = &record_of(&workspace, name);
        fs::write(record, "{").unwrap();
        workspace.write("src/main.rs", "fn main() { println!(\"{}\", kernels::twice(1)) }");
        let output = workspace.crosscut(&["build", "-q"]).output().unwrap();
        let told = format!(
            "error: cannot read `{}`, which `cargo crosscut` has written: EOF while parsing an \
             object at line 1 column 1\n |\n = help: run `cargo crosscut clean` and build again\n",
            record.display()
        );
        let stderr = text(&output.stderr);
        assert!(stderr.contains(&told), "{told}is not in\n{stderr}");
        assert_eq!(output.status.code(), Some(101));
    }
}

#[test]
fn a_record_that_is_gone_is_an_error_and_not_a_crate_without_device_code() {
    // The wrapper misses the one, the link step the other.
    for name in ["kernels", "crosscut_device"] {
        let workspace = layered();
        works(&mut workspace.crosscut(&["build", "-q"]));
        let record = &record_of(&workspace, name);
        fs::remove_file(record).unwrap();
        workspace.write("src/main.rs", "fn main() { println!(\"{}\", kernels::twice(1)) }");
        let output = workspace.crosscut(&["build", "-q"]).output().unwrap();
        let library = format!("lib{}.r", record.file_stem().unwrap().to_str().unwrap());
        let stderr = text(&output.stderr);
        assert!(
            stderr.starts_with("error: `cargo crosscut` has not written down how `"),
            "{stderr}"
        );
        assert!(stderr.lines().next().unwrap().contains(&library), "{library} is not in\n{stderr}");
        assert!(
            stderr.contains("= help: run `cargo crosscut clean` and build again\n"),
            "{stderr}"
        );
        assert_eq!(output.status.code(), Some(101));
        works(&mut workspace.crosscut(&["clean", "-q"]));
        works(&mut workspace.crosscut(&["build", "-q"]));
    }
}

#[test]
fn a_rustc_that_the_system_ended_is_no_mistake_in_the_source() {
    let workspace = layered();
    let rustc = "#!/bin/sh\ncase \"$*\" in *llvm-bc=*) kill -KILL $$ ;; esac\nexec rustc \"$@\"\n";
    let rustc = script(&workspace, "tools/rustc", rustc);
    let output = workspace.crosscut(&["build", "-q"]).env("RUSTC", rustc).output().unwrap();
    let told = "error: rustc stopped by signal 9 while it compiled `crosscut_device` for a device\n \
        |\n = help: the system ended it, mostly for want of memory: build with `-j1`, or give the \
        build more memory\n";
    let stderr = text(&output.stderr);
    assert!(stderr.contains(told), "{told}is not in\n{stderr}");
    assert_eq!(output.status.code(), Some(101));
}
