//! Being called by the driver, and events of our own.
//!
//! The driver calls on threads of its own, perhaps while the process ends. What is called there is
//! Rust code that needs nothing of the driver, or asks `exit` first as everybody does.

use std::ffi::c_void;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crosscut_adapter_api::{Completed, DriverError, Promise, Promised, turns};

use crate::context::ContextHandle;
use crate::error::{check, command_failed};
use crate::event::ClEvent;
use crate::exit;
use crate::sys::{self, Api, Handle};

const CALL: &str = "clSetEventCallback";

/// Has `call` called when the command behind `event` has ended.
pub(crate) fn register(
    api: &'static Api,
    event: Handle,
    call: Completed,
) -> Result<(), DriverError> {
    let _alive = exit::enter(CALL)?;
    // A thin pointer for the driver to hand back.
    let data = Box::into_raw(Box::new(call));
    // SAFETY: the event is alive; `ended` takes the data as it is given here, and the driver calls it
    // once: with completion, or with the failure of the command.
    let status = unsafe { (api.clSetEventCallback)(event, sys::CL_COMPLETE, ended, data.cast()) };
    check(CALL, status).inspect_err(|_| {
        // SAFETY: made above, and the driver has refused it.
        drop(unsafe { Box::from_raw(data) });
    })
}

/// The same for a command that may fail before what it came behind has ended: of its failure `call` is told once `end`,
/// which comes after that, has ended too.
pub(crate) fn register_with_end(
    api: &'static Api,
    event: Handle,
    end: Handle,
    call: Completed,
) -> Result<(), DriverError> {
    let late = Arc::new(Mutex::new(Late { call: Some(call), failure: None, end_has_come: false }));
    let told = Arc::clone(&late);
    register(api, end, Box::new(move |_| Late::end_has_come(&told)))?;
    let told = Arc::clone(&late);
    let registered = register(api, event, Box::new(move |outcome| Late::ended(&told, outcome)));
    // Where this is refused nobody is called by what has been registered.
    registered.inspect_err(|_| drop(Late::of(&late).call.take()))
}

/// See [`register_with_end`].
struct Late {
    call: Option<Completed>,
    failure: Option<DriverError>,
    end_has_come: bool,
}

impl Late {
    fn of(late: &Mutex<Self>) -> MutexGuard<'_, Self> {
        late.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn end_has_come(late: &Mutex<Self>) {
        let mut here = Self::of(late);
        here.end_has_come = true;
        let Some(failure) = here.failure.take() else { return };
        let call = here.call.take();
        drop(here);
        call.into_iter().for_each(|call| call(Err(failure.clone())));
    }

    fn ended(late: &Mutex<Self>, outcome: Result<(), DriverError>) {
        let mut here = Self::of(late);
        if let Err(failure) = &outcome
            && !here.end_has_come
        {
            here.failure = Some(failure.clone());
            return;
        }
        let call = here.call.take();
        drop(here);
        call.into_iter().for_each(|call| call(outcome.clone()));
    }
}

extern "system" fn ended(_event: Handle, status: i32, data: *mut c_void) {
    // SAFETY: `register` gave this box away, for this one call.
    let call = unsafe { Box::from_raw(data.cast::<Completed>()) };
    let outcome = if status < 0 { Err(command_failed(CALL, status)) } else { Ok(()) };
    // In a turn: what is called may keep a promise, inside of which the driver calls the next one, and so on.
    turns::take(move || {
        // It does not unwind, by contract; the driver's frames are no place to find out.
        if let Err(payload) = catch_unwind(AssertUnwindSafe(|| call(outcome))) {
            std::mem::forget(payload);
        }
    });
}

/// A user event of the driver's, not yet set.
struct ClPromise {
    context: Arc<ContextHandle>,
    /// A reference of its own.
    event: Handle,
    kept: bool,
}

// SAFETY: the raw pointer is a `cl_event`, and OpenCL 3.0, appendix A.2, says: "All OpenCL API calls
// are thread-safe except those that modify the state of cl_kernel objects".
unsafe impl Send for ClPromise {}

pub(crate) fn promise(context: &Arc<ContextHandle>) -> Result<Promised, DriverError> {
    let (event, promise) = own_promise(context)?;
    Ok((Box::new(event), Box::new(promise)))
}

fn own_promise(context: &Arc<ContextHandle>) -> Result<(ClEvent, ClPromise), DriverError> {
    const CALL: &str = "clCreateUserEvent";
    let _alive = exit::enter(CALL)?;
    let mut status = 0;
    // SAFETY: the context is alive, `status` is writable.
    let raw = unsafe { (context.api.clCreateUserEvent)(context.raw, &raw mut status) };
    check(CALL, status)?;
    let event = ClEvent::of_promise(context, raw);
    // SAFETY: the event is alive.
    check("clRetainEvent", unsafe { (context.api.clRetainEvent)(raw) })?;
    let promise = ClPromise { context: Arc::clone(context), event: raw, kept: false };
    Ok((event, promise))
}

/// An event that ends when all of these have, and fails if one of them did.
pub(crate) fn all(context: &Arc<ContextHandle>, events: &[Handle]) -> Result<ClEvent, DriverError> {
    let (event, promise) = own_promise(context)?;
    let all =
        Arc::new(Mutex::new(All { left: events.len(), failure: None, promise: Some(promise) }));
    for one in events {
        let all = Arc::clone(&all);
        // Where this is refused the promise goes with what has been registered, and nobody waits for it.
        register(context.api, *one, Box::new(move |outcome| All::one_ended(&all, outcome)))?;
    }
    Ok(event)
}

/// See [`all`].
struct All {
    left: usize,
    failure: Option<DriverError>,
    promise: Option<ClPromise>,
}

impl All {
    fn one_ended(all: &Mutex<Self>, outcome: Result<(), DriverError>) {
        let mut here = all.lock().unwrap_or_else(PoisonError::into_inner);
        here.left -= 1;
        here.failure = here.failure.take().or(outcome.err());
        if here.left > 0 {
            return;
        }
        let outcome = here.failure.take().map_or(Ok(()), Err);
        let promise = here.promise.take();
        // Out of the lock: the driver runs there what waited.
        drop(here);
        promise.into_iter().for_each(|mut promise| promise.set(outcome.clone()));
    }
}

impl ClPromise {
    fn set(&mut self, outcome: Result<(), DriverError>) {
        let status = match outcome {
            Ok(()) => sys::CL_COMPLETE,
            // Only a negative status is a failure.
            Err(error) if error.code < 0 => error.code,
            Err(_) => sys::CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
        };
        self.kept = true;
        if let Some(_alive) = exit::driver() {
            // SAFETY: the event is alive, a user event, and set only here, once. There is nobody to
            // tell of a refusal, and no reason for one.
            unsafe { (self.context.api.clSetUserEventStatus)(self.event, status) };
        }
    }
}

impl Promise for ClPromise {
    fn keep(mut self: Box<Self>, outcome: Result<(), DriverError>) {
        self.set(outcome);
    }
}

impl Drop for ClPromise {
    fn drop(&mut self) {
        if !self.kept {
            self.set(Err(crosscut_adapter_api::promise_dropped()));
        }
        if let Some(_alive) = exit::driver() {
            // SAFETY: this is the reference that `promise` took.
            unsafe { (self.context.api.clReleaseEvent)(self.event) };
        }
    }
}
