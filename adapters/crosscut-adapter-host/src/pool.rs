//! Spreads the items of a launch over threads.
//!
//! How long an item takes is not known before it has run. So the calling thread starts alone, with
//! pieces that grow from one item; only when that has taken longer than handing work to another
//! thread costs are the rest cut into pieces for all of them. Short launches never pay for threads,
//! and a few long items still run side by side.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crosscut_adapter_api::{NativeEntry, NativeLaunch, NativePanic};
use rayon_core::{ThreadPool, ThreadPoolBuilder};

/// About what it costs to wake the pool.
const ALONE: Duration = Duration::from_micros(10);
/// How much a piece of the lonely start grows over the one before.
const GROWTH: u64 = 8;
/// Pieces per thread: enough to even out unequal items, few enough to cost nothing.
const PIECES_PER_THREAD: u64 = 8;
/// Pieces begin at multiples of this, so that threads rarely share a cache line of bytes.
const PIECE_GRAIN: u64 = 64;

/// A launch that may be looked at from several threads.
struct Shared<'a>(&'a NativeLaunch<'a>);

// SAFETY: whoever launches promises that captures and slots may be used by any number of threads,
// each with its own items: that is what a `NativeEntry` is.
unsafe impl Sync for Shared<'_> {}

impl<'a> Shared<'a> {
    fn launch(&self) -> &'a NativeLaunch<'a> {
        self.0
    }
}

/// Runs `entry` over the whole extent of `launch`.
///
/// # Safety
/// As [`NativeQueue::launch_native`](crosscut_adapter_api::NativeQueue::launch_native).
pub(crate) unsafe fn run(entry: NativeEntry, launch: &NativeLaunch<'_>) -> Result<(), NativePanic> {
    let total = launch.extent.size.iter().map(|&size| size as u64).product::<u64>();
    if total == 1 {
        // SAFETY: the caller's promise; there is one range only.
        return unsafe { entry(launch, 0..1) };
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
            return unsafe { run_together(entry, launch, done..total) };
        }
    }
    Ok(())
}

fn pool() -> Option<&'static ThreadPool> {
    static POOL: OnceLock<Option<ThreadPool>> = OnceLock::new();
    POOL.get_or_init(|| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        if threads == 1 {
            return None;
        }
        // Where the system gives no threads, the calling one does all the work.
        ThreadPoolBuilder::new()
            .num_threads(threads)
            .thread_name(|index| format!("crosscut-{index}"))
            .build()
            .ok()
    })
    .as_ref()
}

/// # Safety
/// As [`run`], for the items in `range`.
unsafe fn run_together(
    entry: NativeEntry,
    launch: &NativeLaunch<'_>,
    range: Range<u64>,
) -> Result<(), NativePanic> {
    let Some(pool) = pool() else {
        // SAFETY: the caller's promise; one range only.
        return unsafe { entry(launch, range) };
    };
    let threads = pool.current_num_threads() as u64;
    let piece = ((range.end - range.start) / (threads * PIECES_PER_THREAD)).max(1);
    let piece = if piece > PIECE_GRAIN { piece.next_multiple_of(PIECE_GRAIN) } else { piece };
    let shared = Shared(launch);
    let next = AtomicU64::new(range.start);
    let stop = AtomicBool::new(false);
    let lowest: Mutex<Option<NativePanic>> = Mutex::new(None);
    let work = || {
        while !stop.load(Ordering::Relaxed) {
            let start = next.fetch_add(piece, Ordering::Relaxed);
            if start >= range.end {
                return;
            }
            let end = range.end.min(start + piece);
            // SAFETY: the caller's promise; the counter hands every start out once, so ranges do
            // not overlap.
            if let Err(panic) = unsafe { entry(shared.launch(), start..end) } {
                stop.store(true, Ordering::Relaxed);
                let mut lowest = lowest.lock().unwrap_or_else(PoisonError::into_inner);
                if lowest.as_ref().is_none_or(|known| panic.item < known.item) {
                    *lowest = Some(panic);
                }
            }
        }
    };
    pool.in_place_scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|_| work());
        }
        work();
    });
    lowest.into_inner().unwrap_or_else(PoisonError::into_inner).map_or(Ok(()), Err)
}
