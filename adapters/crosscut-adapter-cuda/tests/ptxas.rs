//! The kernels of the tests are real PTX: the vendor's own assembler takes them, where there is one.

#![allow(missing_docs, reason = "a test's name is its documentation")]

use std::path::Path;
use std::process::Command;

/// Files of PTX, from this crate on.
const FILES: &[&str] = &["tests/counter.ptx", "../../tests/conformance/kernels/kernels.ptx"];

/// The first generation that a device may have, and a recent one.
const GENERATIONS: &[&str] = &["sm_50", "sm_90"];

#[test]
#[allow(clippy::print_stderr, reason = "a test that could not run says so")]
fn the_vendors_assembler_takes_the_kernels() {
    // `ptxas` is part of CUDA's toolkit, and of the package `nvidia-cuda-nvcc-cu12` on PyPI.
    let assembler = std::env::var_os("CROSSCUT_PTXAS").unwrap_or_else(|| "ptxas".into());
    let version = Command::new(&assembler).arg("--version").output();
    if let Err(error) = version {
        assert!(std::env::var_os("CROSSCUT_PTXAS").is_none(), "CROSSCUT_PTXAS: {error}");
        eprintln!("not run: ptxas: {error} (it is in CUDA's toolkit)");
        return;
    }
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    for file in FILES {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(file);
        for generation in GENERATIONS {
            let code = folder.join(format!("{generation}-{}.cubin", std::process::id()));
            let mut assemble = Command::new(&assembler);
            assemble.arg("-arch").arg(generation).arg("-o").arg(&code).arg(&source);
            let output = assemble.output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr);
            assert!(output.status.success(), "{file} for {generation}: {said}");
            std::fs::remove_file(code).unwrap();
        }
    }
}
