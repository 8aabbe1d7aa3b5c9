//! Text in, text out: each `lowering/NAME.ll` is lowered by the whole pipeline, and the kernel that is
//! left is compared with `lowering/NAME.expected`, whole. LLVM's verifier and `spirv-val` have seen it
//! by then. `CROSSCUT_BLESS=1` writes the expectations.

#![allow(clippy::print_stdout, reason = "this is a test runner of its own")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crosscut_image::spirv;
use crosscut_lower::{PASSES, child_main};

fn cases() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lowering");
    let mut cases: Vec<PathBuf> = fs::read_dir(folder)
        .expect("the folder of cases")
        .map(|entry| entry.expect("an entry").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "ll"))
        .collect();
    cases.sort();
    cases
}

/// Lowers one case and shows the kernel, or the answer if there is none.
fn lower(case: &Path, folder: &Path) -> String {
    let answer = answer(case, folder, "emit");
    let Ok(kernel) = fs::read_to_string(folder.join("emit.crosscut_0.ll")) else {
        return answer;
    };
    assert!(answer.contains("Lowered"), "{answer}");
    // The target's layout is LLVM's business.
    kernel.lines().filter(|line| !line.starts_with("target ")).map(|l| format!("{l}\n")).collect()
}

/// Lowers one case, with a dump after one pass.
fn answer(case: &Path, folder: &Path, dump_after: &str) -> String {
    let job = serde_json::json!({
        "crate_name": "case",
        "modules": [case],
        "std_archives": [],
        "output_dir": folder,
        "host_triple": "x86_64-unknown-linux-gnu",
        "dump_after": dump_after,
        "dump_dir": null,
    });
    fs::write(folder.join("job.json"), job.to_string()).expect("the job is written");
    assert_eq!(child_main(&folder.join("job.json")), ExitCode::SUCCESS);
    fs::read_to_string(folder.join("answer.json")).expect("an answer")
}

/// The passes after which no dump is written although the help offers it.
fn passes_without_dump(case: &Path) -> Vec<&'static str> {
    let is_dumped = |pass: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        answer(case, folder.path(), pass);
        let mut files = fs::read_dir(folder.path()).expect("a folder").flatten();
        files.any(|file| file.file_name().to_string_lossy().starts_with(&format!("{pass}.")))
    };
    PASSES.iter().map(|pass| pass.0).filter(|pass| !is_dumped(pass)).collect()
}

fn main() -> ExitCode {
    let validator = Command::new("spirv-val").arg("--version").output();
    assert!(validator.is_ok(), "spirv-val is missing: run `cargo xtask setup`");
    let bless = std::env::var_os("CROSSCUT_BLESS").is_some();
    let (mut passed, mut failed) = (0, 0);
    for case in cases() {
        let folder = tempfile::tempdir().expect("a folder");
        let lowered = lower(&case, folder.path());
        let expected_file = case.with_extension("expected");
        if bless {
            fs::write(&expected_file, &lowered).expect("the expectation is written");
        }
        let expected = fs::read_to_string(&expected_file).unwrap_or_default();
        let name = case.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        let annotations = annotations(&folder.path().join("crosscut_0.spv"));
        let as_written = annotations == expected_annotations(&name);
        let counts_in_bytes = byte_counters(&folder.path().join("crosscut_0.spv")) > 0;
        let as_written = as_written && !counts_in_bytes;
        if lowered == expected && barriers(&lowered) == most_barriers(&name) && as_written {
            passed += 1;
            println!("test {name} ... ok");
        } else {
            failed += 1;
            println!("test {name} ... FAILED\n{lowered}\n--- expected\n{expected}");
        }
    }
    let silent = passes_without_dump(&cases()[0]);
    if !silent.is_empty() {
        failed += 1;
        println!("test every pass can be dumped ... FAILED: {silent:?} cannot");
    }
    println!("\ntest result: {passed} passed; {failed} failed");
    if failed == 0 && passed > 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The capabilities of a module that say something about its variables.
fn annotations(module: &Path) -> Vec<u32> {
    let Ok(bytes) = fs::read(module) else { return Vec::new() };
    let all = spirv::check(&bytes).expect("SPIR-V").capabilities;
    let plain = spirv::keep_annotations(&bytes, |_| false).expect("SPIR-V");
    let plain = spirv::check(&plain).expect("SPIR-V").capabilities;
    all.into_iter().filter(|capability| !plain.contains(capability)).collect()
}

/// How many variables of loops and branches have 8 bits in the SPIR-V. No case has any, so they are LLVM's: numbers of
/// fewer bits, of which it does not cut off the rest.
fn byte_counters(module: &Path) -> usize {
    const TYPE_INT: u32 = 21;
    const PHI: u32 = 245;
    let bytes = fs::read(module).unwrap_or_default();
    let words: Vec<u32> =
        bytes.as_chunks::<4>().0.iter().map(|word| u32::from_le_bytes(*word)).collect();
    let (mut at, mut byte, mut found) = (5, None, 0);
    while let Some(&[first, second, third, ..]) = words.get(at..).filter(|rest| rest.len() > 2) {
        match first & 0xffff {
            TYPE_INT if third == 8 => byte = Some(second),
            PHI if Some(second) == byte => found += 1,
            _ => {}
        }
        at += (first >> 16).max(1) as usize;
    }
    found
}

/// The metadata of the text reaches the SPIR-V.
fn expected_annotations(name: &str) -> &'static [u32] {
    match name {
        "image-scope" => &[spirv::CAPABILITY_HOST_ACCESS, spirv::CAPABILITY_FPGA_VARIABLES],
        "image-scope-elements" | "image-scope-shared" => &[spirv::CAPABILITY_HOST_ACCESS],
        _ => &[],
    }
}

fn barriers(lowered: &str) -> usize {
    lowered.lines().filter(|line| line.contains("call void @_Z22__spirv_ControlBarrier")).count()
}

/// The case that host optimisers get wrong is held by count too, and not only by a text that may be
/// blessed. So is what panics cost: one barrier at the start, and one before the loop's own branch.
fn most_barriers(name: &str) -> usize {
    match name {
        "barrier-between-branches" => 1,
        "panic-between-barriers" => 2 + 1 + 1,
        _ => 0,
    }
}
