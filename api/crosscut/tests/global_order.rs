//! Commands that use the same device global run one after the other, without being told.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::thread;

use crosscut::prelude::*;
use crosscut::{DevicePtr, Result};

#[test]
fn writes_kernels_and_reads_of_an_out_of_order_queue_keep_their_order() -> Result<()> {
    static VALUE: DeviceGlobal<u64> = DeviceGlobal::zeroed();
    static SUM: DeviceGlobal<AtomicU64> = DeviceGlobal::zeroed();
    let queue = Queue::builder().out_of_order().build()?;
    for round in 0..10_000u64 {
        queue.write(&VALUE, &round)?;
        queue.single_task(VALUE.exclusive(), |value| *value = *value * 3 + 1)?;
        queue.parallel_for(4, (), |_, ()| {
            SUM.fetch_add(VALUE.get(), Relaxed);
        })?;
        assert_eq!(queue.read(&VALUE)?, 3 * round + 1);
    }
    let expected: u64 = (0..10_000).map(|round| 4 * (3 * round + 1)).sum();
    assert_eq!(queue.read(&SUM)?, expected);
    Ok(())
}

#[test]
fn queues_of_one_context_take_turns_with_a_global() -> Result<()> {
    static COUNT: DeviceGlobal<u32> = DeviceGlobal::zeroed();
    let first = Queue::new()?;
    let second = Queue::new()?;
    for _ in 0..500 {
        first.single_task(COUNT.exclusive(), |count| *count += 1)?;
        second.single_task(COUNT.exclusive(), |count| *count *= 2)?;
        first.single_task(COUNT.exclusive(), |count| *count %= 1009)?;
    }
    let expected = (0..500).fold(0u32, |count, _| (count + 1) * 2 % 1009);
    assert_eq!(second.read(&COUNT)?, expected);
    Ok(())
}

#[test]
fn sixty_four_threads_read_whole_values_while_one_writes() -> Result<()> {
    static PAIR: DeviceGlobal<[u64; 64]> = DeviceGlobal::zeroed();
    static ROUNDS: DeviceGlobal<AtomicU32> = DeviceGlobal::zeroed();
    let queue = Queue::new()?;
    thread::scope(|scope| {
        let readers: Vec<_> = (0..64)
            .map(|_| {
                scope.spawn(|| -> Result<()> {
                    let queue = Queue::in_context(queue.context())?;
                    for _ in 0..20 {
                        let pair = queue.read(&PAIR)?;
                        assert!(pair.iter().all(|word| *word == pair[0]), "half a value");
                    }
                    queue.parallel_for(1, (), |_, ()| {
                        ROUNDS.fetch_add(1, Relaxed);
                    })?;
                    Ok(())
                })
            })
            .collect();
        for round in 1..200u64 {
            queue.write(&PAIR, &[round; 64])?;
        }
        readers.into_iter().try_for_each(|reader| reader.join().unwrap())
    })?;
    assert_eq!((queue.read(&ROUNDS)?, queue.read(&PAIR)?), (64, [199; 64]));
    Ok(())
}

#[test]
fn kernels_that_follow_addresses_keep_their_order_too() -> Result<()> {
    static CELLS: DeviceGlobal<[AtomicU32; 64]> = DeviceGlobal::zeroed();
    static PLACE: DeviceGlobal<DevicePtr<[AtomicU32; 64]>> = DeviceGlobal::new(DevicePtr::null());
    let queue = Queue::builder().out_of_order().build()?;
    queue.single_task(PLACE.exclusive(), |place| *place = CELLS.device_ptr())?;
    for round in 0..500u32 {
        queue.write(&CELLS, &[round; 64])?;
        queue.parallel_for(64, &PLACE, |i, place| {
            // SAFETY: the first kernel has put the address of these atomics there, and commands on a
            // global keep their order.
            let cells = unsafe { place.as_ref() };
            cells[i].fetch_add(i as u32, Relaxed);
        })?;
        let read = queue.read(&CELLS)?;
        assert!(read.iter().zip(0..).all(|(value, i)| *value == round + i), "{round}: {read:?}");
    }
    Ok(())
}
