//! Copies to and from device globals, on the default device.

use std::sync::atomic::{AtomicU16, AtomicU32, Ordering::Relaxed};

use crosscut::prelude::*;
use crosscut::property::{
    HostAccess, HostRead, HostReadWrite, HostWrite, ImplementInCsr, InitMode, InitPolicy, Lazy,
    NoInit, Reset,
};
use crosscut::{ErrorKind, Result};

#[derive(Clone, Copy, Debug, Default, PartialEq, DeviceCopy)]
#[repr(C)]
struct Cell {
    at: [u16; 2],
    weight: f32,
}

#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C, align(256))]
struct Page([u64; 32]);

#[test]
fn parts_are_copied_by_elements_of_arrays_of_any_rank() -> Result<()> {
    static CUBE: DeviceGlobal<[[[i32; 2]; 2]; 2]> = DeviceGlobal::zeroed();
    let queue = Queue::new()?;
    queue.copy_to(&CUBE, &[1, 2, 3], 2)?.wait()?;
    assert_eq!(queue.read(&CUBE)?, [[[0, 0], [1, 2]], [[3, 0], [0, 0]]]);
    let mut part = vec![0; 4];
    queue.copy_from(&CUBE, &mut part, 1)?.wait()?;
    assert_eq!(part, [0, 1, 2, 3]);
    queue.copy_to(&CUBE, &part, 4)?;
    queue.copy_to(&CUBE, &part[3..], 0)?;
    assert_eq!(queue.read(&CUBE)?, [[[3, 0], [1, 2]], [[0, 1], [2, 3]]]);
    Ok(())
}

#[test]
fn structs_in_nested_arrays_are_elements() -> Result<()> {
    const EMPTY: Cell = Cell { at: [0; 2], weight: 0.0 };
    static GRID: DeviceGlobal<[[Cell; 2]; 2]> = DeviceGlobal::new([[EMPTY; 2]; 2]);
    let queue = Queue::new()?;
    let one = Cell { at: [1, 2], weight: 0.5 };
    queue.copy_to(&GRID, &[one], 3)?;
    assert_eq!(queue.read(&GRID)?, [[EMPTY; 2], [EMPTY, one]]);
    queue.single_task(GRID.exclusive(), |grid| grid[0][1] = grid[1][1])?;
    let mut back = [EMPTY; 2];
    queue.copy_from(&GRID, &mut back, 1)?;
    assert_eq!(back, [one, EMPTY]);
    Ok(())
}

#[test]
fn atomics_are_copied_as_plain_numbers_and_never_cut() -> Result<()> {
    static COUNTS: DeviceGlobal<[AtomicU32; 4]> = DeviceGlobal::new([1, 2, 3, 4]);
    let queue = Queue::new()?;
    queue.copy_to(&COUNTS, &[20, 30], 1)?;
    queue.parallel_for(4, (), |i, ()| {
        COUNTS[i].fetch_add(1, Relaxed);
    })?;
    assert_eq!(queue.read(&COUNTS)?, [2, 21, 31, 5]);
    queue.copy_bytes_to(&COUNTS, &9u32.to_ne_bytes(), 12)?;
    let cut = queue.copy_bytes_to(&COUNTS, &[0; 4], 2).unwrap_err();
    assert_eq!(cut.kind(), ErrorKind::Invalid);
    assert_eq!(cut.message(), "4 bytes from byte 2 of a device global cut an atomic of 4 bytes");
    assert_eq!(queue.read(&COUNTS)?, [2, 21, 31, 9]);
    Ok(())
}

#[test]
fn bytes_go_anywhere_in_plain_values() -> Result<()> {
    static WORD: DeviceGlobal<u32> = DeviceGlobal::new(0);
    let queue = Queue::new()?;
    queue.copy_bytes_to(&WORD, &[0xab, 0xcd], 1)?;
    let mut bytes = [0; 3];
    queue.copy_bytes_from(&WORD, &mut bytes, 1)?;
    assert_eq!(bytes, [0xab, 0xcd, 0]);
    Ok(())
}

#[test]
fn what_goes_beyond_the_end_is_refused_at_the_call_and_writes_nothing() -> Result<()> {
    static TABLE: DeviceGlobal<[u16; 3]> = DeviceGlobal::new([1, 2, 3]);
    let queue = Queue::new()?;
    let invalid = |result: Result<Event>, message: &str| {
        let error = result.unwrap_err();
        assert_eq!((error.kind(), error.message()), (ErrorKind::Invalid, message));
        assert!(error.help().is_some());
    };
    invalid(
        queue.copy_to(&TABLE, &[9; 4], 0),
        "4 elements from element 0 on go beyond the end of a `DeviceGlobal<[u16; 3]>`, which has 3",
    );
    invalid(
        queue.copy_to(&TABLE, &[9], 3),
        "1 elements from element 3 on go beyond the end of a `DeviceGlobal<[u16; 3]>`, which has 3",
    );
    invalid(
        queue.copy_to(&TABLE, &[9], usize::MAX),
        "1 elements from element 18446744073709551615 on go beyond the end of a `DeviceGlobal<[u16; 3]>`, which has 3",
    );
    invalid(
        queue.copy_bytes_to(&TABLE, &[9; 2], 5),
        "2 bytes from byte 5 on go beyond the end of a device global of 6 bytes",
    );
    invalid(
        queue.copy_bytes_to(&TABLE, &[9; 2], usize::MAX),
        "2 bytes from byte 18446744073709551615 on go beyond the end of a device global of 6 bytes",
    );
    invalid(
        queue.fill_global(&TABLE, 1..=3, &9),
        "3 elements from element 1 on go beyond the end of a `DeviceGlobal<[u16; 3]>`, which has 3",
    );
    let mut target = [7; 4];
    invalid(
        queue.copy_from(&TABLE, &mut target, 0),
        "4 elements from element 0 on go beyond the end of a `DeviceGlobal<[u16; 3]>`, which has 3",
    );
    let mut bytes = [7; 2];
    let error = queue.copy_bytes_from(&TABLE, &mut bytes, 5).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert_eq!((target, bytes), ([7; 4], [7; 2]));
    assert_eq!(queue.read(&TABLE)?, [1, 2, 3]);
    // Up to the very end, and nothing at the end, is well.
    queue.copy_to(&TABLE, &[5], 2)?;
    queue.copy_to(&TABLE, &[0; 0], 3)?;
    assert_eq!(queue.read(&TABLE)?, [1, 2, 5]);
    Ok(())
}

#[test]
fn fills_set_whole_elements() -> Result<()> {
    static FLOATS: DeviceGlobal<[f32; 5]> = DeviceGlobal::zeroed();
    static WORDS: DeviceGlobal<[[AtomicU16; 2]; 2]> = DeviceGlobal::zeroed();
    let queue = Queue::new()?;
    queue.fill_global(&FLOATS, .., &1.5)?.wait()?;
    queue.fill_global(&FLOATS, 3.., &-2.5)?.wait()?;
    queue.fill_global(&FLOATS, ..1, &0.0)?.wait()?;
    assert_eq!(queue.read(&FLOATS)?, [0.0, 1.5, 1.5, -2.5, -2.5]);
    queue.fill_global(&WORDS, 1..3, &0x1234)?;
    assert_eq!(queue.read(&WORDS)?, [[0, 0x1234], [0x1234, 0]]);
    Ok(())
}

#[test]
fn buffers_are_sources_and_targets() -> Result<()> {
    static TABLE: DeviceGlobal<[u32; 6]> = DeviceGlobal::zeroed();
    let queue = Queue::new()?;
    let source = queue.upload(&[1u32, 2, 3])?;
    queue.copy_to(&TABLE, &source, 2)?.wait()?;
    let mut target = queue.zeroed::<u32>(4)?;
    queue.copy_from(&TABLE, &mut target, 1)?.wait()?;
    assert_eq!(queue.download(&target)?, [0, 1, 2, 3]);
    let error = queue.copy_to(&TABLE, &source, 4).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let device = queue.device();
    let other = Queue::in_context(&device.create_context()?)?;
    assert_eq!(other.copy_to(&TABLE, &source, 0).unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(other.copy_from(&TABLE, &mut target, 0).unwrap_err().kind(), ErrorKind::Invalid);
    Ok(())
}

#[test]
fn a_reset_brings_the_initial_value_back_in_every_context() -> Result<()> {
    static PAIR: DeviceGlobal<[AtomicU32; 2]> = DeviceGlobal::new([3, 4]);
    let first = Queue::new()?;
    let second = Queue::in_context(&first.device().create_context()?)?;
    for queue in [&first, &second] {
        queue.write(&PAIR, &[8, 9])?;
    }
    first.reset(&PAIR)?.wait()?;
    assert_eq!((first.read(&PAIR)?, second.read(&PAIR)?), ([3, 4], [8, 9]));
    second.reset(&PAIR)?.wait()?;
    assert_eq!(second.read(&PAIR)?, [3, 4]);
    Ok(())
}

#[test]
fn large_values_need_no_stack() -> Result<()> {
    static LARGE: DeviceGlobal<[[u64; 1024]; 4096]> = DeviceGlobal::zeroed();
    // 32 MiB on a thread that has one.
    let thread = std::thread::Builder::new().stack_size(1 << 20);
    let run = || {
        let queue = Queue::new()?;
        queue.copy_to(&LARGE, &[7], 1024 * 4096 - 1)?;
        let mut boxed = queue.read_boxed(&LARGE)?;
        assert_eq!((boxed[0][0], boxed[4095][1023]), (0, 7));
        queue.fill_global(&LARGE, .., &1)?.wait()?;
        queue.read_into(&LARGE, &mut boxed)?;
        assert!(boxed.iter().flatten().all(|word| *word == 1));
        Ok(())
    };
    thread.spawn(run).unwrap().join().unwrap()
}

#[test]
fn values_without_bytes_and_with_large_alignment_are_ordinary() -> Result<()> {
    static NOTHING: DeviceGlobal<[u32; 0]> = DeviceGlobal::zeroed();
    static PAGE: DeviceGlobal<Page> = DeviceGlobal::new(Page([5; 32]));
    let queue = Queue::new()?;
    queue.write(&NOTHING, &[])?;
    queue.reset(&NOTHING)?;
    queue.fill_global(&NOTHING, .., &1)?;
    assert_eq!(queue.read(&NOTHING)?, [0; 0]);
    assert_eq!(queue.copy_to(&NOTHING, &[1], 0).unwrap_err().kind(), ErrorKind::Invalid);
    for queue in [&queue, &Queue::in_context(&queue.device().create_context()?)?] {
        let mut aligned = queue.zeroed::<u32>(1)?;
        queue.for_each(&mut aligned, &PAGE, |_, aligned, page| {
            *aligned = u32::from(std::ptr::from_ref(page).addr() % 256 == 0);
        })?;
        assert_eq!(queue.download(&aligned)?, [1]);
        assert_eq!(queue.read(&PAGE)?, Page([5; 32]));
    }
    Ok(())
}

#[test]
fn properties_leave_a_global_as_usable_as_they_say() -> Result<()> {
    static READ: DeviceGlobal<u32, HostAccess<HostRead>> = DeviceGlobal::new(1);
    static WRITTEN: DeviceGlobal<u32, (InitMode<Reset>, HostAccess<HostWrite>)> =
        DeviceGlobal::zeroed();
    static BOTH: DeviceGlobal<u32, (HostAccess<HostReadWrite>, ImplementInCsr<true>)> =
        DeviceGlobal::zeroed();
    let queue = Queue::new()?;
    queue.write(&WRITTEN, &5)?;
    queue.single_task((READ.exclusive(), BOTH.exclusive()), |(read, both)| {
        *read += WRITTEN.get();
        *both = *read;
    })?;
    assert_eq!((queue.read(&READ)?, queue.read(&BOTH)?), (6, 6));
    Ok(())
}

#[test]
fn large_globals_may_leave_their_initial_value_out_of_the_program() -> Result<()> {
    static LAZY: DeviceGlobal<[u8; 1 << 20], InitPolicy<Lazy>> = DeviceGlobal::zeroed();
    static ANY: DeviceGlobal<[AtomicU32; 1 << 18], InitPolicy<NoInit>> = DeviceGlobal::zeroed();
    assert_eq!((size_of_val(&LAZY), size_of_val(&ANY)), (1 << 20, 1 << 20));
    let first = Queue::new()?;
    for queue in [&first, &Queue::in_context(&first.device().create_context()?)?] {
        assert!(queue.read_boxed(&LAZY)?.iter().all(|byte| *byte == 0));
        queue.fill_global(&LAZY, 5..6, &1)?.wait()?;
        queue.reset(&LAZY)?.wait()?;
        assert!(queue.read_boxed(&LAZY)?.iter().all(|byte| *byte == 0));
        queue.fill_global(&ANY, .., &3)?.wait()?;
        queue.parallel_for(1 << 18, (), |i, ()| {
            ANY[i].fetch_add(i as u32, Relaxed);
        })?;
        let any = queue.read_boxed(&ANY)?;
        assert!(any.iter().enumerate().all(|(i, value)| *value == i as u32 + 3));
    }
    Ok(())
}

#[test]
fn a_global_of_a_gibibyte_costs_what_is_used_of_it() -> Result<()> {
    static HUGE: DeviceGlobal<[u8; 1 << 30], InitPolicy<Lazy>> = DeviceGlobal::zeroed();
    let queue = Queue::on(&crosscut::devices()?.remove(0))?;
    if queue.device().backend() != crosscut::Backend::Host {
        // As much memory again for the device, which a test does not ask for.
        return Ok(());
    }
    queue.copy_to(&HUGE, &[7, 8], (1 << 30) - 2)?;
    let mut end = [0; 3];
    queue.copy_from(&HUGE, &mut end, (1 << 30) - 3)?;
    assert_eq!(end, [0, 7, 8]);
    assert_eq!(queue.copy_to(&HUGE, &[1], 1 << 30).unwrap_err().kind(), ErrorKind::Invalid);
    let mut found = queue.zeroed::<u8>(1)?;
    queue.for_each(&mut found, &HUGE, |_, found, huge| *found = huge[(1 << 30) - 1])?;
    assert_eq!(queue.download(&found)?, [8]);
    Ok(())
}
