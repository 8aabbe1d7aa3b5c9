//! One launch, worked on by whoever comes in time.
//!
//! Every thread has a share of the items: the same one in every launch of as many items, so that it finds there what it
//! left in its caches. Who is through with his own goes on with what others have not begun.
//!
//! The thread that launches leads: it works too, and is done when all items are. Others may join
//! while there is work. One that wakes up too late finds the team closed and does nothing, and the
//! leader does not wait for it: on a busy machine waking up can take longer than the work.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::Thread;

use crosscut_adapter_api::{NativeEntry, NativeLaunch, NativePanic};

/// A piece is this part of what is left of a share: large at first, for little overhead, small at the
/// end, so that all finish at about the same time.
const PART: u64 = 4;
/// No share is cut into more pieces than this.
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
    /// One for each thread, the leader's first.
    shares: Box<[Share]>,
    smallest: u64,
    /// How many helpers are at work, and [`CLOSED`].
    helpers: AtomicUsize,
    /// The end of the lowest piece with a panic so far, or of all. Nobody begins a piece behind it, and everybody one
    /// before it: which panic is told is not a matter of who was first.
    end: AtomicU64,
    lowest: Mutex<Option<NativePanic>>,
    leader: Thread,
}

/// The items that one thread begins with. Alone on its cache lines: most threads look at no other.
#[repr(align(128))]
struct Share {
    /// The first that nobody has claimed.
    next: AtomicU64,
    end: u64,
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
        let items = range.end - range.start;
        let share = grains(items.div_ceil(threads));
        let border =
            |index: u64| range.end.min(range.start.saturating_add(share.saturating_mul(index)));
        let shares = (0..threads)
            .map(|index| Share { next: AtomicU64::new(border(index)), end: border(index + 1) });
        Arc::new(Self {
            entry,
            launch: std::ptr::from_ref(launch).cast(),
            shares: shares.collect(),
            smallest: (share / MOST_PIECES).max(1),
            helpers: AtomicUsize::new(0),
            end: AtomicU64::new(range.end),
            lowest: Mutex::new(None),
            leader: std::thread::current(),
        })
    }

    /// Works until all items are done, by this thread or by helpers.
    pub(crate) fn lead(&self) -> Result<(), NativePanic> {
        self.work(0);
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

    /// Works as long as there is something to do, if this thread comes in time. `helper`: which one it is, from 0.
    pub(crate) fn help(&self, helper: usize) {
        // A thread that unwinds comes here where a value that is dropped waits for the pool. Kernels that ask whether
        // they panic would be told that they do, and groups of items would not wait for one another.
        if std::thread::panicking() {
            return;
        }
        let join = |helpers| (helpers & CLOSED == 0).then_some(helpers + 1);
        // Acquire: the launch was made by another thread.
        if self.helpers.fetch_update(Ordering::Acquire, Ordering::Relaxed, join).is_err() {
            return;
        }
        self.work(helper + 1);
        // Release: see `lead`.
        if self.helpers.fetch_sub(1, Ordering::Release) == CLOSED + 1 {
            self.leader.unpark();
        }
    }

    /// Works on this share first, then on those behind it.
    fn work(&self, first: usize) {
        let (before, from_first) = self.shares.split_at(first.min(self.shares.len()));
        for share in from_first.iter().chain(before) {
            while let Some(piece) = self.claim(share) {
                // SAFETY: the leader keeps it until all helpers have left, and this one has not.
                let launch = unsafe { &*self.launch };
                // SAFETY: `new` was promised what a launch must promise; items are claimed once, so
                // ranges do not overlap.
                if let Err(panic) = unsafe { (self.entry)(launch, piece.clone()) } {
                    self.note(piece, panic);
                }
            }
        }
    }

    #[cold]
    fn note(&self, piece: Range<u64>, panic: NativePanic) {
        // Not the item's own number: of kernels over work-groups, pieces are made of groups.
        // Relaxed: what is begun in vain meanwhile does no harm.
        self.end.fetch_min(piece.end, Ordering::Relaxed);
        let mut lowest = self.lowest.lock().unwrap_or_else(PoisonError::into_inner);
        if lowest.as_ref().is_none_or(|known| panic.item < known.item) {
            *lowest = Some(panic);
        }
    }

    /// The next piece of a share.
    fn claim(&self, share: &Share) -> Option<Range<u64>> {
        let mut start = share.next.load(Ordering::Relaxed);
        while start < share.end && start < self.end.load(Ordering::Relaxed) {
            let left = share.end - start;
            let end = start + grains((left / PART).max(self.smallest)).min(left);
            // Relaxed: it hands out numbers; nothing else hangs on it.
            let claim = |next: &AtomicU64| {
                next.compare_exchange_weak(start, end, Ordering::Relaxed, Ordering::Relaxed)
            };
            match claim(&share.next) {
                Ok(_) => return Some(start..end),
                Err(now) => start = now,
            }
        }
        None
    }
}

/// So many items, or some more if they are many: see [`GRAIN`].
fn grains(items: u64) -> u64 {
    if items > GRAIN { items.next_multiple_of(GRAIN) } else { items }
}

#[cfg(test)]
mod tests {
    use std::panic::{AssertUnwindSafe, catch_unwind};

    use crosscut_adapter_api::Extent;

    use super::*;

    /// # Safety
    /// The captures are one `AtomicU64`.
    unsafe fn count(launch: &NativeLaunch<'_>, range: Range<u64>) -> Result<(), NativePanic> {
        // SAFETY: the caller's promise.
        let counter = unsafe { &*launch.captures.cast::<AtomicU64>() };
        counter.fetch_add(range.end - range.start, Ordering::Relaxed);
        Ok(())
    }

    struct HelpsWhenDropped<'t>(&'t Team);

    impl Drop for HelpsWhenDropped<'_> {
        fn drop(&mut self) {
            self.0.help(0);
        }
    }

    #[test]
    fn a_thread_that_unwinds_runs_no_items() {
        const ITEMS: usize = 1 << 16;
        let counter = AtomicU64::new(0);
        let launch = NativeLaunch {
            captures: (&raw const counter).cast(),
            slots: &[],
            extent: Extent { dimensions: 1, size: [ITEMS, 1, 1], group: None },
            local_memory: 0,
        };
        // SAFETY: `count` takes these captures, which stay until the end of the test, and the team is led.
        let team = unsafe { Team::new(count, &launch, 0..ITEMS as u64, 1) };
        let unwound = catch_unwind(AssertUnwindSafe(|| {
            let _helps = HelpsWhenDropped(&team);
            std::panic::resume_unwind(Box::new(()));
        }));
        assert!(unwound.is_err());
        assert_eq!(counter.load(Ordering::Relaxed), 0);
        drop(HelpsWhenDropped(&team));
        assert_eq!(counter.load(Ordering::Relaxed), ITEMS as u64);
        assert_eq!(team.lead(), Ok(()));
        assert_eq!(counter.load(Ordering::Relaxed), ITEMS as u64);
    }
}
