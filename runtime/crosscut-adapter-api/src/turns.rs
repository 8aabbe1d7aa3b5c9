//! One thing after the other, where each may lead to more.
//!
//! A promise that is kept lets a command go, which lets the next one go, and so on for as many as a
//! program has submitted meanwhile: as calls inside of calls they would not fit on a stack.

use std::cell::RefCell;
use std::collections::VecDeque;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::Latch;

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

/// [Takes](take) `turn` on the thread that sets the last of `latches`, of which there is one at least.
pub fn take_when_all_are_set<'a>(
    latches: impl ExactSizeIterator<Item = &'a Latch>,
    turn: impl FnOnce() + Send + 'static,
) {
    let waiting = Arc::new((AtomicUsize::new(latches.len()), Mutex::new(Some(turn))));
    for latch in latches {
        let waiting = Arc::clone(&waiting);
        latch.on_set(Box::new(move |_| {
            let (left, turn) = &*waiting;
            if left.fetch_sub(1, Ordering::AcqRel) > 1 {
                return;
            }
            let turn = turn.lock().unwrap_or_else(PoisonError::into_inner).take();
            turn.into_iter().for_each(take);
        }));
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

    #[test]
    fn a_turn_that_waits_for_several_comes_after_the_last_of_them() {
        let latches: [Latch; 3] = Default::default();
        let came = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&came);
        take_when_all_are_set(latches.iter(), move || {
            counted.fetch_add(1, Ordering::Relaxed);
        });
        for latch in &latches {
            assert_eq!(came.load(Ordering::Relaxed), 0);
            latch.set(Ok(()));
        }
        assert_eq!(came.load(Ordering::Relaxed), 1);
    }
}
