//! Events that complete when the runtime says so.

use std::sync::Arc;

use crosscut_adapter_api::{DriverError, Promise, Promised, exit, promise_dropped, turns};

use crate::context::ContextHandle;
use crate::event::{CuEvent, EventHandle};

/// The other end of an event that no command reaches. Commands that wait for it are not the driver's
/// until it is kept.
struct CuPromise(Option<Arc<EventHandle>>);

pub(crate) fn promise(context: &Arc<ContextHandle>) -> Result<Promised, DriverError> {
    let _alive = exit::enter("cuEventCreate")?;
    let event = EventHandle::new(context, None);
    Ok((Box::new(CuEvent(Arc::clone(&event))), Box::new(CuPromise(Some(event)))))
}

impl CuPromise {
    fn set(&mut self, outcome: Result<(), DriverError>) {
        let Some(event) = self.0.take() else { return };
        turns::take(move || event.fate.set(outcome));
    }
}

impl Promise for CuPromise {
    fn keep(mut self: Box<Self>, outcome: Result<(), DriverError>) {
        self.set(outcome);
    }
}

impl Drop for CuPromise {
    fn drop(&mut self) {
        self.set(Err(promise_dropped()));
    }
}
