//! Queues out of order on CPUs, made of queues in order.
//!
//! The queues out of order that Intel's CPU runtime has (2026.22) are not fit for use. Threads that wait for them at the
//! same time hang, as does whoever releases one a moment too early; a process that ends with commands on one crashes;
//! and behind a command that failed the next one crashes, or barriers and `clFinish` never return. Its queues in order do
//! none of this. So there every command is put on one of several of those, its lanes: behind what it waits for if that
//! is the last of a lane, else where nothing is in its way. Only beyond [`MOST`] lanes that are all busy does a command
//! come behind one that it need not wait for.
//!
//! A command whose promise fails ends at once, before others that it came behind, and what comes behind it on its lane
//! runs all the same. So
//! - what a lane is known by is a command that cannot fail that way: one more is put behind each that can. It ends when
//!   the whole lane has, and so does a barrier that waits for it;
//! - what is to fail with such a command comes on another lane, and waits for it by name.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crosscut_adapter_api::{DriverError, Event, QueueOptions, QueueOrder};

use crate::command_queue::CommandQueue;
use crate::context::ContextHandle;
use crate::event::{ClEvent, WaitList};
use crate::exit;
use crate::sys::Handle;

/// More than there are cores as a rule, so that commands which wait for a host task do not hold up the others.
const MOST: usize = 32;

/// A queue out of order.
pub(crate) struct Lanes {
    context: Arc<ContextHandle>,
    options: QueueOptions,
    state: Mutex<State>,
}

struct State {
    /// At least one. None goes before all do.
    lanes: Vec<Lane>,
    /// Whose turn it is where all are busy.
    next: usize,
    /// Ends with the newest barrier and all before that, whatever fails. All that is submitted waits for it.
    barrier: Option<ClEvent>,
}

struct Lane {
    queue: Arc<CommandQueue>,
    /// Ends with the newest command and all before it, unless those are known to have ended.
    last: Option<ClEvent>,
}

impl Lane {
    /// What ends with all commands so far, if they have not ended. To be called while the driver is known to be there.
    fn busy(&mut self) -> Option<&ClEvent> {
        self.last.take_if(|last| last.has_ended());
        self.last.as_ref()
    }

    /// This is the newest command; with it ends what ends after these, too.
    fn follow(&mut self, newest: &ClEvent, others: &WaitList) {
        let follower = if newest.promised { self.queue.barrier(others).ok() } else { None };
        // Where the driver refuses, the command must do.
        self.last = follower.or_else(|| newest.another());
    }
}

impl Lanes {
    pub(crate) fn create(
        context: &Arc<ContextHandle>,
        options: &QueueOptions,
    ) -> Result<Self, DriverError> {
        let options = QueueOptions { order: QueueOrder::InOrder, ..*options };
        let queue = Arc::new(CommandQueue::create(context, &options)?);
        let lanes = vec![Lane { queue, last: None }];
        let state = Mutex::new(State { lanes, next: 0, barrier: None });
        Ok(Self { context: Arc::clone(context), options, state })
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// See [`CommandQueue::submit`].
    pub(crate) fn submit(
        &self,
        call: &'static str,
        after: &[&dyn Event],
        run: impl FnOnce(Handle, &WaitList, *mut Handle) -> i32,
    ) -> Result<ClEvent, DriverError> {
        let mut state = self.state();
        let lane = self.choose(&mut state, after)?;
        let mut waits = state.lanes[lane].queue.waits(after);
        state.wait_for_barrier(&mut waits);
        let event = state.lanes[lane].queue.submit(call, &waits, run)?;
        state.lanes[lane].follow(&event, &WaitList::default());
        Ok(event)
    }

    /// A command that waits for `after`, or, without any, for everything so far, and that everything later waits for:
    /// also where it fails, in which case that runs.
    pub(crate) fn barrier(&self, after: &[&dyn Event]) -> Result<ClEvent, DriverError> {
        let mut state = self.state();
        let lane = self.choose(&mut state, after)?;
        let mut waits = state.lanes[lane].queue.waits(after);
        if after.is_empty() {
            // What has ended is not named: where it failed, the barrier would, too.
            state.lanes.iter_mut().filter_map(Lane::busy).for_each(|last| waits.add(last));
        }
        state.wait_for_barrier(&mut waits);
        let event = state.lanes[lane].queue.barrier(&waits)?;
        // What is behind this one must still wait for the one before it where this one fails.
        let mut before = WaitList::default();
        state.wait_for_barrier(&mut before);
        state.lanes[lane].follow(&event, &before);
        state.barrier = state.lanes[lane].last.as_ref().and_then(ClEvent::another);
        Ok(event)
    }

    /// Blocks until every command so far has completed.
    pub(crate) fn finish(&self, waiting: &exit::Waiting) -> Result<(), DriverError> {
        // Not under the lock: others may submit meanwhile what this waits for.
        let queues: Vec<_> =
            self.state().lanes.iter().map(|lane| Arc::clone(&lane.queue)).collect();
        // All of them, whatever the first says.
        queues.iter().map(|queue| queue.finish(waiting)).fold(Ok(()), Result::and)
    }

    /// The lane for a command behind `after`. To be called while the driver is known to be there.
    fn choose(&self, state: &mut State, after: &[&dyn Event]) -> Result<usize, DriverError> {
        let State { lanes, next, .. } = state;
        let fits = |lane: &Lane| lane.queue.passes_on_failures_of(after);
        let behind = |lane: &Lane| lane.last.as_ref().is_some_and(|last| last.is_one_of(after));
        if let Some(behind) = lanes.iter().position(|lane| behind(lane) && fits(lane)) {
            return Ok(behind);
        }
        if let Some(idle) = lanes.iter_mut().position(|lane| lane.busy().is_none() && fits(lane)) {
            return Ok(idle);
        }
        let fitting = (1..=lanes.len())
            .map(|step| (*next + step) % lanes.len())
            .find(|&lane| fits(&lanes[lane]));
        let new = match fitting {
            Some(_) if lanes.len() >= MOST => None,
            _ => Some(CommandQueue::create(&self.context, &self.options)),
        };
        match (new, fitting) {
            (Some(Ok(queue)), _) => {
                lanes.push(Lane { queue: Arc::new(queue), last: None });
                Ok(lanes.len() - 1)
            }
            // Where the driver refuses another, those that there are will do.
            (_, Some(lane)) => {
                *next = lane;
                Ok(lane)
            }
            (Some(Err(refusal)), None) => Err(refusal),
            (None, None) => unreachable!("a new one is only done without where another fits"),
        }
    }
}

impl State {
    fn wait_for_barrier(&mut self, waits: &mut WaitList) {
        self.barrier.take_if(|barrier| barrier.has_ended());
        if let Some(barrier) = &self.barrier {
            waits.add(barrier);
        }
    }
}
