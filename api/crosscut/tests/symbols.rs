//! Symbols, on the default device.

use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crosscut::prelude::*;
use crosscut::{Constant, Global, Result};

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
