//! Atomics of 8 to 64 bits, integers and floating-point numbers.

use core::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release, SeqCst};
use core::sync::atomic::{
    AtomicI8, AtomicI16, AtomicI32, AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64,
    AtomicUsize, fence,
};

use crosscut::prelude::*;
use crosscut_language::{agree, map};

const ITEMS: usize = 1000;

macro_rules! widths {
    ($($name:ident: $atomic:ident, $plain:ident;)*) => {$(
        #[test]
        fn $name() {
            agree(|queue| {
                let cells = queue.zeroed::<$atomic>(16)?;
                queue.parallel_for(ITEMS, &cells, |i, cells| {
                    let n = i as $plain;
                    // Answers that do not depend on the order of items.
                    cells[0].fetch_add(n, Relaxed);
                    cells[1].fetch_sub(n, AcqRel);
                    cells[2].fetch_or(1 << (i % 7), Release);
                    cells[3].fetch_xor(n, Acquire);
                    cells[4].fetch_max(n, SeqCst);
                    cells[5].fetch_min(n, Relaxed);
                    cells[6].fetch_and(n, Relaxed);
                    cells[7].store(9, Release);
                    let _ = cells[8].fetch_update(SeqCst, Relaxed, |x| Some((x + 1) % 97));
                    let mut seen = cells[9].load(Acquire);
                    while let Err(now) = cells[9].compare_exchange_weak(seen, seen.wrapping_add(3), AcqRel, Relaxed) {
                        seen = now;
                    }
                    if cells[10].compare_exchange(0, 1, SeqCst, SeqCst).is_ok() {
                        cells[11].fetch_add(1, SeqCst);
                    }
                    cells[12].swap(5, SeqCst);
                    cells[13].fetch_nand(0, Relaxed);
                })?;
                queue.download(&cells)
            });
        }
    )*};
}

widths! {
    of_8_bits: AtomicU8, u8;
    of_8_bits_signed: AtomicI8, i8;
    of_16_bits: AtomicU16, u16;
    of_16_bits_signed: AtomicI16, i16;
    of_32_bits: AtomicU32, u32;
    of_32_bits_signed: AtomicI32, i32;
    of_64_bits: AtomicU64, u64;
    of_64_bits_signed: AtomicI64, i64;
    of_pointer_size: AtomicUsize, usize;
}

#[test]
fn every_item_draws_its_own_ticket() {
    let drawn = agree(|queue| {
        let next = queue.zeroed::<AtomicU32>(1)?;
        let tickets = queue.zeroed::<AtomicU8>(ITEMS)?;
        queue.parallel_for(ITEMS, (&next, &tickets), |_, (next, tickets)| {
            let ticket = next[0].fetch_add(1, Relaxed);
            tickets[ticket as usize].fetch_add(1, Relaxed);
        })?;
        queue.download(&tickets)
    });
    assert_eq!(drawn, [1; ITEMS]);
}

#[test]
fn floating_point_sums_by_compare_and_exchange() {
    let sums = agree(|queue| {
        let cells = queue.zeroed::<AtomicU32>(1)?;
        queue.parallel_for(ITEMS, &cells, |i, cells| {
            let _ = cells[0].fetch_update(Relaxed, Relaxed, |bits| {
                Some((f32::from_bits(bits) + i as f32).to_bits())
            });
        })?;
        queue.download(&cells)
    });
    assert_eq!(f32::from_bits(sums[0]), 499_500.0);
}

macro_rules! floats {
    ($($name:ident: $atomic:ident, $float:ident;)*) => {$(
        #[test]
        fn $name() {
            static LARGEST: DeviceGlobal<[crosscut::$atomic; 2]> = DeviceGlobal::zeroed();
            let cells = agree(|queue| {
                queue.write(&LARGEST, &[0.0; 2])?;
                let cells = queue.zeroed::<crosscut::$atomic>(8)?;
                queue.parallel_for(ITEMS, &cells, |i, cells| {
                    let x = i as $float;
                    // Small whole numbers add up exactly in any order.
                    cells[0].fetch_add(x, Relaxed);
                    cells[1].fetch_sub(x, AcqRel);
                    cells[2].fetch_max(x * 0.5, SeqCst);
                    cells[3].fetch_min(-x, Release);
                    cells[4].store(2.5, Release);
                    let _ = cells[5].fetch_update(SeqCst, Acquire, |seen| Some(seen + 1.0));
                    if cells[6].compare_exchange(0.0, -1.0, AcqRel, Relaxed).is_ok() {
                        cells[7].swap(cells[4].load(Acquire) + 1.0, Relaxed);
                    }
                    LARGEST[i % 2].fetch_max(x, Relaxed);
                })?;
                let mut cells = queue.download(&cells)?;
                cells.extend(queue.read(&LARGEST)?);
                Ok(cells)
            });
            assert_eq!(cells, [499_500.0, -499_500.0, 499.5, -999.0, 2.5, 1000.0, -1.0, 3.5, 998.0, 999.0]);
        }
    )*};
}

floats! {
    of_floating_point_numbers_of_32_bits: AtomicF32, f32;
    of_floating_point_numbers_of_64_bits: AtomicF64, f64;
}

#[test]
fn fences_order_one_items_own_accesses() {
    agree(|queue| {
        let cells = queue.zeroed::<AtomicU64>(ITEMS * 2)?;
        queue.parallel_for(ITEMS, &cells, |i, cells| {
            cells[2 * i].store(i as u64 + 7, Relaxed);
            fence(SeqCst);
            let seen = cells[2 * i].load(Relaxed);
            fence(Release);
            cells[2 * i + 1].store(seen * 2, Relaxed);
            fence(Acquire);
        })?;
        queue.download(&cells)
    });
}

#[test]
fn of_every_scope() {
    use crosscut::{AtomicF32, Scope, in_scope};
    let found = agree(|queue| {
        let (cells, sum) = (queue.zeroed::<AtomicU32>(4)?, queue.zeroed::<AtomicF32>(1)?);
        let narrow = queue.zeroed::<AtomicU8>(1)?;
        queue.parallel_for(ITEMS, (&cells, &sum, &narrow), |i, (cells, sum, narrow)| {
            let n = i as u32;
            in_scope(Scope::Device, || cells[0].fetch_add(n, Relaxed));
            let before = in_scope(Scope::System, || {
                fence(AcqRel);
                narrow[0].fetch_or(1, Relaxed);
                in_scope(Scope::Device, || sum[0].fetch_add(1.0, Relaxed));
                if n.is_multiple_of(2) {
                    cells[1].fetch_max(n, SeqCst)
                } else {
                    cells[1].load(Acquire)
                }
            });
            // One item: whatever the scope, it sees its own work.
            if i == 0 {
                in_scope(Scope::WorkGroup, || cells[2].store(7, Release));
                in_scope(Scope::WorkGroup, || fence(SeqCst));
                let seen = in_scope(Scope::WorkGroup, || cells[2].swap(8, AcqRel));
                cells[3].store(seen + u32::from(before > n), Relaxed);
            }
        })?;
        let mut found = queue.download(&cells)?;
        // The one thing that depends on the order of items.
        found[3] = u32::from(found[3] == 7 || found[3] == 8);
        found.push(queue.download(&sum)?[0] as u32);
        found.push(queue.download(&narrow)?[0].into());
        Ok(found)
    });
    assert_eq!(found, [499_500, 998, 8, 1, 1000, 1]);
}

#[test]
fn atomics_of_a_single_item_are_plain_memory() {
    use core::sync::atomic::AtomicBool;
    map(&[3u32, 4, 5], |n| {
        let (counter, flag) = (AtomicU32::new(n), AtomicBool::new(false));
        let before = counter.fetch_add(2, SeqCst);
        let was = flag.swap(true, AcqRel) | flag.fetch_and(n > 3, Relaxed);
        let not = flag.fetch_not(Relaxed);
        [
            before,
            counter.load(Acquire),
            u32::from(was),
            u32::from(not),
            u32::from(flag.load(SeqCst)),
            counter.into_inner(),
        ]
    });
}

#[test]
fn atomics_in_arrays_of_arrays() {
    static GRID: DeviceGlobal<[[AtomicU16; 5]; 3]> = DeviceGlobal::zeroed();
    let counts = agree(|queue| {
        queue.write(&GRID, &[[0; 5]; 3])?;
        queue.parallel_for(ITEMS, (), |i, ()| {
            GRID[i % 3][i % 5].fetch_add(1, Relaxed);
        })?;
        Ok(vec![queue.read(&GRID)?])
    });
    assert_eq!(counts[0].iter().flatten().map(|&n| usize::from(n)).sum::<usize>(), ITEMS);
}

#[test]
fn a_lock_is_waited_for() {
    static LOCK: DeviceGlobal<AtomicU32> = DeviceGlobal::zeroed();
    let locks = agree(|queue| {
        queue.write(&LOCK, &0)?;
        queue.single_task((), |()| {
            while LOCK.compare_exchange_weak(0, 1, Acquire, Relaxed).is_err() {
                core::hint::spin_loop();
            }
            LOCK.store(5, Release);
        })?;
        Ok(vec![queue.read(&LOCK)?])
    });
    assert_eq!(locks, [5]);
}

/// The word around the last ones is not theirs alone, or is not all there.
#[test]
fn narrow_ones_at_the_end_of_their_memory() {
    for count in 1..8 {
        agree(|queue| {
            let bytes = queue.zeroed::<AtomicU8>(count)?;
            let pairs = queue.zeroed::<AtomicI16>(count)?;
            queue.parallel_for(1000, (&bytes, &pairs), move |i, (bytes, pairs)| {
                bytes[i % count].fetch_add(i as u8, Relaxed);
                pairs[i % count].fetch_max(i as i16, Relaxed);
            })?;
            let (bytes, pairs) = (queue.download(&bytes)?, queue.download(&pairs)?);
            Ok(bytes.into_iter().map(i16::from).chain(pairs).collect())
        });
    }
}

#[test]
fn narrow_ones_at_the_end_of_local_memory() {
    agree(|queue| {
        let mut y = queue.zeroed::<u32>(24)?;
        let range = NdRange::new(24, 8);
        queue.parallel_for(range, (&mut y, Local::new(3)), |item, (y, mut counts)| {
            let counts: &[AtomicU8] = counts.fill(&item, |_| AtomicU8::new(0));
            counts[item.local() % 3].fetch_add(item.global() as u8, Relaxed);
            item.barrier();
            *y = counts.iter().map(|count| u32::from(count.load(Relaxed))).sum();
        })?;
        queue.download(&y)
    });
}
