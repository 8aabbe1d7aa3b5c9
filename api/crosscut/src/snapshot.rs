//! Snapshots of device globals, and globals of several devices at once.

use crosscut_device::property::{HostReadable, HostWritable, Properties};
use crosscut_device::{DeviceData, DeviceGlobal, Space, Symbol};
use crosscut_runtime::{GlobalHandle, GlobalLayout, Snapshot, kept_if_in_use};

use crate::kernel::handle;
use crate::{Error, HostElement, Launch, Queue, Result};

/// A device global of any type that the host may read and write, or a symbol, which stands for its
/// device value: what snapshots are made of.
pub trait AnyGlobal: Sync + sealed::Sealed {}

mod sealed {
    use super::{GlobalHandle, GlobalLayout};

    pub trait Sealed {
        fn handle(&'static self) -> GlobalHandle;
        fn layout(&self) -> GlobalLayout;
    }
}

impl<T, P> AnyGlobal for DeviceGlobal<T, P>
where
    T: DeviceData,
    P: Properties<Access: HostReadable + HostWritable>,
{
}

impl<T, P> sealed::Sealed for DeviceGlobal<T, P>
where
    T: DeviceData,
    P: Properties<Access: HostReadable + HostWritable>,
{
    fn handle(&'static self) -> GlobalHandle {
        handle(self)
    }

    fn layout(&self) -> GlobalLayout {
        layout::<T>()
    }
}

impl<T: DeviceData, S: Space> AnyGlobal for Symbol<T, S> {}

impl<T: DeviceData, S: Space> sealed::Sealed for Symbol<T, S> {
    fn handle(&'static self) -> GlobalHandle {
        handle(self.any_global())
    }

    fn layout(&self) -> GlobalLayout {
        layout::<T>()
    }
}

fn layout<T: DeviceData>() -> GlobalLayout {
    GlobalLayout {
        size: size_of::<T>() as u64,
        align: align_of::<T>() as u64,
        atomic_width: T::ATOMIC_WIDTH as u64,
        element: size_of::<T::Element>() as u64,
    }
}

/// A device global or a symbol, and the name it is saved under.
pub type Named = (&'static str, &'static dyn AnyGlobal);

impl Queue {
    /// The values of these device globals on this queue's device, under these names. Waits for the
    /// kernels that write them.
    ///
    /// ```
    /// use crosscut::prelude::*;
    /// use crosscut::{Named, Snapshot};
    /// static STEP: DeviceGlobal<u32> = DeviceGlobal::zeroed();
    /// static FIELD: DeviceGlobal<[f32; 64]> = DeviceGlobal::zeroed();
    /// const STATE: &[Named] = &[("step", &STEP), ("field", &FIELD)];
    ///
    /// let queue = Queue::new()?;
    /// queue.write(&STEP, &7)?;
    /// let bytes = queue.snapshot(STATE)?.to_bytes(); // or `save` to a file
    /// queue.reset(&STEP)?;
    /// queue.restore(STATE, &Snapshot::from_bytes(&bytes)?)?;
    /// assert_eq!(queue.read(&STEP)?, 7);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// A name is there twice, a kernel panicked, or the driver refuses.
    pub fn snapshot(&self, globals: &[Named]) -> Result<Snapshot> {
        self.launch().snapshot(globals)
    }

    /// Gives these device globals the values of a snapshot, which may come from another device or
    /// from a file. Values of other names stay where they are.
    ///
    /// # Errors
    /// A name is not in the snapshot or was saved with another layout, and nothing is written; the
    /// driver's refusal.
    pub fn restore(&self, globals: &[Named], snapshot: &Snapshot) -> Result<()> {
        self.launch().restore(globals, snapshot)
    }
}

/// Snapshots, with options.
///
/// ```
/// use crosscut::Named;
/// use crosscut::prelude::*;
/// static STEP: DeviceGlobal<u32> = DeviceGlobal::new(7);
/// const STATE: &[Named] = &[("step", &STEP)];
///
/// let (one, other) = (Queue::new()?, Queue::new()?);
/// let event = one.single_task((), |()| ())?;
/// let saved = other.launch().after(&event).snapshot(STATE)?;
/// other.write(&STEP, &8)?;
/// other.launch().after(&event).restore(STATE, &saved)?;
/// assert_eq!(other.read(&STEP)?, 7);
/// # Ok::<(), crosscut::Error>(())
/// ```
impl Launch<'_> {
    /// [`Queue::snapshot`], with these options: with a bundle, of the bundle's values of symbols.
    ///
    /// # Errors
    /// As there, or what it waits for failed.
    pub fn snapshot(self, globals: &[Named]) -> Result<Snapshot> {
        self.queue().outside_kernels()?;
        let mut snapshot = Snapshot::default();
        for (name, global) in globals {
            let handle = self.global(global.handle());
            let mut value = vec![0u8; handle.size()];
            let (queue, target) = (self.queue().runtime(), value.as_mut_ptr());
            // SAFETY: the vector has as many bytes as the global.
            let read =
                unsafe { queue.copy_from_global(handle, 0, target, value.len(), self.events()) };
            let value = kept_if_in_use(value, read)?;
            snapshot.add(name, global.layout(), value)?;
        }
        Ok(snapshot)
    }

    /// [`Queue::restore`], with these options: with a bundle, to the bundle's values of symbols.
    ///
    /// # Errors
    /// As there, or what it waits for failed.
    pub fn restore(self, globals: &[Named], snapshot: &Snapshot) -> Result<()> {
        self.queue().outside_kernels()?;
        let values: Vec<&[u8]> = globals
            .iter()
            .map(|(name, global)| snapshot.value(name, global.layout()))
            .collect::<Result<_>>()?;
        for ((_, global), value) in globals.iter().zip(values) {
            let (handle, source) = (self.global(global.handle()), value.as_ptr());
            let queue = self.queue().runtime();
            // SAFETY: the value has the global's size, and any bytes are valid for its type.
            unsafe { queue.copy_to_global(handle, 0, source, value.len(), self.events()) }?;
        }
        Ok(())
    }
}

/// Sets a device global on the device of every queue.
///
/// ```
/// use crosscut::prelude::*;
/// static LIMIT: DeviceGlobal<u32> = DeviceGlobal::zeroed();
///
/// let queues: Vec<Queue> =
///     crosscut::devices()?.iter().map(Queue::on).collect::<crosscut::Result<_>>()?;
/// crosscut::broadcast(&queues, &LIMIT, &9)?;
/// assert!(crosscut::gather(&queues, &LIMIT)?.iter().all(|limit| *limit == 9));
/// # Ok::<(), crosscut::Error>(())
/// ```
///
/// # Errors
/// The first driver's refusal; the devices before it have the value.
pub fn broadcast<T: DeviceData, P: Properties<Access: HostWritable>>(
    queues: &[Queue],
    global: &'static DeviceGlobal<T, P>,
    value: &T::Host,
) -> Result<()> {
    queues.iter().try_for_each(|queue| queue.write(global, value).map(drop))
}

/// The values of a device global on the devices of all queues, in their order.
///
/// ```
/// use crosscut::prelude::*;
/// static LIMIT: DeviceGlobal<u32> = DeviceGlobal::new(5);
///
/// let device = crosscut::default_device()?;
/// let queues = [Queue::on(&device)?, Queue::in_context(&device.create_context()?)?];
/// queues[1].write(&LIMIT, &6)?;
/// assert_eq!(crosscut::gather(&queues, &LIMIT)?, [5, 6]);
/// # Ok::<(), crosscut::Error>(())
/// ```
///
/// # Errors
/// A kernel panicked, or a driver refuses.
pub fn gather<T: DeviceData, P: Properties<Access: HostReadable>>(
    queues: &[Queue],
    global: &'static DeviceGlobal<T, P>,
) -> Result<Vec<T::Host>> {
    queues.iter().map(|queue| queue.read(global)).collect()
}

/// One value from those of a device global on the devices of all queues: each element is combined
/// by `operator`, from the first queue to the last.
///
/// ```
/// use crosscut::prelude::*;
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
/// static HITS: DeviceGlobal<[AtomicU32; 2]> = DeviceGlobal::zeroed();
///
/// let device = Queue::new()?.device().clone();
/// let queues = [Queue::on(&device)?, Queue::in_context(&device.create_context()?)?];
/// for queue in &queues {
///     queue.parallel_for(10, (), |i, ()| { HITS[i % 2].fetch_add(i as u32, Relaxed); })?;
/// }
/// assert_eq!(crosscut::reduce(&queues, &HITS, |a, b| a + b)?, [40, 50]);
/// # Ok::<(), crosscut::Error>(())
/// ```
///
/// # Errors
/// There is no queue, a kernel panicked, or a driver refuses.
pub fn reduce<T: DeviceData, P: Properties<Access: HostReadable>>(
    queues: &[Queue],
    global: &'static DeviceGlobal<T, P>,
    operator: impl Fn(HostElement<T>, HostElement<T>) -> HostElement<T>,
) -> Result<T::Host> {
    let Some((first, others)) = queues.split_first() else {
        return Err(Error::invalid("no device to take a value from", "pass at least one queue"));
    };
    let mut sum = first.read_boxed(global)?;
    for queue in others {
        let mut value = queue.read_boxed(global)?;
        let terms = elements::<T>(&mut value);
        for (sum, term) in elements::<T>(&mut sum).iter_mut().zip(terms) {
            *sum = operator(*sum, *term);
        }
    }
    Ok(*sum)
}

/// The innermost elements of a value.
fn elements<T: DeviceData>(value: &mut T::Host) -> &mut [HostElement<T>] {
    let count = size_of::<T>().checked_div(size_of::<T::Element>()).unwrap_or(0);
    let first = std::ptr::from_mut(value).cast();
    // SAFETY: by `DeviceData`'s contract a value is a sequence of elements, so many of them.
    unsafe { std::slice::from_raw_parts_mut(first, count) }
}
