//! Spreads the items of a launch over threads.
//!
//! How long an item takes is not known before it has run. So the calling thread starts alone, with
//! pieces that grow from one item; only when that has taken longer than handing work to another
//! thread costs are the rest cut into pieces for all of them. Short launches never pay for threads,
//! and a few long items still run side by side. Where there are so many items that even the cheapest
//! take longer than that, nothing is tried out: the others are called at once, because the time they
//! need to wake up is time they do not work.

use std::ops::Range;
use std::time::{Duration, Instant};

use crosscut_adapter_api::{NativeEntry, NativeLaunch, NativePanic};

use crate::team::Team;
use crate::workers::Workers;

/// About what it costs to wake the pool.
const ALONE: Duration = Duration::from_micros(10);
/// How much a piece of the lonely start grows over the one before.
const GROWTH: u64 = 8;
/// So many items take longer than [`ALONE`], at some tenths of a nanosecond each.
const MANY: u64 = 1 << 17;

/// Runs `entry` over the whole extent of `launch`.
///
/// # Safety
/// As [`NativeQueue::launch_native`](crosscut_adapter_api::NativeQueue::launch_native).
pub(crate) unsafe fn run(
    workers: &Workers,
    entry: NativeEntry,
    launch: &NativeLaunch<'_>,
) -> Result<(), NativePanic> {
    if std::thread::panicking() {
        // SAFETY: the caller's promise.
        return unsafe { run_elsewhere(workers, entry, launch) };
    }
    // SAFETY: the caller's promise.
    unsafe { run_here(workers, entry, launch) }
}

/// A launch, for another thread.
#[derive(Clone, Copy)]
struct Lent<'a>(&'a NativeLaunch<'a>);

// SAFETY: whoever launches promises that captures and slots may be used by any thread: that is what a
// `NativeEntry` is.
unsafe impl Send for Lent<'_> {}

impl<'a> Lent<'a> {
    /// By a method, so that closures take all of it along.
    fn launch(self) -> &'a NativeLaunch<'a> {
        self.0
    }
}

/// Has another thread do it, and waits: this one unwinds, and launches in a `drop`. Whether an item
/// unwinds is asked of its thread, so here every one would seem to.
///
/// # Safety
/// As [`run`].
unsafe fn run_elsewhere(
    workers: &Workers,
    entry: NativeEntry,
    launch: &NativeLaunch<'_>,
) -> Result<(), NativePanic> {
    let lent = Lent(launch);
    let refused = |why: String| NativePanic {
        item: 0,
        message: format!("a launch while its thread unwinds needs another thread: {why}"),
        file: String::new(),
        line: 0,
        column: 0,
    };
    std::thread::scope(|scope| {
        let work = move || {
            // SAFETY: the caller's promise; it waits for this thread.
            unsafe { run_here(workers, entry, lent.launch()) }
        };
        let thread = std::thread::Builder::new()
            .spawn_scoped(scope, work)
            .map_err(|error| refused(error.to_string()))?;
        // Entries do not unwind.
        thread.join().unwrap_or_else(|_| Err(refused("it has panicked".into())))
    })
}

/// # Safety
/// As [`run`].
unsafe fn run_here(
    workers: &Workers,
    entry: NativeEntry,
    launch: &NativeLaunch<'_>,
) -> Result<(), NativePanic> {
    let total = launch.extent.groups().iter().map(|&size| size as u64).product::<u64>();
    if total == 1 {
        // SAFETY: the caller's promise; there is one range only.
        return unsafe { entry(launch, 0..1) };
    }
    if total >= MANY {
        // SAFETY: the caller's promise.
        return unsafe { run_together(workers, entry, launch, 0..total) };
    }
    let started = Instant::now();
    let (mut done, mut piece) = (0, 1);
    while done < total {
        let end = total.min(done + piece);
        // SAFETY: the caller's promise; ranges follow one another.
        unsafe { entry(launch, done..end) }?;
        done = end;
        piece *= GROWTH;
        if done < total && started.elapsed() > ALONE {
            // SAFETY: the caller's promise; the rest begins where the last range ended.
            return unsafe { run_together(workers, entry, launch, done..total) };
        }
    }
    Ok(())
}

/// # Safety
/// As [`run`], for the items in `range`.
unsafe fn run_together(
    workers: &Workers,
    entry: NativeEntry,
    launch: &NativeLaunch<'_>,
    range: Range<u64>,
) -> Result<(), NativePanic> {
    let Some(pool) = workers.helpers() else {
        // SAFETY: the caller's promise; one range only.
        return unsafe { entry(launch, range) };
    };
    let helpers = pool.current_num_threads();
    // SAFETY: the caller's promise, which holds until `lead` has returned.
    let team = unsafe { Team::new(entry, launch, range, helpers) };
    for _ in 0..helpers {
        let team = team.clone();
        // By the thread's own number, which is the same in the next launch.
        pool.spawn(move || team.help(rayon_core::current_thread_index().unwrap_or(0)));
    }
    team.lead()
}
