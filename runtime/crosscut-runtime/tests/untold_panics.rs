//! Panics and failures that nobody asks about, as a user sees them: on standard error, when the queue goes.

mod program;

use std::io::Write as _;
use std::process::Command;

use crosscut_adapter_mock::Mock;
use crosscut_image::Parameter::{Global, PanicRecord};
use crosscut_runtime::ErrorKind;
use program::{device, kernel, launch, queue, read_global, register, set_word};

const CASE: &str = "CROSSCUT_TEST_UNTOLD";

/// The child's part; nothing when run as a test of its own.
#[test]
fn child() {
    let Ok(case) = std::env::var(CASE) else { return };
    let mut hits = kernel(801, "hits", vec![PanicRecord, Global { index: 0 }]);
    (hits.reads, hits.writes) = (vec![0], vec![0]);
    let global = register(vec![hits], 0);
    let mock = Mock::new();
    mock.define_kernel("hits", |launch| {
        for (index, value) in [1, 5, 8, 9].into_iter().enumerate() {
            set_word(launch, 0, index, value);
        }
    });
    let device = device(&mock);
    let one = queue(&device);
    if case == "failed" {
        // Else its first use would wait for what is held.
        read_global(&one, global).unwrap();
        mock.hold();
        launch(&one, || 801, 10, &[]).unwrap();
        launch(&one, || 801, 10, &[]).unwrap();
        return mock.lose_device();
    }
    if case == "told" {
        read_global(&one, global).unwrap();
        mock.hold();
        let event = launch(&one, || 801, 10, &[]).unwrap();
        mock.lose_device();
        assert_eq!(event.wait().unwrap_err().kind(), ErrorKind::DeviceLost);
        return;
    }
    let event = launch(&one, || 801, 10, &[]).unwrap();
    match &*case {
        "dropped" => {
            drop(event);
            drop(one);
            // Printed, and told to whoever reads what the kernel wrote nevertheless.
            let read = read_global(&queue(&device), global).unwrap_err();
            assert_eq!(read.kind(), ErrorKind::Panic);
        }
        "outlived" => {
            let another = event.clone();
            drop(one);
            drop(event);
            writeln!(std::io::stderr(), "the last event goes").unwrap();
            drop(another);
        }
        _ => {
            drop(one);
            assert_eq!(event.wait().unwrap_err().kind(), ErrorKind::Panic);
        }
    }
}

fn printed(case: &str) -> String {
    let child = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "child", "--nocapture"])
        .env(CASE, case)
        .output()
        .unwrap();
    let text = String::from_utf8(child.stderr).unwrap();
    assert!(child.status.success(), "{text}");
    text
}

const PANIC: &str = "crosscut: kernel `test::hits` panicked at src/main.rs:3:7 in item 5: \
     the len is 8 but the index is 9\n\
     \x20 help: wait for the launch's event, or for its queue, to get this as an error\n";

#[test]
fn the_panic_of_a_kernel_that_wrote_a_global_is_printed_when_its_queue_goes() {
    assert_eq!(printed("dropped"), PANIC);
}

#[test]
fn the_panic_of_a_kernel_is_printed_when_its_last_event_goes_if_that_outlives_the_queue() {
    assert_eq!(printed("outlived"), format!("the last event goes\n{PANIC}"));
}

#[test]
fn the_first_command_that_failed_is_printed_when_its_queue_goes() {
    assert_eq!(
        printed("failed"),
        "crosscut: a command failed: mockRun returned -1\nthe device was lost\n\
         \x20 help: make a new queue, or choose another device\n"
    );
}

#[test]
fn a_failure_that_an_event_has_told_is_not_printed() {
    assert_eq!(printed("told"), "");
}

#[test]
fn who_has_the_event_is_told_and_nothing_is_printed() {
    assert_eq!(printed("held"), "");
}
