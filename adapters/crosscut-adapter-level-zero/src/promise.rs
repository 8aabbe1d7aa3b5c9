//! Events that complete when the runtime says so.

use std::sync::Arc;

use crosscut_adapter_api::{DriverError, Promise, Promised, exit, promise_dropped, turns};

use crate::context::ContextHandle;
use crate::event::{EventHandle, ZeEvent};

/// The other end of an event that no command signals. Commands that wait for it are not the driver's
/// until it is kept: they could not be called back.
struct ZePromise(Option<Arc<EventHandle>>);

pub(crate) fn promise(context: &Arc<ContextHandle>) -> Result<Promised, DriverError> {
    let _alive = exit::enter("zeEventCreate")?;
    let event = EventHandle::take(context, false, None)?;
    Ok((Box::new(ZeEvent(Arc::clone(&event))), Box::new(ZePromise(Some(event)))))
}

impl ZePromise {
    fn set(&mut self, outcome: Result<(), DriverError>) {
        let Some(event) = self.0.take() else { return };
        match outcome {
            Ok(()) => turns::take(move || {
                event.signal();
                event.fate.set(Ok(()));
            }),
            Err(failure) => event.fail(failure),
        }
    }
}

impl Promise for ZePromise {
    fn keep(mut self: Box<Self>, outcome: Result<(), DriverError>) {
        self.set(outcome);
    }
}

impl Drop for ZePromise {
    fn drop(&mut self) {
        self.set(Err(promise_dropped()));
    }
}
