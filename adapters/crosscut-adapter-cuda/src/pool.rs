//! Events of the driver, used again.
//!
//! A command that was told to wait for an event waits for what was recorded then: the event may be
//! recorded again at any time.

use std::sync::{Mutex, PoisonError};

use crosscut_adapter_api::DriverError;

use crate::abi::{self, Handle};
use crate::context::{ContextHandle, Current};
use crate::sys::Api;

/// The events of one context that nobody has. They are destroyed with it.
#[derive(Default)]
pub(crate) struct EventPools {
    plain: Mutex<Free>,
    /// Those that know when they were reached.
    timed: Mutex<Free>,
}

#[derive(Default)]
struct Free(Vec<Handle>);

// SAFETY: the raw pointers are `CUevent`s, which any thread may use, and nobody else has them.
unsafe impl Send for Free {}

impl EventPools {
    fn of(&self, timed: bool) -> &Mutex<Free> {
        if timed { &self.timed } else { &self.plain }
    }

    /// An event, whatever was recorded in it before.
    pub(crate) fn take(
        context: &ContextHandle,
        _current: &Current,
        timed: bool,
    ) -> Result<Handle, DriverError> {
        let pool = context.events.of(timed);
        if let Some(event) = pool.lock().unwrap_or_else(PoisonError::into_inner).0.pop() {
            return Ok(event);
        }
        let timing = if timed { 0 } else { abi::CU_EVENT_DISABLE_TIMING };
        let (api, mut event) = (context.api, std::ptr::null_mut());
        // SAFETY: the context is current, and `event` is writable.
        let status =
            unsafe { (api.cuEventCreate)(&raw mut event, abi::CU_EVENT_BLOCKING_SYNC | timing) };
        api.check("cuEventCreate", status)?;
        Ok(event)
    }

    /// Takes an event back, which nobody asks any more.
    pub(crate) fn give_back(&self, event: Handle, timed: bool) {
        self.of(timed).lock().unwrap_or_else(PoisonError::into_inner).0.push(event);
    }

    /// Destroys all events. Nobody has one.
    pub(crate) fn destroy(&mut self, _current: &Current, api: &Api) {
        for pool in [&mut self.plain, &mut self.timed] {
            for event in pool.get_mut().unwrap_or_else(PoisonError::into_inner).0.drain(..) {
                // SAFETY: the event is alive, its context current, and nobody else has it.
                unsafe { (api.cuEventDestroy_v2)(event) };
            }
        }
    }
}
