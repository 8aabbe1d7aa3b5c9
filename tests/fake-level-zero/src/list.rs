//! Immediate command lists: a thread for each, which runs commands in the worst order allowed.

use std::ffi::c_void;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Mutex, MutexGuard, Once, PoisonError};
use std::time::{Duration, Instant};

use crosscut_adapter_level_zero::abi::{self, Handle, Status, ZE_RESULT_SUCCESS};

use crate::checked::{answer, bytes, description, misuse};
use crate::driver::{CONTEXTS, Context, is_device, ticks};
use crate::event::{EVENTS, Event, board, changed, until_change};
use crate::kernel::{KERNELS, Kernel, Launch};
use crate::live::{Live, OfContext};
use crate::memory::{around, stays_inside};
use crate::opencl::Cl;

/// The longest pattern of a fill.
pub(crate) const LONGEST: usize = 16;

pub(crate) struct List {
    context: usize,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    commands: Vec<Command>,
    /// What the command that runs touches, if one does.
    running: Option<Vec<Range<usize>>>,
    closed: bool,
}

struct Command {
    work: Work,
    event: Option<Arc<Event>>,
    after: Vec<Arc<Event>>,
    touches: Vec<Range<usize>>,
}

enum Work {
    Launch(Arc<Kernel>, Launch, [usize; 3]),
    Copy { target: usize, source: usize, size: usize },
    Fill { target: usize, pattern: Vec<u8>, size: usize },
    Barrier,
}

impl OfContext for List {
    fn context(&self) -> usize {
        self.context
    }
}

pub(crate) static LISTS: Live<List> = Live::new("command list");

/// Ends the process if something that is not over touches memory.
pub(crate) fn none_touches(call: &str, memory: Range<usize>) {
    let meets = |other: &Range<usize>| other.start < memory.end && memory.start < other.end;
    for list in LISTS.all() {
        let state = list.state();
        let mut touched = state.commands.iter().flat_map(|command| &command.touches);
        if touched.any(meets) || state.running.iter().flatten().any(meets) {
            misuse(call, "a command that is not over uses it");
        }
    }
}

impl State {
    /// The newest command that may run now.
    fn next(&self) -> Option<usize> {
        let is_barrier = |command: &Command| matches!(command.work, Work::Barrier);
        let first_barrier = self.commands.iter().position(is_barrier);
        let reach = first_barrier.map_or(self.commands.len(), |barrier| barrier + 1);
        (0..reach).rev().find(|at| {
            let command = &self.commands[*at];
            // A barrier that names no events waits for all before it.
            let whole = is_barrier(command) && command.after.is_empty();
            let signalled = command.after.iter().all(|event| event.signalled.load(SeqCst));
            signalled && (!whole || *at == 0)
        })
    }
}

impl List {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn append(
        &self,
        call: &str,
        work: Work,
        touches: Vec<Range<usize>>,
        event: Handle,
        after: (u32, *const Handle),
    ) -> Status {
        let event = (!event.is_null()).then(|| EVENTS.get(call, event));
        let (count, events) = after;
        if count > 0 && events.is_null() {
            misuse(call, "events are announced and not given");
        }
        let wait = |at: usize| {
            // SAFETY: it is not null, and by Level Zero's rules there are as many as announced.
            EVENTS.get(call, unsafe { events.wrapping_add(at).read() })
        };
        let after: Vec<Arc<Event>> = (0..count as usize).map(wait).collect();
        if after.iter().chain(&event).any(|event| event.context() != self.context) {
            misuse(call, "an event is of another context");
        }
        for used in after.iter().chain(&event) {
            used.users.fetch_add(1, SeqCst);
        }
        if let Some(event) = &event
            && (event.promised.swap(true, SeqCst) || event.signalled.load(SeqCst))
        {
            misuse(call, "its event is signalled, or another command's");
        }
        if let Work::Launch(kernel, ..) = &work {
            kernel.users.fetch_add(1, SeqCst);
        }
        let board = board();
        self.state().commands.push(Command { work, event, after, touches });
        drop(board);
        changed();
        ZE_RESULT_SUCCESS
    }
}

/// Whether the process is ending, and how many threads are in the middle of something that needs OpenCL's driver.
static STOPPED: AtomicBool = AtomicBool::new(false);
static BUSY: AtomicUsize = AtomicUsize::new(0);

/// While there is one, OpenCL's driver stays.
struct Busy;

impl Busy {
    /// Does not return once the process is ending.
    fn begin() -> Self {
        BUSY.fetch_add(1, SeqCst);
        let busy = Self;
        if STOPPED.load(SeqCst) {
            drop(busy);
            loop {
                std::thread::park();
            }
        }
        busy
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        BUSY.fetch_sub(1, SeqCst);
    }
}

/// Has commands stop before OpenCL's driver goes.
pub(crate) fn stop_at_exit() {
    unsafe extern "C" {
        /// C's own; it is part of every C library that Rust's standard library links.
        fn atexit(handler: extern "C" fn()) -> i32;
    }
    extern "C" fn stop() {
        STOPPED.store(true, SeqCst);
        let started = Instant::now();
        while BUSY.load(SeqCst) > 0 && started.elapsed() < Duration::from_secs(10) {
            std::thread::yield_now();
        }
    }
    static ONCE: Once = Once::new();
    // The driver below is loaded first, so that its own handlers run later.
    crate::opencl::below();
    ONCE.call_once(|| {
        // SAFETY: the handler only uses atomics and the clock.
        unsafe { atexit(stop) };
    });
}

/// The thread of a list.
struct Worker {
    list: Arc<List>,
    context: Arc<Context>,
    queue: Cl,
}

// SAFETY: the raw pointer is a `cl_command_queue`, which only this thread uses.
unsafe impl Send for Worker {}

impl Worker {
    fn work(self) {
        loop {
            let mut now = board();
            let command = loop {
                let mut state = self.list.state();
                if state.closed {
                    drop(state);
                    drop(now);
                    return self.end();
                }
                if let Some(at) = state.next() {
                    let command = state.commands.remove(at);
                    state.running = Some(command.touches.clone());
                    break command;
                }
                drop(state);
                now = until_change(now);
            };
            drop(now);
            // Until the command is dropped: it may have the last of a kernel.
            let _busy = Busy::begin();
            let start = ticks();
            self.run(&command.work);
            self.finish(command, start);
        }
    }

    /// The list is closed.
    fn end(self) {
        let busy = Busy::begin();
        // SAFETY: nothing is on it, and nobody else releases it.
        unsafe { (self.context.below.core.clReleaseCommandQueue)(self.queue) };
        // With perhaps the last of the context.
        drop(self);
        drop(busy);
    }

    fn run(&self, work: &Work) {
        match work {
            Work::Launch(kernel, launch, groups) => kernel.run(self.queue, launch, *groups),
            Work::Copy { target, source, size } => {
                let source = std::ptr::with_exposed_provenance::<u8>(*source);
                let target = std::ptr::with_exposed_provenance_mut::<u8>(*target);
                // SAFETY: by Level Zero's rules both are valid for as many bytes, and by `append` they
                // do not overlap.
                unsafe { std::ptr::copy_nonoverlapping(source, target, *size) };
            }
            Work::Fill { target, pattern, size } => {
                let target = std::ptr::with_exposed_provenance_mut::<u8>(*target);
                let mut filled = pattern.len().min(*size);
                // SAFETY: by Level Zero's rules the target is valid for as many bytes.
                unsafe { std::ptr::copy_nonoverlapping(pattern.as_ptr(), target, filled) };
                while filled < *size {
                    let more = filled.min(size - filled);
                    let place = target.wrapping_add(filled);
                    // SAFETY: as above, and the part that is filled ends where the rest begins.
                    unsafe { std::ptr::copy_nonoverlapping(target.cast_const(), place, more) };
                    filled += more;
                }
            }
            Work::Barrier => {}
        }
    }

    /// Lets go of everything, and only then says that the command is over.
    fn finish(&self, command: Command, start: u64) {
        let end = ticks();
        self.list.state().running = None;
        if let Work::Launch(kernel, ..) = &command.work {
            kernel.users.fetch_sub(1, SeqCst);
        }
        for used in command.after.iter().chain(&command.event) {
            used.users.fetch_sub(1, SeqCst);
        }
        let Some(event) = command.event else { return changed() };
        event.promised.store(false, SeqCst);
        event.signal(start, end);
    }
}

pub(crate) extern "C" fn create_immediate(
    handle: Handle,
    device: Handle,
    desc: *const abi::ze_command_queue_desc_t,
    place: *mut Handle,
) -> Status {
    const CALL: &str = "zeCommandListCreateImmediate";
    let (context, desc) = (CONTEXTS.get(CALL, handle), description(CALL, desc));
    is_device(CALL, device);
    if (desc.ordinal, desc.mode) != (2, abi::ZE_COMMAND_QUEUE_MODE_ASYNCHRONOUS) {
        misuse(CALL, "only asynchronous lists of the group for kernels and copies are known");
    }
    let mut status = 0;
    // SAFETY: context and device are alive and belong together, and the status is writable.
    let queue = unsafe {
        let below = context.below;
        (below.core.clCreateCommandQueue)(context.raw, below.device, 0, &raw mut status)
    };
    if status != 0 {
        return abi::ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY;
    }
    let list = Arc::new(List { context: handle.addr(), state: Mutex::default() });
    let worker = Worker { list: Arc::clone(&list), context, queue };
    std::thread::spawn(move || worker.work());
    answer(CALL, place, LISTS.add(list));
    ZE_RESULT_SUCCESS
}

pub(crate) extern "C" fn destroy(handle: Handle) -> Status {
    const CALL: &str = "zeCommandListDestroy";
    let list = LISTS.remove(CALL, handle);
    let now = board();
    let mut state = list.state();
    if !state.commands.is_empty() || state.running.is_some() {
        misuse(CALL, "commands on it are not over");
    }
    state.closed = true;
    drop(state);
    drop(now);
    changed();
    ZE_RESULT_SUCCESS
}

pub(crate) extern "C" fn append_barrier(
    handle: Handle,
    event: Handle,
    count: u32,
    after: *const Handle,
) -> Status {
    const CALL: &str = "zeCommandListAppendBarrier";
    LISTS.get(CALL, handle).append(CALL, Work::Barrier, Vec::new(), event, (count, after))
}

pub(crate) extern "C" fn append_memory_copy(
    handle: Handle,
    target: *mut c_void,
    source: *const c_void,
    size: usize,
    event: Handle,
    count: u32,
    after: *const Handle,
) -> Status {
    const CALL: &str = "zeCommandListAppendMemoryCopy";
    let list = LISTS.get(CALL, handle);
    stays_inside(CALL, target, size);
    stays_inside(CALL, source, size);
    let (target, source) = (target.expose_provenance(), source.expose_provenance());
    if target < source + size && source < target + size {
        misuse(CALL, "source and target overlap");
    }
    let touches = vec![target..target + size, source..source + size];
    list.append(CALL, Work::Copy { target, source, size }, touches, event, (count, after))
}

pub(crate) extern "C" fn append_memory_fill(
    handle: Handle,
    target: *mut c_void,
    pattern: *const c_void,
    pattern_size: usize,
    size: usize,
    event: Handle,
    count: u32,
    after: *const Handle,
) -> Status {
    const CALL: &str = "zeCommandListAppendMemoryFill";
    let list = LISTS.get(CALL, handle);
    stays_inside(CALL, target, size);
    if !pattern_size.is_power_of_two() || pattern_size > LONGEST {
        misuse(CALL, &format!("the pattern has {pattern_size} bytes"));
    }
    let pattern = bytes(CALL, pattern.cast(), pattern_size).to_vec();
    let target = target.expose_provenance();
    let touches = Vec::from_iter(Some(target..target + size));
    list.append(CALL, Work::Fill { target, pattern, size }, touches, event, (count, after))
}

pub(crate) extern "C" fn append_launch_kernel(
    handle: Handle,
    kernel: Handle,
    groups: *const abi::ze_group_count_t,
    event: Handle,
    count: u32,
    after: *const Handle,
) -> Status {
    const CALL: &str = "zeCommandListAppendLaunchKernel";
    let (list, kernel) = (LISTS.get(CALL, handle), KERNELS.get(CALL, kernel));
    if groups.is_null() {
        misuse(CALL, "the count of groups is null");
    }
    // SAFETY: it is not null, and by Level Zero's rules it is such a count.
    let groups = unsafe { groups.read() };
    let groups = [groups.groupCountX, groups.groupCountY, groups.groupCountZ];
    if groups.contains(&0) || kernel.context() != list.context {
        misuse(CALL, "there are no groups, or the kernel is of another context");
    }
    let launch = kernel.launch(CALL);
    let touches = launch.addresses().filter_map(around).collect();
    let work = Work::Launch(kernel, launch, groups.map(|count| count as usize));
    list.append(CALL, work, touches, event, (count, after))
}
