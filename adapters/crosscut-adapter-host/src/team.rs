//! One launch, worked on by whoever comes in time.
//!
//! The thread that launches leads: it works too, and is done when all items are. Others may join
//! while there is work. One that wakes up too late finds the team closed and does nothing, and the
//! leader does not wait for it: on a busy machine waking up can take longer than the work.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Thread;

use crosscut_adapter_api::{NativeEntry, NativeLaunch, NativePanic};

/// A piece is this part of a thread's fair share of what is left: large at first, for little
/// overhead, small at the end, so that all finish at about the same time.
const SHARE: u64 = 4;
/// No thread's fair share is cut into more pieces than this.
const MOST_PIECES: u64 = 64;
/// Pieces begin at multiples of this, so that threads rarely share a cache line of bytes.
const GRAIN: u64 = 64;
/// How often the leader looks whether the last helper has finished before it goes to sleep.
const LOOKS: u32 = 2000;

/// In [`Team::helpers`]: nobody may join any more.
const CLOSED: usize = 1 << (usize::BITS - 1);

pub(crate) struct Team {
    entry: NativeEntry,
    /// Lives until [`Team::lead`] returns, which is after the last helper has left.
    launch: *const NativeLaunch<'static>,
    end: u64,
    threads: u64,
    smallest: u64,
    /// The first item that nobody has claimed.
    next: AtomicU64,
    /// How many helpers are at work, and [`CLOSED`].
    helpers: AtomicUsize,
    /// After a panic nobody begins another piece.
    stop: AtomicBool,
    lowest: Mutex<Option<NativePanic>>,
    leader: Thread,
}

// SAFETY: whoever launches promises that captures and slots may be used by any number of threads,
// each with its own items: that is what a `NativeEntry` is. Everything else is made for threads.
unsafe impl Send for Team {}
// SAFETY: as above.
unsafe impl Sync for Team {}

impl Team {
    /// A team for the items in `range`, led by this thread.
    ///
    /// # Safety
    /// As [`NativeQueue::launch_native`](crosscut_adapter_api::NativeQueue::launch_native), until
    /// [`lead`](Self::lead) has returned, which is called.
    pub(crate) unsafe fn new(
        entry: NativeEntry,
        launch: &NativeLaunch<'_>,
        range: Range<u64>,
        helpers: usize,
    ) -> Arc<Self> {
        let threads = helpers as u64 + 1;
        let smallest = (range.end - range.start) / (threads * MOST_PIECES);
        Arc::new(Self {
            entry,
            launch: std::ptr::from_ref(launch).cast(),
            end: range.end,
            threads,
            smallest: smallest.max(1),
            next: AtomicU64::new(range.start),
            helpers: AtomicUsize::new(0),
            stop: AtomicBool::new(false),
            lowest: Mutex::new(None),
            leader: std::thread::current(),
        })
    }

    /// Works until all items are done, by this thread or by helpers.
    pub(crate) fn lead(&self) -> Result<(), NativePanic> {
        self.work();
        let mut looks = 0;
        // Acquire: what helpers wrote is there for whoever waited for the launch.
        let mut at_work = self.helpers.fetch_or(CLOSED, Ordering::Acquire) | CLOSED;
        while at_work != CLOSED {
            looks += 1;
            if looks < LOOKS {
                std::hint::spin_loop();
            } else {
                // The last helper unparks; a stray token only makes this look once more.
                std::thread::park();
            }
            at_work = self.helpers.load(Ordering::Acquire);
        }
        let mut lowest = self.lowest.lock().unwrap_or_else(PoisonError::into_inner);
        lowest.take().map_or(Ok(()), Err)
    }

    /// Works as long as there is something to do, if this thread comes in time.
    pub(crate) fn help(&self) {
        let join = |helpers| (helpers & CLOSED == 0).then_some(helpers + 1);
        // Acquire: the launch was made by another thread.
        if self.helpers.fetch_update(Ordering::Acquire, Ordering::Relaxed, join).is_err() {
            return;
        }
        self.work();
        // Release: see `lead`.
        if self.helpers.fetch_sub(1, Ordering::Release) == CLOSED + 1 {
            self.leader.unpark();
        }
    }

    fn work(&self) {
        while !self.stop.load(Ordering::Relaxed)
            && let Some(piece) = self.claim()
        {
            // SAFETY: the leader keeps it until all helpers have left, and this one has not.
            let launch = unsafe { &*self.launch };
            // SAFETY: `new` was promised what a launch must promise; items are claimed once, so
            // ranges do not overlap.
            if let Err(panic) = unsafe { (self.entry)(launch, piece) } {
                self.stop.store(true, Ordering::Relaxed);
                let mut lowest = self.lowest.lock().unwrap_or_else(PoisonError::into_inner);
                if lowest.as_ref().is_none_or(|known| panic.item < known.item) {
                    *lowest = Some(panic);
                }
            }
        }
    }

    /// The next piece of work.
    fn claim(&self) -> Option<Range<u64>> {
        let mut start = self.next.load(Ordering::Relaxed);
        while start < self.end {
            let left = self.end - start;
            let piece = (left / (self.threads * SHARE)).max(self.smallest);
            let piece = if piece > GRAIN { piece.next_multiple_of(GRAIN) } else { piece };
            let end = start + piece.min(left);
            // Relaxed: it hands out numbers; nothing else hangs on it.
            let claim = |next: &AtomicU64| {
                next.compare_exchange_weak(start, end, Ordering::Relaxed, Ordering::Relaxed)
            };
            match claim(&self.next) {
                Ok(_) => return Some(start..end),
                Err(now) => start = now,
            }
        }
        None
    }
}
