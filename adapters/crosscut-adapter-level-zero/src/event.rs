//! Completion of commands.
//!
//! Level Zero's events are signalled or not: they know no failure. What a command fails with before the
//! driver has it, because it waits for a promise that was not kept, is therefore kept here, beside an
//! event that the host signals.

use std::any::Any;
use std::sync::{Arc, OnceLock};

use crosscut_adapter_api::watch::{self, Watched};
use crosscut_adapter_api::{
    Completed, DriverError, Event, EventState, EventTimes, Latch, exit, turns,
};

use crate::abi::{self, Handle, ze_kernel_timestamp_result_t};
use crate::clock::Stamp;
use crate::context::ContextHandle;
use crate::error::{check, error};
use crate::pool::EventPools;

const QUERY: &str = "zeEventQueryStatus";
const SYNCHRONIZE: &str = "zeEventHostSynchronize";

/// An event of the driver's with what we know about its command.
pub(crate) struct EventHandle {
    context: Arc<ContextHandle>,
    pub(crate) raw: Handle,
    timed: bool,
    /// Which queue the command is on, if that is in order.
    pub(crate) in_order_queue: Option<u64>,
    /// Open while the command is not the driver's yet; an error if it never will be.
    pub(crate) fate: Latch,
    /// When the driver got the command, on a queue with profiling.
    pub(crate) stamp: OnceLock<Stamp>,
}

// SAFETY: the raw pointer is a `ze_event_handle_t`, and of the functions that this file calls with one
// Level Zero's specification says: "The application may call this function from simultaneous threads",
// or they are called by the one who drops it.
unsafe impl Send for EventHandle {}
// SAFETY: as for `Send`.
unsafe impl Sync for EventHandle {}

impl EventHandle {
    /// An event for a command that is about to be submitted. The driver is alive.
    pub(crate) fn take(
        context: &Arc<ContextHandle>,
        timed: bool,
        in_order_queue: Option<u64>,
    ) -> Result<Arc<Self>, DriverError> {
        let raw = EventPools::take(context, timed)?;
        let (fate, stamp) = (Latch::default(), OnceLock::new());
        let context = Arc::clone(context);
        Ok(Arc::new(Self { context, raw, timed, in_order_queue, fate, stamp }))
    }

    /// Whether the driver has the command, or never will.
    pub(crate) fn is_settled(&self) -> bool {
        self.fate.get().is_some()
    }

    /// What the command failed with.
    pub(crate) fn failure(&self) -> Option<DriverError> {
        self.fate.get()?.err()
    }

    /// Has the event fail: the driver never had its command.
    pub(crate) fn fail(self: &Arc<Self>, failure: DriverError) {
        let event = Arc::clone(self);
        // In a turn: those who wait for it are told only after it is signalled.
        turns::take(move || {
            event.fate.set(Err(failure));
            event.signal();
        });
    }

    /// Signals it from the host.
    pub(crate) fn signal(&self) {
        if let Some(_alive) = exit::driver() {
            // SAFETY: the event is alive, and no command will signal it. There is nobody to tell of a
            // refusal, and no reason for one.
            unsafe { (self.context.api.zeEventHostSignal)(self.raw) };
        }
    }

    /// How the command ended, if it has: it is signalled, or the driver knows of it no more. The driver
    /// is alive.
    fn outcome(&self) -> Option<Result<(), DriverError>> {
        // SAFETY: the event is alive.
        let status = unsafe { (self.context.api.zeEventQueryStatus)(self.raw) };
        let outcome = answer(QUERY, status)?;
        // What it failed with before the driver had it comes first.
        Some(self.failure().map_or(outcome, Err))
    }

    /// The same once the host can see what the command wrote, too.
    fn visible_outcome(&self) -> Option<Result<(), DriverError>> {
        match self.outcome()? {
            Ok(()) => answer(SYNCHRONIZE, self.acquire()),
            failed => Some(failed),
        }
    }

    /// Whether the command has ended, well or not, and the host can see what it wrote: nobody need wait for it
    /// any more. The driver is alive.
    pub(crate) fn is_over(&self) -> bool {
        self.visible_outcome().is_some()
    }

    /// Makes visible what the command wrote, which is signalled: the driver's status. The driver is alive.
    fn acquire(&self) -> abi::Status {
        // SAFETY: the event is alive. There is nothing to wait for.
        unsafe { (self.context.api.zeEventHostSynchronize)(self.raw, 0) }
    }

    /// Blocks until it is signalled.
    pub(crate) fn wait_until_over(&self) -> Result<(), DriverError> {
        let _waiting = exit::wait(SYNCHRONIZE)?;
        // SAFETY: the event is alive. The largest timeout is none.
        let status = unsafe { (self.context.api.zeEventHostSynchronize)(self.raw, u64::MAX) };
        check(SYNCHRONIZE, status)
    }
}

impl Drop for EventHandle {
    fn drop(&mut self) {
        // Commands that know the event hold it until they are over, so none does.
        if let Some(_alive) = exit::driver() {
            EventPools::give_back(&self.context, self.raw, self.timed);
        }
    }
}

/// An event as the contract has it.
pub(crate) struct ZeEvent(pub(crate) Arc<EventHandle>);

impl ZeEvent {
    /// The adapter's own type behind `event`.
    pub(crate) fn handle(event: &dyn Event) -> &Arc<EventHandle> {
        match event.as_any().downcast_ref::<Self>() {
            Some(event) => &event.0,
            None => panic!("the runtime hands over only events of the same context"),
        }
    }
}

impl Event for ZeEvent {
    fn state(&self) -> Result<EventState, DriverError> {
        let _alive = exit::enter(QUERY)?;
        if let Some(failure) = self.0.failure() {
            return Err(failure);
        }
        // SAFETY: the event is alive.
        match unsafe { (self.0.context.api.zeEventQueryStatus)(self.0.raw) } {
            // It may have failed since.
            abi::ZE_RESULT_SUCCESS => self.0.failure().map_or(Ok(EventState::Complete), Err),
            // Whether a command has started is not told.
            abi::ZE_RESULT_NOT_READY => Ok(EventState::Submitted),
            code => Err(error(QUERY, code)),
        }
    }

    fn wait(&self) -> Result<(), DriverError> {
        self.0.wait_until_over()?;
        self.0.failure().map_or(Ok(()), Err)
    }

    fn acquire(&self) -> Result<(), DriverError> {
        let _alive = exit::enter(SYNCHRONIZE)?;
        check(SYNCHRONIZE, self.0.acquire())
    }

    fn on_complete(&self, call: Completed) -> Result<(), DriverError> {
        let alive = exit::enter(QUERY)?;
        let mut calling = Box::new(Calling { event: Arc::clone(&self.0), outcome: None, call });
        let is_over = calling.is_over();
        drop(alive);
        if is_over {
            calling.end();
            return Ok(());
        }
        watch::over(calling).map_err(|_| {
            let mut refusal = error(QUERY, abi::ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY);
            refusal.log = Some("the system gives no thread that would call".to_owned());
            refusal
        })
    }

    fn times(&self) -> Result<Option<EventTimes>, DriverError> {
        const CALL: &str = "zeEventQueryKernelTimestamp";
        let Some(stamp) = self.0.stamp.get() else { return Ok(None) };
        let _alive = exit::enter(CALL)?;
        let mut ran = ze_kernel_timestamp_result_t::default();
        let context = &self.0.context;
        // SAFETY: the event is alive and of a pool with timestamps, and `ran` is writable.
        let status = unsafe { (context.api.zeEventQueryKernelTimestamp)(self.0.raw, &raw mut ran) };
        check(CALL, status)?;
        let submitted = context.clock.nanoseconds(*stamp);
        let (start, end) = (ran.global.kernelStart, ran.global.kernelEnd);
        let (started, ended) = context.clock.nanoseconds_after(*stamp, start, end);
        Ok(Some(EventTimes { submitted, started, ended }))
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

/// What the driver says of the end of a command; nothing where it has no memory to say it.
fn answer(call: &'static str, status: abi::Status) -> Option<Result<(), DriverError>> {
    match status {
        abi::ZE_RESULT_NOT_READY
        | abi::ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY
        | abi::ZE_RESULT_ERROR_OUT_OF_DEVICE_MEMORY => None,
        status => Some(check(call, status)),
    }
}

/// Somebody who wants to be called.
struct Calling {
    event: Arc<EventHandle>,
    /// How the command ended, once that is known.
    outcome: Option<Result<(), DriverError>>,
    call: Completed,
}

impl Watched for Calling {
    fn is_over(&mut self) -> bool {
        // Who is called may look at what the command wrote.
        self.outcome = self.event.visible_outcome();
        self.outcome.is_some()
    }

    fn end(self: Box<Self>) {
        if let Some(outcome) = self.outcome {
            (self.call)(outcome);
        }
    }
}
