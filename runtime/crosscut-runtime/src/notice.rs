//! Who is to be woken when a command has ended: what makes an event a future.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, PoisonError};
use std::task::{Context, Poll, Waker};

use crate::command::Command;
use crate::sync::{Mutex, MutexGuard};
use crate::worker::{self, Job};

/// The wakers of one command. The driver is asked to call back once, when the first one comes.
#[derive(Default)]
pub(crate) struct Notice(Mutex<Option<Arc<Wakers>>>);

#[derive(Default)]
struct Wakers(Mutex<State>);

#[derive(Default)]
struct State {
    ended: bool,
    waiting: Vec<Waker>,
}

impl Wakers {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn ended(&self) {
        let mut state = self.state();
        state.ended = true;
        let waiting = std::mem::take(&mut state.waiting);
        // Not under the lock: whoever is woken may poll at once.
        drop(state);
        if waiting.is_empty() {
            return;
        }
        // A waker is anybody's code: it may wait, or drop what waits, and this may be a call of the driver's, in which
        // that is forbidden. Only threads of its own can be scheduled by whoever tests schedules.
        let wake = Box::new(move || waiting.into_iter().for_each(wake));
        let refused = if cfg!(feature = "shuttle") { Err(wake as Job) } else { worker::run(wake) };
        if let Err(wake) = refused {
            wake();
        }
    }
}

/// One that panics must neither unwind through the driver nor keep the others from being woken. The panic was told.
fn wake(waker: Waker) {
    if let Err(payload) = catch_unwind(AssertUnwindSafe(|| waker.wake())) {
        std::mem::forget(payload);
    }
}

impl Command {
    /// Whether it has ended, well or not; otherwise the task is woken when it has.
    pub(crate) fn poll_ended(self: &Arc<Self>, context: &mut Context<'_>) -> Poll<()> {
        // A refusal to answer is an end too: waiting tells of it.
        if !matches!(self.event.is_complete(), Ok(false)) {
            return Poll::Ready(());
        }
        let wakers = self.wakers();
        let mut state = wakers.state();
        if state.ended {
            return Poll::Ready(());
        }
        if !state.waiting.iter().any(|known| known.will_wake(context.waker())) {
            state.waiting.push(context.waker().clone());
        }
        Poll::Pending
    }

    /// Those who wait; with the first one the driver is asked to call.
    fn wakers(self: &Arc<Self>) -> Arc<Wakers> {
        let mut notice = self.notice.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(wakers) = &*notice {
            return Arc::clone(wakers);
        }
        let wakers = Arc::new(Wakers::default());
        *notice = Some(Arc::clone(&wakers));
        // The call may come at once, and wants only the wakers.
        drop(notice);
        let told = Arc::clone(&wakers);
        if self.event.on_complete(Box::new(move |_| told.ended())).is_err() {
            // A driver that does not call can still be waited for.
            let (told, command) = (Arc::clone(&wakers), Arc::clone(self));
            let waiting = worker::run(Box::new(move || {
                let _ = command.event.wait();
                told.ended();
            }));
            if waiting.is_err() {
                // Nor is there a thread: whoever polls then blocks, which is better than never.
                wakers.ended();
            }
        }
        wakers
    }
}
