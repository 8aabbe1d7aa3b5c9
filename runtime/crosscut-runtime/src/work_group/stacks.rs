//! Stacks for the items of a group, kept by each thread for its next group.

use std::cell::RefCell;
use std::io;

use corosensei::stack::{self, DefaultStack, StackPointer};

/// The bytes of one stack. Only what is touched takes memory; below it is a page that nobody may touch,
/// so that an overflow ends the process instead of writing over another item's stack.
const SIZE: usize = 512 * 1024;
/// How far apart the first bytes of neighbouring stacks are within a page. Stacks begin at pages, and
/// without this the hot ends of all of them would compete for the same few lines of the cache.
const STAGGER: usize = 5 * 64;
/// The part of a page that stacks are spread over.
const SPREAD: usize = 4096 - 64;

thread_local! {
    static KEPT: RefCell<Vec<DefaultStack>> = const { RefCell::new(Vec::new()) };
}

/// A stack whose first byte is moved by its item's share of the stagger.
pub(super) struct Stack {
    memory: DefaultStack,
    base: StackPointer,
}

// SAFETY: the range is that of `memory` less some bytes at its base, which is still aligned to 64, and
// far larger than the trait's least size.
unsafe impl stack::Stack for Stack {
    fn base(&self) -> StackPointer {
        self.base
    }

    fn limit(&self) -> StackPointer {
        self.memory.limit()
    }
}

/// A stack for the item with this index in its group.
pub(super) fn take(index: usize) -> io::Result<Stack> {
    let kept = KEPT.with_borrow_mut(Vec::pop);
    let memory = kept.map_or_else(|| DefaultStack::new(SIZE), Ok)?;
    let moved = index.wrapping_mul(STAGGER) % SPREAD / 64 * 64;
    let base = StackPointer::new(stack::Stack::base(&memory).get() - moved);
    let base = base.unwrap_or_else(|| stack::Stack::base(&memory));
    Ok(Stack { memory, base })
}

/// Keeps a stack for the next group of this thread.
pub(super) fn give_back(stack: Stack) {
    KEPT.with_borrow_mut(|kept| kept.push(stack.memory));
}
