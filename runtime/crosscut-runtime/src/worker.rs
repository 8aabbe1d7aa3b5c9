//! Threads for work that may block: host tasks, and waiting for drivers that do not call back.
//!
//! Work that waits for other work must not keep that from running, so there is no limit: where no
//! thread is idle, one is added, and one that stays idle for a while ends.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// How long a thread without work waits for more.
const PATIENCE: Duration = Duration::from_secs(2);

/// Something to do, on a thread of ours.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

struct Crew {
    jobs: VecDeque<Job>,
    /// How many threads wait for a job.
    idle: usize,
    /// Whose threads these are: a forked process has none of them.
    process: u32,
}

static CREW: Mutex<Crew> = Mutex::new(Crew { jobs: VecDeque::new(), idle: 0, process: 0 });
static MORE: Condvar = Condvar::new();

#[cfg(test)]
thread_local! {
    /// Whether this thread's jobs are refused, as by a system without threads.
    pub(crate) static REFUSES: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };

    /// Whether this thread's jobs have the threads that are there, and no more.
    static ADDS_NONE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

fn crew() -> MutexGuard<'static, Crew> {
    CREW.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Has `job` done, without waiting for it.
///
/// # Errors
/// Gives it back where the system has no thread for it.
pub(crate) fn run(job: Job) -> Result<(), Job> {
    #[cfg(test)]
    if REFUSES.get() {
        return Err(job);
    }
    let mut crew = crew();
    if crew.process != std::process::id() {
        (crew.process, crew.idle) = (std::process::id(), 0);
        // What was to be done by then is the other process's.
        std::mem::take(&mut crew.jobs).into_iter().for_each(std::mem::forget);
    }
    crew.jobs.push_back(job);
    if crew.idle >= crew.jobs.len() {
        drop(crew);
        MORE.notify_one();
        return Ok(());
    }
    if add_thread() {
        return Ok(());
    }
    // Threads that are busy are no help, as what they do may wait for this very job. With the lock held since it was
    // added, it is the last one.
    crew.jobs.pop_back().map_or(Ok(()), Err)
}

/// Whether the system has one more thread for jobs.
fn add_thread() -> bool {
    #[cfg(test)]
    if ADDS_NONE.get() {
        return false;
    }
    std::thread::Builder::new().name("crosscut-task".to_owned()).spawn(work).is_ok()
}

fn work() {
    let mut here = crew();
    loop {
        if let Some(job) = here.jobs.pop_front() {
            drop(here);
            // Jobs tell of panics in their own way; this is the last resort of the thread.
            if let Err(payload) = catch_unwind(AssertUnwindSafe(job)) {
                std::mem::forget(payload);
            }
            here = crew();
            continue;
        }
        here.idle += 1;
        let (next, waited) =
            MORE.wait_timeout(here, PATIENCE).unwrap_or_else(PoisonError::into_inner);
        here = next;
        here.idle -= 1;
        if waited.timed_out() && here.jobs.is_empty() {
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    #[test]
    fn jobs_that_wait_for_later_ones_do_not_keep_them_from_running() {
        let mut last = mpsc::channel::<u32>();
        let first = std::mem::replace(&mut last.0, mpsc::channel().0);
        let mut end = last.1;
        // Each waits for the number of the one after it.
        for _ in 0..50 {
            let (sender, receiver) = mpsc::channel::<u32>();
            let before = std::mem::replace(&mut end, receiver);
            assert!(
                run(Box::new(move || sender.send(before.recv().unwrap() + 1).unwrap())).is_ok()
            );
        }
        first.send(0).unwrap();
        assert_eq!(end.recv_timeout(Duration::from_secs(120)), Ok(50));
    }

    #[test]
    fn a_job_is_given_back_where_all_threads_are_busy_and_there_are_no_more() {
        let (started, starts) = mpsc::channel();
        let (end, ends) = mpsc::channel::<()>();
        let ends = std::sync::Arc::new(Mutex::new(ends));
        // Busy until the test is over.
        let job = || -> Job {
            let (started, ends) = (started.clone(), std::sync::Arc::clone(&ends));
            Box::new(move || {
                started.send(()).unwrap();
                let _ = ends.lock().map(|ends| ends.recv());
            })
        };
        assert!(run(job()).is_ok());
        starts.recv_timeout(Duration::from_secs(120)).unwrap();
        ADDS_NONE.set(true);
        // Threads of other tests may be idle.
        while run(job()).is_ok() {
            starts.recv_timeout(Duration::from_secs(20)).expect("what is not given back is done");
        }
        drop(end);
    }

    #[test]
    fn a_job_that_panics_leaves_the_rest_alone() {
        for _ in 0..3 {
            assert!(run(Box::new(|| std::panic::resume_unwind(Box::new(1)))).is_ok());
        }
        let (sender, receiver) = mpsc::channel();
        assert!(run(Box::new(move || sender.send(7).unwrap())).is_ok());
        assert_eq!(receiver.recv_timeout(Duration::from_secs(120)), Ok(7));
    }
}
