//! `ls` and `doctor`, as they are run.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// Runs the command in a folder that is in no workspace, with these variables.
fn run(folder: &Path, words: &[&str], variables: &[(&str, &OsStr)]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_crosscut"));
    command.args(words).current_dir(folder).env_remove("CROSSCUT_DEVICE");
    command.env("CROSSCUT_CACHE_DIR", folder.join("cache")).env_remove("CROSSCUT_CACHE");
    command.envs(variables.iter().copied()).output().unwrap()
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr)
}

/// The schema of `docs/tools.md`: the members of an object, and of what type each is.
const REPORT: &[(&str, Type)] = &[
    ("schema", Type::Number),
    ("selector", Type::Optional(&Type::Object(SELECTOR))),
    ("backends", Type::List(&Type::Object(BACKEND))),
];
const SELECTOR: &[(&str, Type)] =
    &[("variable", Type::Text), ("text", Type::Text), ("error", Type::Optional(&Type::Text))];
const BACKEND: &[(&str, Type)] = &[
    ("name", Type::Text),
    ("devices", Type::List(&Type::Object(DEVICE))),
    ("absence", Type::Optional(&Type::Object(&[("reason", Type::Text), ("help", Type::Text)]))),
];
const DEVICE: &[(&str, Type)] = &[
    ("selector", Type::Text),
    ("name", Type::Text),
    ("kind", Type::OneOf(&["cpu", "gpu", "acc"])),
    ("vendor", Type::Text),
    ("version", Type::Text),
    ("driver_version", Type::Text),
    (
        "platform",
        Type::Object(&[("name", Type::Text), ("vendor", Type::Text), ("version", Type::Text)]),
    ),
    ("accepted", Type::Bool),
    ("default", Type::Bool),
    ("code_forms", Type::List(&Type::OneOf(&["native", "spirv64"]))),
    ("code_forms_note", Type::Optional(&Type::Text)),
    ("memory_bytes", Type::Number),
    ("largest_allocation_bytes", Type::Number),
    ("compute_units", Type::Number),
    ("address_bits", Type::Number),
    (
        "limits",
        Type::Object(&[
            ("work_group_size", Type::Number),
            ("work_item_sizes", Type::List(&Type::Number)),
            ("local_memory_bytes", Type::Number),
            ("sub_groups", Type::Number),
            ("argument_bytes", Type::Number),
            ("sub_devices", Type::Number),
        ]),
    ),
    ("features", Type::List(&Type::OneOf(FEATURES))),
    ("sub_group_sizes", Type::List(&Type::Number)),
];
const FEATURES: &[&str] = &[
    "fp16",
    "fp64",
    "atomic64",
    "atomic_fp32_add",
    "atomic_fp32_min_max",
    "atomic_fp64_add",
    "atomic_fp64_min_max",
    "atomic_order_acq_rel",
    "atomic_order_seq_cst",
    "atomic_scope_device",
    "atomic_scope_system",
    "fence_order_acq_rel",
    "fence_order_seq_cst",
    "fence_scope_device",
    "fence_scope_system",
    "sub_groups",
    "sub_group_shuffle",
    "usm_device_allocations",
    "usm_host_allocations",
    "usm_shared_allocations",
    "usm_system_allocations",
    "out_of_order_queue",
    "queue_profiling",
    "partition_equally",
    "partition_by_counts",
];

enum Type {
    Text,
    Number,
    Bool,
    OneOf(&'static [&'static str]),
    Optional(&'static Type),
    List(&'static Type),
    Object(&'static [(&'static str, Type)]),
}

impl Type {
    fn check(&self, value: &Value) {
        match (self, value) {
            (Self::Text, Value::String(_)) | (Self::Bool, Value::Bool(_)) => {}
            (Self::Number, Value::Number(number)) => assert!(number.is_u64(), "{number}"),
            (Self::OneOf(known), Value::String(text)) => {
                assert!(known.contains(&text.as_str()), "{text}");
            }
            (Self::Optional(_), Value::Null) => {}
            (Self::Optional(of), value) => of.check(value),
            (Self::List(of), Value::Array(values)) => values.iter().for_each(|it| of.check(it)),
            (Self::Object(members), Value::Object(found)) => {
                for (name, kind) in *members {
                    kind.check(found.get(*name).unwrap_or_else(|| panic!("no {name}: {value}")));
                }
                assert_eq!(found.len(), members.len(), "more than the schema says: {value}");
            }
            (_, value) => panic!("{value} has another type"),
        }
    }
}

fn listed(folder: &Path, variables: &[(&str, &OsStr)]) -> Value {
    let output = run(folder, &["ls", "--json"], variables);
    assert!(output.status.success(), "{}", said(&output));
    let report = serde_json::from_slice(&output.stdout).unwrap();
    Type::Object(REPORT).check(&report);
    report
}

#[test]
fn the_list_as_json_is_what_the_schema_says() {
    let folder = tempfile::tempdir().unwrap();
    let report = listed(folder.path(), &[]);
    assert_eq!((&report["schema"], &report["selector"]), (&Value::from(1), &Value::Null));
    let host = &report["backends"][0];
    assert_eq!(host["name"], "host");
    assert_eq!(host["devices"][0]["selector"], "host:0");
    assert_eq!(host["devices"][0]["code_forms"], Value::from(vec!["native"]));
    let devices = report["backends"].as_array().unwrap().iter();
    let devices = devices.flat_map(|backend| backend["devices"].as_array().unwrap());
    assert_eq!(devices.filter(|device| device["default"] == true).count(), 1);
}

#[test]
fn a_back_end_without_a_device_says_why_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let empty =
        [("OCL_ICD_VENDORS", folder.path().as_os_str()), ("OCL_ICD_FILENAMES", "".as_ref())];
    let report = listed(folder.path(), &empty);
    let opencl = &report["backends"][1];
    assert_eq!((&opencl["name"], &opencl["devices"]), (&"opencl".into(), &Value::Array(vec![])));
    let reason = opencl["absence"]["reason"].as_str().unwrap();
    assert!(!opencl["absence"]["help"].as_str().unwrap().is_empty());
    let text = said(&run(folder.path(), &["ls"], &empty));
    assert!(text.contains(&format!("opencl: no device: {reason}\n  = help: ")), "{text}");
    assert!(text.contains("* host:0"), "{text}");
}

#[test]
fn level_zero_without_a_driver_is_listed_with_the_reason() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = [("ZE_ENABLE_ALT_DRIVERS", folder.path().as_os_str())];
    let level_zero = &listed(folder.path(), &nowhere)["backends"][2];
    assert_eq!(level_zero["name"], "level_zero");
    assert_eq!(level_zero["devices"], Value::Array(vec![]));
    let reason = level_zero["absence"]["reason"].as_str().unwrap();
    assert!(reason.contains("the Level Zero loader") || reason.starts_with("no Level Zero loader"));
}

#[test]
fn what_the_selector_refuses_is_marked() {
    let folder = tempfile::tempdir().unwrap();
    let chosen = [("CROSSCUT_DEVICE", OsStr::new("host"))];
    let report = listed(folder.path(), &chosen);
    assert_eq!(report["selector"]["variable"], "CROSSCUT_DEVICE");
    assert_eq!(report["selector"]["error"], Value::Null);
    assert_eq!(report["backends"][0]["devices"][0]["default"], true);
    for device in report["backends"][1]["devices"].as_array().unwrap() {
        assert_eq!(device["accepted"], false);
    }
    let nonsense = [("CROSSCUT_DEVICE", OsStr::new("hots"))];
    let output = run(folder.path(), &["ls", "--json"], &nonsense);
    assert_eq!(output.status.code(), Some(1));
    let report: Value = serde_json::from_slice(&output.stdout).unwrap();
    Type::Object(REPORT).check(&report);
    assert!(report["selector"]["error"].as_str().unwrap().contains("`hots` is no back end"));
    let output = run(folder.path(), &["ls"], &nonsense);
    assert_eq!(output.status.code(), Some(1));
    let text = said(&output);
    assert!(text.contains("= note: CROSSCUT_DEVICE=`hots` cannot be read"), "{text}");
}

#[test]
fn parts_that_the_selector_asks_for_are_listed_behind_their_device() {
    let folder = tempfile::tempdir().unwrap();
    let whole = listed(folder.path(), &[])["backends"][0]["devices"][0].clone();
    let features = whole["features"].as_array().unwrap();
    if !features.contains(&"partition_equally".into()) {
        // A host with one thread has no parts.
        return;
    }
    let chosen = [("CROSSCUT_DEVICE", OsStr::new("host:0.1"))];
    let report = listed(folder.path(), &chosen);
    let devices = report["backends"][0]["devices"].as_array().unwrap();
    let shown =
        |device: &Value| ["selector", "accepted", "default"].map(|member| device[member].clone());
    assert_eq!(devices.len(), 2);
    assert_eq!(shown(&devices[0]), ["host:0".into(), Value::Bool(false), Value::Bool(false)]);
    assert_eq!(shown(&devices[1]), ["host:0.1".into(), Value::Bool(true), Value::Bool(true)]);
    let text = said(&run(folder.path(), &["ls"], &chosen));
    assert!(text.contains("- host:0  ") && text.contains("* host:0.1  "), "{text}");
}

#[test]
fn the_verbose_list_tells_what_devices_can_do() {
    let folder = tempfile::tempdir().unwrap();
    let text = said(&run(folder.path(), &["ls", "--verbose"], &[]));
    for part in ["features", "fp64", "work-group", "driver"] {
        assert!(text.contains(part), "no {part} in\n{text}");
    }
}

#[test]
fn help_teaches() {
    let folder = tempfile::tempdir().unwrap();
    for words in [["ls", "--help"], ["doctor", "--help"]] {
        let output = run(folder.path(), &words, &[]);
        assert!(output.status.success() && said(&output).contains("Usage: cargo crosscut "));
    }
    let refused = run(folder.path(), &["ls", "--xml"], &[]);
    assert!(!refused.status.success());
    assert!(said(&refused).contains("error: `ls` has no option `--xml`"), "{}", said(&refused));
}

#[test]
fn the_doctor_names_each_thing_that_is_missing_and_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a file");
    fs::write(&file, "").unwrap();
    fs::write(folder.path().join("gone.icd"), "/no/such/driver.so\n").unwrap();
    let nowhere = folder.path().join("nowhere.so");
    let broken = [
        ("CROSSCUT_LLVM", nowhere.as_os_str()),
        ("OCL_ICD_VENDORS", folder.path().as_os_str()),
        ("OCL_ICD_FILENAMES", "".as_ref()),
        ("CROSSCUT_CACHE_DIR", file.as_os_str()),
        ("RUSTC", "no-such-rustc".as_ref()),
    ];
    let output = run(folder.path(), &["doctor"], &broken);
    assert_eq!(output.status.code(), Some(1));
    let text = said(&output);
    for error in [
        "error: cannot run `no-such-rustc`",
        "error: LLVM 22 is needed",
        "gone.icd` names `/no/such/driver.so`, which is not there",
        "error: no device takes SPIR-V",
        "error: built programs cannot be kept in",
    ] {
        assert!(text.contains(error), "no `{error}` in\n{text}");
    }
    let (errors, helps) = (text.matches("error: ").count(), text.matches("  = help: ").count());
    assert!(helps >= errors, "{text}");
    assert!(text.trim_end().ends_with("errors"), "{text}");
}

#[test]
fn the_doctor_is_content_where_all_is_there() {
    let folder = tempfile::tempdir().unwrap();
    let output = run(folder.path(), &["doctor"], &[]);
    let text = said(&output);
    assert!(text.contains("ok: rustc "), "{text}");
    // Elsewhere there may be no driver: then it says so, and nothing else.
    let errors = text.lines().filter(|line| line.starts_with("error: "));
    let errors: Vec<_> = errors.filter(|line| !line.contains("no device takes SPIR-V")).collect();
    assert!(errors.is_empty(), "{errors:?} in\n{text}");
    assert_eq!(output.status.success(), text.contains("all is well"), "{text}");
}
