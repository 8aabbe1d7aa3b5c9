//! A workspace of two crates outside the repository: a dependency with generic kernels and private
//! statics, a program with kernels of its own, tests, an example and a library it loads.

use crate::lab::{Workspace::Outside, lab};

/// What the program prints, on any device and in any profile.
fn output(device: &str) -> String {
    // Loaded, asked three times, unloaded; and all that once more.
    let plugin = format!("{}plugin 10 20\n", format!("plugin on {device}\n").repeat(3));
    format!(
        "app on {device}\n\
         f32 [2.5, 4.5, 6.5]\n\
         i64 [1099511627775, 1099511627774, 1099511627773]\n\
         first 3 7\n\
         second 1010\n\
         offsets [311, 312]\n\
         {plugin}{plugin}\
         first 8\n"
    )
}

fn runs(profile: &[&str]) {
    let Some(lab) = lab() else { return };
    // With the library that the program loads, of which `cargo run` knows nothing.
    lab.crosscut(Outside, &[&["build", "--quiet"], profile].concat()).works();
    let arguments = [&["run", "--quiet"], profile].concat();
    for (selector, device) in [("opencl:cpu", "opencl"), ("host", "host")] {
        let run = lab.crosscut(Outside, &arguments).device(selector);
        assert_eq!(run.works(), output(device), "{profile:?}");
    }
}

#[test]
fn a_program_runs_on_the_device_in_debug() {
    runs(&[]);
}

#[test]
fn a_program_runs_on_the_device_in_release() {
    runs(&["--release"]);
}

#[test]
fn a_program_runs_with_merged_crates_no_symbols_and_no_unwinding() {
    runs(&["--profile", "merged"]);
}

#[test]
fn a_group_that_goes_astray_says_so_also_where_nothing_unwinds() {
    let Some(lab) = lab() else { return };
    let run = ["run", "--quiet", "--profile", "merged", "--example", "astray"];
    let done = lab.cargo(Outside, &run).device("host").run();
    assert_ne!(done.code, Some(0));
    let said = "crosscut: a kernel ended at app/examples/astray.rs:9:18: an item waits at a barrier that the first item";
    assert!(done.stderr.contains(said), "{}", done.stderr);
}

#[test]
fn a_program_runs_if_compiled_for_size_in_sixteen_pieces() {
    runs(&["--profile", "small"]);
}

#[test]
fn an_example_runs_on_the_device() {
    let Some(lab) = lab() else { return };
    for profile in [&[][..], &["--release"]] {
        let arguments = [&["run", "--quiet", "--example", "show"], profile].concat();
        let run = lab.crosscut(Outside, &arguments).device("opencl:cpu");
        assert_eq!(run.works(), "example on opencl\n[1, 3, 2, 3]\n3 of 18 y\n", "{profile:?}");
    }
}

#[test]
fn a_failed_test_on_the_device_says_where_and_ends_with_cargos_code() {
    let Some(lab) = lab() else { return };
    let test = ["test", "--quiet", "-p", "kernels", "--lib", "--", "--ignored"];
    let done = lab.crosscut(Outside, &test).device("opencl:cpu").run();
    assert_eq!(done.code, Some(101), "{}", done.stderr);
    let error = "Error: kernel `kernels::tests::a_kernel_that_panics_fails_its_test::{closure#0}` \
                 panicked at kernels/src/lib.rs:83:17 in item 2: this one\n";
    assert!(done.stdout.contains(error), "{}", done.stdout);
}

#[test]
fn unit_tests_and_integration_tests_run_on_the_device() {
    let Some(lab) = lab() else { return };
    let test = ["test", "--workspace", "--lib", "--tests", "--", "--nocapture"];
    let stdout = lab.crosscut(Outside, &test).device("opencl:cpu").works();
    for line in ["unit test on opencl", "plugin on opencl", "integration test on opencl"] {
        assert!(stdout.contains(line), "{line}: {stdout}");
    }
    let passed = |count: usize| stdout.matches(&format!("test result: ok. {count} passed")).count();
    assert_eq!((passed(2), passed(1)), (1, 2), "{stdout}");
}
