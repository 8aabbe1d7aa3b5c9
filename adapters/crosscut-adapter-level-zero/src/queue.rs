//! Submitting commands.
//!
//! A queue is an immediate command list, on which commands may overtake one another: one in order has
//! each command wait for the event of the one before. A command that waits for a promise is kept here
//! until that is kept, see `deferred`.

use std::collections::VecDeque;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use crosscut_adapter_api::watch::{self, Watched};
use crosscut_adapter_api::{
    Argument, DriverError, Event, Extent, Kernel, Location, Memory, Queue, QueueOptions,
    QueueOrder, VariableQueue, exit,
};

use crate::abi::{self, Handle, Typed};
use crate::command::Command;
use crate::context::ContextHandle;
use crate::deferred::Deferred;
use crate::error::check;
use crate::event::{EventHandle, ZeEvent};
use crate::memory::ZeMemory;

/// A command list and what is on it.
pub(crate) struct QueueHandle {
    context: Arc<ContextHandle>,
    /// A number that no other queue ever has, if the queue is in order.
    in_order: Option<u64>,
    profiling: bool,
    state: Mutex<State>,
}

struct State {
    list: Handle,
    /// What the driver has, oldest first, as far as it is not known to be over.
    in_flight: VecDeque<InFlight>,
    /// The newest command, of a queue in order.
    last: Option<Arc<EventHandle>>,
    /// The newest command that the driver has, of a queue in order.
    chain: Option<Arc<EventHandle>>,
    /// Commands that the driver does not have yet.
    deferred: Vec<Arc<EventHandle>>,
    /// The newest barrier that the driver did not get at once, of a queue out of order.
    fence: Option<Arc<EventHandle>>,
}

/// A command that the driver has, with all that it needs.
struct InFlight {
    event: Arc<EventHandle>,
    /// An event that is used again must not be one that a command still looks at.
    _after: Vec<Arc<EventHandle>>,
    _command: Command,
}

// SAFETY: the raw pointer is an immediate `ze_command_list_handle_t`, which is used only by those who
// have the state: under its lock, or alone.
unsafe impl Send for State {}

impl State {
    /// Lets go of what is over, from the oldest on. The driver is alive.
    fn trim(&mut self) {
        while self.in_flight.pop_front_if(|oldest| oldest.event.is_over()).is_some() {}
        if self.in_flight.is_empty() {
            self.chain = None;
        }
    }

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
        const CALL: &str = "zeCommandListCreateImmediate";
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let _alive = exit::enter(CALL)?;
        let mut description = abi::ze_command_queue_desc_t::new();
        description.ordinal = context.ordinal;
        description.mode = abi::ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS;
        let mut list = std::ptr::null_mut();
        // SAFETY: context and device are alive and belong together, the description says its type,
        // `list` is writable.
        let status = unsafe {
            (context.api.zeCommandListCreateImmediate)(
                context.raw,
                context.id,
                &raw const description,
                &raw mut list,
            )
        };
        check(CALL, status)?;
        let in_order = options.order == QueueOrder::InOrder;
        Ok(Arc::new(Self {
            context: Arc::clone(context),
            in_order: in_order.then(|| NEXT.fetch_add(1, Ordering::Relaxed)),
            profiling: options.profiling,
            state: Mutex::new(State {
                list,
                in_flight: VecDeque::new(),
                last: None,
                chain: None,
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
        let _alive = exit::enter(command.call())?;
        let event = EventHandle::take(&self.context, self.profiling, self.in_order)?;
        let after: Vec<_> = after.iter().map(|event| Arc::clone(ZeEvent::handle(*event))).collect();

        let mut state = self.state();
        let mut open = state.not_to_overtake(&command, !after.is_empty());
        open.extend(after.iter().filter(|event| !event.is_settled()).cloned());
        if open.is_empty() {
            // Nobody changes an event that is settled.
            if let Some(failure) = after.iter().find_map(|event| event.failure()) {
                drop(state);
                event.fail(failure);
            } else {
                self.append(&mut state, command, &event, after)?;
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
        Ok(Box::new(ZeEvent(event)))
    }

    /// Takes down the newest command.
    fn note(&self, state: &mut State, event: &Arc<EventHandle>) {
        if self.in_order.is_some() {
            state.last = Some(Arc::clone(event));
        }
    }

    /// Hands over a command that waited for promises. All of `after` are settled, and none failed.
    pub(crate) fn append_deferred(
        &self,
        command: Command,
        event: &Arc<EventHandle>,
        after: Vec<Arc<EventHandle>>,
    ) -> Result<(), DriverError> {
        let _alive = exit::enter(command.call())?;
        self.append(&mut self.state(), command, event, after)?;
        event.fate.set(Ok(()));
        Ok(())
    }

    /// Hands a command over. The caller settles its event, and not before it has let go of the state:
    /// commands that waited for it may then go on, on this queue too.
    fn append(
        &self,
        state: &mut State,
        command: Command,
        event: &Arc<EventHandle>,
        mut after: Vec<Arc<EventHandle>>,
    ) -> Result<(), DriverError> {
        state.trim();
        // What is on this queue, in order, is waited for by way of the newest.
        after.retain(|event| self.in_order.is_none() || event.in_order_queue != self.in_order);
        after.extend(state.chain.clone());
        let waits: Vec<Handle> = after.iter().map(|event| event.raw).collect();
        if self.profiling {
            self.stamp(event)?;
        }
        command.append(&self.context, state.list, event.raw, &waits)?;
        if self.in_order.is_some() {
            state.chain = Some(Arc::clone(event));
        }
        let in_flight = InFlight { event: Arc::clone(event), _after: after, _command: command };
        state.in_flight.push_back(in_flight);
        Ok(())
    }

    /// Takes down when the driver gets the command.
    fn stamp(&self, event: &EventHandle) -> Result<(), DriverError> {
        let (context, mut host, mut device) = (&self.context, 0, 0);
        let at = Instant::now();
        // SAFETY: the device lives for ever, and both times are writable.
        let status = unsafe {
            (context.api.zeDeviceGetGlobalTimestamps)(context.id, &raw mut host, &raw mut device)
        };
        check("zeDeviceGetGlobalTimestamps", status)?;
        // It is the first and only one.
        let _ = event.stamp.set(context.clock.stamp(device, at));
        Ok(())
    }
}

impl Drop for QueueHandle {
    fn drop(&mut self) {
        let state = self.state.get_mut().unwrap_or_else(PoisonError::into_inner);
        let Some(_alive) = exit::driver() else { return };
        let in_flight = std::mem::take(&mut state.in_flight);
        let mut remains =
            Remains { context: Arc::clone(&self.context), list: state.list, in_flight };
        // What was submitted still runs. Without a thread to look after that, it is left alone.
        if !remains.is_over()
            && let Err(remains) = watch::over(Box::new(remains))
        {
            std::mem::forget(remains);
        }
    }
}

/// A command list whose queue is gone.
struct Remains {
    context: Arc<ContextHandle>,
    list: Handle,
    in_flight: VecDeque<InFlight>,
}

// SAFETY: the raw pointer is a command list that nobody else has.
unsafe impl Send for Remains {}

impl Watched for Remains {
    fn is_over(&mut self) -> bool {
        while self.in_flight.pop_front_if(|oldest| oldest.event.is_over()).is_some() {}
        self.in_flight.is_empty()
    }
}

impl Drop for Remains {
    fn drop(&mut self) {
        if let Some(_alive) = exit::driver() {
            // SAFETY: everything on the list is over, and nobody else destroys it.
            unsafe { (self.context.api.zeCommandListDestroy)(self.list) };
        }
    }
}

/// A queue as the contract has it.
pub(crate) struct ZeQueue(pub(crate) Arc<QueueHandle>);

impl ZeQueue {
    pub(crate) fn create(
        context: &Arc<ContextHandle>,
        options: &QueueOptions,
    ) -> Result<Self, DriverError> {
        Ok(Self(QueueHandle::create(context, options)?))
    }
}

impl Queue for ZeQueue {
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
        let target = ZeMemory::address_in(target, offset);
        // SAFETY: the range lies inside the allocation, and the caller vouches that it and `source`
        // stay valid until the event completes.
        let command = unsafe { Command::copy(target, source, size) };
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
        let source = ZeMemory::address_in(source, offset);
        // SAFETY: the range lies inside the allocation, and the caller vouches that it and `target`
        // stay valid until the event completes.
        let command = unsafe { Command::copy(target, source, size) };
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
        let target = ZeMemory::address_in(target, offset);
        // SAFETY: the range lies inside the allocation, which the caller keeps.
        let command = unsafe { Command::fill(&self.0.context, target, pattern, size) };
        self.0.submit(command, after)
    }

    unsafe fn copy(
        &self,
        target: Location<'_>,
        source: Location<'_>,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        let target = ZeMemory::address_in(target.memory, target.offset);
        let source = ZeMemory::address_in(source.memory, source.offset);
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
