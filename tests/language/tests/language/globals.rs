//! Device globals and statics.

use core::sync::atomic::{AtomicI64, AtomicU32, Ordering::Relaxed};

use crosscut::prelude::*;
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
