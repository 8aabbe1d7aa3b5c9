//! The end of a forked process, which has none of the threads that the other one waits for.
#![cfg(unix)]

use std::ffi::c_int;
use std::sync::{Once, mpsc};
use std::time::{Duration, Instant};

use crosscut_adapter_api::exit;

unsafe extern "C" {
    /// C's own, as are the others; they are part of every C library that Rust's standard library links.
    fn fork() -> c_int;
    fn waitpid(process: c_int, status: *mut c_int, options: c_int) -> c_int;
    #[link_name = "exit"]
    safe fn end(status: c_int) -> !;
}

/// How long a forked process takes to end.
fn ending_takes() -> Duration {
    let begin = Instant::now();
    let mut status = -1;
    // SAFETY: the new process does nothing but end. Handlers of exit run in it, as in any C program that forks: they
    // are ours, and those of the libraries of a test.
    let child = unsafe { fork() };
    if child == 0 {
        end(0);
    }
    // SAFETY: the process is a child of this one, nobody else waits for it, and the status is writable.
    assert_eq!(unsafe { waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
    begin.elapsed()
}

/// How long that takes while another thread holds what `enter` gives.
fn with_another_thread<T: 'static>(enter: fn() -> T) -> Duration {
    let (entered, has_entered) = mpsc::channel();
    let (leave, may_leave) = mpsc::channel::<()>();
    let thread = std::thread::spawn(move || {
        let held = enter();
        entered.send(()).unwrap();
        let _ = may_leave.recv();
        drop(held);
    });
    has_entered.recv().unwrap();
    let taken = ending_takes();
    drop(leave);
    thread.join().unwrap();
    taken
}

#[test]
fn a_forked_process_ends_without_waiting_for_threads_that_it_does_not_have() {
    static LOADED: Once = Once::new();
    exit::watch(&LOADED);
    let waits = with_another_thread(|| exit::wait("wait").ok());
    assert!(waits < Duration::from_millis(1500), "{waits:?}");
    let calls = with_another_thread(exit::driver);
    assert!(calls < Duration::from_secs(20), "{calls:?}");
}
