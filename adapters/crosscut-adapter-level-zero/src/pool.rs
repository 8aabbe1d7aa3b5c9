//! Events of the driver, made in dozens and used again.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crosscut_adapter_api::DriverError;

use crate::abi::{self, Handle, Typed};
use crate::context::ContextHandle;
use crate::error::check;
use crate::sys::Api;

/// How many events a pool has.
const EVENTS: u32 = 64;

/// All events of one context. They are destroyed with it.
#[derive(Default)]
pub(crate) struct EventPools {
    plain: Mutex<Kind>,
    /// Those that know when their command ran.
    timed: Mutex<Kind>,
}

#[derive(Default)]
struct Kind {
    pools: Vec<Handle>,
    all: Vec<Handle>,
    /// Those that nobody has: not signalled, and no command knows them.
    free: Vec<Handle>,
}

// SAFETY: the raw pointers are event pools and events. Of these Level Zero's specification forbids
// simultaneous calls that create, reset or destroy the same object, and those are made under the lock,
// or of an event that nobody else has.
unsafe impl Send for Kind {}

impl EventPools {
    fn of(&self, timed: bool) -> MutexGuard<'_, Kind> {
        let kind = if timed { &self.timed } else { &self.plain };
        kind.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// An event that is not signalled. The driver is alive.
    pub(crate) fn take(context: &ContextHandle, timed: bool) -> Result<Handle, DriverError> {
        let mut kind = context.events.of(timed);
        if let Some(event) = kind.free.pop() {
            return Ok(event);
        }
        kind.grow(context, timed)?;
        match kind.free.pop() {
            Some(event) => Ok(event),
            None => unreachable!("a pool has events"),
        }
    }

    /// Takes an event back, which no command knows any more. The driver is alive.
    pub(crate) fn give_back(context: &ContextHandle, event: Handle, timed: bool) {
        // SAFETY: the event is alive, and no command and nobody else uses it.
        let status = unsafe { (context.api.zeEventHostReset)(event) };
        // One that cannot be reset is not used again.
        if status == abi::ZE_RESULT_SUCCESS {
            context.events.of(timed).free.push(event);
        }
    }

    /// Destroys all events. Nobody has one, and the driver is alive.
    pub(crate) fn destroy(&mut self, api: &Api) {
        for kind in [&mut self.plain, &mut self.timed] {
            let kind = kind.get_mut().unwrap_or_else(PoisonError::into_inner);
            for event in kind.all.drain(..) {
                // SAFETY: the event is alive, and by this function's contract nobody uses it.
                unsafe { (api.zeEventDestroy)(event) };
            }
            for pool in kind.pools.drain(..) {
                // SAFETY: the pool is alive, and its events are gone.
                unsafe { (api.zeEventPoolDestroy)(pool) };
            }
        }
    }
}

impl Kind {
    /// One more pool.
    fn grow(&mut self, context: &ContextHandle, timed: bool) -> Result<(), DriverError> {
        let mut description = abi::ze_event_pool_desc_t::new();
        description.count = EVENTS;
        description.flags = abi::ZE_EVENT_POOL_FLAG_HOST_VISIBLE;
        if timed {
            description.flags |= abi::ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP;
        }
        let mut pool = std::ptr::null_mut();
        // SAFETY: context and device are alive and belong together, the description says its type,
        // one device is announced and given, `pool` is writable.
        let status = unsafe {
            (context.api.zeEventPoolCreate)(
                context.raw,
                &raw const description,
                1,
                &raw const context.id,
                &raw mut pool,
            )
        };
        check("zeEventPoolCreate", status)?;
        self.pools.push(pool);
        for index in 0..EVENTS {
            let mut description = abi::ze_event_desc_t::new();
            // Whoever has waited, on the host or on a device, sees what the command wrote.
            description.index = index;
            description.signal = abi::ZE_EVENT_SCOPE_FLAG_HOST;
            description.wait = abi::ZE_EVENT_SCOPE_FLAG_HOST;
            let mut event = std::ptr::null_mut();
            // SAFETY: the pool is alive and has an event of each such index, the description says its
            // type, `event` is writable.
            let status = unsafe {
                (context.api.zeEventCreate)(pool, &raw const description, &raw mut event)
            };
            check("zeEventCreate", status)?;
            self.all.push(event);
            self.free.push(event);
        }
        Ok(())
    }
}
