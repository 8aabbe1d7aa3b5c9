//! Submitting commands.

use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, PoisonError};

use crosscut_adapter_api::{
    Argument, DriverError, Event, Extent, Kernel, Location, Memory, Queue, QueueOptions,
    QueueOrder, VariableQueue,
};

use crate::barriers::Barriers;
use crate::context::ContextHandle;
use crate::error::check;
use crate::event::{ClEvent, WaitList};
use crate::exit;
use crate::inside;
use crate::memory::{ClMemory, Place};
use crate::program::ClKernel;
use crate::rest;
use crate::sys::{self, Handle};

/// Commands return before they have run.
pub(crate) const NON_BLOCKING: u32 = 0;

/// A `cl_command_queue`.
pub(crate) struct ClQueue {
    context: Arc<ContextHandle>,
    raw: Handle,
    /// A number that no other queue ever has, if the queue is in order. (A handle would not do: it
    /// may come again once its queue is released, and events outlive queues.)
    in_order: Option<u64>,
    profiling: bool,
    pub(crate) barriers: Barriers,
}

// SAFETY: the raw pointer is a `cl_command_queue`, and OpenCL 3.0, appendix A.2, says: "All OpenCL
// API calls are thread-safe except those that modify the state of cl_kernel objects".
unsafe impl Send for ClQueue {}
// SAFETY: as for `Send`.
unsafe impl Sync for ClQueue {}

impl ClQueue {
    pub(crate) fn create(
        context: &Arc<ContextHandle>,
        options: &QueueOptions,
    ) -> Result<Self, DriverError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let _alive = exit::enter("clCreateCommandQueueWithProperties")?;
        // Where the device has no other queues, one in order keeps every promise of one that is
        // not: it only overlaps less.
        let out_of_order = options.order == QueueOrder::OutOfOrder && context.out_of_order_queues;
        let mut flags = if out_of_order { sys::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE } else { 0 };
        if options.profiling {
            flags |= sys::CL_QUEUE_PROFILING_ENABLE;
        }
        rest::release_rested();
        if out_of_order {
            inside::expect_out_of_order(context.info.kind);
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
        if out_of_order {
            rest::hold(context, raw);
        }
        let in_order = (!out_of_order).then(|| NEXT.fetch_add(1, Ordering::Relaxed));
        let (context, profiling) = (Arc::clone(context), options.profiling);
        Ok(Self { context, raw, in_order, profiling, barriers: Barriers::default() })
    }

    pub(crate) fn context(&self) -> &Arc<ContextHandle> {
        &self.context
    }

    pub(crate) fn raw(&self) -> Handle {
        self.raw
    }

    pub(crate) fn in_order(&self) -> Option<u64> {
        self.in_order
    }

    /// Makes the event of a command that was just submitted, and sends it on its way.
    pub(crate) fn submitted(
        &self,
        call: &'static str,
        status: i32,
        event: Handle,
    ) -> Result<ClEvent, DriverError> {
        check(call, status)?;
        let event = ClEvent::new(&self.context, event, self.in_order, self.profiling);
        // A refusal here must not become an error, because the command is submitted and will run:
        // waiting for it flushes again, and tells.
        // SAFETY: the queue is alive.
        unsafe { (self.context.api.clFlush)(self.raw) };
        Ok(event)
    }

    /// Submits a command by `run`, which hands the driver the events to wait for and a place for the
    /// command's own, and returns what the driver says.
    fn enqueue(
        &self,
        call: &'static str,
        after: &[&dyn Event],
        run: impl FnOnce(&WaitList, *mut Handle) -> i32,
    ) -> Result<Box<dyn Event>, DriverError> {
        Ok(Box::new(self.enqueue_own(call, after, run)?))
    }

    /// The same, as the adapter has it.
    fn enqueue_own(
        &self,
        call: &'static str,
        after: &[&dyn Event],
        run: impl FnOnce(&WaitList, *mut Handle) -> i32,
    ) -> Result<ClEvent, DriverError> {
        let _alive = exit::enter(call)?;
        let waits = WaitList::new(after, self.in_order);
        let mut event = std::ptr::null_mut();
        let status = run(&waits, &raw mut event);
        self.submitted(call, status, event)
    }

    /// A barrier as the driver has it.
    pub(crate) fn plain_barrier(&self, after: &[&dyn Event]) -> Result<ClEvent, DriverError> {
        // On a queue in order an empty list says the same.
        self.enqueue_own("clEnqueueBarrierWithWaitList", after, |waits, event| {
            // SAFETY: queue and events are alive and of one context.
            unsafe {
                (self.context.api.clEnqueueBarrierWithWaitList)(
                    self.raw,
                    waits.count(),
                    waits.as_ptr(),
                    event,
                )
            }
        })
    }

    /// Copies between two addresses, one of them in `usm` memory.
    ///
    /// # Safety
    /// Both are valid for `size` bytes until the event completes.
    unsafe fn copy_usm(
        &self,
        usm: &sys::Usm,
        target: *mut u8,
        source: *const u8,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        self.enqueue("clEnqueueMemcpyINTEL", after, |waits, event| {
            // SAFETY: the caller vouches for the addresses; queue and events are alive.
            unsafe {
                (usm.enqueue_memcpy)(
                    self.raw,
                    NON_BLOCKING,
                    target.cast(),
                    source.cast(),
                    size.get(),
                    waits.count(),
                    waits.as_ptr(),
                    event,
                )
            }
        })
    }
}

impl Queue for ClQueue {
    unsafe fn launch(
        &self,
        kernel: &dyn Kernel,
        extent: Extent,
        arguments: &[Argument<'_>],
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        const CALL: &str = "clEnqueueNDRangeKernel";
        let _alive = exit::enter(CALL)?;
        let Some(kernel) = kernel.as_any().downcast_ref::<ClKernel>() else {
            panic!("the runtime hands over only kernels of the same context");
        };
        let waits = WaitList::new(after, self.in_order);
        let dimensions = usize::from(extent.dimensions);
        let mut size = extent.size;
        size[..dimensions].reverse();
        let group = extent.group.map(|mut group| {
            group[..dimensions].reverse();
            group
        });
        let items =
            size[..dimensions].iter().fold(1, |items: usize, &size| items.saturating_mul(size));
        let mut event = std::ptr::null_mut();

        let mut kernel_arguments = kernel.arguments.lock().unwrap_or_else(PoisonError::into_inner);
        kernel_arguments.set(&self.context, kernel.raw, arguments)?;
        // SAFETY: queue, kernel and events are alive and of one context; `size` has as many extents
        // as are announced, and so has the group, without which the driver chooses; the caller
        // vouches for the arguments.
        let status = unsafe {
            (self.context.api.clEnqueueNDRangeKernel)(
                self.raw,
                kernel.raw,
                u32::from(extent.dimensions),
                std::ptr::null(),
                size.as_ptr(),
                group.as_ref().map_or(std::ptr::null(), |group| group.as_ptr()),
                waits.count(),
                waits.as_ptr(),
                &raw mut event,
            )
        };
        drop(kernel_arguments);
        let event = self.submitted(CALL, status, event)?;
        Ok(Box::new(event.of_items(items)))
    }

    unsafe fn write(
        &self,
        target: &dyn Memory,
        offset: usize,
        source: *const u8,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        match ClMemory::of(target).place() {
            Place::Usm { usm, address, .. } => {
                let target = address.as_ptr().wrapping_add(offset);
                // SAFETY: the range lies inside the allocation, and the caller vouches that it and
                // `source` stay valid until the event completes.
                unsafe { self.copy_usm(usm, target, source, size, after) }
            }
            Place::Object { raw, .. } => {
                self.enqueue("clEnqueueWriteBuffer", after, |waits, event| {
                    // SAFETY: queue, memory and events are alive and of one context, the range lies
                    // inside the memory, and the caller vouches for `source`.
                    unsafe {
                        (self.context.api.clEnqueueWriteBuffer)(
                            self.raw,
                            *raw,
                            NON_BLOCKING,
                            offset,
                            size.get(),
                            source.cast(),
                            waits.count(),
                            waits.as_ptr(),
                            event,
                        )
                    }
                })
            }
        }
    }

    unsafe fn read(
        &self,
        source: &dyn Memory,
        offset: usize,
        target: *mut u8,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        match ClMemory::of(source).place() {
            Place::Usm { usm, address, .. } => {
                let source = address.as_ptr().wrapping_add(offset);
                // SAFETY: the range lies inside the allocation, and the caller vouches that it and
                // `target` stay valid until the event completes.
                unsafe { self.copy_usm(usm, target, source, size, after) }
            }
            Place::Object { raw, .. } => {
                self.enqueue("clEnqueueReadBuffer", after, |waits, event| {
                    // SAFETY: queue, memory and events are alive and of one context, the range lies
                    // inside the memory, and the caller vouches for `target`.
                    unsafe {
                        (self.context.api.clEnqueueReadBuffer)(
                            self.raw,
                            *raw,
                            NON_BLOCKING,
                            offset,
                            size.get(),
                            target.cast(),
                            waits.count(),
                            waits.as_ptr(),
                            event,
                        )
                    }
                })
            }
        }
    }

    unsafe fn fill(
        &self,
        target: &dyn Memory,
        offset: usize,
        pattern: &[u8],
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        let (pattern, length) = (pattern.as_ptr().cast::<c_void>(), pattern.len());
        match ClMemory::of(target).place() {
            Place::Usm { usm, address, .. } => {
                self.enqueue("clEnqueueMemFillINTEL", after, |waits, event| {
                    // SAFETY: the range lies inside the allocation, which the caller keeps; the
                    // pattern has `length` bytes, and the driver copies it before it returns.
                    unsafe {
                        (usm.enqueue_mem_fill)(
                            self.raw,
                            address.as_ptr().wrapping_add(offset).cast(),
                            pattern,
                            length,
                            size.get(),
                            waits.count(),
                            waits.as_ptr(),
                            event,
                        )
                    }
                })
            }
            Place::Object { raw, .. } => {
                self.enqueue("clEnqueueFillBuffer", after, |waits, event| {
                    // SAFETY: as above, for a memory object.
                    unsafe {
                        (self.context.api.clEnqueueFillBuffer)(
                            self.raw,
                            *raw,
                            pattern,
                            length,
                            offset,
                            size.get(),
                            waits.count(),
                            waits.as_ptr(),
                            event,
                        )
                    }
                })
            }
        }
    }

    unsafe fn copy(
        &self,
        target: Location<'_>,
        source: Location<'_>,
        size: NonZeroUsize,
        after: &[&dyn Event],
    ) -> Result<Box<dyn Event>, DriverError> {
        match (ClMemory::of(target.memory).place(), ClMemory::of(source.memory).place()) {
            (Place::Usm { usm, address: to, .. }, Place::Usm { address: from, .. }) => {
                let to = to.as_ptr().wrapping_add(target.offset);
                let from = from.as_ptr().wrapping_add(source.offset);
                // SAFETY: both ranges lie inside allocations that the caller keeps.
                unsafe { self.copy_usm(usm, to, from, size, after) }
            }
            (Place::Object { raw: to, .. }, Place::Object { raw: from, .. }) => {
                self.enqueue("clEnqueueCopyBuffer", after, |waits, event| {
                    // SAFETY: queue, memory and events are alive and of one context, and the ranges
                    // lie inside the memory and apart.
                    unsafe {
                        (self.context.api.clEnqueueCopyBuffer)(
                            self.raw,
                            *from,
                            *to,
                            source.offset,
                            target.offset,
                            size.get(),
                            waits.count(),
                            waits.as_ptr(),
                            event,
                        )
                    }
                })
            }
            _ => unreachable!("memory of one context is all of one sort"),
        }
    }

    fn barrier(&self, after: &[&dyn Event]) -> Result<Box<dyn Event>, DriverError> {
        self.barrier_in_a_row(after)
    }

    fn wait(&self) -> Result<(), DriverError> {
        let waiting = exit::wait("clFinish")?;
        let inside = inside::enter(self.context.info.kind);
        if inside.is_none()
            && let Ok(last) = self.plain_barrier(&[])
        {
            return last.wait_within(&waiting);
        }
        // Also if the driver refuses the barrier: it tells why here.
        let api = self.context.api;
        if self.in_order.is_some() {
            // SAFETY: the queue is alive.
            return check("clFinish", unsafe { (api.clFinish)(self.raw) });
        }
        // A process that ends may release the queue meanwhile: see `rest`.
        // SAFETY: the queue is alive.
        check("clRetainCommandQueue", unsafe { (api.clRetainCommandQueue)(self.raw) })?;
        // SAFETY: the queue has a reference for this.
        let finished = check("clFinish", unsafe { (api.clFinish)(self.raw) });
        if let Some(_alive) = exit::driver() {
            // SAFETY: the reference from above; the queue itself has another.
            unsafe { (api.clReleaseCommandQueue)(self.raw) };
        }
        finished
    }

    fn as_variables(&self) -> Option<&dyn VariableQueue> {
        self.context.variables.is_some().then_some(self)
    }
}

impl Drop for ClQueue {
    fn drop(&mut self) {
        if self.in_order.is_none() {
            return rest::give_up(&self.context, self.raw, self.barrier(&[]));
        }
        if let Some(_alive) = exit::driver() {
            // SAFETY: this is the one reference that creating the queue gave. What was submitted
            // still runs.
            unsafe { (self.context.api.clReleaseCommandQueue)(self.raw) };
        }
    }
}
