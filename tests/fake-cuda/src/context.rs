//! Primary contexts, and which one is current on a thread.

use std::cell::RefCell;
use std::mem::ManuallyDrop;
use std::sync::atomic::{AtomicI32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crosscut_adapter_cuda::abi::{self, DeviceNumber, Handle, Status};

use crate::checked::{Answer, answer, misuse};
use crate::{event, memory, module, stream};

/// How many devices there are.
pub(crate) const DEVICES: usize = 2;

/// The primary context of each device.
static PRIMARY: [Primary; DEVICES] = [const { Primary::new() }; DEVICES];

/// The handle of the first one.
const FIRST: usize = 0xC0_0000;

thread_local! {
    /// Never dropped: threads that are ending make calls, too.
    static STACK: ManuallyDrop<RefCell<Vec<usize>>> =
        const { ManuallyDrop::new(RefCell::new(Vec::new())) };
}

struct Primary {
    /// How often. Locked also while the last one releases it: who retains it meanwhile has it as new.
    retained: Mutex<usize>,
    /// What a kernel has done to it; it is of no more use then.
    fault: AtomicI32,
}

impl Primary {
    const fn new() -> Self {
        Self { retained: Mutex::new(0), fault: AtomicI32::new(abi::CUDA_SUCCESS) }
    }

    fn retained(&self) -> MutexGuard<'_, usize> {
        self.retained.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The context that is current on this thread.
#[derive(Clone, Copy)]
pub(crate) struct Here {
    pub(crate) context: usize,
}

impl Here {
    pub(crate) fn device(self) -> usize {
        self.context - FIRST
    }

    /// Loses the context, for what a kernel did.
    pub(crate) fn lose(self, fault: Status) {
        let of = &PRIMARY[self.device()].fault;
        let _ = of.compare_exchange(abi::CUDA_SUCCESS, fault, Ordering::SeqCst, Ordering::SeqCst);
    }

    /// Whether it is of use.
    pub(crate) fn intact(self) -> Answer {
        match PRIMARY[self.device()].fault.load(Ordering::SeqCst) {
            abi::CUDA_SUCCESS => Ok(()),
            fault => Err(fault),
        }
    }
}

/// The context that a call is made in, which is of use.
pub(crate) fn here(call: &str) -> Result<Here, Status> {
    let top = STACK.with(|stack| stack.borrow().last().copied());
    let Some(context) = top else { misuse(call, "no context is current on this thread") };
    let here = Here { context };
    here.intact()?;
    Ok(here)
}

fn of_device<'a>(call: &str, device: DeviceNumber) -> (usize, &'a Primary) {
    match usize::try_from(device).ok().and_then(|at| Some((FIRST + at, PRIMARY.get(at)?))) {
        Some(found) => found,
        None => misuse(call, &format!("there is no device {device}")),
    }
}

pub(crate) fn retain(call: &str, place: *mut Handle, device: DeviceNumber) -> Answer {
    let (context, primary) = of_device(call, device);
    *primary.retained() += 1;
    answer(call, place, std::ptr::without_provenance_mut(context))
}

pub(crate) fn release(call: &str, device: DeviceNumber) -> Answer {
    let (context, primary) = of_device(call, device);
    let mut retained = primary.retained();
    match *retained {
        0 => misuse(call, "nobody has retained it"),
        1 => {}
        _ => {
            *retained -= 1;
            return Ok(());
        }
    }
    if (Here { context }).intact().is_ok() {
        event::EVENTS.none_of(call, context);
        stream::STREAMS.none_of(call, context);
        module::none_of(call, context);
        memory::none_of(call, context);
    }
    // What is lost with a context goes with it.
    event::EVENTS.forget(context);
    stream::STREAMS.forget(context);
    module::forget(context);
    memory::forget(context);
    primary.fault.store(abi::CUDA_SUCCESS, Ordering::SeqCst);
    *retained = 0;
    Ok(())
}

pub(crate) fn push(call: &str, context: Handle) -> Answer {
    let at = context.addr().wrapping_sub(FIRST);
    if PRIMARY.get(at).is_none_or(|primary| *primary.retained() == 0) {
        misuse(call, &format!("{context:?} is no context, or is gone"));
    }
    STACK.with(|stack| stack.borrow_mut().push(context.addr()));
    Ok(())
}

pub(crate) fn pop(call: &str, place: *mut Handle) -> Answer {
    match STACK.with(|stack| stack.borrow_mut().pop()) {
        Some(context) => answer(call, place, std::ptr::without_provenance_mut(context)),
        None => misuse(call, "no context is current on this thread"),
    }
}

/// The context that is current, if one is: what tests ask about.
pub(crate) fn get(call: &str, place: *mut Handle) -> Answer {
    let top = STACK.with(|stack| stack.borrow().last().copied());
    answer(call, place, std::ptr::without_provenance_mut(top.unwrap_or(0)))
}
