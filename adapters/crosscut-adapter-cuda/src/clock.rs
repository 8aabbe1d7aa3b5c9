//! When commands ran: the driver tells times as distances between two events only.
//!
//! All times are distances from an anchor, an event that was reached at a known time. The driver tells
//! them as `f32` milliseconds, which are the coarser the longer they are: so there is a new anchor every
//! few seconds, and its own time is its distance from the one before.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crosscut_adapter_api::DriverError;

use crate::abi::{self, Handle};
use crate::context::{ContextHandle, Current};
use crate::pool::EventPools;
use crate::sys::Api;

/// How long an anchor is used: distances of as much are told to a quarter of a microsecond.
const LONGEST: Duration = Duration::from_secs(4);

/// The clock of one context.
#[derive(Default)]
pub(crate) struct Clock(Mutex<State>);

#[derive(Default)]
struct State {
    /// A stream that nothing but anchors is on; null before the first.
    stream: Handle,
    newest: Option<Arc<Anchor>>,
}

// SAFETY: the raw pointer is a `CUstream`, which any thread may use.
unsafe impl Send for State {}

/// An event that was reached at a known time.
struct Anchor {
    event: Handle,
    /// The time, in nanoseconds; the first is 1.
    time: u64,
    /// The host's time just before.
    host: Instant,
}

// SAFETY: the raw pointer is a `CUevent`, which any thread may use; it is recorded before it is shared.
unsafe impl Send for Anchor {}
// SAFETY: as for `Send`.
unsafe impl Sync for Anchor {}

/// When a command was handed over.
pub(crate) struct Stamp {
    anchor: Arc<Anchor>,
    pub(crate) submitted: u64,
}

impl Clock {
    /// What time it is.
    pub(crate) fn stamp(context: &ContextHandle, current: &Current) -> Result<Stamp, DriverError> {
        let mut state = context.clock.0.lock().unwrap_or_else(PoisonError::into_inner);
        let anchor = match &state.newest {
            Some(newest) if newest.host.elapsed() < LONGEST => Arc::clone(newest),
            _ => {
                let anchor = Arc::new(state.drop_anchor(context, current)?);
                if let Some(old) = state.newest.replace(Arc::clone(&anchor)) {
                    old.give_back(context);
                }
                anchor
            }
        };
        let passed = u64::try_from(anchor.host.elapsed().as_nanos()).unwrap_or(u64::MAX);
        Ok(Stamp { submitted: anchor.time.saturating_add(passed), anchor })
    }

    /// Nobody uses it any more.
    pub(crate) fn destroy(&mut self, _current: &Current, api: &Api) {
        let state = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(anchor) = state.newest.take() {
            // SAFETY: the event is alive, its context current, and nobody else has it: stamps are gone
            // with their events, which hold the context.
            unsafe { (api.cuEventDestroy_v2)(anchor.event) };
        }
        if !state.stream.is_null() {
            // SAFETY: the stream is alive, its context current, and nobody else has it.
            unsafe { (api.cuStreamDestroy_v2)(state.stream) };
        }
    }
}

impl State {
    fn drop_anchor(
        &mut self,
        context: &ContextHandle,
        current: &Current,
    ) -> Result<Anchor, DriverError> {
        let api = context.api;
        if self.stream.is_null() {
            let mut stream = std::ptr::null_mut();
            // SAFETY: the context is current, and `stream` is writable.
            let status =
                unsafe { (api.cuStreamCreate)(&raw mut stream, abi::CU_STREAM_NON_BLOCKING) };
            api.check("cuStreamCreate", status)?;
            self.stream = stream;
        }
        let event = EventPools::take(context, current, true)?;
        let host = Instant::now();
        let reached = (|| {
            // SAFETY: event and stream are alive, and of the context that is current.
            let status = unsafe { (api.cuEventRecord)(event, self.stream) };
            api.check("cuEventRecord", status)?;
            // SAFETY: as above. Nothing else is on the stream, so this is soon over.
            api.check("cuEventSynchronize", unsafe { (api.cuEventSynchronize)(event) })?;
            match &self.newest {
                Some(before) => before.time_of(api, event),
                None => Ok(1),
            }
        })();
        match reached {
            Ok(time) => Ok(Anchor { event, time, host }),
            Err(refusal) => {
                context.events.give_back(event, true);
                Err(refusal)
            }
        }
    }
}

impl Anchor {
    /// When an event was reached that is reached. Both are of the context that is current.
    fn time_of(&self, api: &Api, event: Handle) -> Result<u64, DriverError> {
        let mut milliseconds = 0_f32;
        // SAFETY: both events are alive, timed and reached, and the place is writable.
        let status = unsafe { (api.cuEventElapsedTime)(&raw mut milliseconds, self.event, event) };
        api.check("cuEventElapsedTime", status)?;
        // What lies before the anchor lies so by the driver's rounding alone.
        let nanoseconds = (f64::from(milliseconds) * 1e6).max(0.0) as u64;
        Ok(self.time.saturating_add(nanoseconds))
    }

    /// Lets go of it, and of its event if nobody else has it.
    fn give_back(self: Arc<Self>, context: &ContextHandle) {
        if let Some(anchor) = Arc::into_inner(self) {
            context.events.give_back(anchor.event, true);
        }
    }
}

impl Stamp {
    /// When an event was reached that was recorded after the stamp, and is reached.
    pub(crate) fn time_of(
        &self,
        _current: &Current,
        api: &Api,
        event: Handle,
    ) -> Result<u64, DriverError> {
        self.anchor.time_of(api, event)
    }

    /// Lets go of it.
    pub(crate) fn give_back(self, context: &ContextHandle) {
        self.anchor.give_back(context);
    }
}
