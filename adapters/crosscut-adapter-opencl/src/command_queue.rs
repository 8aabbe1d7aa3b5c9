//! The driver's queues.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use crosscut_adapter_api::{DriverError, QueueOptions, QueueOrder};

use crate::context::ContextHandle;
use crate::error::check;
use crate::event::{ClEvent, Settled};
use crate::exit;
use crate::sys::{self, Handle};
use crate::waits::WaitList;

const BARRIER: &str = "clEnqueueBarrierWithWaitList";

/// A `cl_command_queue`.
pub(crate) struct CommandQueue {
    context: Arc<ContextHandle>,
    raw: Handle,
    /// A number that no other queue ever has, if the queue is in order. (A handle would not do: it
    /// may come again once its queue is released, and events outlive queues.)
    in_order: Option<u64>,
    profiling: bool,
    /// Why nobody can tell any more when what is on it has ended: then it takes no more commands.
    broken: OnceLock<DriverError>,
}

// SAFETY: the raw pointer is a `cl_command_queue`, and OpenCL 3.0, appendix A.2, says: "All OpenCL
// API calls are thread-safe except those that modify the state of cl_kernel objects".
unsafe impl Send for CommandQueue {}
// SAFETY: as for `Send`.
unsafe impl Sync for CommandQueue {}

impl CommandQueue {
    pub(crate) fn create(
        context: &Arc<ContextHandle>,
        options: &QueueOptions,
    ) -> Result<Self, DriverError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let _alive = exit::enter("clCreateCommandQueueWithProperties")?;
        let out_of_order = options.order == QueueOrder::OutOfOrder;
        let mut flags = if out_of_order { sys::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE } else { 0 };
        if options.profiling {
            flags |= sys::CL_QUEUE_PROFILING_ENABLE;
        }
        let (device, mut status) = (context.id, 0);
        let (call, raw) = if let Some(create) = context.api.clCreateCommandQueueWithProperties {
            let properties = [sys::CL_QUEUE_PROPERTIES, flags, 0];
            // SAFETY: context and device are alive and belong together, the list of properties
            // ends with 0, `status` is writable.
            let raw = unsafe { create(context.raw, device, properties.as_ptr(), &raw mut status) };
            ("clCreateCommandQueueWithProperties", raw)
        } else {
            // SAFETY: context and device are alive and belong together, `status` is writable.
            let raw = unsafe {
                (context.api.clCreateCommandQueue)(context.raw, device, flags, &raw mut status)
            };
            ("clCreateCommandQueue", raw)
        };
        check(call, status)?;
        let in_order = (!out_of_order).then(|| NEXT.fetch_add(1, Ordering::Relaxed));
        let (context, profiling) = (Arc::clone(context), options.profiling);
        Ok(Self { context, raw, in_order, profiling, broken: OnceLock::new() })
    }

    /// The events of `after` that a command on this queue must name: one in order waits for its own anyway.
    pub(crate) fn waits(&self, after: &[&dyn crosscut_adapter_api::Event]) -> WaitList {
        WaitList::new(after, self.in_order)
    }

    /// Submits a command by `run`, which hands the driver this queue, the events to wait for and a place for the
    /// command's own, and returns what the driver says. To be called while the driver is known to be there.
    pub(crate) fn submit(
        &self,
        call: &'static str,
        mut waits: WaitList,
        run: impl FnOnce(Handle, &WaitList, *mut Handle) -> i32,
    ) -> Result<ClEvent, DriverError> {
        if let Some(refusal) = self.broken.get() {
            return Err(refusal.clone());
        }
        let promises = waits.complete(&self.context)?;
        let mut event = self.enqueue(call, &waits, run)?;
        if let Some(promises) = promises {
            let settled = match self.is_in_order() {
                true => self.settled_behind(&promises.settled),
                // What comes later names what it waits for, and so fails with it.
                false => Settled::Itself,
            };
            event = event.promised(promises.row, settled);
        }
        // A refusal here must not become an error, because the command is submitted and will run:
        // waiting for it flushes again, and tells.
        // SAFETY: the queue is alive.
        unsafe { (self.context.api.clFlush)(self.raw) };
        Ok(event)
    }

    fn is_in_order(&self) -> bool {
        self.in_order.is_some()
    }

    /// Whether it takes no more commands.
    pub(crate) fn is_broken(&self) -> bool {
        self.broken.get().is_some()
    }

    /// The end of the newest command, of everything before it and of these. Where the driver refuses, that command is
    /// submitted all the same: what would come behind it must not be.
    fn settled_behind(&self, waits: &WaitList) -> Settled {
        match self.enqueue_barrier(waits) {
            Ok(barrier) => Settled::Behind(Arc::new(barrier)),
            Err(refusal) => {
                // A thread that was refused at the same time says as much.
                let _ = self.broken.set(refusal.clone());
                Settled::Unknown(Box::new(refusal))
            }
        }
    }

    /// A command that does nothing but wait, for these events or, without any, for everything on this queue.
    pub(crate) fn barrier(&self, waits: WaitList) -> Result<ClEvent, DriverError> {
        self.submit(BARRIER, waits, |queue, waits, event| {
            // SAFETY: queue and events are alive and of one context.
            unsafe { self.run_barrier(queue, waits, event) }
        })
    }

    fn enqueue_barrier(&self, waits: &WaitList) -> Result<ClEvent, DriverError> {
        #[cfg(test)]
        if tests::REFUSES_BARRIERS.get() {
            return Err(crate::error::error(BARRIER, sys::CL_OUT_OF_HOST_MEMORY));
        }
        self.enqueue(BARRIER, waits, |queue, waits, event| {
            // SAFETY: queue and events are alive and of one context.
            unsafe { self.run_barrier(queue, waits, event) }
        })
    }

    /// # Safety
    /// Queue and events are alive and of one context, and there is room for an event.
    unsafe fn run_barrier(&self, queue: Handle, waits: &WaitList, event: *mut Handle) -> i32 {
        let run = self.context.api.clEnqueueBarrierWithWaitList;
        // SAFETY: the caller's promise.
        unsafe { run(queue, waits.count(), waits.as_ptr(), event) }
    }

    fn enqueue(
        &self,
        call: &'static str,
        waits: &WaitList,
        run: impl FnOnce(Handle, &WaitList, *mut Handle) -> i32,
    ) -> Result<ClEvent, DriverError> {
        let mut event = std::ptr::null_mut();
        check(call, run(self.raw, waits, &raw mut event))?;
        Ok(ClEvent::new(&self.context, event, self.in_order, self.profiling))
    }

    /// Blocks until every command so far has completed.
    pub(crate) fn finish(&self, _: &exit::Waiting) -> Result<(), DriverError> {
        // SAFETY: the queue is alive.
        check("clFinish", unsafe { (self.context.api.clFinish)(self.raw) })
    }
}

impl Drop for CommandQueue {
    fn drop(&mut self) {
        if let Some(_alive) = exit::driver() {
            // SAFETY: this is the one reference that creating the queue gave. What was submitted
            // still runs.
            unsafe { (self.context.api.clReleaseCommandQueue)(self.raw) };
        }
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::num::NonZeroUsize;

    use crosscut_adapter_api::{Adapter, Event, MemoryKind, promise_dropped};

    use super::*;
    use crate::OpenCl;

    thread_local! {
        /// Whether the driver refuses this thread what tells of an end.
        pub(super) static REFUSES_BARRIERS: Cell<bool> = const { Cell::new(false) };
    }

    #[test]
    fn nothing_comes_behind_a_command_of_which_nobody_can_tell_the_end() {
        const SIZE: NonZeroUsize = NonZeroUsize::new(64).unwrap();
        for device in OpenCl::new().devices().unwrap_or_default() {
            let context = device.create_context().unwrap();
            for order in [QueueOrder::InOrder, QueueOrder::OutOfOrder] {
                let queue =
                    || context.create_queue(&QueueOptions { order, ..Default::default() }).unwrap();
                let [queue, other] = [queue(), queue()];
                let memory = context.allocate(MemoryKind::Device, SIZE, 8).unwrap();
                let fill = |queue: &dyn crosscut_adapter_api::Queue, after: &[&dyn Event]| {
                    // SAFETY: the memory is as long as this says, and goes after the waits below.
                    unsafe { queue.fill(&*memory, 0, &[1], SIZE, after) }
                };
                let (promised, promise) = context.promise().unwrap();
                REFUSES_BARRIERS.set(true);
                let command = fill(&*queue, &[&*promised]).unwrap();
                REFUSES_BARRIERS.set(false);
                // Behind it, on its queue and on another; what has nothing to do with it has lanes of its own.
                for queue in [&queue, &other] {
                    assert_eq!(fill(&**queue, &[&*command]).err().unwrap().call, BARRIER);
                }
                assert_eq!(fill(&*queue, &[]).is_ok(), order == QueueOrder::OutOfOrder);
                assert_eq!(queue.barrier(&[]).err().unwrap().call, BARRIER);
                assert!(command.on_complete(Box::new(drop)).is_err());
                promise.keep(Err(promise_dropped()));
                assert!(command.wait().is_err());
                fill(&*other, &[]).unwrap().wait().unwrap();
                queue.wait().unwrap();
            }
        }
    }
}
