//! One thing after the other, where each may lead to more.
//!
//! A promise that is kept lets a command go, which lets the next one go, and so on for as many as a
//! program has submitted meanwhile: as calls inside of calls they would not fit on a stack.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::mem::ManuallyDrop;

type Turn = Box<dyn FnOnce()>;

thread_local! {
    /// The turns that wait for the one that this thread is in the middle of, if it is. What is never
    /// dropped is there for as long as the thread is, also while its other locals are dropped; outside
    /// of turns there is nothing in it that could be lost.
    static WAITING: ManuallyDrop<RefCell<Option<VecDeque<Turn>>>> =
        const { ManuallyDrop::new(RefCell::new(None)) };
}

/// Leaves the thread as it was, also where a turn panics.
struct Over;

impl Drop for Over {
    fn drop(&mut self) {
        let _ = WAITING.try_with(|waiting| waiting.replace(None));
    }
}

/// Runs `turn` and what comes of it; inside of a turn, after that.
pub fn take(turn: impl FnOnce() + 'static) {
    let mut turn: Option<Turn> = Some(Box::new(turn));
    // Where a system has no such place for a thread that is ending, turns are calls inside of calls.
    let mine = WAITING.try_with(|waiting| match &mut *waiting.borrow_mut() {
        Some(waiting) => {
            waiting.extend(turn.take());
            false
        }
        none => {
            *none = Some(VecDeque::new());
            true
        }
    });
    let _over = (mine == Ok(true)).then(|| Over);
    while let Some(now) = turn.take() {
        now();
        let next = WAITING.try_with(|waiting| waiting.borrow_mut().as_mut()?.pop_front());
        turn = next.ok().flatten();
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use super::*;

    fn count_down(left: usize, done: Rc<Cell<usize>>) {
        done.set(done.get() + 1);
        if left > 0 {
            take(move || count_down(left - 1, done));
        }
    }

    #[test]
    fn a_million_turns_need_no_more_stack_than_one() {
        let done = Rc::new(Cell::new(0));
        let counted = Rc::clone(&done);
        take(move || count_down(999_999, counted));
        assert_eq!(done.get(), 1_000_000);
    }

    #[test]
    fn a_turn_that_panics_leaves_the_thread_usable() {
        let caught = std::panic::catch_unwind(|| take(|| panic!("no")));
        assert!(caught.is_err());
        let done = Rc::new(Cell::new(0));
        let counted = Rc::clone(&done);
        take(move || counted.set(1));
        assert_eq!(done.get(), 1);
    }
}
