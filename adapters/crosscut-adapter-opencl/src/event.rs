//! Completion of commands.

use std::any::Any;

use crosscut_adapter_api::{DriverError, Event};

use crate::error::{check, command_failed, error};
use crate::exit;
use crate::sys::{self, Api, Handle};

/// A `cl_event`.
pub(crate) struct ClEvent {
    api: &'static Api,
    raw: Handle,
    /// Which queue the command is on, if that is in order: no command of it need wait for another.
    in_order_queue: Option<u64>,
}

// SAFETY: the raw pointer is a `cl_event`, and OpenCL 3.0, appendix A.2, says: "All OpenCL API calls
// are thread-safe except those that modify the state of cl_kernel objects".
unsafe impl Send for ClEvent {}
// SAFETY: as for `Send`.
unsafe impl Sync for ClEvent {}

impl ClEvent {
    /// Takes over the reference that an enqueueing call gave.
    pub(crate) fn new(api: &'static Api, raw: Handle, in_order_queue: Option<u64>) -> Self {
        Self { api, raw, in_order_queue }
    }

    /// The command's status: positive while it is not complete, negative if it failed.
    fn status(&self) -> Result<i32, DriverError> {
        const CALL: &str = "clGetEventInfo";
        let _alive = exit::enter(CALL)?;
        let mut status = 0_i32;
        // SAFETY: the event is alive, and its status is a `cl_int`, for which there is room.
        let code = unsafe {
            (self.api.clGetEventInfo)(
                self.raw,
                sys::CL_EVENT_COMMAND_EXECUTION_STATUS,
                size_of::<i32>(),
                (&raw mut status).cast(),
                std::ptr::null_mut(),
            )
        };
        check(CALL, code)?;
        Ok(status)
    }
}

impl Event for ClEvent {
    fn is_complete(&self) -> Result<bool, DriverError> {
        match self.status()? {
            failure if failure < 0 => Err(command_failed("clGetEventInfo", failure)),
            status => Ok(status == sys::CL_COMPLETE),
        }
    }

    fn wait(&self) -> Result<(), DriverError> {
        const CALL: &str = "clWaitForEvents";
        exit::check(CALL)?;
        // SAFETY: the event is alive.
        match unsafe { (self.api.clWaitForEvents)(1, &raw const self.raw) } {
            sys::CL_SUCCESS => Ok(()),
            // The command failed: the event knows how.
            sys::CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST => {
                Err(command_failed(CALL, self.status()?))
            }
            code => Err(error(CALL, code)),
        }
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for ClEvent {
    fn drop(&mut self) {
        if let Some(_alive) = exit::driver() {
            // SAFETY: this is the one reference that the enqueueing call gave.
            unsafe { (self.api.clReleaseEvent)(self.raw) };
        }
    }
}

/// The events a command waits for, in the form the driver takes.
///
/// Most commands wait for few or none: those need no allocation.
pub(crate) struct WaitList {
    few: [Handle; Self::FEW],
    many: Vec<Handle>,
    count: u32,
}

impl WaitList {
    const FEW: usize = 8;

    /// The list for a command on a queue that is in order under this number, if it is in order.
    pub(crate) fn new(after: &[&dyn Event], in_order_queue: Option<u64>) -> Self {
        let mut list = Self { few: [std::ptr::null_mut(); Self::FEW], many: Vec::new(), count: 0 };
        for event in after {
            let Some(event) = event.as_any().downcast_ref::<ClEvent>() else {
                panic!("the runtime hands over only events of the same context");
            };
            if in_order_queue.is_some() && event.in_order_queue == in_order_queue {
                continue;
            }
            list.push(event.raw);
        }
        list
    }

    fn push(&mut self, event: Handle) {
        let at = self.count as usize;
        if at < Self::FEW {
            self.few[at] = event;
        } else {
            if at == Self::FEW {
                self.many.extend_from_slice(&self.few);
            }
            self.many.push(event);
        }
        self.count += 1;
    }

    pub(crate) fn count(&self) -> u32 {
        self.count
    }

    /// The list; null where it is empty, as the driver wants it.
    pub(crate) fn as_ptr(&self) -> *const Handle {
        match self.count as usize {
            0 => std::ptr::null(),
            1..=Self::FEW => self.few.as_ptr(),
            _ => self.many.as_ptr(),
        }
    }
}
