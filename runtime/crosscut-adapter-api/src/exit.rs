//! What happens once the process has begun to end: for adapters whose drivers have handlers of their own.
//!
//! A driver tears itself down in its own exit handlers, and calls into it after that crash. Objects
//! of ours may still be dropped or used then: by static destructors of other languages, by handlers
//! registered earlier, by threads that outlive `main`. So a handler of ours, registered after the
//! driver's own and therefore run before them, raises a flag; from then on releases do nothing
//! (the process's end frees more thoroughly) and all else is refused. Calls that other threads are
//! in the middle of are let finish first.
//!
//! Some of a driver's handlers are younger than ours: its compiler registers them when it is first
//! used, in the middle of a call. The main thread's thread locals go before any handler runs, so one
//! of those does the same where the main thread has called us and is the one to end the process; and
//! the handler is registered again after the first program. What is left is an `exit` from another
//! thread during the very first build.
//!
//! Threads that wait for a command are let finish for a shorter while only: they could hold up the
//! end of the process for as long as the command takes. And a thread that begins to wait once the
//! process is ending never comes back: a command that was submitted before may still write to memory
//! of the thread's own, which an error would let it free under the driver's hands.

use std::cell::Cell;
use std::marker::PhantomData;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::{Once, OnceLock};
use std::time::{Duration, Instant};

use crate::{DriverError, DriverErrorKind};

/// How long calls in other threads may hold up the end of the process: longer than a driver builds a
/// program on a machine that has much else to do.
const PATIENCE: Duration = Duration::from_secs(30);

/// How long threads that wait for commands may hold up the end of the process.
const PATIENCE_WITH_WAITS: Duration = Duration::from_secs(2);

/// When the process began to end. There are several handlers, which share the patience: nothing that it is for begins anew.
static BEGUN: OnceLock<Instant> = OnceLock::new();

static EXITING: AtomicBool = AtomicBool::new(false);

/// How many calls threads are inside of. Raised before `EXITING` is looked at, looked at after that
/// is set, all in one order: so the handler sees every call that did not see the flag.
static CALLS: AtomicUsize = AtomicUsize::new(0);

/// How many threads wait inside of the driver; seen by the handler as `CALLS` is.
static WAITS: AtomicUsize = AtomicUsize::new(0);

/// Which thread ends the process, by the address of its [`MARK`].
static EXITING_THREAD: AtomicUsize = AtomicUsize::new(0);

/// Whose threads are counted there: the process that was the first to [`watch`], or 0. A forked one has the counts of
/// threads that it does not have.
static PROCESS: AtomicU32 = AtomicU32::new(0);

thread_local! {
    /// Has an address of its own in each thread, for as long as the thread is there: it needs no
    /// destructor.
    static MARK: u8 = const { 0 };

    /// How many of `CALLS` are this thread's.
    static OWN_CALLS: Cell<usize> = const { Cell::new(0) };
}

fn this_thread() -> usize {
    MARK.with(|mark| (&raw const *mark).addr())
}

unsafe extern "C" {
    /// C's own; it is part of every C library that Rust's standard library links.
    fn atexit(handler: extern "C" fn()) -> i32;
}

extern "C" fn begin_exit() {
    // Before the flag, so that whoever sees that sees this.
    EXITING_THREAD.store(this_thread(), Ordering::SeqCst);
    EXITING.store(true, Ordering::SeqCst);
    if ![0, std::process::id()].contains(&PROCESS.load(Ordering::Relaxed)) {
        // Nobody here will lower the counts.
        return;
    }
    let begun = *BEGUN.get_or_init(Instant::now);
    // The thread that ends the process may do so from inside of one: a host task that has memory.
    until(&CALLS, OWN_CALLS.get(), begun, PATIENCE);
    until(&WAITS, 0, begun, PATIENCE_WITH_WAITS);
}

fn until(count: &AtomicUsize, most: usize, begun: Instant, patience: Duration) {
    while count.load(Ordering::SeqCst) > most && begun.elapsed() < patience {
        // Most calls end sooner; what a task does may take all of the patience.
        let soon = begun.elapsed() < Duration::from_millis(1);
        if soon { std::thread::yield_now() } else { std::thread::sleep(Duration::from_millis(1)) }
    }
}

/// Registers the handler, once for each `once`.
///
/// To be called when a driver has been loaded, and again when it has made its first context and built
/// its first program: what drivers set up as late as that is torn down earlier.
pub fn watch(once: &'static Once) {
    once.call_once(|| {
        // The first one stays, also for a forked process that gets here itself: the counts are the other's still.
        let (process, relaxed) = (std::process::id(), Ordering::Relaxed);
        let _ = PROCESS.compare_exchange(0, process, relaxed, relaxed);
        // SAFETY: the handler uses atomics and the clock, and lives as long as the code of this crate. A full table (the
        // only failure) leaves things as if the handler had not been asked for.
        unsafe { atexit(begin_exit) };
    });
}

/// Begins the end when the main thread's thread locals go.
struct OfMainThread;

thread_local! {
    static OF_MAIN_THREAD: OfMainThread = const { OfMainThread };
}

impl Drop for OfMainThread {
    fn drop(&mut self) {
        if is_main_thread() {
            begin_exit();
        }
    }
}

#[cfg(target_os = "linux")]
fn is_main_thread() -> bool {
    unsafe extern "C" {
        /// C's own, as above.
        safe fn gettid() -> i32;
    }
    // The first thread of a process has its number.
    u32::try_from(gettid()) == Ok(std::process::id())
}

/// Elsewhere nothing cheap tells: the handler alone must do.
#[cfg(not(target_os = "linux"))]
fn is_main_thread() -> bool {
    false
}

/// Shows that the driver is there, and keeps it there until dropped, by the thread that has it.
pub struct Alive(PhantomData<*const ()>);

impl Drop for Alive {
    fn drop(&mut self) {
        OWN_CALLS.set(OWN_CALLS.get() - 1);
        CALLS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The driver, if it may still be called: for releases, which then are not needed.
pub fn driver() -> Option<Alive> {
    // Gone already where a thread is ending, which is as good.
    let _ = OF_MAIN_THREAD.try_with(|_| ());
    CALLS.fetch_add(1, Ordering::SeqCst);
    OWN_CALLS.set(OWN_CALLS.get() + 1);
    let alive = Alive(PhantomData);
    (!EXITING.load(Ordering::SeqCst)).then_some(alive)
}

/// The driver, or the refusal of `call`.
pub fn enter(call: &'static str) -> Result<Alive, DriverError> {
    driver().ok_or_else(|| refusal(call))
}

/// Shows that the driver is there, and keeps it there for a while.
pub struct Waiting(());

impl Drop for Waiting {
    fn drop(&mut self) {
        WAITS.fetch_sub(1, Ordering::SeqCst);
    }
}

/// To be held while `call` blocks until commands have completed.
///
/// Once the process is ending this returns on the thread that ends it alone, with a refusal: that one
/// is not in the middle of anything that lent memory to a command.
pub fn wait(call: &'static str) -> Result<Waiting, DriverError> {
    WAITS.fetch_add(1, Ordering::SeqCst);
    let waiting = Waiting(());
    if !EXITING.load(Ordering::SeqCst) {
        return Ok(waiting);
    }
    drop(waiting);
    if EXITING_THREAD.load(Ordering::SeqCst) != this_thread() {
        // It does not come back from here, nor to what it is in the middle of.
        CALLS.fetch_sub(OWN_CALLS.get(), Ordering::SeqCst);
    }
    while EXITING_THREAD.load(Ordering::SeqCst) != this_thread() {
        std::thread::park();
    }
    Err(refusal(call))
}

fn refusal(call: &'static str) -> DriverError {
    DriverError {
        kind: DriverErrorKind::DeviceLost,
        call,
        code: 0,
        log: Some("the process is ending: finish device work before `main` returns".to_owned()),
    }
}
