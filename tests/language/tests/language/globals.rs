//! Device globals and statics.

use core::sync::atomic::{AtomicI64, AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

use crosscut::AtomicF32;
use crosscut::prelude::*;
use crosscut::property::DeviceImageScope;
use crosscut_language::{agree, map};

#[test]
fn a_global_counts_across_launches() {
    static COUNT: DeviceGlobal<AtomicU32> = DeviceGlobal::zeroed();
    let counts = agree(|queue| {
        queue.write(&COUNT, &5)?;
        for _ in 0..3 {
            queue.parallel_for(10, (), |i, ()| {
                COUNT.fetch_add(i as u32, Relaxed);
            })?;
        }
        Ok(vec![queue.read(&COUNT)?])
    });
    assert_eq!(counts, [5 + 3 * 45]);
}

#[test]
fn a_table_is_an_argument_and_a_copy() {
    static TABLE: DeviceGlobal<[[f32; 4]; 3]> =
        DeviceGlobal::new([[1.0, 2.0, 3.0, 4.0], [0.5; 4], [-1.0, 0.0, 1.0, 9.0]]);
    agree(|queue| {
        let mut out = queue.zeroed::<[f32; 2]>(12)?;
        queue.for_each(&mut out, &TABLE, |i, out, table| {
            let copy = TABLE.get();
            *out = [table[i % 3][i % 4], copy[i / 4].iter().sum()];
        })?;
        queue.download(&out)
    });
}

#[test]
fn one_of_several_globals_is_chosen_at_run_time() {
    static ODD: DeviceGlobal<AtomicI64> = DeviceGlobal::zeroed();
    static EVEN: DeviceGlobal<AtomicI64> = DeviceGlobal::zeroed();
    let sums = agree(|queue| {
        queue.write(&ODD, &0)?;
        queue.write(&EVEN, &0)?;
        queue.parallel_for(101, (), |i, ()| {
            if i % 2 == 0 {
                EVEN.fetch_add(i as i64, Relaxed);
            } else {
                ODD.fetch_sub(i as i64, Relaxed);
            }
        })?;
        Ok(vec![queue.read(&ODD)?, queue.read(&EVEN)?])
    });
    assert_eq!(sums, [-2500, 2550]);
}

#[test]
fn a_single_task_changes_a_global_exclusively() {
    static STATE: DeviceGlobal<[u64; 8]> = DeviceGlobal::zeroed();
    let states = agree(|queue| {
        queue.write(&STATE, &[1; 8])?;
        queue.single_task(STATE.exclusive(), |state| {
            for i in 2..8 {
                state[i] = state[i - 1] + state[i - 2];
            }
        })?;
        Ok(vec![queue.read(&STATE)?])
    });
    assert_eq!(states, [[1, 1, 2, 3, 5, 8, 13, 21]]);
}

#[test]
fn plain_constant_statics_are_read() {
    static PRIMES: [u16; 5] = [2, 3, 5, 7, 11];
    static TEXT: &str = "statics";
    static NEGATIVE: i8 = -5;
    map(&[0u32, 1, 2, 3, 4], |i| {
        let i = i as usize;
        [i32::from(PRIMES[i]), i32::from(TEXT.as_bytes()[i]), i32::from(NEGATIVE) * i as i32]
    });
}

#[test]
fn several_globals_in_one_static_are_several() {
    struct Totals {
        count: DeviceGlobal<AtomicU32>,
        sums: [DeviceGlobal<AtomicU64>; 2],
        factors: DeviceGlobal<[u32; 3]>,
    }
    static TOTALS: Totals = Totals {
        count: DeviceGlobal::new(7),
        sums: [DeviceGlobal::new(20), DeviceGlobal::new(30)],
        factors: DeviceGlobal::new([1, 2, 3]),
    };
    let totals = agree(|queue| {
        queue.reset(&TOTALS.count)?;
        queue.reset(&TOTALS.sums[0])?;
        queue.reset(&TOTALS.sums[1])?;
        queue.parallel_for(10, (), |i, ()| {
            TOTALS.count.fetch_add(1, Relaxed);
            TOTALS.sums[0].fetch_add(i as u64, Relaxed);
            TOTALS.sums[1].fetch_add(u64::from(TOTALS.factors.get()[i % 3]), Relaxed);
        })?;
        let sums = [queue.read(&TOTALS.sums[0])?, queue.read(&TOTALS.sums[1])?];
        Ok(vec![u64::from(queue.read(&TOTALS.count)?), sums[0], sums[1]])
    });
    assert_eq!(totals, [17, 65, 49]);
}

#[test]
fn one_of_a_pair_of_globals_is_changed_and_the_other_is_not() {
    static PAIR: (DeviceGlobal<AtomicU32>, DeviceGlobal<AtomicU32>) =
        (DeviceGlobal::zeroed(), DeviceGlobal::new(5));
    let pair = agree(|queue| {
        queue.write(&PAIR.0, &1)?;
        queue.write(&PAIR.1, &2)?;
        queue.parallel_for(10, (), |i, ()| {
            if i < 4 {
                PAIR.1.fetch_add(1, Relaxed);
            } else {
                PAIR.0.fetch_add(100, Relaxed);
            }
        })?;
        Ok(vec![queue.read(&PAIR.0)?, queue.read(&PAIR.1)?])
    });
    assert_eq!(pair, [601, 6]);
}

#[test]
fn every_byte_of_a_variable_of_the_image_is_its_own() {
    static BYTES: DeviceGlobal<[AtomicU8; 6], DeviceImageScope> = DeviceGlobal::zeroed();
    static PAIRS: DeviceGlobal<[AtomicU16; 4], DeviceImageScope> = DeviceGlobal::zeroed();
    let found = agree(|queue| {
        queue.reset(&BYTES)?;
        queue.reset(&PAIRS)?;
        queue.single_task((), |()| {
            BYTES[1].store(7, Relaxed);
            BYTES[2].fetch_add(BYTES[1].load(Relaxed) + 2, Relaxed);
            let _ = BYTES[3].compare_exchange(0, 11, Relaxed, Relaxed);
            BYTES[5].fetch_max(13, Relaxed);
            PAIRS[1].store(700, Relaxed);
            PAIRS[2].swap(PAIRS[1].load(Relaxed) + 200, Relaxed);
            let _ = PAIRS[3].compare_exchange(0, 1100, Relaxed, Relaxed);
        })?;
        let (bytes, pairs) = (queue.read(&BYTES)?, queue.read(&PAIRS)?);
        Ok(bytes.map(u16::from).into_iter().chain(pairs).collect())
    });
    assert_eq!(found, [0, 7, 9, 11, 0, 13, 0, 700, 900, 1100]);
}

#[test]
fn elements_of_a_variable_of_the_image_may_be_wide_or_odd() {
    static WIDE: DeviceGlobal<[u128; 4], DeviceImageScope> =
        DeviceGlobal::new([1, 2 << 70, 3 << 90, 4]);
    static ODD: DeviceGlobal<[[u8; 3]; 4], DeviceImageScope> =
        DeviceGlobal::new([[1, 2, 3], [4, 5, 6], [7, 8, 9], [10, 11, 12]]);
    agree(|queue| {
        queue.reset(&WIDE)?;
        queue.reset(&ODD)?;
        let mut out = queue.zeroed::<u128>(3)?;
        queue.for_each(&mut out, (), |i, out, ()| {
            let odd = ODD.get()[2];
            *out = WIDE.get()[2] + WIDE.get()[1] + (odd[i] as u128);
        })?;
        queue.single_task(WIDE.exclusive(), |wide| wide[3] += wide[2] << 3)?;
        queue.single_task(ODD.exclusive(), |odd| odd[1] = odd[2])?;
        let odd = queue.read(&ODD)?;
        let mut all = queue.download(&out)?;
        all.extend(queue.read(&WIDE)?);
        all.extend(odd.concat().into_iter().map(u128::from));
        Ok(all)
    });
}

#[test]
fn every_one_of_many_narrow_atomics_is_found_in_a_loop() {
    static PAIRS: DeviceGlobal<[AtomicU16; 64]> = DeviceGlobal::zeroed();
    static BYTES: DeviceGlobal<[AtomicU8; 64], DeviceImageScope> = DeviceGlobal::zeroed();
    let found = agree(|queue| {
        queue.write(&PAIRS, &std::array::from_fn(|n| 1000 + n as u16))?;
        queue.write(&BYTES, &std::array::from_fn(|n| 1 + n as u8))?;
        let mut out = queue.zeroed::<[u16; 64]>(2)?;
        queue.for_each(&mut out, (), |_, out, ()| {
            for n in 0..64 {
                out[n] = PAIRS[n].load(Relaxed) + u16::from(BYTES[n].load(Relaxed));
            }
        })?;
        Ok(queue.download(&out)?.concat())
    });
    assert!(found.iter().enumerate().all(|(n, found)| usize::from(*found) == 1001 + n % 64 * 2));
}

#[test]
fn kernels_of_one_image_share_globals_of_both_scopes() {
    static OWN: DeviceGlobal<[u32; 2], DeviceImageScope> = DeviceGlobal::new([1, 2]);
    static SHARED: DeviceGlobal<[u32; 2]> = DeviceGlobal::new([10, 20]);
    let found = agree(|queue| {
        let mut out = queue.zeroed::<u32>(2)?;
        queue.for_each(&mut out, (), |i, out, ()| *out = OWN.get()[i] + SHARED.get()[i])?;
        queue.for_each(&mut out, (), |i, out, ()| *out += OWN.get()[1 - i] * SHARED.get()[i])?;
        queue.download(&out)
    });
    assert_eq!(found, [31, 42]);
}

#[test]
fn a_global_is_kept_through_a_loop() {
    static LARGE: DeviceGlobal<AtomicU32> = DeviceGlobal::zeroed();
    static SMALL: DeviceGlobal<AtomicU32> = DeviceGlobal::zeroed();
    let sums = agree(|queue| {
        queue.write(&LARGE, &0)?;
        queue.write(&SMALL, &0)?;
        let x = queue.upload(&[1u32, 5, 2, 9, 3, 3, 7, 0])?;
        queue.parallel_for(8, &x, |i, x| {
            let mut last: Option<&'static DeviceGlobal<AtomicU32>> = None;
            for &x in &x[..i] {
                if x > 6 {
                    last = Some(&LARGE);
                } else if x > 4 {
                    last = Some(&SMALL);
                }
            }
            if let Some(last) = last {
                last.fetch_add(1 + x[i], Relaxed);
            }
        })?;
        Ok(vec![queue.read(&LARGE)?, queue.read(&SMALL)?])
    });
    assert_eq!(sums, [17, 13]);
}

/// In debug builds the address of an element is an expression, whose offset counts bytes.
#[test]
fn every_atomic_of_an_element_with_image_scope_is_where_it_says() {
    static WIDE: DeviceGlobal<[AtomicU64; 8], DeviceImageScope> = DeviceGlobal::zeroed();
    static WORDS: DeviceGlobal<[AtomicU32; 8], DeviceImageScope> = DeviceGlobal::zeroed();
    static FLOATS: DeviceGlobal<[AtomicF32; 4], DeviceImageScope> = DeviceGlobal::zeroed();
    let found = agree(|queue| {
        queue.write(&WIDE, &[1; 8])?;
        queue.write(&WORDS, &[1; 8])?;
        queue.write(&FLOATS, &[1.0; 4])?;
        queue.single_task((), |()| {
            WIDE[1].swap(0, Relaxed);
            FLOATS[3].fetch_add(1.5, Relaxed);
        })?;
        queue.single_task((), |()| {
            WIDE[2].fetch_add(5, Relaxed);
        })?;
        queue.single_task((), |()| {
            WIDE[3].store(WORDS[7].load(Relaxed).into(), Relaxed);
            WIDE[4].fetch_max(11, Relaxed);
            let _ = WIDE[5].compare_exchange(1, 9, Relaxed, Relaxed);
        })?;
        queue.single_task((), |()| {
            WORDS[1].swap(0, Relaxed);
            WORDS[2].fetch_sub(5, Relaxed);
            WORDS[3].fetch_nand(3, Relaxed);
            let _ = WORDS[4].compare_exchange(1, 9, Relaxed, Relaxed);
            FLOATS[1].fetch_min(0.5, Relaxed);
        })?;
        let floats = queue.read(&FLOATS)?.map(|float| u64::from(float.to_bits()));
        let words = queue.read(&WORDS)?.map(u64::from);
        Ok([queue.read(&WIDE)?.as_slice(), &words, &floats].concat())
    });
    assert_eq!(found[..8], [1, 0, 6, 1, 11, 9, 1, 1]);
}

/// Some letters of a name are words of LLVM's.
#[test]
#[allow(non_upper_case_globals, reason = "the name counts")]
fn a_global_may_be_called_anything() {
    static is_null: DeviceGlobal<AtomicU32> = DeviceGlobal::zeroed();
    static undef: DeviceGlobal<AtomicU32> = DeviceGlobal::zeroed();
    let counts = agree(|queue| {
        queue.write(&is_null, &0)?;
        queue.write(&undef, &0)?;
        queue.parallel_for(9, (), |i, ()| {
            let mut last: Option<&'static DeviceGlobal<AtomicU32>> = None;
            for k in 0..i {
                if k % 3 == 1 {
                    last = Some(&is_null);
                } else if k % 3 == 2 {
                    last = Some(&undef);
                }
            }
            if let Some(last) = last {
                last.fetch_add(i as u32, Relaxed);
            }
        })?;
        Ok(vec![queue.read(&is_null)?, queue.read(&undef)?])
    });
    assert_eq!(counts.iter().sum::<u32>(), (2..9).sum::<u32>());
}

#[test]
fn the_address_of_a_global_is_a_number() {
    static ONE: DeviceGlobal<[AtomicU32; 4]> = DeviceGlobal::zeroed();
    static OTHER: DeviceGlobal<[AtomicU32; 4]> = DeviceGlobal::zeroed();
    let answers = agree(|queue| {
        let mut out = queue.zeroed::<[u64; 3]>(4)?;
        queue.for_each(&mut out, (), |i, out, ()| {
            ONE[i].fetch_add(1, Relaxed);
            OTHER[i].fetch_add(1, Relaxed);
            let (one, other) = (&raw const ONE as u64, &raw const OTHER as u64);
            let chosen = if i % 2 == 0 { one } else { other };
            *out = [chosen ^ other ^ one, u64::from(one ^ other == 0), one + i as u64 - one];
            // The number of one of them, of which there are two: which is told by the others.
            out[0] = u64::from(out[0] == other) + 2 * u64::from(out[0] == one);
        })?;
        queue.download(&out)
    });
    assert_eq!(answers, [[1, 0, 0], [2, 0, 1], [1, 0, 2], [2, 0, 3]]);
}

#[test]
fn the_address_of_an_element_of_the_image_is_kept_in_an_atomic() {
    static KEPT: DeviceGlobal<AtomicU64, DeviceImageScope> = DeviceGlobal::zeroed();
    static DATA: DeviceGlobal<[AtomicU64; 4], DeviceImageScope> = DeviceGlobal::zeroed();
    let answers = agree(|queue| {
        let mut out = queue.zeroed::<u64>(4)?;
        queue.parallel_for(4, (), |i, ()| {
            DATA[i].fetch_add(i as u64, Relaxed);
            if i == 2 {
                KEPT.store(&raw const DATA[2] as u64, Relaxed);
            }
        })?;
        queue.for_each(&mut out, (), |i, out, ()| {
            let is_here = &raw const DATA[i] as u64 == KEPT.load(Relaxed);
            *out = DATA[i].swap(0, Relaxed) + 10 * u64::from(is_here);
        })?;
        queue.download(&out)
    });
    assert_eq!(answers, [0, 1, 12, 3]);
}
