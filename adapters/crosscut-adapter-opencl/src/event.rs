//! Completion of commands.

use std::any::Any;

use crosscut_adapter_api::{Completed, DeviceKind, DriverError, Event, EventState, EventTimes};

use crate::callback;
use crate::context::ContextHandle;
use crate::error::{check, command_failed, error};
use crate::exit;
use crate::inside::{self, Inside, Outside};
use crate::looking::Looking;
use crate::sys::{self, Api, Handle};

/// How often a launch of few items is asked for its status: on Intel's CPU runtime some four microseconds, three times
/// what an empty kernel takes.
const LOOKS: u32 = 100;
/// More items than this are worth the help of a thread that waits.
const FEW_ITEMS: usize = 4096;

static LOOKING: Looking = Looking::new();

/// A `cl_event`.
pub(crate) struct ClEvent {
    api: &'static Api,
    raw: Handle,
    /// Which queue the command is on, if that is in order: no command of it need wait for another.
    in_order_queue: Option<u64>,
    profiling: bool,
    /// Whether it is asked for its status for a moment before it is waited for.
    short: bool,
    /// What runs the command.
    device: DeviceKind,
    /// How many barriers in a row complete before it: see `barriers`.
    pub(crate) barriers: u32,
}

// SAFETY: the raw pointer is a `cl_event`, and OpenCL 3.0, appendix A.2, says: "All OpenCL API calls
// are thread-safe except those that modify the state of cl_kernel objects".
unsafe impl Send for ClEvent {}
// SAFETY: as for `Send`.
unsafe impl Sync for ClEvent {}

impl ClEvent {
    /// Takes over the reference that an enqueueing call gave.
    pub(crate) fn new(
        context: &ContextHandle,
        raw: Handle,
        in_order_queue: Option<u64>,
        profiling: bool,
    ) -> Self {
        let (api, device) = (context.api, context.info.kind);
        Self { api, raw, in_order_queue, profiling, device, short: false, barriers: 0 }
    }

    /// The event of a launch of so many items. Where they are many, a CPU's driver shares them out among its threads, of
    /// which one that waits is another: it is not to be held up by looking.
    pub(crate) fn of_items(mut self, items: usize) -> Self {
        self.short = self.device == DeviceKind::Cpu && items <= FEW_ITEMS;
        self
    }

    /// One of the command's times.
    fn time(&self, which: u32) -> Result<u64, DriverError> {
        const CALL: &str = "clGetEventProfilingInfo";
        let _alive = exit::enter(CALL)?;
        let mut time = 0_u64;
        // SAFETY: the event is alive, and a time is a `cl_ulong`, for which there is room.
        let code = unsafe {
            (self.api.clGetEventProfilingInfo)(
                self.raw,
                which,
                size_of::<u64>(),
                (&raw mut time).cast(),
                std::ptr::null_mut(),
            )
        };
        check(CALL, code)?;
        Ok(time)
    }

    /// The command's status: positive while it is not complete, negative if it failed.
    fn status(&self) -> Result<i32, DriverError> {
        const CALL: &str = "clGetEventInfo";
        let _alive = exit::enter(CALL)?;
        // SAFETY: the event is alive, and so is the driver.
        unsafe { ask_status(self.api, self.raw) }.map_err(|code| error(CALL, code))
    }

    /// Blocks until the command has completed and the host can see what it wrote.
    pub(crate) fn wait_within(&self, waiting: &exit::Waiting) -> Result<(), DriverError> {
        const CALL: &str = "clWaitForEvents";
        let ended = self.look_for_a_moment(waiting);
        let _inside = if ended { None } else { self.wait_outside() };
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

    /// Waits outside of the driver, if another thread is inside where only one may be. Then the command has ended, or this
    /// thread is inside, or the driver has refused to call and there is no other way.
    fn wait_outside(&self) -> Option<Inside> {
        inside::enter(self.device).or_else(|| {
            let outside = Outside::default();
            callback::register(self.api, self.raw, outside.call()).ok()?;
            outside.sleep()
        })
    }

    /// Returns when the command has ended or a moment has passed, and tells whether it has ended.
    ///
    /// Intel's CPU runtime puts a thread to sleep that waits for a command which one of its own has begun, and they
    /// begin within a fraction of a microsecond. Sleeping and waking takes longer than a short kernel.
    fn look_for_a_moment(&self, _: &exit::Waiting) -> bool {
        if !self.short || !LOOKING.is_worth_it() {
            return false;
        }
        let ended = (0..LOOKS).any(|_| {
            // SAFETY: the event is alive. So is the driver: a process that ends gives whoever waits two seconds, of
            // which this takes microseconds.
            !matches!(unsafe { ask_status(self.api, self.raw) }, Ok(1..))
        });
        LOOKING.has_helped(ended);
        ended
    }
}

/// The status of an event's command: positive while it is not complete, negative if it failed; or the code of a
/// driver that does not tell.
///
/// # Safety
/// The event is alive, and its driver is not torn down.
pub(crate) unsafe fn ask_status(api: &Api, event: Handle) -> Result<i32, i32> {
    let mut status = 0_i32;
    // SAFETY: the caller's promise; a status is a `cl_int`, for which there is room.
    let code = unsafe {
        (api.clGetEventInfo)(
            event,
            sys::CL_EVENT_COMMAND_EXECUTION_STATUS,
            size_of::<i32>(),
            (&raw mut status).cast(),
            std::ptr::null_mut(),
        )
    };
    if code == sys::CL_SUCCESS { Ok(status) } else { Err(code) }
}

impl Event for ClEvent {
    fn state(&self) -> Result<EventState, DriverError> {
        match self.status()? {
            failure if failure < 0 => Err(command_failed("clGetEventInfo", failure)),
            sys::CL_COMPLETE => Ok(EventState::Complete),
            sys::CL_RUNNING => Ok(EventState::Running),
            _ => Ok(EventState::Submitted),
        }
    }

    fn on_complete(&self, call: Completed) -> Result<(), DriverError> {
        callback::register(self.api, self.raw, call)
    }

    fn times(&self) -> Result<Option<EventTimes>, DriverError> {
        if !self.profiling {
            return Ok(None);
        }
        let submitted = self.time(sys::CL_PROFILING_COMMAND_SUBMIT)?;
        // Some drivers take the times of commands that do nothing from different clocks.
        let started = self.time(sys::CL_PROFILING_COMMAND_START)?.max(submitted);
        let ended = self.time(sys::CL_PROFILING_COMMAND_END)?.max(started);
        Ok(Some(EventTimes { submitted, started, ended }))
    }

    fn wait(&self) -> Result<(), DriverError> {
        let waiting = exit::wait("clWaitForEvents")?;
        self.wait_within(&waiting)
    }

    fn acquire(&self) -> Result<(), DriverError> {
        const CALL: &str = "clWaitForEvents";
        let _alive = exit::enter(CALL)?;
        // OpenCL promises only for this, and not for a status, that what the command wrote is visible.
        // SAFETY: the event is alive, and so is the driver.
        check(CALL, unsafe { (self.api.clWaitForEvents)(1, &raw const self.raw) })
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
