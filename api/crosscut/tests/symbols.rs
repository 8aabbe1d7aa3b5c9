//! Symbols, on the default device.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crosscut::prelude::*;
use crosscut::{Bundle, Constant, DevicePtr, ErrorKind, Global, Launch, Named, Result};

#[test]
fn host_and_device_have_values_of_their_own() -> Result<()> {
    static GV: Symbol<i32, Constant> = Symbol::new(42);
    let queue = Queue::new()?;
    let mut seen = queue.zeroed::<i32>(2)?;
    queue.copy_to_symbol(&GV, &7)?.wait()?;
    queue.for_each(&mut seen, &GV, |_, seen, gv| *seen = GV.get() + gv)?;
    assert_eq!((queue.download(&seen)?, GV.host()), (vec![14; 2], 42));
    queue.update_device(&GV)?.wait()?;
    queue.for_each(&mut seen, (), |_, seen, ()| *seen = GV.get())?;
    assert_eq!(queue.download(&seen)?, [42; 2]);
    GV.set_host(5);
    assert_eq!((GV.host(), queue.copy_from_symbol(&GV)?), (5, 42));
    queue.update_host(&GV)?;
    assert_eq!(GV.host(), 42);
    Ok(())
}

#[test]
fn kernels_write_symbols_of_the_global_space() -> Result<()> {
    static PLAIN: Symbol<[u16; 3], Global> = Symbol::new([1, 2, 3]);
    static ATOMICS: Symbol<[AtomicU32; 2], Global> = Symbol::new([10, 20]);
    let queue = Queue::new()?;
    queue.single_task(PLAIN.device().exclusive(), |plain| plain[1] += plain[0] + plain[2])?;
    queue.parallel_for(8, (), |i, ()| {
        ATOMICS.device()[i % 2].fetch_add(1, Relaxed);
    })?;
    assert_eq!((PLAIN.host(), ATOMICS.host()), ([1, 2, 3], [10, 20]));
    queue.update_host(&PLAIN)?;
    queue.update_host(&ATOMICS)?;
    assert_eq!((PLAIN.host(), ATOMICS.host()), ([1, 6, 3], [14, 24]));
    queue.fill_symbol(&ATOMICS, &9)?;
    assert_eq!(queue.copy_from_symbol(&ATOMICS)?, [9, 9]);
    Ok(())
}

#[test]
fn every_context_has_its_own_device_value() -> Result<()> {
    static GV: Symbol<u64> = Symbol::new(1);
    let first = Queue::new()?;
    let second = Queue::in_context(&first.device().create_context()?)?;
    first.copy_to_symbol(&GV, &2)?;
    let after = second.copy_to_symbol(&GV, &3)?;
    first.launch().after(&after).update_host(&GV)?;
    assert_eq!((GV.host(), second.copy_from_symbol(&GV)?), (2, 3));
    Ok(())
}

/// Launch options with and without a bundle.
fn under<'q>(queue: &'q Queue, bundle: Option<&Bundle>) -> Launch<'q> {
    match bundle {
        Some(bundle) => queue.launch().use_bundle(bundle),
        None => queue.launch(),
    }
}

#[test]
fn every_bundle_has_its_own_device_value() -> Result<()> {
    static READ: Symbol<[i32; 2], Constant> = Symbol::new([4, 2]);
    static COUNTED: Symbol<AtomicU32, Global> = Symbol::new(100);
    static PLAIN: Symbol<u32, Global> = Symbol::new(7);
    static SHARED: DeviceGlobal<AtomicU32> = DeviceGlobal::zeroed();

    fn run(queue: &Queue, bundle: Option<&Bundle>, seen: &mut Buffer<i32>) -> Result<Vec<i32>> {
        // By name and by argument it is the same value.
        under(queue, bundle).for_each(seen, &READ, |i, seen, read| {
            *seen = READ.get()[i] * 1000 + read[1 - i];
            COUNTED.device().fetch_add(1, Relaxed);
            SHARED.fetch_add(1, Relaxed);
        })?;
        under(queue, bundle).single_task(PLAIN.device().exclusive(), |plain| *plain *= 2)?;
        queue.download(seen)
    }

    let queue = Queue::new()?;
    let mut seen = queue.zeroed::<i32>(2)?;
    let build = || Bundle::of(queue.context()).build();
    let (first, second) = (build()?, build()?);
    under(&queue, Some(&first)).copy_to_symbol(&READ, &[1, 3])?;
    let values = |bundle| {
        let counted = under(&queue, bundle).copy_from_symbol(&COUNTED)?;
        Result::Ok((counted, under(&queue, bundle).copy_from_symbol(&PLAIN)?))
    };
    // The second was built in the same way and starts anew; so does the context's.
    assert_eq!(run(&queue, Some(&first), &mut seen)?, [1003, 3001]);
    assert_eq!(run(&queue, Some(&second), &mut seen)?, [4002, 2004]);
    assert_eq!(run(&queue, Some(&first.clone()), &mut seen)?, [1003, 3001]);
    assert_eq!([values(None)?, values(Some(&first))?], [(100, 7), (104, 28)]);
    assert_eq!(run(&queue, None, &mut seen)?, [4002, 2004]);
    assert_eq!([values(None)?, values(Some(&second))?], [(102, 14), (102, 14)]);
    // Device globals have one value for all of them.
    assert_eq!(queue.launch().use_bundle(&first).read(&SHARED)?, 8);
    assert_eq!((READ.host(), COUNTED.host(), PLAIN.host()), ([4, 2], 100, 7));
    Ok(())
}

#[test]
fn every_command_on_symbols_obeys_its_bundle() -> Result<()> {
    static GV: Symbol<[u16; 3], Global> = Symbol::new([1, 2, 3]);
    let queue = Queue::new()?;
    let bundle = Bundle::of(queue.context()).build()?;
    let bundled = || queue.launch().use_bundle(&bundle);
    GV.set_host([9, 8, 7]);
    bundled().update_device(&GV)?;
    assert_eq!(bundled().copy_from_symbol(&GV)?, [9, 8, 7]);
    bundled().fill_symbol(&GV, &5)?;
    bundled().update_host(&GV)?;
    assert_eq!(GV.host(), [5; 3]);
    let buffer = queue.upload(&[10u16, 20])?;
    bundled().copy_to(GV.device(), &buffer, 1)?;
    let mut bytes = [0; 2];
    bundled().copy_bytes_from(GV.device(), &mut bytes, 4)?;
    assert_eq!(u16::from_ne_bytes(bytes), 20);
    assert_eq!(bundled().read(GV.device())?, [5, 10, 20]);
    assert_eq!(queue.read(GV.device())?, [1, 2, 3]);
    queue.copy_to_symbol(&GV, &[0; 3])?;
    bundled().reset(GV.device())?;
    assert_eq!(
        (bundled().copy_from_symbol(&GV)?, queue.copy_from_symbol(&GV)?),
        ([1, 2, 3], [0; 3])
    );
    let mut group = None;
    queue.submit(|handler| {
        group = Some(handler.command(|launch| launch.use_bundle(&bundle).fill_symbol(&GV, &6))?);
        Ok(())
    })?;
    assert_eq!(bundled().copy_from_symbol(&GV)?, [6; 3]);
    // Several devices at once: their contexts' values.
    let queues = [queue];
    crosscut::broadcast(&queues, GV.device(), &[3; 3])?;
    assert_eq!(crosscut::gather(&queues, GV.device())?, [[3; 3]]);
    let [queue] = queues;
    assert_eq!(queue.launch().use_bundle(&bundle).copy_from_symbol(&GV)?, [6; 3]);
    Ok(())
}

#[test]
fn the_address_of_a_symbol_is_that_of_the_value_its_bundle_has() -> Result<()> {
    static GV: Symbol<[u32; 4], Global> = Symbol::new([1, 2, 3, 4]);
    static SHARED: DeviceGlobal<[u32; 4]> = DeviceGlobal::zeroed();
    static SEEN: DeviceGlobal<DevicePtr<[u32; 4]>> = DeviceGlobal::new(DevicePtr::null());

    fn seen_by_kernel(queue: &Queue, bundle: Option<&Bundle>) -> Result<String> {
        under(queue, bundle)
            .single_task(SEEN.exclusive(), |seen| *seen = GV.device().device_ptr())?;
        queue.read(&SEEN).map(|seen| format!("{seen:?}"))
    }

    let queue = Queue::new()?;
    let build = || Bundle::of(queue.context()).build();
    let (first, second) = (build()?, build()?);
    // SAFETY: the addresses are only compared.
    let address =
        |bundle: Option<&Bundle>| unsafe { under(&queue, bundle).address_of(GV.device()) };
    let bundles = [None, Some(&first), Some(&second)];
    let mut addresses = Vec::new();
    for bundle in bundles {
        match address(bundle) {
            Ok(address) => {
                let seen = seen_by_kernel(&queue, bundle)?;
                assert_eq!(seen, format!("DevicePtr({address:#x})"));
                addresses.push(address);
            }
            // A driver that tells none tells none with a bundle either.
            Err(error) => assert_eq!(error.kind(), ErrorKind::FeatureNotSupported),
        }
    }
    if let &[shared, first, second] = addresses.as_slice() {
        assert!(shared != first && first != second && second != shared);
    } else {
        assert!(addresses.is_empty(), "some are told and some are not: {addresses:?}");
    }
    // A device global has one address with and without.
    // SAFETY: as above.
    let plain = |bundle| unsafe { under(&queue, bundle).address_of(&SHARED) }.ok();
    assert_eq!(plain(None), plain(Some(&first)));

    let elsewhere = Bundle::of(&queue.device().create_context()?).build()?;
    let error = address(Some(&elsewhere)).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    Ok(())
}

#[test]
fn snapshots_carry_values_of_symbols_from_one_bundle_to_another() -> Result<()> {
    static LEVEL: Symbol<u64> = Symbol::new(1);
    static HITS: Symbol<[AtomicU32; 2], Global> = Symbol::new([0, 0]);
    const STATE: &[Named] = &[("level", &LEVEL), ("hits", &HITS)];
    let queue = Queue::new()?;
    let build = || Bundle::of(queue.context()).build();
    let (one, other) = (build()?, build()?);
    queue.launch().use_bundle(&one).copy_to_symbol(&LEVEL, &17)?;
    queue.launch().use_bundle(&one).fill_symbol(&HITS, &4)?;
    let taken = queue.launch().use_bundle(&one).snapshot(STATE)?;
    queue.launch().use_bundle(&other).restore(STATE, &taken)?;
    assert_eq!(queue.launch().use_bundle(&other).copy_from_symbol(&LEVEL)?, 17);
    assert_eq!(queue.launch().use_bundle(&other).copy_from_symbol(&HITS)?, [4, 4]);
    assert_eq!((queue.copy_from_symbol(&LEVEL)?, queue.copy_from_symbol(&HITS)?), (1, [0, 0]));
    queue.restore(STATE, &taken)?;
    assert_eq!(queue.snapshot(STATE)?, taken);
    Ok(())
}

#[test]
fn the_values_of_a_bundle_outlive_it_until_its_commands_have_ended() -> Result<()> {
    static SUM: Symbol<AtomicU32, Global> = Symbol::new(0);
    static TOTAL: DeviceGlobal<AtomicU32> = DeviceGlobal::zeroed();
    let queue = Queue::new()?;
    for round in 0..20u32 {
        let bundle = Bundle::of(queue.context()).build()?;
        // A new bundle begins anew, whatever was in the memory it got.
        assert_eq!(under(&queue, Some(&bundle)).copy_from_symbol(&SUM)?, 0);
        for _ in 0..4 {
            under(&queue, Some(&bundle)).parallel_for(1000, (), move |_, ()| {
                SUM.device().fetch_add(round, Relaxed);
            })?;
        }
        under(&queue, Some(&bundle)).single_task((), |()| {
            TOTAL.fetch_add(SUM.device().load(Relaxed), Relaxed);
        })?;
    }
    assert_eq!(queue.read(&TOTAL)?, 4000 * (0..20).sum::<u32>());
    assert_eq!(queue.copy_from_symbol(&SUM)?, 0);
    Ok(())
}

#[test]
fn bundles_of_contexts_of_their_own_have_values_of_their_own_too() -> Result<()> {
    static GV: Symbol<u32> = Symbol::new(5);
    let default = Queue::new()?;
    let apart = Queue::in_context(&default.device().create_context()?)?;
    let bundle = Bundle::of(apart.context()).build()?;
    under(&apart, Some(&bundle)).copy_to_symbol(&GV, &6)?;
    apart.copy_to_symbol(&GV, &7)?;
    let mut seen = apart.zeroed::<u32>(1)?;
    for (bundle, expected) in [(Some(&bundle), 6), (None, 7)] {
        under(&apart, bundle).for_each(&mut seen, (), |_, seen, ()| *seen = GV.get())?;
        assert_eq!(apart.download(&seen)?, [expected]);
    }
    assert_eq!(default.copy_from_symbol(&GV)?, 5);
    let refused = under(&default, Some(&bundle)).copy_from_symbol(&GV);
    assert_eq!(refused.unwrap_err().kind(), ErrorKind::Invalid);
    Ok(())
}
