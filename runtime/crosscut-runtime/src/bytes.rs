//! Copies between host memory and memory that native code may use as atomics meanwhile.

use std::mem::MaybeUninit;
use std::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64, Ordering::Relaxed};

/// Gives bytes that may be padding the values that the machine has there.
pub(crate) fn settle(bytes: [MaybeUninit<u8>; 8]) -> [u8; 8] {
    let mut bytes = bytes;
    // SAFETY: touches nothing. To the compiler, assembly that is given an address may write there: it
    // stands for one that writes every byte once more as it is.
    unsafe {
        std::arch::asm!("/* {0} */", in(reg) bytes.as_mut_ptr(), options(nostack, preserves_flags));
    }
    // SAFETY: the assembly has, as far as the language goes, written all eight.
    bytes.map(|byte| unsafe { byte.assume_init() })
}

macro_rules! by_width {
    ($width:expr, $size:expr, $plain:expr, |$atomic:ident, $integer:ident, $offset:ident| $copy:block) => {
        match $width {
            1 => by_width!(@loop $size, AtomicU8, u8, $atomic, $integer, $offset, $copy),
            2 => by_width!(@loop $size, AtomicU16, u16, $atomic, $integer, $offset, $copy),
            4 => by_width!(@loop $size, AtomicU32, u32, $atomic, $integer, $offset, $copy),
            8 => by_width!(@loop $size, AtomicU64, u64, $atomic, $integer, $offset, $copy),
            _ => $plain,
        }
    };
    (@loop $size:expr, $a:ident, $i:ident, $atomic:ident, $integer:ident, $offset:ident, $copy:block) => {{
        type $atomic = $a;
        type $integer = $i;
        let mut $offset = 0;
        while $offset < $size {
            $copy
            $offset += size_of::<$integer>();
        }
    }};
}

/// Copies `size` bytes to `target`, which others may use as atomics of `width` bytes; 0 if nobody
/// uses it.
///
/// # Safety
/// `source` is readable and `target` writable for `size` bytes, a multiple of `width`; `target` is
/// aligned to `width`; nobody changes `source`, and others touch `target` as such atomics only.
pub(crate) unsafe fn store(source: *const u8, target: *mut u8, size: usize, width: usize) {
    by_width!(
        width,
        size,
        // SAFETY: by the contract above; width 0 means that nobody else uses the target.
        unsafe { target.copy_from(source, size) },
        |Atomic, Integer, offset| {
            // SAFETY: inside the source, by the contract above.
            let value = unsafe { source.wrapping_add(offset).cast::<Integer>().read_unaligned() };
            // SAFETY: aligned, inside the target, and used as atomics only, by the contract above.
            let atomic = unsafe { Atomic::from_ptr(target.wrapping_add(offset).cast()) };
            atomic.store(value, Relaxed);
        }
    );
}

/// Copies `size` bytes from `source`, which others may use as atomics of `width` bytes; 0 if nobody
/// writes it.
///
/// # Safety
/// As [`store`], the other way round.
pub(crate) unsafe fn load(source: *const u8, target: *mut u8, size: usize, width: usize) {
    by_width!(
        width,
        size,
        // SAFETY: by the contract above; width 0 means that nobody writes the source.
        unsafe { target.copy_from(source, size) },
        |Atomic, Integer, offset| {
            // SAFETY: aligned, inside the source, and used as atomics only, by the contract above.
            let atomic = unsafe { Atomic::from_ptr(source.wrapping_add(offset).cast_mut().cast()) };
            let value = atomic.load(Relaxed);
            // SAFETY: inside the target, by the contract above.
            unsafe { target.wrapping_add(offset).cast::<Integer>().write_unaligned(value) };
        }
    );
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_width_copies_every_byte() {
        let source: Vec<u64> = (0..5).map(|i| 0x0102_0304_0506_0708 * (i + 1)).collect();
        for width in [0, 1, 2, 4, 8] {
            let (mut there, mut back) = ([0u64; 5], [0u64; 5]);
            // SAFETY: arrays of 40 bytes of this thread, aligned to 8.
            unsafe { super::store(source.as_ptr().cast(), there.as_mut_ptr().cast(), 40, width) };
            // SAFETY: as above.
            unsafe { super::load(there.as_ptr().cast(), back.as_mut_ptr().cast(), 40, width) };
            assert_eq!(back.as_slice(), source, "width {width}");
        }
    }
}
