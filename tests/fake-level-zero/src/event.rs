//! Events and their pools.

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering::SeqCst};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crosscut_adapter_level_zero::abi::{self, Handle, Status, ZE_RESULT_SUCCESS};

use crate::checked::{answer, description, misuse};
use crate::driver::{CONTEXTS, is_device, narrow};
use crate::live::{Live, OfContext};

/// To be held to change what somebody may wait for: events, and what is on lists.
static BOARD: Mutex<()> = Mutex::new(());
static CHANGED: Condvar = Condvar::new();

pub(crate) fn board() -> MutexGuard<'static, ()> {
    BOARD.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits until something has changed.
pub(crate) fn until_change(board: MutexGuard<'static, ()>) -> MutexGuard<'static, ()> {
    CHANGED.wait(board).unwrap_or_else(PoisonError::into_inner)
}

/// Tells those who wait that something has changed.
pub(crate) fn changed() {
    CHANGED.notify_all();
}

pub(crate) struct Pool {
    context: usize,
    timed: bool,
    /// Which of its events there are.
    taken: Mutex<Vec<bool>>,
}

pub(crate) struct Event {
    context: usize,
    pool: Arc<Pool>,
    index: usize,
    pub(crate) signalled: AtomicBool,
    /// How many commands that are not over know it.
    pub(crate) users: AtomicUsize,
    /// Whether one of them will signal it.
    pub(crate) promised: AtomicBool,
    start: AtomicU64,
    end: AtomicU64,
}

impl OfContext for Pool {
    fn context(&self) -> usize {
        self.context
    }
}

impl OfContext for Event {
    fn context(&self) -> usize {
        self.context
    }
}

pub(crate) static POOLS: Live<Pool> = Live::new("event pool");
pub(crate) static EVENTS: Live<Event> = Live::new("event");

impl Event {
    /// Signals it, with the times of its command.
    pub(crate) fn signal(&self, start: u64, end: u64) {
        self.start.store(narrow(start), SeqCst);
        self.end.store(narrow(end), SeqCst);
        let board = board();
        self.signalled.store(true, SeqCst);
        drop(board);
        changed();
    }
}

pub(crate) extern "C" fn pool_create(
    context: Handle,
    desc: *const abi::ze_event_pool_desc_t,
    devices: u32,
    device: *const Handle,
    place: *mut Handle,
) -> Status {
    const CALL: &str = "zeEventPoolCreate";
    CONTEXTS.get(CALL, context);
    let desc = description(CALL, desc);
    if desc.count == 0 || desc.flags & abi::ZE_EVENT_POOL_FLAG_HOST_VISIBLE == 0 {
        misuse(CALL, "there are no events, or the host cannot see them");
    }
    if devices > 0 {
        if device.is_null() {
            misuse(CALL, "devices are announced and not given");
        }
        // SAFETY: it is not null, and by Level Zero's rules there are as many as announced.
        is_device(CALL, unsafe { device.read() });
    }
    let pool = Pool {
        context: context.addr(),
        timed: desc.flags & abi::ZE_EVENT_POOL_FLAG_KERNEL_TIMESTAMP != 0,
        taken: Mutex::new(vec![false; desc.count as usize]),
    };
    answer(CALL, place, POOLS.add(Arc::new(pool)));
    ZE_RESULT_SUCCESS
}

pub(crate) extern "C" fn pool_destroy(handle: Handle) -> Status {
    const CALL: &str = "zeEventPoolDestroy";
    let pool = POOLS.remove(CALL, handle);
    let taken = pool.taken.lock().unwrap_or_else(PoisonError::into_inner);
    if taken.contains(&true) {
        misuse(CALL, "some of its events are alive");
    }
    ZE_RESULT_SUCCESS
}

pub(crate) extern "C" fn create(
    pool: Handle,
    desc: *const abi::ze_event_desc_t,
    place: *mut Handle,
) -> Status {
    const CALL: &str = "zeEventCreate";
    let (pool, desc) = (POOLS.get(CALL, pool), description(CALL, desc));
    let index = desc.index as usize;
    let mut taken = pool.taken.lock().unwrap_or_else(PoisonError::into_inner);
    if taken.get(index) != Some(&false) {
        misuse(CALL, &format!("event {index} of the pool is taken, or is none"));
    }
    taken[index] = true;
    drop(taken);
    let event = Event {
        context: pool.context,
        pool,
        index,
        signalled: AtomicBool::new(false),
        users: AtomicUsize::new(0),
        promised: AtomicBool::new(false),
        start: AtomicU64::new(0),
        end: AtomicU64::new(0),
    };
    answer(CALL, place, EVENTS.add(Arc::new(event)));
    ZE_RESULT_SUCCESS
}

/// An event that no command knows.
fn unused(call: &str, handle: Handle) -> Arc<Event> {
    let event = EVENTS.get(call, handle);
    if event.users.load(SeqCst) > 0 {
        misuse(call, "a command that is not over knows the event");
    }
    event
}

pub(crate) extern "C" fn destroy(handle: Handle) -> Status {
    const CALL: &str = "zeEventDestroy";
    unused(CALL, handle);
    let event = EVENTS.remove(CALL, handle);
    event.pool.taken.lock().unwrap_or_else(PoisonError::into_inner)[event.index] = false;
    ZE_RESULT_SUCCESS
}

pub(crate) extern "C" fn host_signal(handle: Handle) -> Status {
    const CALL: &str = "zeEventHostSignal";
    let event = EVENTS.get(CALL, handle);
    if event.promised.load(SeqCst) || event.signalled.load(SeqCst) {
        misuse(CALL, "a command signals the event, or it is signalled");
    }
    event.signal(0, 0);
    ZE_RESULT_SUCCESS
}

pub(crate) extern "C" fn host_synchronize(handle: Handle, timeout: u64) -> Status {
    let event = EVENTS.get("zeEventHostSynchronize", handle);
    let until = Instant::now().checked_add(Duration::from_nanos(timeout));
    let mut board = board();
    while !event.signalled.load(SeqCst) {
        let left = until.map(|until| until.saturating_duration_since(Instant::now()));
        board = match left {
            _ if timeout == u64::MAX => until_change(board),
            None => until_change(board),
            Some(Duration::ZERO) => return abi::ZE_RESULT_NOT_READY,
            Some(left) => {
                CHANGED.wait_timeout(board, left).unwrap_or_else(PoisonError::into_inner).0
            }
        };
    }
    ZE_RESULT_SUCCESS
}

/// What queries are answered with instead of the truth, if not success.
static ANSWER: AtomicU32 = AtomicU32::new(ZE_RESULT_SUCCESS);

/// Has the driver answer all queries of events with `status`, until it is told success. For tests alone:
/// the loader does not know it.
// SAFETY: no other library of the process has a function of this name.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn crosscut_fake_answer_queries(status: Status) {
    ANSWER.store(status, SeqCst);
}

pub(crate) extern "C" fn query_status(handle: Handle) -> Status {
    let event = EVENTS.get("zeEventQueryStatus", handle);
    let answer = ANSWER.load(SeqCst);
    if answer != ZE_RESULT_SUCCESS {
        return answer;
    }
    if event.signalled.load(SeqCst) { ZE_RESULT_SUCCESS } else { abi::ZE_RESULT_NOT_READY }
}

pub(crate) extern "C" fn host_reset(handle: Handle) -> Status {
    unused("zeEventHostReset", handle).signalled.store(false, SeqCst);
    ZE_RESULT_SUCCESS
}

pub(crate) extern "C" fn query_kernel_timestamp(
    handle: Handle,
    place: *mut abi::ze_kernel_timestamp_result_t,
) -> Status {
    const CALL: &str = "zeEventQueryKernelTimestamp";
    let event = EVENTS.get(CALL, handle);
    if !event.pool.timed {
        misuse(CALL, "the event's pool has no timestamps");
    }
    if !event.signalled.load(SeqCst) {
        return abi::ZE_RESULT_NOT_READY;
    }
    let global = abi::ze_kernel_timestamp_data_t {
        kernelStart: event.start.load(SeqCst),
        kernelEnd: event.end.load(SeqCst),
    };
    answer(CALL, place, abi::ze_kernel_timestamp_result_t { global, context: global });
    ZE_RESULT_SUCCESS
}
