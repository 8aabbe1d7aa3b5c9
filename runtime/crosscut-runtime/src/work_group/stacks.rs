//! Stacks for the items of a group, kept by each thread for its next group, as long as all threads together
//! have not too many.

use std::cell::RefCell;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};

use corosensei::stack::{self, DefaultStack, StackPointer};

/// The bytes of one stack. Only what is touched takes memory; below it is a page that nobody may touch,
/// so that an overflow ends the process instead of writing over another item's stack.
const SIZE: usize = 512 * 1024;
/// How far apart the first bytes of neighbouring stacks are within a page. Stacks begin at pages, and
/// without this the hot ends of all of them would compete for the same few lines of the cache.
const STAGGER: usize = 5 * 64;
/// The part of a page that stacks are spread over.
const SPREAD: usize = 4096 - 64;

/// While there are more than this in all threads, no stack is kept. Each is two mappings, and of those Linux gives a
/// process 65530 unless told otherwise: half of them are for others.
const MOST: usize = if cfg!(test) { 8 } else { 1 << 14 };

/// How many there are, in use or kept. It changes only where memory is mapped too, which costs more.
static EXISTING: AtomicUsize = AtomicUsize::new(0);

thread_local! {
    static KEPT: RefCell<Vec<Mapped>> = const { RefCell::new(Vec::new()) };
}

/// The memory of a stack, which is counted.
struct Mapped(DefaultStack);

impl Mapped {
    fn new() -> io::Result<Self> {
        let memory = DefaultStack::new(SIZE)?;
        EXISTING.fetch_add(1, Ordering::Relaxed);
        Ok(Self(memory))
    }
}

impl Drop for Mapped {
    fn drop(&mut self) {
        EXISTING.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A stack whose first byte is moved by its item's share of the stagger.
pub(super) struct Stack {
    memory: Mapped,
    base: StackPointer,
}

// SAFETY: the range is that of `memory` less some bytes at its base, which is still aligned to 64, and
// far larger than the trait's least size.
unsafe impl stack::Stack for Stack {
    fn base(&self) -> StackPointer {
        self.base
    }

    fn limit(&self) -> StackPointer {
        self.memory.0.limit()
    }
}

/// A stack for the item with this index in its group.
pub(super) fn take(index: usize) -> io::Result<Stack> {
    // At the end of a thread nothing is kept any more.
    let kept = KEPT.try_with(|kept| kept.borrow_mut().pop()).ok().flatten();
    let memory = kept.map_or_else(Mapped::new, Ok)?;
    let moved = index.wrapping_mul(STAGGER) % SPREAD / 64 * 64;
    let base = StackPointer::new(stack::Stack::base(&memory.0).get() - moved);
    let base = base.unwrap_or_else(|| stack::Stack::base(&memory.0));
    Ok(Stack { memory, base })
}

/// Keeps a stack for the next group of this thread, or gives its memory back.
pub(super) fn give_back(stack: Stack) {
    if EXISTING.load(Ordering::Relaxed) <= MOST {
        let _ = KEPT.try_with(|kept| kept.borrow_mut().push(stack.memory));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_together_keep_no_more_than_there_may_be() {
        let existing = || EXISTING.load(Ordering::Relaxed);
        let use_some = move |count: usize| {
            let stacks: Vec<Stack> = (0..count).map(|index| take(index).unwrap()).collect();
            assert!(existing() >= count);
            stacks.into_iter().for_each(give_back);
        };
        // Joined one by one: only then is what a thread kept gone.
        let first = std::thread::spawn(move || {
            use_some(MOST - 2);
            assert_eq!(existing(), MOST - 2);
            // Another thread uses as many and more, and may keep two of them.
            let second = std::thread::spawn(move || {
                use_some(MOST);
                assert_eq!(existing(), MOST);
                use_some(1);
                assert_eq!(existing(), MOST);
            });
            second.join().unwrap();
            assert_eq!(existing(), MOST - 2);
        });
        first.join().unwrap();
        // Threads that end keep nothing.
        assert_eq!(existing(), 0);
    }
}
