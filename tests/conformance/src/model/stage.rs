//! A context with a queue.

use std::fmt;
use std::sync::Arc;

use crosscut_adapter_api::{self as adapter, Absence, Adapter, Backend};
use crosscut_runtime::{
    Buffer, Context, Device, Error, ErrorKind, Event, Queue, QueueOptions, QueueOrder, Region,
    Runtime,
};

use crate::ensure;

/// What happened instead of what should have: any error, as its text.
#[derive(Debug)]
pub struct Failure(String);

impl Failure {
    pub(crate) fn into_text(self) -> String {
        self.0
    }
}

impl<E: fmt::Display> From<E> for Failure {
    fn from(error: E) -> Self {
        Self(error.to_string())
    }
}

/// An adapter with one device.
struct Only {
    backend: Backend,
    device: Arc<dyn adapter::Device>,
}

impl Adapter for Only {
    fn backend(&self) -> Backend {
        self.backend
    }

    fn devices(&self) -> Result<Vec<Arc<dyn adapter::Device>>, Absence> {
        Ok(vec![Arc::clone(&self.device)])
    }
}

/// A device, and a context of its own with a queue in order.
pub struct Stage {
    /// The device, as the runtime has it.
    pub device: Device,
    /// A context that nobody else has.
    pub context: Context,
    /// A queue in order.
    pub queue: Queue,
    only: Arc<Only>,
}

impl Stage {
    pub(crate) fn of(backend: Backend, device: &Arc<dyn adapter::Device>) -> Result<Self, Error> {
        let only = Arc::new(Only { backend, device: Arc::clone(device) });
        let adapters: Vec<Arc<dyn Adapter>> = vec![only.clone()];
        let device = Runtime::with_selector(adapters, "").devices()?.remove(0);
        Self::opened(device, only)
    }

    fn opened(device: Device, only: Arc<Only>) -> Result<Self, Error> {
        let context = device.create_context()?;
        let queue = Queue::new(&context)?;
        Ok(Self { device, context, queue, only })
    }

    /// A runtime in which this device is the only one, with a selector.
    pub(crate) fn runtime(&self, selector: &str) -> Runtime {
        Runtime::with_selector(vec![self.only.clone()], selector)
    }

    /// The same device in another context.
    pub(crate) fn elsewhere(&self) -> Result<Self, Error> {
        Self::opened(self.device.clone(), Arc::clone(&self.only))
    }

    /// Another queue in order.
    pub(crate) fn another(&self) -> Result<Queue, Error> {
        Queue::new(&self.context)
    }

    /// A queue out of order.
    pub(crate) fn out_of_order(&self) -> Result<Queue, Error> {
        let order = QueueOrder::OutOfOrder;
        Queue::with_options(&self.context, QueueOptions { order, ..QueueOptions::default() })
    }

    /// A queue of each order.
    pub(crate) fn both_orders(&self) -> Result<[Queue; 2], Error> {
        Ok([self.another()?, self.out_of_order()?])
    }

    /// A queue that takes times.
    pub(crate) fn profiled(&self) -> Result<Queue, Error> {
        let options = QueueOptions { profiling: true, ..QueueOptions::default() };
        Queue::with_options(&self.context, options)
    }

    /// A buffer of so many bytes.
    pub(crate) fn buffer(&self, size: usize) -> Result<Buffer, Error> {
        Buffer::allocate(&self.context, size, 64)
    }

    /// A buffer of these bytes.
    pub(crate) fn holding(&self, bytes: &[u8]) -> Result<Buffer, Error> {
        let buffer = self.buffer(bytes.len())?;
        put(&self.queue, &buffer, bytes)?;
        Ok(buffer)
    }

    /// What a buffer holds.
    pub(crate) fn bytes<'a>(&self, region: impl Into<Region<'a>>) -> Result<Vec<u8>, Error> {
        get(&self.queue, region)
    }
}

/// Writes to a region, which has as many bytes, and waits.
pub(super) fn put<'a>(
    queue: &Queue,
    region: impl Into<Region<'a>>,
    bytes: &[u8],
) -> Result<(), Error> {
    put_after(queue, region, bytes, &[])
}

pub(super) fn put_after<'a>(
    queue: &Queue,
    region: impl Into<Region<'a>>,
    bytes: &[u8],
    after: &[Event],
) -> Result<(), Error> {
    let region = region.into();
    assert_eq!(region.size(), bytes.len(), "a behaviour writes another number of bytes");
    // SAFETY: as many bytes are readable; behaviours use memory from one thread at a time.
    unsafe { queue.write(region, bytes.as_ptr(), after) }
}

/// Reads a region and waits.
pub(super) fn get<'a>(queue: &Queue, region: impl Into<Region<'a>>) -> Result<Vec<u8>, Error> {
    get_after(queue, region, &[])
}

pub(super) fn get_after<'a>(
    queue: &Queue,
    region: impl Into<Region<'a>>,
    after: &[Event],
) -> Result<Vec<u8>, Error> {
    let region = region.into();
    let mut bytes = vec![0; region.size()];
    // SAFETY: as many bytes are writable.
    unsafe { queue.read(region, bytes.as_mut_ptr(), 0, after) }?;
    Ok(bytes)
}

/// Starts to fill a region.
pub(super) fn fill<'a>(
    queue: &Queue,
    region: impl Into<Region<'a>>,
    pattern: &[u8],
    after: &[Event],
) -> Result<Event, Error> {
    // SAFETY: behaviours use memory from one thread at a time.
    unsafe { queue.fill(region.into(), pattern, after) }
}

/// Starts to copy a region to another, with which it does not overlap.
pub(super) fn copy<'a, 'b>(
    queue: &Queue,
    to: impl Into<Region<'a>>,
    from: impl Into<Region<'b>>,
    after: &[Event],
) -> Result<Event, Error> {
    // SAFETY: behaviours copy between different places, from one thread at a time.
    unsafe { queue.copy(to.into(), from.into(), 0, after) }
}

/// Holds a call to being refused for the right reason, in words that help.
pub(super) fn refused<T>(outcome: Result<T, Error>, kind: ErrorKind) -> Result<(), Failure> {
    let Err(error) = outcome else { return Err(Failure::from("it was not refused")) };
    ensure!(error.kind() == kind, "{:?} instead of {kind:?}: {error}", error.kind());
    let message = error.message();
    ensure!(!message.is_empty() && !message.ends_with('.'), "what it says is {message:?}");
    ensure!(error.help().is_some_and(|help| !help.is_empty()), "no help: {error}");
    Ok(())
}
