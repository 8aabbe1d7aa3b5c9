//! Submitting commands.
//!
//! A queue is a stream, on which commands run one after the other. A command that waits for a promise is
//! kept here until that is kept, see `deferred`; so what is on a stream waits for nothing but the driver,
//! and commands of a queue out of order go past those that wait for us.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crosscut_adapter_api::watch::{self, Watched};
use crosscut_adapter_api::{
    Argument, DriverError, DriverErrorKind, Event, Extent, Kernel, Location, Memory, Queue,
    QueueOptions, QueueOrder, VariableQueue, exit,
};

use crate::abi::{self, Handle};
use crate::clock::{Clock, Stamp};
use crate::command::Command;
use crate::context::{ContextHandle, Current};
use crate::deferred::Deferred;
use crate::event::{CuEvent, EventHandle, Recorded};
use crate::memory::CuMemory;
use crate::pool::EventPools;

/// A stream and what is on it.
pub(crate) struct QueueHandle {
    context: Arc<ContextHandle>,
    /// A number that no other queue ever has.
    number: u64,
    in_order: bool,
    profiling: bool,
    state: Mutex<State>,
}

struct State {
    stream: Handle,
    /// What the driver has, oldest first, as far as it is not known to be over.
    in_flight: VecDeque<InFlight>,
    /// The newest command, of a queue in order.
    last: Option<Arc<EventHandle>>,
    /// Commands that the driver does not have yet.
    deferred: Vec<Arc<EventHandle>>,
    /// The newest barrier that the driver did not get at once, of a queue out of order.
    fence: Option<Arc<EventHandle>>,
}

/// A command that the driver has, with all that it needs.
struct InFlight {
    event: Arc<EventHandle>,
    _command: Command,
}

// SAFETY: the raw pointer is a `CUstream`, which is used only by those who have the state: under its
// lock, or alone.
unsafe impl Send for State {}

/// Lets go of what is over, from the oldest on.
fn trim(in_flight: &mut VecDeque<InFlight>, current: &Current) {
    while in_flight.pop_front_if(|oldest| oldest.event.is_over(current)).is_some() {}
}

impl State {
    /// What is waited for beside the events that a command names: commands that we have, and that it
    /// must not overtake.
    fn not_to_overtake(&self, command: &Command, names_events: bool) -> Vec<Arc<EventHandle>> {
        // In order the newest is behind all others.
        let is_fence = command.is_barrier() && !names_events && self.last.is_none();
        let all = if is_fence { &*self.deferred } else { &[] };
        let held = all.iter().chain(&self.last).chain(&self.fence);
        held.filter(|event| !event.is_settled()).cloned().collect()
    }
}

impl QueueHandle {
    fn create(
        context: &Arc<ContextHandle>,
        options: &QueueOptions,
    ) -> Result<Arc<Self>, DriverError> {
        const CALL: &str = "cuStreamCreate";
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let (api, _entered) = (context.api, context.enter(CALL)?);
        let mut stream = std::ptr::null_mut();
        // SAFETY: the context is current, and `stream` is writable.
        let status = unsafe { (api.cuStreamCreate)(&raw mut stream, abi::CU_STREAM_NON_BLOCKING) };
        api.check(CALL, status)?;
        Ok(Arc::new(Self {
            context: Arc::clone(context),
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            in_order: options.order == QueueOrder::InOrder,
            profiling: options.profiling,
            state: Mutex::new(State {
                stream,
                in_flight: VecDeque::new(),
                last: None,
                deferred: Vec::new(),
                fence: None,
            }),
        }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Submits a command that runs once all of `after` have completed.
    pub(crate) fn submit(
        self: &Arc<Self>,
        command: Command,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        let entered = self.context.enter(command.call())?;
        let event = EventHandle::new(&self.context, Some(self.number));
        let after: Vec<_> = after.iter().map(|event| Arc::clone(CuEvent::handle(*event))).collect();

        let mut state = self.state();
        let mut open = state.not_to_overtake(&command, !after.is_empty());
        open.extend(after.iter().filter(|event| !event.is_settled()).cloned());
        if open.is_empty() {
            // Nobody changes an event that is settled.
            if let Some(failure) = after.iter().find_map(|event| event.failure()) {
                drop(state);
                event.fail(failure);
            } else {
                self.append(&mut state, &entered.current, command, &event, &after)?;
                self.note(&mut state, &event);
                drop(state);
                event.fate.set(Ok(()));
            }
        } else {
            // Thousands may wait for one promise: while the oldest does, all are looked at now and then.
            let oldest_is_settled = state.deferred.first().is_some_and(|event| event.is_settled());
            if oldest_is_settled || state.deferred.len().is_power_of_two() {
                state.deferred.retain(|event| !event.is_settled());
            }
            state.deferred.push(Arc::clone(&event));
            if command.is_barrier() {
                state.fence = Some(Arc::clone(&event));
            }
            self.note(&mut state, &event);
            drop(state);
            let (queue, event) = (Arc::clone(self), Arc::clone(&event));
            Deferred { queue, command, event, after }.until_settled(&open);
        }
        Ok(Box::new(CuEvent(event)))
    }

    /// Takes down the newest command.
    fn note(&self, state: &mut State, event: &Arc<EventHandle>) {
        if self.in_order {
            state.last = Some(Arc::clone(event));
        }
    }

    /// Hands over a command that waited for promises. All of `after` are settled, and none failed.
    pub(crate) fn append_deferred(
        &self,
        command: Command,
        event: &Arc<EventHandle>,
        after: &[Arc<EventHandle>],
    ) -> Result<(), DriverError> {
        let entered = self.context.enter(command.call())?;
        self.append(&mut self.state(), &entered.current, command, event, after)?;
        event.fate.set(Ok(()));
        Ok(())
    }

    /// Hands a command over. Whoever asks lets go of the state before the event is settled: those who wait
    /// for that may want it.
    fn append(
        &self,
        state: &mut State,
        current: &Current,
        command: Command,
        event: &Arc<EventHandle>,
        after: &[Arc<EventHandle>],
    ) -> Result<(), DriverError> {
        let api = self.context.api;
        trim(&mut state.in_flight, current);
        // What is on this stream is before us anyway.
        let others = after.iter().filter(|event| event.queue != Some(self.number));
        for other in others.filter_map(|event| event.end()) {
            // SAFETY: the event is held by those in `after`, and of the context that is current, as the
            // stream is. It may be recorded again later: what counts is what is recorded now.
            let status = unsafe { (api.cuStreamWaitEvent)(state.stream, other, 0) };
            api.check("cuStreamWaitEvent", status)?;
        }
        // Before the command: one that runs must have an end.
        let end = EventPools::take(&self.context, current, self.profiling)?;
        let begin = self.begin(state, current).inspect_err(|_| {
            self.context.events.give_back(end, self.profiling);
        })?;
        let refusal = match command.append(&self.context, current, state.stream) {
            Ok(()) => match self.record(state, current, end) {
                Ok(()) => {
                    let in_flight = InFlight { event: Arc::clone(event), _command: command };
                    state.in_flight.push_back(in_flight);
                    event.record(Recorded { end, begin });
                    return Ok(());
                }
                Err(refusal) => {
                    // It runs, and nobody will know until when it needs what it has; but nothing runs
                    // on a device that is lost.
                    if refusal.kind != DriverErrorKind::DeviceLost {
                        std::mem::forget(command);
                    }
                    refusal
                }
            },
            Err(refusal) => refusal,
        };
        self.context.events.give_back(end, self.profiling);
        if let Some((begin, stamp)) = begin {
            self.context.events.give_back(begin, true);
            stamp.give_back(&self.context);
        }
        Err(refusal)
    }

    /// Has the beginning of the next command noted, where anybody wants to know.
    fn begin(
        &self,
        state: &State,
        current: &Current,
    ) -> Result<Option<(Handle, Stamp)>, DriverError> {
        if !self.profiling {
            return Ok(None);
        }
        let begin = EventPools::take(&self.context, current, true)?;
        let stamp = Clock::stamp(&self.context, current).and_then(|stamp| {
            match self.record(state, current, begin) {
                Ok(()) => Ok(stamp),
                Err(refusal) => {
                    stamp.give_back(&self.context);
                    Err(refusal)
                }
            }
        });
        let stamp = stamp.inspect_err(|_| self.context.events.give_back(begin, true))?;
        Ok(Some((begin, stamp)))
    }

    /// Has an event be reached when everything that is on the stream now is over.
    fn record(&self, state: &State, _: &Current, event: Handle) -> Result<(), DriverError> {
        let api = self.context.api;
        // SAFETY: event and stream are alive, and of the context that is current.
        let status = unsafe { (api.cuEventRecord)(event, state.stream) };
        api.check("cuEventRecord", status)
    }
}

impl Drop for QueueHandle {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(_alive) = exit::driver() else { return };
        let in_flight = std::mem::take(&mut state.in_flight);
        let mut remains =
            Remains { context: Arc::clone(&self.context), stream: state.stream, in_flight };
        // What was submitted still runs. Without a thread to look after that, it is left alone.
        if !remains.is_over()
            && let Err(remains) = watch::over(Box::new(remains))
        {
            std::mem::forget(remains);
        }
    }
}

/// A stream whose queue is gone.
struct Remains {
    context: Arc<ContextHandle>,
    stream: Handle,
    in_flight: VecDeque<InFlight>,
}

// SAFETY: the raw pointer is a stream that nobody else has.
unsafe impl Send for Remains {}

impl Watched for Remains {
    fn is_over(&mut self) -> bool {
        if let Ok(current) = self.context.make_current("cuEventQuery") {
            trim(&mut self.in_flight, &current);
        } else {
            // Nobody can be asked any more.
            self.in_flight.clear();
        }
        self.in_flight.is_empty()
    }
}

impl Drop for Remains {
    fn drop(&mut self) {
        if let Some(_entered) = self.context.enter_if_alive() {
            // SAFETY: everything on the stream is over, and nobody else destroys it.
            unsafe { (self.context.api.cuStreamDestroy_v2)(self.stream) };
        }
    }
}

/// A queue as the contract has it.
pub(crate) struct CuQueue(pub(crate) Arc<QueueHandle>);

impl CuQueue {
    pub(crate) fn create(
        context: &Arc<ContextHandle>,
        options: &QueueOptions,
    ) -> Result<Self, DriverError> {
        Ok(Self(QueueHandle::create(context, options)?))
    }
}

impl Queue for CuQueue {
    unsafe fn launch(
        &self,
        kernel: &dyn Kernel,
        extent: Extent,
        arguments: &[Argument<'_>],
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        // SAFETY: what the caller promises is what the command asks for.
        let command = unsafe { Command::launch(kernel, extent, arguments) };
        self.0.submit(command, after)
    }

    unsafe fn write(
        &self,
        target: &dyn Memory,
        offset: usize,
        source: *const u8,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        let target = CuMemory::address_in(target, offset);
        // SAFETY: the range lies inside the allocation, and the caller vouches that it and `source`
        // stay valid until the event completes.
        let command = unsafe { Command::write(target, source, size) };
        self.0.submit(command, after)
    }

    unsafe fn read(
        &self,
        source: &dyn Memory,
        offset: usize,
        target: *mut u8,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        let source = CuMemory::address_in(source, offset);
        // SAFETY: the range lies inside the allocation, and the caller vouches that it and `target`
        // stay valid until the event completes.
        let command = unsafe { Command::read(target, source, size) };
        self.0.submit(command, after)
    }

    unsafe fn fill(
        &self,
        target: &dyn Memory,
        offset: usize,
        pattern: &[u8],
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        let target = CuMemory::address_in(target, offset);
        // SAFETY: the range lies inside the allocation, which the caller keeps, and is aligned.
        let command = unsafe { Command::fill(target, pattern, size) };
        self.0.submit(command, after)
    }

    unsafe fn copy(
        &self,
        target: Location<'_>,
        source: Location<'_>,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        let target = CuMemory::address_in(target.memory, target.offset);
        let source = CuMemory::address_in(source.memory, source.offset);
        // SAFETY: both ranges lie inside allocations that the caller keeps.
        let command = unsafe { Command::copy(target, source, size) };
        self.0.submit(command, after)
    }

    fn barrier(&self, after: &[&dyn Event]) -> Result<Box<dyn Event>, DriverError> {
        self.0.submit(Command::barrier(), after)
    }

    fn wait(&self) -> Result<(), DriverError> {
        let events: Vec<_> = {
            let state = self.0.state();
            let in_flight = state.in_flight.iter().map(|command| &command.event);
            in_flight.chain(&state.deferred).cloned().collect()
        };
        events.iter().try_for_each(|event| event.wait_until_over())
    }

    fn as_variables(&self) -> Option<&dyn VariableQueue> {
        Some(self)
    }
}
