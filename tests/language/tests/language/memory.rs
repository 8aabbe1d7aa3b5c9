//! Moving bytes about.

use core::cell::Cell;
use core::mem::{self, MaybeUninit};

use crosscut::prelude::*;
use crosscut_language::map;

#[derive(Clone, Copy, Debug, PartialEq, DeviceCopy)]
#[repr(C)]
struct Particle {
    position: [f32; 3],
    charge: i16,
    kind: u8,
    flags: u8,
}

fn particles() -> Vec<Particle> {
    (0..20u8)
        .map(|i| Particle {
            position: [f32::from(i), 0.5, -1.0],
            charge: -i16::from(i),
            kind: i % 3,
            flags: 0xf0 | i,
        })
        .collect()
}

#[test]
fn structs_travel_whole() {
    map(&particles(), |particle| {
        let mut other = Particle { charge: 7, ..particle };
        other.position[1] *= 2.0;
        let [x, _, z] = &mut other.position;
        mem::swap(x, z);
        other.flags = !other.flags;
        other
    });
}

#[test]
fn swap_replace_and_take() {
    map(&[[1u64, 2, 3, 4], [9, 8, 7, 6]], |mut row| {
        let (left, right) = row.split_at_mut(2);
        left.swap_with_slice(right);
        let taken = mem::take(&mut row[1]);
        let replaced = mem::replace(&mut row[2], taken * 10);
        [row[0], row[1], row[2], row[3], taken, replaced]
    });
}

#[test]
fn arrays_without_initial_values() {
    map(&[3usize, 0, 16], |n| {
        let mut cells = [const { MaybeUninit::<u32>::uninit() }; 16];
        for (i, cell) in cells[..n].iter_mut().enumerate() {
            cell.write(i as u32 * 3);
        }
        // SAFETY: the first `n` cells were just written.
        cells[..n].iter().map(|cell| unsafe { cell.assume_init() }).sum::<u32>()
    });
}

#[test]
fn bytes_of_numbers() {
    map(&[0x0123_4567_89ab_cdefu64, u64::MAX, 1], |x| {
        let low = (x as u32).to_le_bytes();
        let high = ((x >> 32) as u32).to_be_bytes();
        let mixed = u64::from_ne_bytes([
            low[0], high[3], low[1], high[2], low[2], high[1], low[3], high[0],
        ]);
        let short = u16::from_be_bytes([low[0], high[0]]);
        // SAFETY: every pattern of bits is a number.
        let reals: [f32; 2] = unsafe { mem::transmute(x) };
        let [a, b] = reals.map(f32::to_bits);
        [mixed, u64::from(short), u64::from(a ^ b), f64::from_bits(x).to_bits().count_ones().into()]
    });
}

#[test]
fn large_local_arrays() {
    map(&[1u32, 17, 255], |seed| {
        let mut sieve = [true; 1024];
        for i in 2..32 {
            if sieve[i] {
                for j in (i * i..1024).step_by(i) {
                    sieve[j] = false;
                }
            }
        }
        let mut words = [0u64; 128];
        for (i, word) in words.iter_mut().enumerate() {
            *word = u64::from(seed) * i as u64;
        }
        let copy = words;
        words.rotate_right(seed as usize % 128);
        let primes = sieve[2..].iter().filter(|prime| **prime).count() as u64;
        [
            primes,
            words[3],
            copy[5],
            words.iter().fold(0, |all, word| all ^ word),
            u64::from(words == copy),
        ]
    });
}

#[test]
fn raw_copies_may_overlap() {
    map(&[[1u8, 2, 3, 4, 5, 6, 7, 8, 9]], |mut bytes| {
        let start = bytes.as_mut_ptr();
        let (from, to) = (start.wrapping_add(1), start.wrapping_add(3));
        // SAFETY: five bytes from each are inside the array.
        unsafe { core::ptr::copy(from, to, 5) };
        // SAFETY: the array has nine bytes; a word need not be aligned.
        let word = unsafe { to.cast::<u32>().read_unaligned() };
        // SAFETY: as above, for writing.
        unsafe { start.cast::<u16>().write_unaligned(word as u16) };
        bytes
    });
}

#[test]
fn cells_change_behind_shared_references() {
    map(&[5u32, 6], |x| {
        let cell = Cell::new(x);
        let add = |n: u32| cell.set(cell.get() + n);
        add(10);
        add(20);
        let shared = core::cell::RefCell::new([x; 3]);
        shared.borrow_mut()[1] = cell.get();
        let sum: u32 = shared.borrow().iter().sum();
        [cell.replace(1), cell.get(), sum]
    });
}

#[test]
fn odd_sizes_are_copied_whole() {
    map(&[[1u8, 2, 3, 4, 5, 6, 7], [255; 7]], |seven| {
        let pairs = [seven, seven.map(|x| x ^ 0x55), [0; 7]];
        let chosen = pairs[usize::from(seven[0]) % 3];
        let three: [u8; 3] = [chosen[6], chosen[0], chosen[3]];
        let (five, tuple) = ([three[0], 9, three[1], 8, three[2]], (three, 7u16));
        let option = if five[0] > 100 { Some(five) } else { None };
        let five = option.unwrap_or([tuple.0[2]; 5]);
        [five, [seven[1], tuple.1 as u8, three[1], 0, u8::from(option.is_some())]]
    });
}

#[test]
fn truth_values_live_in_memory() {
    map(&[0b1011_0010u32, 0, u32::MAX], |bits| {
        let flags: [bool; 32] = core::array::from_fn(|i| bits >> i & 1 == 1);
        let mut runs = 0;
        let mut last = false;
        for flag in flags {
            runs += u32::from(flag && !last);
            last = flag;
        }
        let any = flags.contains(&true);
        [
            runs,
            u32::from(any),
            u32::from(flags[1] & flags[4] ^ flags[7]),
            flags.iter().filter(|&&flag| flag).count() as u32,
        ]
    });
}
