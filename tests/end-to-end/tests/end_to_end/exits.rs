//! Processes end well, whatever is alive and whatever is running: with the code they chose, never by
//! a signal.
//!
//! `CROSSCUT_EXIT_ROUNDS` says how often each case runs on each device; a few times without it.

use std::process::Child;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use crate::lab::{Lab, Run, Workspace, lab};

/// No case takes nearly as long.
const PATIENCE: Duration = Duration::from_secs(120);

fn rounds() -> usize {
    let rounds = std::env::var("CROSSCUT_EXIT_ROUNDS").ok();
    rounds.map_or(3, |rounds| rounds.parse().expect("CROSSCUT_EXIT_ROUNDS is a number"))
}

/// Waits for a process; one that hangs is ended.
fn outcome(mut run: Run) -> String {
    run.command.stdout(std::process::Stdio::null()).stderr(std::process::Stdio::null());
    let mut child: Child = run.command.spawn().expect("a process");
    let start = Instant::now();
    loop {
        match child.try_wait().expect("a process of ours") {
            Some(status) => return status.to_string(),
            None if start.elapsed() > PATIENCE => {
                child.kill().expect("a process of ours");
                child.wait().expect("a process of ours");
                return "hangs".into();
            }
            None => thread::sleep(Duration::from_millis(5)),
        }
    }
}

/// Runs everything, two at a time, and gives what did not end as expected.
fn failures(lab: &Lab, runs: &[(String, &str, String)]) -> Vec<String> {
    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some((case, device, expected)) =
                    runs.get(next.fetch_add(1, Ordering::Relaxed))
                {
                    let program = lab.made("debug").join("ends");
                    let run = lab.program(&program, &[case]).device(device);
                    let outcome = outcome(run);
                    if outcome != *expected {
                        failures.lock().unwrap().push(format!("{case} ({device}): {outcome}"));
                    }
                }
            });
        }
    });
    failures.into_inner().unwrap()
}

#[test]
fn a_process_ends_well_in_every_way() {
    let Some(lab) = lab() else { return };
    let build = ["build", "--quiet", "-p", "ends", "-p", "plugin", "--bins", "--lib"];
    lab.crosscut(Workspace::Programs, &build).works();
    let cases = lab.program(&lab.made("debug").join("ends"), &["list"]).works();
    assert!(cases.lines().count() >= 20);
    let mut runs = Vec::new();
    for _ in 0..rounds() {
        for case in cases.lines() {
            for device in ["host", "opencl:cpu"] {
                let code = if case == "a panic with work in flight" { 101 } else { 42 };
                runs.push((case.to_owned(), device, format!("exit status: {code}")));
            }
        }
    }
    assert_eq!(failures(lab, &runs), [""; 0]);
}

#[test]
fn a_process_can_end_inside_a_kernel_of_the_host() {
    let Some(lab) = lab() else { return };
    let build = ["build", "--quiet", "-p", "ends", "--example", "exit_in_kernel"];
    lab.cargo(Workspace::Programs, &build).works();
    for _ in 0..rounds() {
        let program = lab.built_by_cargo("debug/examples/exit_in_kernel");
        assert_eq!(outcome(lab.program(&program, &[])), "exit status: 42");
    }
}
