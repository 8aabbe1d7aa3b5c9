//! How long the end of a process is held up.

use std::process::Command;
use std::sync::{Once, mpsc};
use std::time::{Duration, Instant};

use crosscut_adapter_api::exit;

const CHILD: &str = "CROSSCUT_TEST_ENDS_HERE";
const NAME: &str = "however_many_handlers_there_are_their_patience_is_one";

/// Ends with a thread that waits for what never comes.
fn end() -> ! {
    static HANDLERS: [Once; 8] = [const { Once::new() }; 8];
    HANDLERS.iter().for_each(exit::watch);
    let (entered, has_entered) = mpsc::channel();
    std::thread::spawn(move || {
        let waiting = exit::wait("wait");
        entered.send(waiting.is_ok()).unwrap();
        loop {
            std::thread::park();
        }
    });
    assert_eq!(has_entered.recv(), Ok(true));
    std::process::exit(0)
}

#[test]
fn however_many_handlers_there_are_their_patience_is_one() {
    if std::env::var_os(CHILD).is_some() {
        end();
    }
    let begin = Instant::now();
    let mut child = Command::new(std::env::current_exe().unwrap());
    let status = child.args(["--exact", NAME]).env(CHILD, "1").status().unwrap();
    assert!(status.success(), "{status}");
    // Two seconds for the thread, not for each handler.
    let taken = begin.elapsed();
    assert!(taken >= Duration::from_secs(2), "the thread was not waited for: {taken:?}");
    assert!(taken < Duration::from_secs(12), "{taken:?}");
}
