//! Submitting commands.

use std::ffi::c_void;
use std::num::NonZeroUsize;
use std::sync::{Arc, PoisonError};

use crosscut_adapter_api::{
    Argument, DeviceKind, DriverError, Event, Extent, Kernel, Location, Memory, Queue,
    QueueOptions, QueueOrder, VariableQueue,
};

use crate::barriers::Barriers;
use crate::command_queue::CommandQueue;
use crate::context::ContextHandle;
use crate::event::ClEvent;
use crate::exit;
use crate::lanes::Lanes;
use crate::memory::{ClMemory, Place};
use crate::program::ClKernel;
use crate::sys::{self, Handle};
use crate::waits::WaitList;

/// Commands return before they have run.
pub(crate) const NON_BLOCKING: u32 = 0;

/// A queue as the contract has it.
pub(crate) struct ClQueue {
    context: Arc<ContextHandle>,
    driver: Driver,
    pub(crate) barriers: Barriers,
}

/// What the driver has of it.
enum Driver {
    One(CommandQueue),
    Several(Lanes),
}

impl ClQueue {
    pub(crate) fn create(
        context: &Arc<ContextHandle>,
        options: &QueueOptions,
    ) -> Result<Self, DriverError> {
        let driver = match options.order {
            QueueOrder::OutOfOrder if context.info.kind == DeviceKind::Cpu => {
                Driver::Several(Lanes::create(context, options)?)
            }
            // Where the device has no other queues, one in order keeps every promise of one that is
            // not: it only overlaps less.
            QueueOrder::OutOfOrder if !context.out_of_order_queues => {
                let options = QueueOptions { order: QueueOrder::InOrder, ..*options };
                Driver::One(CommandQueue::create(context, &options)?)
            }
            _ => Driver::One(CommandQueue::create(context, options)?),
        };
        Ok(Self { context: Arc::clone(context), driver, barriers: Barriers::default() })
    }

    pub(crate) fn context(&self) -> &Arc<ContextHandle> {
        &self.context
    }

    /// Submits a command by `run`, which hands the driver a queue of its own, the events to wait for and a place for
    /// the command's own, and returns what the driver says.
    pub(crate) fn enqueue(
        &self,
        call: &'static str,
        after: &[&dyn Event],
        run: impl FnOnce(Handle, &WaitList, *mut Handle) -> i32,
    ) -> Result<Box<dyn Event>, DriverError> {
        Ok(Box::new(self.enqueue_own(call, after, run)?))
    }

    /// The same, as the adapter has it.
    fn enqueue_own(
        &self,
        call: &'static str,
        after: &[&dyn Event],
        run: impl FnOnce(Handle, &WaitList, *mut Handle) -> i32,
    ) -> Result<ClEvent, DriverError> {
        let _alive = exit::enter(call)?;
        match &self.driver {
            Driver::One(queue) => queue.submit(call, queue.waits(after), run),
            Driver::Several(lanes) => lanes.submit(call, after, run),
        }
    }

    /// A barrier as the driver has it.
    pub(crate) fn plain_barrier(&self, after: &[&dyn Event]) -> Result<ClEvent, DriverError> {
        let _alive = exit::enter("clEnqueueBarrierWithWaitList")?;
        match &self.driver {
            // On a queue in order an empty list says the same.
            Driver::One(queue) => queue.barrier(queue.waits(after)),
            Driver::Several(lanes) => lanes.barrier(after),
        }
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
        self.enqueue("clEnqueueMemcpyINTEL", after, |queue, waits, event| {
            // SAFETY: the caller vouches for the addresses; queue and events are alive.
            unsafe {
                (usm.enqueue_memcpy)(
                    queue,
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
        let dimensions = usize::from(extent.dimensions);
        let mut size = extent.size;
        size[..dimensions].reverse();
        let group = extent.group.map(|mut group| {
            group[..dimensions].reverse();
            group
        });
        let items =
            size[..dimensions].iter().fold(1, |items: usize, &size| items.saturating_mul(size));

        // Until the command is enqueued, and so has the arguments.
        let mut kernel_arguments = kernel.arguments.lock().unwrap_or_else(PoisonError::into_inner);
        kernel_arguments.set(&self.context, kernel.raw, arguments)?;
        let event = self.enqueue_own(CALL, after, |queue, waits, event| {
            // SAFETY: queue, kernel and events are alive and of one context; `size` has as many extents
            // as are announced, and so has the group, without which the driver chooses; the caller
            // vouches for the arguments.
            unsafe {
                (self.context.api.clEnqueueNDRangeKernel)(
                    queue,
                    kernel.raw,
                    u32::from(extent.dimensions),
                    std::ptr::null(),
                    size.as_ptr(),
                    group.as_ref().map_or(std::ptr::null(), |group| group.as_ptr()),
                    waits.count(),
                    waits.as_ptr(),
                    event,
                )
            }
        })?;
        drop(kernel_arguments);
        Ok(Box::new(match self.context.info.kind {
            DeviceKind::Cpu => event.of_items_on_cpu(items),
            _ => event,
        }))
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
                self.enqueue("clEnqueueWriteBuffer", after, |queue, waits, event| {
                    // SAFETY: queue, memory and events are alive and of one context, the range lies
                    // inside the memory, and the caller vouches for `source`.
                    unsafe {
                        (self.context.api.clEnqueueWriteBuffer)(
                            queue,
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
                self.enqueue("clEnqueueReadBuffer", after, |queue, waits, event| {
                    // SAFETY: queue, memory and events are alive and of one context, the range lies
                    // inside the memory, and the caller vouches for `target`.
                    unsafe {
                        (self.context.api.clEnqueueReadBuffer)(
                            queue,
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
                self.enqueue("clEnqueueMemFillINTEL", after, |queue, waits, event| {
                    // SAFETY: the range lies inside the allocation, which the caller keeps; the
                    // pattern has `length` bytes, and the driver copies it before it returns.
                    unsafe {
                        (usm.enqueue_mem_fill)(
                            queue,
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
                self.enqueue("clEnqueueFillBuffer", after, |queue, waits, event| {
                    // SAFETY: as above, for a memory object.
                    unsafe {
                        (self.context.api.clEnqueueFillBuffer)(
                            queue,
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
                self.enqueue("clEnqueueCopyBuffer", after, |queue, waits, event| {
                    // SAFETY: queue, memory and events are alive and of one context, and the ranges
                    // lie inside the memory and apart.
                    unsafe {
                        (self.context.api.clEnqueueCopyBuffer)(
                            queue,
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
        match &self.driver {
            Driver::One(queue) => queue.finish(&waiting),
            Driver::Several(lanes) => lanes.finish(&waiting),
        }
    }

    fn as_variables(&self) -> Option<&dyn VariableQueue> {
        self.context.variables.is_some().then_some(self)
    }
}
