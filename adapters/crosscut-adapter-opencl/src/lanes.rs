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
//! runs all the same. So it is not its own end that counts but when it is [settled](ClEvent::settled), behind which comes
//! what is behind it on its lane.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crosscut_adapter_api::{DriverError, Event, QueueOptions, QueueOrder};

use crate::command_queue::CommandQueue;
use crate::context::ContextHandle;
use crate::event::ClEvent;
use crate::exit;
use crate::sys::Handle;
use crate::waits::WaitList;

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
    /// The newest command, unless it and all before it are known to have ended.
    last: Option<ClEvent>,
}

impl Lane {
    /// The newest command, unless all so far have ended. To be called while the driver is known to be there.
    fn busy(&mut self) -> Option<&ClEvent> {
        self.last.take_if(|last| last.has_settled());
        self.last.as_ref()
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
        let lane = self.choose(&mut state, after);
        let mut waits = state.lanes[lane].queue.waits(after);
        state.wait_for_barrier(&mut waits);
        let mut event = state.lanes[lane].queue.submit(call, waits, run)?;
        state.lanes[lane].last = Some(event.another());
        Ok(event)
    }

    /// A command that waits for `after`, or, without any, for everything so far, and that everything later waits for:
    /// also where it fails, in which case that runs.
    pub(crate) fn barrier(&self, after: &[&dyn Event]) -> Result<ClEvent, DriverError> {
        let mut state = self.state();
        let lane = self.choose(&mut state, after);
        let mut waits = state.lanes[lane].queue.waits(after);
        if after.is_empty() {
            // What has ended is not named: where it failed, the barrier would, too.
            state.lanes.iter_mut().filter_map(Lane::busy).for_each(|last| waits.add_end_of(last));
        }
        state.wait_for_barrier(&mut waits);
        let mut event = state.lanes[lane].queue.barrier(waits)?;
        state.lanes[lane].last = Some(event.another());
        state.barrier = Some(event.another());
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
    fn choose(&self, state: &mut State, after: &[&dyn Event]) -> usize {
        let State { lanes, next, .. } = state;
        let behind = |lane: &Lane| lane.last.as_ref().is_some_and(|last| last.is_one_of(after));
        let behind = |lane: &Lane| !lane.queue.is_broken() && behind(lane);
        if let Some(behind) = lanes.iter().position(behind) {
            return behind;
        }
        if let Some(idle) = lanes.iter_mut().position(|lane| lane.busy().is_none()) {
            return idle;
        }
        // Where the driver refuses another, those that there are will do.
        if lanes.len() < MOST
            && let Ok(queue) = CommandQueue::create(&self.context, &self.options)
        {
            lanes.push(Lane { queue: Arc::new(queue), last: None });
            return lanes.len() - 1;
        }
        let mut turns = (1..=lanes.len()).map(|turn| (*next + turn) % lanes.len());
        // Where all are broken, the one that is taken says so.
        *next = turns.find(|&at| !lanes[at].queue.is_broken()).unwrap_or(*next);
        *next
    }
}

impl State {
    fn wait_for_barrier(&mut self, waits: &mut WaitList) {
        self.barrier.take_if(|barrier| barrier.has_settled());
        if let Some(barrier) = &self.barrier {
            waits.add_end_of(barrier);
        }
    }
}
