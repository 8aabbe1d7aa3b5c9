//! The local memory of the groups that one thread runs, one after the other.

use std::cell::RefCell;

/// What local memory is aligned to: a cache line, and more than any element asks for.
#[derive(Clone, Copy)]
#[repr(align(128))]
struct Line {
    _bytes: [u8; 128],
}

thread_local! {
    static KEPT: RefCell<Vec<Line>> = const { RefCell::new(Vec::new()) };
}

/// Memory for the groups of a launch on this thread. Every byte is initialised, though not to anything
/// in particular.
pub struct LocalMemory(Vec<Line>);

impl LocalMemory {
    /// What the address of each argument is a multiple of.
    pub const ALIGN: usize = align_of::<Line>();

    /// At least so many bytes.
    #[must_use]
    pub fn take(bytes: usize) -> Self {
        // At the end of a thread there may be nothing left.
        let mut lines = KEPT.try_with(RefCell::take).unwrap_or_default();
        let count = bytes.div_ceil(size_of::<Line>());
        if lines.len() < count {
            lines.resize(count, Line { _bytes: [0; 128] });
        }
        Self(lines)
    }

    /// Its first byte.
    #[must_use]
    pub fn address(&mut self) -> *mut u8 {
        self.0.as_mut_ptr().cast()
    }
}

impl Drop for LocalMemory {
    fn drop(&mut self) {
        // At the end of a thread there is nobody to keep it for.
        let _ = KEPT.try_with(|kept| kept.replace(std::mem::take(&mut self.0)));
    }
}

impl std::fmt::Debug for LocalMemory {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalMemory").finish_non_exhaustive()
    }
}
