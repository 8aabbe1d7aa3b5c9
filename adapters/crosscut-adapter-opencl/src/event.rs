//! Completion of commands.

use std::any::Any;
use std::sync::Arc;

use crosscut_adapter_api::{Completed, DriverError, Event, EventState, EventTimes};

use crate::callback;
use crate::context::ContextHandle;
use crate::error::{check, command_failed, error};
use crate::exit;
use crate::looking::Looking;
use crate::sys::{self, Api, Handle};

/// How often a launch of few items is asked for its status: on Intel's CPU runtime some four microseconds, three times
/// what an empty kernel takes.
const LOOKS: u32 = 100;
/// More items than this are worth the help of a thread that waits.
const FEW_ITEMS: usize = 4096;

static LOOKING: Looking = Looking::new();

/// When a command has ended, and so has everything before it on its queue and what it waits for: where its promise fails
/// it may end before those.
#[derive(Clone)]
pub(crate) enum Settled {
    /// When the command has.
    Itself,
    /// When this has, which does not fail.
    Behind(Arc<ClEvent>),
    /// The driver has refused what would tell.
    Unknown(Box<DriverError>),
}

/// A `cl_event`.
pub(crate) struct ClEvent {
    api: &'static Api,
    raw: Handle,
    /// Which queue the command is on, if that is in order: no command of it need wait for another.
    in_order_queue: Option<u64>,
    /// How many end inside of one another if it fails: a promise, what waits for that, what waits for this, and so on. 0
    /// where it is no promise and waits for none by whatever others: then it does not fail because of them.
    row: u32,
    settled: Settled,
    /// Whether the driver counts this as one more that has the event.
    counted: bool,
    profiling: bool,
    /// Whether it is asked for its status for a moment before it is waited for.
    short: bool,
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
        Self {
            api: context.api,
            raw,
            in_order_queue,
            row: 0,
            settled: Settled::Itself,
            counted: true,
            profiling,
            short: false,
            barriers: 0,
        }
    }

    /// The event of a promise. This takes over the reference to it.
    pub(crate) fn of_promise(context: &ContextHandle, raw: Handle) -> Self {
        Self::new(context, raw, None, false).promised(1, Settled::Itself)
    }

    /// That of a command which waits for a promise by whatever others, as the last of a row of so many.
    pub(crate) fn promised(mut self, row: u32, settled: Settled) -> Self {
        self.row = row;
        self.settled = settled;
        self
    }

    /// What ends with the command and, if that is on a queue in order, with everything before it there.
    ///
    /// # Errors
    /// Nobody can tell, as the driver has refused this.
    pub(crate) fn settled(&self) -> Result<&Self, &DriverError> {
        match &self.settled {
            Settled::Itself => Ok(self),
            Settled::Behind(settled) => Ok(settled),
            Settled::Unknown(refusal) => Err(refusal),
        }
    }

    /// Whether the command and, if it is on a queue in order, everything before it there is known to have ended. To be
    /// called while the driver is known to be there.
    pub(crate) fn has_settled(&self) -> bool {
        // SAFETY: the event is alive, and by this function's contract so is the driver.
        self.settled().is_ok_and(|it| matches!(unsafe { ask_status(it.api, it.raw) }, Ok(..=0)))
    }

    /// The event of a launch of so many items on a CPU. Where they are many the driver shares them out among its
    /// threads, of which one that waits is another: it is not to be held up by looking.
    pub(crate) fn of_items_on_cpu(mut self, items: usize) -> Self {
        self.short = items <= FEW_ITEMS;
        self
    }

    /// The same event once more. To be called while the driver is known to be there.
    pub(crate) fn another(&mut self) -> Self {
        // SAFETY: the event is alive, and by this function's contract so is the driver.
        let status = unsafe { (self.api.clRetainEvent)(self.raw) };
        // Where the driver does not count both, neither gives it back: it stays for ever.
        self.counted &= status == sys::CL_SUCCESS;
        Self { settled: self.settled.clone(), ..*self }
    }

    /// Those that are this adapter's.
    pub(crate) fn own<'a>(events: &'a [&dyn Event]) -> impl Iterator<Item = &'a Self> {
        events.iter().filter_map(|event| event.as_any().downcast_ref())
    }

    pub(crate) fn is_one_of(&self, events: &[&dyn Event]) -> bool {
        Self::own(events).any(|event| event.raw == self.raw)
    }

    /// The event as the driver has it.
    pub(crate) fn raw(&self) -> Handle {
        self.raw
    }

    /// How many end inside of one another if it fails; 0 where it is no promise and waits for none.
    pub(crate) fn row(&self) -> u32 {
        self.row
    }

    /// Whether the command is on the queue in order of this number.
    pub(crate) fn is_on(&self, in_order_queue: Option<u64>) -> bool {
        in_order_queue.is_some() && self.in_order_queue == in_order_queue
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

    /// What the driver's word on a wait for this event says of the command.
    fn outcome(&self, call: &'static str, code: i32) -> Result<(), DriverError> {
        match code {
            sys::CL_SUCCESS => Ok(()),
            // The command failed, and the event knows how; though not that of Intel's CPU runtime if the command did not
            // run, because one that it waited for had failed: its status is that of one that has completed.
            sys::CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST => {
                let failure = self.status()?;
                Err(command_failed(call, if failure < 0 { failure } else { code }))
            }
            code => Err(error(call, code)),
        }
    }

    /// Returns when the command has ended or a moment has passed.
    ///
    /// Intel's CPU runtime puts a thread to sleep that waits for a command which one of its own has begun, and they
    /// begin within a fraction of a microsecond. Sleeping and waking takes longer than a short kernel.
    fn look_for_a_moment(&self, _: &exit::Waiting) {
        if !self.short || !LOOKING.is_worth_it() {
            return;
        }
        let ended = (0..LOOKS).any(|_| {
            // SAFETY: the event is alive. So is the driver: a process that ends gives whoever waits two seconds, of
            // which this takes microseconds.
            !matches!(unsafe { ask_status(self.api, self.raw) }, Ok(1..))
        });
        LOOKING.has_helped(ended);
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
        match &self.settled {
            Settled::Itself => callback::register(self.api, self.raw, call),
            Settled::Behind(settled) => {
                callback::register_with_end(self.api, self.raw, settled.raw, call)
            }
            Settled::Unknown(refusal) => Err((**refusal).clone()),
        }
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
        const CALL: &str = "clWaitForEvents";
        let waiting = exit::wait(CALL)?;
        self.look_for_a_moment(&waiting);
        // SAFETY: the event is alive.
        self.outcome(CALL, unsafe { (self.api.clWaitForEvents)(1, &raw const self.raw) })
    }

    fn acquire(&self) -> Result<(), DriverError> {
        const CALL: &str = "clWaitForEvents";
        let _alive = exit::enter(CALL)?;
        // OpenCL promises only for this, and not for a status, that what the command wrote is visible.
        // SAFETY: the event is alive, and so is the driver.
        self.outcome(CALL, unsafe { (self.api.clWaitForEvents)(1, &raw const self.raw) })
    }

    fn as_any(&self) -> &dyn Any {
        self
    }
}

impl Drop for ClEvent {
    fn drop(&mut self) {
        if self.counted
            && let Some(_alive) = exit::driver()
        {
            // SAFETY: this is the one reference that the enqueueing call gave, or `another`.
            unsafe { (self.api.clReleaseEvent)(self.raw) };
        }
    }
}
