//! Device globals that kernels find in tables, choose at run time, and keep addresses of.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

use crosscut::prelude::*;
use crosscut::{DevicePtr, Result};

static EVEN: DeviceGlobal<AtomicU32> = DeviceGlobal::zeroed();
static ODD: DeviceGlobal<AtomicU32> = DeviceGlobal::new(100);

#[test]
fn a_table_of_globals_is_a_constant_like_any_other() -> Result<()> {
    static TABLE: [&DeviceGlobal<AtomicU32>; 2] = [&EVEN, &ODD];
    let queue = Queue::new()?;
    queue.write(&EVEN, &0)?;
    queue.write(&ODD, &100)?;
    queue.parallel_for(10, (), |i, ()| {
        TABLE[i % 2].fetch_add(i as u32, Relaxed);
    })?;
    assert_eq!((queue.read(&EVEN)?, queue.read(&ODD)?), (20, 125));
    Ok(())
}

struct Row {
    weight: u32,
    count: &'static DeviceGlobal<AtomicU64>,
    name: &'static str,
    limit: &'static DeviceGlobal<[u16; 2]>,
}

#[test]
fn tables_hold_globals_of_several_types_beside_other_data() -> Result<()> {
    static FIRST: DeviceGlobal<AtomicU64> = DeviceGlobal::zeroed();
    static SECOND: DeviceGlobal<AtomicU64> = DeviceGlobal::zeroed();
    static LOW: DeviceGlobal<[u16; 2]> = DeviceGlobal::new([1, 2]);
    static HIGH: DeviceGlobal<[u16; 2]> = DeviceGlobal::new([30, 40]);
    static ROWS: [Row; 3] = [
        Row { weight: 1, count: &FIRST, name: "a", limit: &LOW },
        Row { weight: 10, count: &SECOND, name: "bc", limit: &HIGH },
        Row { weight: 100, count: &FIRST, name: "def", limit: &HIGH },
    ];
    static BY_NUMBER: &[&[Row; 3]] = &[&ROWS];
    let queue = Queue::new()?;
    queue.copy_to(&HIGH, &[50], 1)?;
    for _ in 0..2 {
        queue.parallel_for(6, (), |i, ()| {
            let row = &BY_NUMBER[i / 6][i % 3];
            let limit = row.limit.get();
            let value = row.weight + u32::from(limit[i % 2]) + row.name.len() as u32;
            row.count.fetch_add(u64::from(value), Relaxed);
        })?;
    }
    let first = 2 * ((1 + 1 + 1) + (1 + 2 + 1) + (100 + 30 + 3) + (100 + 50 + 3));
    let second = 2 * ((10 + 30 + 2) + (10 + 50 + 2));
    assert_eq!((queue.read(&FIRST)?, queue.read(&SECOND)?), (first, second));
    Ok(())
}

#[test]
fn globals_are_handed_to_functions_and_chosen_there() -> Result<()> {
    static SMALL: DeviceGlobal<[AtomicU32; 2]> = DeviceGlobal::zeroed();
    static LARGE: DeviceGlobal<[AtomicU32; 2]> = DeviceGlobal::zeroed();
    #[inline(never)]
    fn count(global: &'static DeviceGlobal<[AtomicU32; 2]>, slot: usize) {
        global[slot].fetch_add(1, Relaxed);
    }
    fn choose(i: usize) -> &'static DeviceGlobal<[AtomicU32; 2]> {
        match i {
            0..5 => &SMALL,
            _ => &LARGE,
        }
    }
    let queue = Queue::new()?;
    queue.parallel_for(12, (), |i, ()| count(choose(i), i % 2))?;
    assert_eq!((queue.read(&SMALL)?, queue.read(&LARGE)?), ([3, 2], [3, 4]));
    Ok(())
}

#[test]
fn an_address_is_kept_for_a_later_kernel() -> Result<()> {
    static CELLS: DeviceGlobal<[AtomicU32; 4]> = DeviceGlobal::zeroed();
    static PLACE: DeviceGlobal<DevicePtr<[AtomicU32; 4]>> = DeviceGlobal::new(DevicePtr::null());
    let queue = Queue::new()?;
    assert!(queue.read(&PLACE)?.is_null());
    queue.single_task(PLACE.exclusive(), |place| *place = CELLS.device_ptr())?;
    queue.parallel_for(4, &PLACE, |i, place| {
        if !place.is_null() {
            // SAFETY: the kernel before, of the same queue, has put the address of atomics there.
            let cells = unsafe { place.as_ref() };
            cells[i].fetch_add(10 + i as u32, Relaxed);
        }
    })?;
    queue.wait()?;
    assert_eq!(queue.read(&CELLS)?, [10, 11, 12, 13]);
    assert!(!queue.read(&PLACE)?.is_null());
    Ok(())
}
