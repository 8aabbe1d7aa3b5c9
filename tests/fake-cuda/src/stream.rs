//! Streams: each a thread, which does one thing after the other.

use std::ffi::c_void;
use std::sync::mpsc::{Sender, channel};

use crosscut_adapter_cuda::abi::{self, Handle};

use crate::checked::{Answer, answer, misuse};
use crate::context::{Here, here};
use crate::event;
use crate::live::Live;

pub(crate) static STREAMS: Live<Stream> = Live::new("stream");

type Job = Box<dyn FnOnce() + Send>;

/// Where its thread takes jobs from. What is on it still runs when it is gone, as CUDA has it.
pub(crate) struct Stream(Sender<Job>);

impl Stream {
    /// The stream of a handle: CUDA's own one, which is null, waits for all others, and no queue does.
    pub(crate) fn get(call: &str, here: Here, handle: Handle) -> std::sync::Arc<Self> {
        if handle.is_null() {
            misuse(call, "the null stream waits for all others");
        }
        STREAMS.get(call, here, handle)
    }

    pub(crate) fn push(&self, job: impl FnOnce() + Send + 'static) {
        if self.0.send(Box::new(job)).is_err() {
            misuse("a stream", "its thread is gone");
        }
    }
}

pub(crate) fn create(call: &str, place: *mut Handle, flags: u32) -> Answer {
    let here = here(call)?;
    if flags != abi::CU_STREAM_NON_BLOCKING {
        misuse(call, "such a stream would wait for the null stream");
    }
    let (sender, jobs) = channel::<Job>();
    let thread = std::thread::Builder::new().name("fake-stream".to_owned());
    thread
        .spawn(move || jobs.into_iter().for_each(|job| job()))
        .map_err(|_| abi::CUDA_ERROR_OUT_OF_MEMORY)?;
    answer(call, place, STREAMS.add(here, Stream(sender)))
}

pub(crate) fn destroy(call: &str, stream: Handle) -> Answer {
    STREAMS.remove(call, here(call)?, stream);
    Ok(())
}

pub(crate) fn wait_event(call: &str, stream: Handle, event: Handle, flags: u32) -> Answer {
    let here = here(call)?;
    if flags != 0 {
        misuse(call, "there are no flags");
    }
    let stream = Stream::get(call, here, stream);
    // What is recorded in it now, whatever is recorded later.
    if let Some(record) = event::EVENTS.get(call, here, event).record() {
        stream.push(move || {
            record.wait();
        });
    }
    Ok(())
}

/// An address that is passed to a thread, whose owner promises that it stays valid.
#[derive(Clone, Copy)]
pub(crate) struct Lent(pub(crate) *mut c_void);

// SAFETY: it is an address; who passes it vouches for what is there.
unsafe impl Send for Lent {}

impl Lent {
    pub(crate) fn pointer(self) -> *mut u8 {
        self.0.cast()
    }
}
