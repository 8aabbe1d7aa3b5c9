//! Contexts of several devices, as programs use them.

#![allow(missing_docs, reason = "a test's name is its documentation")]

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crosscut::prelude::*;
use crosscut::{Bundle, Context, Error, ErrorKind, Feature, Result};

static COUNT: DeviceGlobal<AtomicU32> = DeviceGlobal::zeroed();
static SCALE: SpecConstant<u32> = SpecConstant::new(2);
static SETTING: Symbol<u32> = Symbol::new(1);

/// A context of the device of this run and its parts; of the device alone if it cannot be cut.
fn context() -> Context {
    let whole = crosscut::default_device().unwrap();
    let mut devices = vec![whole.clone()];
    if whole.has(Feature::PartitionEqually) {
        devices.extend(whole.partition_equally(1).unwrap());
    }
    Context::new(&devices).unwrap()
}

/// A queue on each device of a context.
fn queues(context: &Context) -> Vec<Queue> {
    let queue = |device: &Device| Queue::builder().in_context(context).on(device).build().unwrap();
    context.devices().iter().map(queue).collect()
}

/// The same, out of order.
fn free_queues(context: &Context) -> Vec<Queue> {
    let builder = Queue::builder().in_context(context).out_of_order();
    context.devices().iter().map(|device| builder.clone().on(device).build().unwrap()).collect()
}

fn invalid<T>(result: Result<T>, words: &str) {
    let error: Error = result.map(|_| ()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    assert!(error.message().contains(words), "{error}");
    assert!(error.help().is_some(), "{error}");
}

#[test]
fn kernels_on_several_devices_take_turns_on_one_buffer() -> Result<()> {
    let context = context();
    for queues in [queues(&context), free_queues(&context)] {
        let mut x = queues[0].zeroed::<u64>(10_000)?;
        let mut sum = queues[0].zeroed::<u64>(1)?;
        let mut expected = 0;
        for round in 0..20_u64 {
            for (factor, queue) in (1..).zip(&queues) {
                queue.for_each(&mut x, (), move |i, x, ()| *x = *x / 2 + factor * i as u64)?;
                expected = expected / 2 + factor * 9_999;
            }
            let reader = &queues[round as usize % queues.len()];
            reader.single_task((&mut sum, &x), |(sum, x)| sum[0] = x[9_999])?;
            assert_eq!(queues[0].download(&sum)?, [expected], "round {round}");
        }
    }
    Ok(())
}

#[test]
fn every_device_of_a_context_has_its_own_globals() -> Result<()> {
    let queues = queues(&context());
    for (items, queue) in (1..).zip(&queues) {
        let count = |_, ()| {
            COUNT.fetch_add(1, Relaxed);
        };
        queue.parallel_for(items, (), count)?;
    }
    for (items, queue) in (1..).zip(&queues) {
        assert_eq!(queue.read(&COUNT)?, items, "{}", queue.device().selector());
    }
    Ok(())
}

#[test]
fn a_bundle_runs_on_every_device_with_symbols_of_its_own() -> Result<()> {
    let context = context();
    let queues = queues(&context);
    let bundle = Bundle::of(&context).with(&SCALE, 5).build()?;
    let mut x = queues[0].zeroed::<u32>(3)?;
    for (value, queue) in (10..).zip(&queues) {
        queue.launch().use_bundle(&bundle).copy_to_symbol(&SETTING, &value)?;
    }
    for (value, queue) in (10..).zip(&queues) {
        let scaled = queue.launch().use_bundle(&bundle);
        scaled.for_each(&mut x, (), |_, x, ()| *x = SCALE.get() * SETTING.get())?;
        assert_eq!(queue.download(&x)?, [5 * value; 3], "{}", queue.device().selector());
    }
    Ok(())
}

#[test]
fn a_panic_on_one_device_is_told_to_who_reads_on_another() -> Result<()> {
    let queues = queues(&context());
    let (first, last) = (&queues[0], &queues[queues.len() - 1]);
    let mut x = first.zeroed::<u32>(4)?;
    last.for_each(&mut x, (), |i, _, ()| assert!(i < 3, "four is too many"))?;
    let error = first.download(&x).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Panic, "{error}");
    first.for_each(&mut x, (), |_, x, ()| *x = 1)?;
    assert_eq!(last.download(&x)?, [1; 4]);
    Ok(())
}

#[test]
fn unified_memory_is_used_on_every_device_where_all_have_it() -> Result<()> {
    let context = context();
    let queues = queues(&context);
    let mut list = match queues[0].alloc_shared::<u32>(100) {
        Ok(list) => list,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::FeatureNotSupported, "{error}");
            return Ok(());
        }
    };
    list.write()?.fill(0);
    for queue in &queues {
        queue.for_each(&mut list, (), |i, x, ()| *x += i as u32)?;
    }
    assert_eq!(list.read()?[99], 99 * queues.len() as u32);
    assert!(queues.iter().all(|queue| queue.context().usm_pointer(list.as_ptr()).is_some()));
    Ok(())
}

#[test]
fn buffers_outlive_queues_and_contexts_of_other_devices() -> Result<()> {
    let queues = free_queues(&context());
    let mut x = queues[0].zeroed::<u64>(100_000)?;
    for queue in &queues {
        queue.for_each(&mut x, (), |i, x, ()| *x += i as u64)?;
    }
    let count = queues.len() as u64;
    let last = queues.into_iter().last().unwrap();
    assert_eq!(last.download(&x)?[77], 77 * count);
    Ok(())
}

#[test]
fn lists_of_devices_that_are_no_context_are_refused() -> Result<()> {
    let device = crosscut::default_device()?;
    invalid(Context::new(&[]), "a context without a device");
    invalid(Context::new(&[device.clone(), device.clone()]), "is there twice");
    let context = device.create_context()?;
    for other in crosscut::devices()? {
        if other == device {
            continue;
        }
        let outside = Queue::builder().in_context(&context).on(&other).build();
        invalid(outside, "is not in the context");
        if other.backend() != device.backend() {
            invalid(Context::new(&[device.clone(), other]), "cannot share a context");
        }
    }
    if device.has(Feature::PartitionEqually) {
        let part = device.partition_equally(1)?.remove(0);
        invalid(Queue::builder().on(&part).in_context(&context).build(), "is not in the context");
    }
    Ok(())
}

#[test]
fn atomics_are_copied_to_a_global_while_another_device_counts_in_them() -> Result<()> {
    static SEEN: DeviceGlobal<[AtomicU32; 4]> = DeviceGlobal::zeroed();
    let context = context();
    let queues = queues(&context);
    let (reader, writer) = (&queues[0], queues.last().unwrap());
    let counts = reader.zeroed::<AtomicU32>(4)?;
    std::thread::scope(|scope| {
        let counting = scope.spawn(|| {
            for _ in 0..50 {
                writer.parallel_for(4, &counts, |i, counts| {
                    for _ in 0..1000 {
                        counts[i].fetch_add(1, Relaxed);
                    }
                })?;
            }
            writer.wait()
        });
        let mut last = [0; 4];
        while !counting.is_finished() {
            reader.copy_to(&SEEN, &counts, 0)?.wait()?;
            let seen = reader.read(&SEEN)?;
            assert!(seen.iter().zip(last).all(|(now, before)| *now >= before), "{seen:?}");
            last = seen;
        }
        counting.join().unwrap()
    })?;
    reader.copy_to(&SEEN, &counts, 0)?;
    assert_eq!(reader.read(&SEEN)?, [50_000; 4]);
    Ok(())
}
