//! Memory of devices that host tasks are given: brought to the host before, and back afterwards.
//!
//! On the host CPU the task has the memory itself, and runs when it is submitted, as kernels do there.
//! Elsewhere it has copies in the host's own memory: those are there even while the process ends and
//! the driver is gone. Atomics that the host reaches are the exception: somebody on the host may have
//! them at the same time, whose changes a copy would undo. The task has those themselves.

use std::alloc::{Layout, alloc, dealloc};
use std::num::NonZeroUsize;
use std::ptr::NonNull;
use std::sync::Arc;

use crosscut_adapter_api::{self as adapter, DriverError, DriverErrorKind, QueueOptions, Slot};

use crate::Error;
use crate::command::{Command, Outcome};
use crate::ended::{FailedCopy, ended};
use crate::event::Event;
use crate::few::Few;
use crate::home::Home;
use crate::host_task::{self, HostTask};
use crate::launch::{Binding, FEW, Source};
use crate::memory::Allocation;
use crate::native_launch::native_address;
use crate::queue::Queue;
use crate::region::Bytes;
use crate::uses::Access;

/// What a task of a device is lent.
pub(crate) struct Lent {
    parts: Vec<Part>,
    /// For the copies: the queue of the task waits for it.
    queue: Option<Box<dyn adapter::Queue>>,
}

/// One argument.
struct Part {
    /// Where it is on the device; `None` if it is empty.
    place: Option<Place>,
    access: Access,
    length: usize,
    align: usize,
    /// The task has the memory itself, beside others: it writes atomics, at addresses of the host.
    itself: bool,
}

struct Place {
    allocation: Arc<Allocation>,
    offset: usize,
    size: NonZeroUsize,
}

/// What a task sees: copies, but for what it has itself.
pub(crate) struct Rooms(Vec<(Option<Room>, Slot)>);

/// Memory of the host.
struct Room {
    start: NonNull<u8>,
    layout: Layout,
}

impl Queue {
    /// Runs `task` with the memory of its arguments, on a thread of the host, once `after`, whatever
    /// uses that memory and, on a queue in order, every command so far has completed. Whoever uses what
    /// it writes next waits for it. On the host CPU it has run when this returns; elsewhere this does
    /// not wait.
    ///
    /// # Errors
    /// An argument belongs to another context, is there twice although it is written, or is none that the
    /// host can be given; the driver's refusal. A panic of the task comes from its event, or from whoever
    /// waits next.
    ///
    /// # Safety
    /// `task` uses its slots as the bindings say, which are in the same order: what is bound for reading
    /// is not written. What is bound for writing is borrowed mutably by the caller, what is bound for
    /// reading is borrowed.
    pub unsafe fn host_task_with(
        &self,
        bindings: &[Binding<'_>],
        task: HostTask,
        after: &[Event],
    ) -> Result<Event, Error> {
        self.check_bindings(bindings)?;
        if self.context().is_native() {
            return self.run_natively(bindings, task, after);
        }
        self.submit_task(task, Lent::new(self, bindings)?, after)
    }

    /// Runs a task before it returns, on the memory itself: the caller's borrows keep others away.
    fn run_natively(
        &self,
        bindings: &[Binding<'_>],
        task: HostTask,
        after: &[Event],
    ) -> Result<Event, Error> {
        let failed = |error| Error::driver("submitting a host task", error);
        let mut slots = Few::<Slot, FEW>::new();
        for binding in bindings {
            place(binding)?;
            let address = native_address(Home::of(self.context()), binding)?;
            slots.push(Slot { address, length: binding.length });
        }
        let (event, promise) = self.context().inner().adapter.promise().map_err(failed)?;
        self.take_turn(after)?;
        self.pending.begin_task();
        let panic = host_task::call(self.number(), || task(&slots));
        promise.keep(Ok(()));
        let Some(error) = panic else {
            return Ok(Event::of(Command::new(self.origin, event, Outcome::Settled)));
        };
        let command = Command::new(self.origin, event, Outcome::Failed(error));
        self.remember_panic(&command, bindings);
        Ok(Event::of(command))
    }
}

impl Lent {
    /// Nothing, as most tasks are.
    pub(crate) fn nothing() -> Self {
        Self { parts: Vec::new(), queue: None }
    }

    fn new(queue: &Queue, bindings: &[Binding<'_>]) -> Result<Self, Error> {
        let mut parts = Vec::with_capacity(bindings.len());
        for binding in bindings {
            let Binding { source, access, length, align } = *binding;
            let place = place(binding)?;
            let shared = matches!(source, Source::Buffer(region) if region.is_shared());
            let reached = place.as_ref().is_some_and(|place| place.on_host().is_some());
            let itself = shared && access == Access::Write && reached;
            parts.push(Part { place, access, length, align, itself });
        }
        let context = &queue.context().inner().adapter;
        let copies = match parts.iter().any(|part| part.copied().is_some()) {
            true => Some(context.create_queue(&QueueOptions::default())),
            false => None,
        };
        let queue = copies.transpose();
        let queue = queue.map_err(|error| Error::driver("making a queue for copies", error))?;
        Ok(Self { parts, queue })
    }

    pub(crate) fn is_nothing(&self) -> bool {
        self.parts.is_empty()
    }

    /// The memory on the device, and what the task does with it.
    pub(crate) fn uses(&self) -> impl Iterator<Item = (&Arc<Allocation>, Access)> {
        self.parts.iter().filter_map(|part| Some((&part.place.as_ref()?.allocation, part.access)))
    }

    /// Copies everything to the host that the task does not have itself, and waits for it. To be called when it is the task's turn.
    pub(crate) fn fetch(&self) -> Result<Rooms, FailedCopy> {
        let mut rooms = Rooms(Vec::with_capacity(self.parts.len()));
        for part in &self.parts {
            let room = part.copied().map(|place| Room::new(place.size, part.align));
            let room = room.transpose()?;
            let place = part.place.as_ref().filter(|_| part.itself);
            let address = match (&room, place.and_then(Place::on_host)) {
                (Some(room), _) => room.start.as_ptr(),
                (None, Some(address)) => address,
                (None, None) => std::ptr::without_provenance_mut(part.align),
            };
            rooms.0.push((room, Slot { address, length: part.length }));
        }
        self.copy(rooms, |queue, _, place, address| {
            let memory = place.allocation.memory();
            // SAFETY: the room has the size and nobody knows it yet, the part is inside its memory; the
            // rooms and the memory are kept until the copies have ended, below.
            unsafe { queue.read(memory, place.offset, address, place.size, &[]) }.map(Some)
        })
    }

    /// Calls `visit` while the memory that the task has itself stays, even if the process begins to end.
    ///
    /// # Errors
    /// The process is ending, and that memory may be gone: `visit` was not called.
    pub(crate) fn visit(&self, visit: &mut dyn FnMut()) -> Result<(), DriverError> {
        visit_all(&self.parts, visit)
    }

    /// Copies what is written back to the device, and waits for it.
    pub(crate) fn store(&self, rooms: Rooms) -> Result<(), FailedCopy> {
        let stored = self.copy(rooms, |queue, part, place, address| {
            if part.access == Access::Read {
                return Ok(None);
            }
            let memory = place.allocation.memory();
            // SAFETY: the room has the size, and the task has ended; the rest is as above.
            unsafe { queue.write(memory, place.offset, address, place.size, &[]) }.map(Some)
        });
        stored.map(drop)
    }

    /// Starts a copy for each part, and waits for all that were started, also where one fails. Where nobody can
    /// tell whether one goes on, the memory on both sides stays for ever.
    fn copy(
        &self,
        rooms: Rooms,
        start: impl Fn(
            &dyn adapter::Queue,
            &Part,
            &Place,
            *mut u8,
        ) -> Result<Option<Box<dyn adapter::Event>>, DriverError>,
    ) -> Result<Rooms, FailedCopy> {
        let Some(queue) = self.queue.as_deref() else { return Ok(rooms) };
        let (mut started, mut failure) = (Vec::new(), None);
        for (part, (_, slot)) in self.parts.iter().zip(&rooms.0) {
            let Some(place) = part.copied() else { continue };
            match start(queue, part, place, slot.address) {
                Ok(event) => started.extend(event),
                Err(error) => {
                    failure = Some(FailedCopy::from(error));
                    break;
                }
            }
        }
        for copy in &started {
            if let Err(failed) = ended(&**copy, queue) {
                failure = Some(match failure {
                    Some(first) => first.and(failed),
                    None => failed,
                });
            }
        }
        let Some(failure) = failure else { return Ok(rooms) };
        if failure.may_run {
            let memory = self.parts.iter().filter_map(Part::copied);
            memory.for_each(|place| std::mem::forget(Arc::clone(&place.allocation)));
            std::mem::forget(rooms);
        }
        Err(failure)
    }
}

impl Part {
    /// What the task has a copy of.
    fn copied(&self) -> Option<&Place> {
        self.place.as_ref().filter(|_| !self.itself)
    }
}

impl Place {
    /// Where the host reaches it, if it does.
    fn on_host(&self) -> Option<*mut u8> {
        let start = self.allocation.memory().host_address()?;
        Some(start.as_ptr().wrapping_add(self.offset))
    }
}

fn visit_all(parts: &[Part], visit: &mut dyn FnMut()) -> Result<(), DriverError> {
    let Some((part, rest)) = parts.split_first() else {
        visit();
        return Ok(());
    };
    let Some(place) = part.place.as_ref().filter(|_| part.itself) else {
        return visit_all(rest, visit);
    };
    let mut outcome = Ok(());
    place.allocation.visit_on_host(&mut |_| outcome = visit_all(rest, visit))?;
    outcome
}

impl Rooms {
    /// What the task gets.
    pub(crate) fn slots(&self) -> Vec<Slot> {
        self.0.iter().map(|(_, slot)| *slot).collect()
    }
}

impl Room {
    fn new(size: NonZeroUsize, align: usize) -> Result<Self, DriverError> {
        let no_memory = || DriverError {
            kind: DriverErrorKind::OutOfMemory,
            call: "alloc",
            code: -1,
            log: Some(format!("the host has no {size} bytes for an argument of a host task")),
        };
        let layout = Layout::from_size_align(size.get(), align).map_err(|_| no_memory())?;
        // SAFETY: the size is not zero.
        let start = NonNull::new(unsafe { alloc(layout) }).ok_or_else(no_memory)?;
        Ok(Self { start, layout })
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        // SAFETY: allocated with this layout, and nobody has the address any more.
        unsafe { dealloc(self.start.as_ptr(), self.layout) };
    }
}

/// Where an argument is; `None` if it is empty, or nothing but a length.
fn place(binding: &Binding<'_>) -> Result<Option<Place>, Error> {
    match binding.source {
        Source::Buffer(region) => Ok(region.bytes().map(|Bytes { allocation, offset, size }| {
            Place { allocation: Arc::clone(allocation), offset, size }
        })),
        Source::Nothing => Ok(None),
        Source::Global(_) | Source::Local { .. } => Err(Error::invalid(
            "an argument of a host task that is neither a buffer nor a part of one",
            "read device globals with `queue.read`, of a queue that is not the task's",
        )),
    }
}
