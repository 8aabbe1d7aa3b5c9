//! Constant tables of any size: of plain values, of texts, and of device globals.

use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crosscut::Result;
use crosscut::prelude::*;

const ENTRIES: usize = 100_000;

static SQUARES: [u32; ENTRIES] = {
    let mut squares = [0; ENTRIES];
    let mut i = 0;
    while i < ENTRIES {
        squares[i] = (i as u32).wrapping_mul(i as u32);
        i += 1;
    }
    squares
};

#[test]
fn numbers_of_a_large_table_are_read_from_the_first_to_the_last() -> Result<()> {
    let queue = Queue::new()?;
    let mut copies = queue.zeroed::<u32>(ENTRIES)?;
    queue.for_each(&mut copies, (), |i, copy, ()| *copy = SQUARES[i])?;
    assert!(queue.download(&copies)? == SQUARES);
    Ok(())
}

#[test]
fn bytes_that_fill_no_word_are_there_too() -> Result<()> {
    static BYTES: [u8; 70_003] = {
        let mut bytes = [0; 70_003];
        let mut i = 0;
        while i < bytes.len() {
            bytes[i] = (i % 251) as u8;
            i += 1;
        }
        bytes
    };
    let queue = Queue::new()?;
    let mut copies = queue.zeroed::<u8>(BYTES.len())?;
    queue.for_each(&mut copies, (), |i, copy, ()| *copy = BYTES[i])?;
    assert!(queue.download(&copies)? == BYTES);
    Ok(())
}

#[test]
fn texts_are_found_through_a_large_table() -> Result<()> {
    const WORDS: [&str; 3] = ["a", "bc", "def"];
    static TEXTS: [&str; 20_000] = {
        let mut texts = [""; 20_000];
        let mut i = 0;
        while i < texts.len() {
            texts[i] = WORDS[i % 3];
            i += 1;
        }
        texts
    };
    let queue = Queue::new()?;
    let mut ends = queue.zeroed::<u8>(TEXTS.len())?;
    queue.for_each(&mut ends, (), |i, end, ()| {
        *end = TEXTS[i].as_bytes()[TEXTS[i].len() - 1];
    })?;
    let expected: Vec<u8> = (0..TEXTS.len()).map(|i| b"acf"[i % 3]).collect();
    assert!(queue.download(&ends)? == expected);
    Ok(())
}

#[test]
fn a_large_table_of_globals_leads_to_each() -> Result<()> {
    static LEFT: DeviceGlobal<AtomicU32> = DeviceGlobal::zeroed();
    static MIDDLE: DeviceGlobal<AtomicU32> = DeviceGlobal::new(10);
    static RIGHT: DeviceGlobal<AtomicU32> = DeviceGlobal::new(100);
    static TABLE: [&DeviceGlobal<AtomicU32>; ENTRIES] = {
        let mut table = [&LEFT; ENTRIES];
        let mut i = 0;
        while i < ENTRIES {
            table[i] = match i % 7 {
                0 => &MIDDLE,
                1..4 => &RIGHT,
                _ => &LEFT,
            };
            i += 1;
        }
        table
    };
    let queue = Queue::new()?;
    queue.parallel_for(ENTRIES, (), |i, ()| {
        TABLE[i].fetch_add(1, Relaxed);
    })?;
    let count = |kinds: std::ops::Range<usize>| {
        (0..ENTRIES).filter(|i| kinds.contains(&(i % 7))).count() as u32
    };
    assert_eq!(queue.read(&MIDDLE)?, 10 + count(0..1));
    assert_eq!(queue.read(&RIGHT)?, 100 + count(1..4));
    assert_eq!(queue.read(&LEFT)?, count(4..7));
    Ok(())
}

#[test]
fn more_globals_than_are_tried_one_by_one_are_told_apart() -> Result<()> {
    type Cell = DeviceGlobal<[AtomicU32; 2]>;
    static A: Cell = DeviceGlobal::new([1, 0]);
    static B: Cell = DeviceGlobal::new([2, 0]);
    static C: Cell = DeviceGlobal::new([3, 0]);
    static D: Cell = DeviceGlobal::new([4, 0]);
    static E: Cell = DeviceGlobal::new([5, 0]);
    static F: Cell = DeviceGlobal::new([6, 0]);
    static G: Cell = DeviceGlobal::new([7, 0]);
    static H: Cell = DeviceGlobal::new([8, 0]);
    static I: Cell = DeviceGlobal::new([9, 0]);
    static J: Cell = DeviceGlobal::new([10, 0]);
    static ALL: [&Cell; 10] = [&A, &B, &C, &D, &E, &F, &G, &H, &I, &J];
    let queue = Queue::new()?;
    let mut starts = queue.zeroed::<u32>(30)?;
    queue.for_each(&mut starts, (), |i, start, ()| {
        let cell = ALL[i % ALL.len()];
        *start = cell[0].load(Relaxed);
        cell[1].fetch_add(i as u32, Relaxed);
    })?;
    let expected: Vec<u32> = (0..30).map(|i| i % 10 + 1).collect();
    assert_eq!(queue.download(&starts)?, expected);
    for (i, cell) in (0u32..).zip(ALL) {
        assert_eq!(queue.read(cell)?, [i + 1, 3 * i + 30]);
    }
    Ok(())
}

#[test]
fn a_global_out_of_a_table_is_the_same_as_by_name() -> Result<()> {
    static ONE: DeviceGlobal<AtomicU32> = DeviceGlobal::zeroed();
    static TWO: DeviceGlobal<AtomicU32> = DeviceGlobal::zeroed();
    static BOTH: [&DeviceGlobal<AtomicU32>; 5] = [&ONE, &TWO, &TWO, &ONE, &TWO];
    let queue = Queue::new()?;
    let mut same = queue.zeroed::<u32>(5)?;
    queue.for_each(&mut same, (), |i, same, ()| {
        let found = BOTH[i];
        *same = u32::from(ptr::eq(found, &raw const TWO));
        found.fetch_add(1, Relaxed);
        // A choice between what is in a table and what is not.
        let other = if i % 2 == 0 { BOTH[(i + 1) % 5] } else { &TWO };
        other.fetch_add(10, Relaxed);
    })?;
    assert_eq!(queue.download(&same)?, [0, 1, 1, 0, 1]);
    assert_eq!((queue.read(&ONE)?, queue.read(&TWO)?), (2 + 20, 3 + 30));
    Ok(())
}

/// What `choose` gives is chosen at run time, and so is the entry.
fn entries_are_what_was_chosen<const N: usize>(
    table: &'static [&'static DeviceGlobal<AtomicU32>; N],
    kernel: fn(&Queue, &mut Buffer<u32>, &Buffer<u32>) -> Result<Event>,
) -> Result<()> {
    let queue = Queue::new()?;
    let mut same = queue.zeroed::<u32>(N * N)?;
    let numbers: Vec<u32> = (0..N as u32).collect();
    kernel(&queue, &mut same, &queue.upload(&numbers)?)?;
    let expected: Vec<u32> = (0..N * N).map(|i| u32::from(i / N == i % N)).collect();
    assert_eq!(queue.download(&same)?, expected);
    for global in table {
        assert_eq!(queue.read(*global)?, N as u32);
    }
    Ok(())
}

macro_rules! compared {
    ($($test:ident: $count:literal, [$($global:ident),*], $first:ident, $second:ident;)*) => {$(
        #[test]
        fn $test() -> Result<()> {
            $(static $global: DeviceGlobal<AtomicU32> = DeviceGlobal::zeroed();)*
            static TABLE: [&DeviceGlobal<AtomicU32>; $count] = [$(&$global),*];
            entries_are_what_was_chosen(&TABLE, |queue, same, numbers| {
                queue.for_each(same, numbers, |i, same, numbers| {
                    let (one, other) = (numbers[i / $count] as usize, numbers[i % $count] as usize);
                    // By name or from the table: which, only the kernel knows.
                    let chosen = match other {
                        0 => &$first,
                        1 => &$second,
                        _ => TABLE[other],
                    };
                    *same = u32::from(core::ptr::eq(TABLE[one], chosen));
                    chosen.fetch_add(1, Relaxed);
                })
            })
        }
    )*};
}

compared! {
    few_entries_are_compared_with_what_is_chosen_at_run_time: 3, [A, B, C], A, B;
    many_entries_are_compared_with_what_is_chosen_at_run_time:
        11, [A, B, C, D, E, F, G, H, I, J, K], A, B;
}
