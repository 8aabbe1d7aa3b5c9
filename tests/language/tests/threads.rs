//! Threads that share one queue, one pool of buffers and one context: every result is exact.
//!
//! `CROSSCUT_SECONDS` is how long each test goes on, on each device; two seconds without it.

#![allow(missing_docs, reason = "a test's name is its documentation")]

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use crosscut::prelude::*;
use crosscut::{Device, Result};
use crosscut_language::targets;

const THREADS: u64 = 16;
/// Elements of a buffer.
const LEN: usize = 256;

fn duration() -> Duration {
    let seconds = std::env::var("CROSSCUT_SECONDS").ok().and_then(|text| text.parse().ok());
    Duration::from_secs(seconds.unwrap_or(2))
}

fn devices() -> Vec<Device> {
    targets().iter().map(|target| target.queue.device().clone()).collect()
}

/// Buffers that nobody uses at the moment, with whatever the last one left in them.
#[derive(Default)]
struct Pool(Mutex<Vec<Buffer<u64>>>);

impl Pool {
    fn take(&self, queue: &Queue) -> Result<Buffer<u64>> {
        let free = self.0.lock().unwrap_or_else(PoisonError::into_inner).pop();
        free.map_or_else(|| queue.zeroed(LEN), Ok)
    }

    fn give_back(&self, buffer: Buffer<u64>) {
        let mut free = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // The oldest first, so that threads get what another one has just used.
        free.insert(0, buffer);
        free.truncate(24);
    }
}

/// Has all threads do rounds until the time is over; the sum of what they count.
fn together(queue: &Queue, round: impl Fn(&Queue, &Pool, u64) -> Result<()> + Sync) -> Result<u64> {
    let (pool, end, rounds) = (Pool::default(), Instant::now() + duration(), AtomicU64::new(0));
    let work = |thread: u64| {
        let mut number = 0;
        loop {
            round(queue, &pool, thread << 32 | number)?;
            number += 1;
            if Instant::now() >= end {
                break;
            }
        }
        rounds.fetch_add(number, Relaxed);
        Ok(())
    };
    let work = &work;
    thread::scope(|scope| {
        let threads: Vec<_> =
            (0..THREADS).map(|thread| scope.spawn(move || work(thread))).collect();
        threads.into_iter().try_for_each(|thread| thread.join().unwrap())
    })?;
    queue.wait()?;
    Ok(rounds.into_inner())
}

/// Every element of `found` is what `expected` says.
fn exact(found: &[u64], expected: impl Fn(u64) -> u64, what: &str) {
    let wrong = (0..).zip(found).find(|(i, value)| **value != expected(*i));
    assert!(wrong.is_none(), "{what}: {wrong:?}");
}

#[test]
fn sixteen_threads_share_a_queue_and_a_pool_of_buffers() -> Result<()> {
    static TOTAL: DeviceGlobal<AtomicU64> = DeviceGlobal::zeroed();
    for device in devices() {
        for queue in [Queue::on(&device)?, Queue::builder().out_of_order().on(&device).build()?] {
            queue.reset(&TOTAL)?.wait()?;
            let rounds = together(&queue, |queue, pool, seed| {
                let (mut x, mut y) = (pool.take(queue)?, pool.take(queue)?);
                queue.for_each(&mut x, (), move |i, x, ()| *x = seed + i as u64)?;
                queue.for_each(&mut y, &x, |i, y, x| {
                    *y = 3 * x[i] + 1;
                    if i == 0 {
                        TOTAL.fetch_add(1, Relaxed);
                    }
                })?;
                queue.for_each(&mut x, &y, |i, x, y| *x += y[LEN - 1 - i])?;
                let last = LEN as u64 - 1;
                let sum = move |i: u64| seed + i + 3 * (seed + last - i) + 1;
                exact(&queue.download(&x)?, sum, "sums");
                exact(&queue.download(&y)?, |i| 3 * (seed + i) + 1, "products");
                pool.give_back(x);
                pool.give_back(y);
                Ok(())
            })?;
            assert!(rounds > 0, "{device}: nobody did anything");
            assert_eq!(queue.read(&TOTAL)?, rounds, "{device}: kernels were lost or ran twice");
        }
    }
    Ok(())
}

#[test]
fn sixteen_threads_share_a_context_and_make_and_drop_all_the_rest() -> Result<()> {
    static TOTAL: DeviceGlobal<AtomicU64> = DeviceGlobal::zeroed();
    for device in devices() {
        let queue = Queue::on(&device)?;
        queue.reset(&TOTAL)?.wait()?;
        let rounds = together(&queue, |shared, pool, seed| {
            let own = Queue::in_context(shared.context())?;
            let mut x = pool.take(shared)?;
            let fresh = own.upload(&[seed; LEN])?;
            let event = own.for_each(&mut x, &fresh, |i, x, fresh| {
                *x = fresh[i] ^ i as u64;
                if i == 0 {
                    TOTAL.fetch_add(1, Relaxed);
                }
            })?;
            drop((own, fresh));
            let copied = shared.launch().after(&event).single_task((), |()| ())?;
            exact(&shared.download(&x)?, |i| seed ^ i, "a round");
            copied.wait()?;
            pool.give_back(x);
            Ok(())
        })?;
        assert!(rounds > 0, "{device}: nobody did anything");
        assert_eq!(queue.read(&TOTAL)?, rounds, "{device}: kernels were lost or ran twice");
    }
    Ok(())
}
