//! A thread for every piece of work: what `crate::worker` is under shuttle, whose threads do not live
//! from one schedule to the next.

/// Something to do, on a thread of ours.
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// Has `job` done, without waiting for it.
#[allow(clippy::unnecessary_wraps, reason = "the signature of the other one")]
pub(crate) fn run(job: Job) -> Result<(), Job> {
    shuttle::thread::spawn(job);
    Ok(())
}
