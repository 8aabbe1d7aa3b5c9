//! Events.

use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Instant;

use crosscut_adapter_cuda::abi::{self, Handle};

use crate::checked::{Answer, answer, misuse};
use crate::context::here;
use crate::live::Live;
use crate::stream::Stream;

pub(crate) static EVENTS: Live<Event> = Live::new("event");

/// What was recorded in it last.
pub(crate) struct Event {
    timed: bool,
    record: Mutex<Option<Arc<Record>>>,
}

/// One time that an event was recorded.
#[derive(Default)]
pub(crate) struct Record {
    reached: Mutex<Option<Instant>>,
    changed: Condvar,
}

impl Record {
    fn reached(&self) -> Option<Instant> {
        *self.reached.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn reach(&self) {
        *self.reached.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        self.changed.notify_all();
    }

    pub(crate) fn wait(&self) {
        let reached = self.reached.lock().unwrap_or_else(PoisonError::into_inner);
        let reached = self.changed.wait_while(reached, |reached| reached.is_none());
        drop(reached);
    }
}

impl Event {
    pub(crate) fn record(&self) -> Option<Arc<Record>> {
        self.record.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

pub(crate) fn create(call: &str, place: *mut Handle, flags: u32) -> Answer {
    let here = here(call)?;
    if flags & !(abi::CU_EVENT_BLOCKING_SYNC | abi::CU_EVENT_DISABLE_TIMING) != 0 {
        misuse(call, "there are no such flags");
    }
    let timed = flags & abi::CU_EVENT_DISABLE_TIMING == 0;
    answer(call, place, EVENTS.add(here, Event { timed, record: Mutex::new(None) }))
}

pub(crate) fn destroy(call: &str, event: Handle) -> Answer {
    EVENTS.remove(call, here(call)?, event);
    Ok(())
}

pub(crate) fn record(call: &str, event: Handle, stream: Handle) -> Answer {
    let here = here(call)?;
    let (event, stream) = (EVENTS.get(call, here, event), Stream::get(call, here, stream));
    let record = Arc::new(Record::default());
    *event.record.lock().unwrap_or_else(PoisonError::into_inner) = Some(Arc::clone(&record));
    stream.push(move || record.reach());
    Ok(())
}

pub(crate) fn query(call: &str, event: Handle) -> Answer {
    let here = here(call)?;
    // One that was never recorded counts as reached.
    match EVENTS.get(call, here, event).record() {
        Some(record) if record.reached().is_none() => Err(abi::CUDA_ERROR_NOT_READY),
        // Whoever sees it reached sees what became of the kernels before it.
        _ => here.intact(),
    }
}

pub(crate) fn synchronize(call: &str, event: Handle) -> Answer {
    let here = here(call)?;
    if let Some(record) = EVENTS.get(call, here, event).record() {
        record.wait();
    }
    here.intact()
}

pub(crate) fn elapsed(call: &str, place: *mut f32, begin: Handle, end: Handle) -> Answer {
    let here = here(call)?;
    let time = |event| {
        let event = EVENTS.get(call, here, event);
        if !event.timed {
            misuse(call, "the event was made without times");
        }
        let Some(record) = event.record() else { misuse(call, "nothing was recorded") };
        record.reached().ok_or(abi::CUDA_ERROR_NOT_READY)
    };
    let (begin, end) = (time(begin)?, time(end)?);
    let passed = |from: Instant, to: Instant| to.duration_since(from).as_secs_f32() * 1e3;
    let milliseconds = if end >= begin { passed(begin, end) } else { -passed(end, begin) };
    answer(call, place, milliseconds)
}
