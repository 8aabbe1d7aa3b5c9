//! The threads of a device: all of the machine's, or a part of them.
//!
//! They are a pool of rayon's. A kernel that starts work there (`rayon::join`) and waits for it may be given
//! items of another launch meanwhile, on a thread that is set up for its own; `docs/kernels.md` says so.

use std::sync::{Arc, OnceLock};

use rayon_core::{ThreadPool, ThreadPoolBuilder};

/// Threads, started when they are first needed.
pub(crate) struct Workers {
    /// How many work, the thread that launches among them.
    threads: usize,
    pool: OnceLock<Option<ThreadPool>>,
}

impl Workers {
    /// As many as the machine runs at once; the same ones for everybody who asks.
    pub(crate) fn of_machine() -> Arc<Self> {
        static ALL: OnceLock<Arc<Workers>> = OnceLock::new();
        let all = || Self::new(std::thread::available_parallelism().map_or(1, usize::from));
        Arc::clone(ALL.get_or_init(all))
    }

    /// So many threads of their own.
    pub(crate) fn new(threads: usize) -> Arc<Self> {
        Arc::new(Self { threads, pool: OnceLock::new() })
    }

    /// How many there are.
    pub(crate) fn threads(&self) -> usize {
        self.threads
    }

    /// Those beside the one that launches, if there are any.
    pub(crate) fn helpers(&self) -> Option<&ThreadPool> {
        let start = || {
            if self.threads < 2 {
                return None;
            }
            // Where the system gives no threads, the calling one does all the work.
            // As large a stack as the main thread mostly has: kernels may have arrays.
            ThreadPoolBuilder::new()
                .stack_size(8 << 20)
                .num_threads(self.threads - 1)
                .thread_name(|index| format!("crosscut-{index}"))
                .build()
                .ok()
        };
        self.pool.get_or_init(start).as_ref()
    }
}
