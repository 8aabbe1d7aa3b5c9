//! Filling memory with a pattern.

/// Writes `pattern` over and over into `size` bytes, a multiple of its length.
///
/// # Safety
/// `target` is writable for `size` bytes, and the pattern is not among them.
pub(crate) unsafe fn repeat(target: *mut u8, pattern: &[u8], size: usize) {
    if let [value] = *pattern {
        // SAFETY: passed on.
        unsafe { target.write_bytes(value, size) };
        return;
    }
    // SAFETY: the size is a multiple of the pattern's length, and not zero.
    unsafe { target.copy_from_nonoverlapping(pattern.as_ptr(), pattern.len()) };
    let mut done = pattern.len();
    while done < size {
        // What is there already is a whole number of patterns.
        let more = done.min(size - done);
        // SAFETY: `more` bytes are filled from the start on, and as many are free behind `done`.
        unsafe { target.wrapping_add(done).copy_from_nonoverlapping(target, more) };
        done += more;
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_pattern_fills_to_the_last_byte() {
        for (length, times) in [(1, 5), (2, 1), (4, 7), (16, 33), (128, 9)] {
            let pattern: Vec<u8> = (1..=length).collect();
            let mut target = vec![0; pattern.len() * times + 1];
            let size = target.len() - 1;
            // SAFETY: the vector has one byte more than is filled.
            unsafe { super::repeat(target.as_mut_ptr(), &pattern, size) };
            assert_eq!(target[..size], pattern.repeat(times));
            assert_eq!(target[size], 0, "a pattern of {length} bytes went too far");
        }
    }
}
