//! Which crate may depend on which.

use super::workspace::Workspace;
use crate::Result;
use crate::checkout::{cargo, output};

/// The allowed edges inside the workspace, for code and build scripts. Tests may use more.
///
/// What the table is for: compile time (`toolchain`) and run time (`runtime`, `adapters`, `api`) meet in
/// `crosscut-image` only, and in the command that has something to do with both; adapters do not know one another; a program that uses `crosscut` builds
/// without LLVM and without a driver.
const EDGES: &[(&str, &[&str])] = &[
    // The commands: above both, for `ls` and `doctor` list devices by the runtime that programs use.
    (
        "cargo-crosscut",
        &["crosscut-adapters", "crosscut-link", "crosscut-lower", "crosscut-runtime"],
    ),
    ("crosscut", &["crosscut-adapters", "crosscut-derive", "crosscut-device", "crosscut-runtime"]),
    ("crosscut-adapter-api", &[]),
    ("crosscut-adapter-cuda", &["crosscut-adapter-api"]),
    ("crosscut-adapter-host", &["crosscut-adapter-api"]),
    ("crosscut-adapter-level-zero", &["crosscut-adapter-api"]),
    ("crosscut-adapter-mock", &["crosscut-adapter-api"]),
    ("crosscut-adapter-opencl", &["crosscut-adapter-api"]),
    (
        "crosscut-adapters",
        &[
            "crosscut-adapter-api",
            "crosscut-adapter-host",
            "crosscut-adapter-level-zero",
            "crosscut-adapter-opencl",
        ],
    ),
    ("crosscut-benches", &[]),
    ("crosscut-conformance", &["crosscut-adapter-api", "crosscut-image", "crosscut-runtime"]),
    ("crosscut-derive", &[]),
    ("crosscut-device", &[]),
    ("crosscut-diagnostics", &[]),
    ("crosscut-differential", &[]),
    ("crosscut-end-to-end", &[]),
    ("crosscut-examples", &["crosscut"]),
    // A driver that stands in for a real one has the types of its interface from the adapter.
    ("crosscut-fake-cuda", &["crosscut-adapter-cuda"]),
    ("crosscut-fake-level-zero", &["crosscut-adapter-level-zero"]),
    ("crosscut-image", &[]),
    ("crosscut-language", &["crosscut"]),
    ("crosscut-link", &["crosscut-image", "crosscut-lower"]),
    ("crosscut-lower", &["crosscut-image"]),
    ("crosscut-runtime", &["crosscut-adapter-api", "crosscut-image"]),
    ("xtask", &[]),
];

/// Parts of names that no crate below `crosscut` may have: what links LLVM, clang or a driver at build
/// time.
const FORBIDDEN_BELOW_CROSSCUT: &[&str] =
    &["llvm", "clang", "inkwell", "opencl-sys", "opencl3", "cl-sys", "cuda", "level-zero-sys"];

pub(super) fn check(workspace: &Workspace) -> Vec<String> {
    let allowed = |name: &str| EDGES.iter().find(|(from, _)| *from == name).map(|(_, to)| *to);
    let mut faults = Vec::new();
    for (name, package) in &workspace.packages {
        let Some(allowed) = allowed(name) else {
            faults.push(format!("crate {name} is not in xtask's table of dependency edges"));
            continue;
        };
        for dependency in &package.dependencies {
            let is_ours = workspace.packages.contains_key(dependency);
            if is_ours && !allowed.contains(&dependency.as_str()) {
                faults.push(format!("crate {name} may not depend on {dependency}"));
            }
        }
    }
    for (name, _) in EDGES {
        if !workspace.packages.contains_key(*name) {
            faults.push(format!("xtask's table of dependency edges has {name}, which is no crate"));
        }
    }
    faults
}

/// A program that uses `crosscut` builds with Rust alone.
pub(super) fn check_tree() -> Result<Vec<String>> {
    let arguments = ["tree", "-p", "crosscut", "-e", "normal,build", "--prefix", "none"];
    Ok(check_names(&output(cargo().args(arguments))?))
}

fn check_names(tree: &str) -> Vec<String> {
    let names = tree.lines().filter_map(|line| line.split_whitespace().next());
    let is_forbidden =
        |name: &&str| FORBIDDEN_BELOW_CROSSCUT.iter().any(|part| name.contains(part));
    names
        .filter(is_forbidden)
        .map(|name| format!("crosscut depends on {name}: its users would need more than Rust"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn faults_of(packages: &[(&str, &[&str])]) -> Vec<String> {
        let mut faults = check(&Workspace::of(packages));
        faults.retain(|fault| !fault.ends_with("is no crate"));
        faults
    }

    #[test]
    fn an_edge_between_compile_time_and_run_time_is_a_fault() {
        let packages: &[(&str, &[&str])] =
            &[("crosscut-link", &["crosscut-runtime", "serde"]), ("crosscut-runtime", &[])];
        assert_eq!(faults_of(packages), ["crate crosscut-link may not depend on crosscut-runtime"]);
    }

    #[test]
    fn a_crate_outside_the_table_is_a_fault() {
        let expected = "crate new is not in xtask's table of dependency edges";
        assert_eq!(faults_of(&[("new", &[])]), [expected]);
    }

    #[test]
    fn a_crate_that_left_is_a_fault() {
        assert_eq!(check(&Workspace::of(&[])).len(), EDGES.len());
    }

    #[test]
    fn llvm_below_crosscut_is_a_fault() {
        assert_eq!(check_names("crosscut v0.1.0\nlibc v0.2.1\n"), [""; 0]);
        assert_eq!(check_names("crosscut v0.1.0\nllvm-sys v221.0.0\n").len(), 1);
    }
}
