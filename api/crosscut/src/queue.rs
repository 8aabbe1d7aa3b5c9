//! Queues: where programs begin.

use std::fmt;

use crosscut_device::{DeviceCopy, DeviceData, place, print};
use crosscut_runtime::{LineValue, QueueOptions, QueueOrder};

use crate::device::runtime;
use crate::kernel::{ItemIndex, KernelArg, Once, PerItem, Range, View, install_panic_hook};
use crate::{Buffer, Context, Device, DeviceSliceMut, Error, Event, Launch, QueueBuilder, Result};

/// A sequence of commands on one device, each starting when the one before has completed, unless it
/// was [built](Self::builder) to be out of order.
///
/// Kernels are closures. They may capture `Copy` values and use whatever is passed as argument;
/// [`KernelArg`] has the table. Commands of different queues that write the same buffer or global
/// wait for one another; atomics may be used side by side.
///
/// Threads may share a queue. On the host CPU kernels run within the calls that submit them: what other
/// threads submit, or wait for, meanwhile does not come after one whose call has not returned.
///
/// ```
/// use crosscut::prelude::*;
///
/// let queue = Queue::new()?;
/// let x = queue.upload(&[1.0f32, 2.0, 3.0])?;
/// let mut y = queue.zeroed::<f32>(3)?;
/// let a = 2.0;
/// queue.for_each(&mut y, &x, move |i, y, x| *y = a * x[i])?;
/// assert_eq!(queue.download(&y)?, [2.0, 4.0, 6.0]);
/// # Ok::<(), crosscut::Error>(())
/// ```
pub struct Queue {
    queue: crosscut_runtime::Queue,
}

impl Queue {
    /// A queue on the best device; `CROSSCUT_DEVICE` chooses another (`host`, `opencl:gpu`, in the
    /// syntax of `ONEAPI_DEVICE_SELECTOR`, which counts too).
    ///
    /// # Errors
    /// There is no such device, or the driver refuses.
    pub fn new() -> Result<Self> {
        Self::on(&runtime().default_device()?)
    }

    /// A queue on this device, in its default context.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// for device in crosscut::devices()? {
    ///     assert_eq!(Queue::on(&device)?.device(), &device);
    /// }
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn on(device: &Device) -> Result<Self> {
        Self::in_context(&device.default_context()?)
    }

    /// Begins a queue with options: out of order, with profiling, on a device of your choice.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::builder().profiling().build()?;
    /// let event = queue.single_task((), |()| ())?;
    /// assert!(event.times()?.started <= event.times()?.ended);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    pub fn builder() -> QueueBuilder {
        QueueBuilder::default()
    }

    /// A queue in this context.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let context = crosscut::default_device()?.create_context()?;
    /// assert_eq!(Queue::in_context(&context)?.context(), &context);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn in_context(context: &Context) -> Result<Self> {
        Self::with_options(context, QueueOptions::default())
    }

    pub(crate) fn with_options(context: &Context, options: QueueOptions) -> Result<Self> {
        install_panic_hook();
        print::set_printer(print_natively);
        Ok(Self { queue: crosscut_runtime::Queue::with_options(context, options)? })
    }

    /// The device its commands run on.
    #[must_use]
    pub fn device(&self) -> &Device {
        self.queue.context().device()
    }

    /// The context its commands run in.
    #[must_use]
    pub fn context(&self) -> &Context {
        self.queue.context()
    }

    /// Whether its commands start one after the other.
    ///
    /// ```
    /// use crosscut::QueueOrder;
    /// use crosscut::prelude::*;
    ///
    /// assert_eq!(Queue::new()?.order(), QueueOrder::InOrder);
    /// assert_eq!(Queue::builder().out_of_order().build()?.order(), QueueOrder::OutOfOrder);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    #[must_use]
    pub fn order(&self) -> QueueOrder {
        self.queue.options().order
    }

    /// Whether its events tell [when their commands ran](Event::times).
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// assert!(!Queue::new()?.is_profiling());
    /// assert!(Queue::builder().profiling().build()?.is_profiling());
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    #[must_use]
    pub fn is_profiling(&self) -> bool {
        self.queue.options().profiling
    }

    /// Begins a command with options, such as the events it waits for: see [`Launch`].
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let first = queue.single_task((), |()| ())?;
    /// queue.launch().after(&first).single_task((), |()| ())?.wait()?;
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    pub fn launch(&self) -> Launch<'_> {
        Launch::new(self)
    }

    pub(crate) fn runtime(&self) -> &crosscut_runtime::Queue {
        &self.queue
    }

    /// A new buffer with a copy of `data`.
    ///
    /// # Errors
    /// Not enough memory, or the driver's refusal.
    pub fn upload<T: DeviceCopy>(&self, data: &[T]) -> Result<Buffer<T>> {
        self.outside_kernels()?;
        let mut buffer = Buffer::uninitialised(self.context(), data.len())?;
        self.upload_into(&mut buffer, data)?;
        Ok(buffer)
    }

    /// A new buffer of `len` zeros.
    ///
    /// # Errors
    /// Not enough memory, or the driver's refusal.
    pub fn zeroed<T: DeviceData>(&self, len: usize) -> Result<Buffer<T>> {
        self.outside_kernels()?;
        let mut buffer = Buffer::uninitialised(self.context(), len)?;
        // SAFETY: nobody else knows the buffer yet, and zeros are valid for all device data.
        unsafe { self.queue.fill(buffer.whole_mut().region(), &[0], &[]) }?;
        Ok(buffer)
    }

    /// Runs `kernel` once for every index of `range`: `usize` or `[usize; D]` with `D` of 1 to 3.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut table = queue.zeroed::<u32>(6)?;
    /// queue.parallel_for([2, 3], &mut table, |[y, x], cell| *cell = (10 * y + x) as u32)?;
    /// assert_eq!(queue.download(&table)?, [0, 1, 2, 10, 11, 12]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// A `&mut` buffer has another length than the range, the range is too large, an argument is of
    /// another context, or the driver refuses. A panic of the kernel comes from the event's
    /// [`wait`](Event::wait), or from whatever waits next.
    pub fn parallel_for<R, A, F>(&self, range: R, arguments: A, kernel: F) -> Result<Event>
    where
        R: Range,
        A: KernelArg<PerItem>,
        F: for<'k> Fn(R::Item<'k>, View<'k, A, PerItem>) + Copy + Send + 'static,
    {
        self.launch().parallel_for(range, arguments, kernel)
    }

    /// Runs `kernel` once for every element of a buffer or a part of one, with its index, the element
    /// and the arguments.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let (a, b) = (queue.upload(&[1, 2, 3])?, queue.upload(&[10, 20, 30])?);
    /// let mut sum = queue.zeroed::<i32>(3)?;
    /// queue.for_each(&mut sum, (&a, &b), |i, sum, (a, b)| *sum = a[i] + b[i])?;
    /// assert_eq!(queue.download(&sum)?, [11, 22, 33]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`parallel_for`](Self::parallel_for).
    pub fn for_each<S, A, F>(&self, elements: &mut S, arguments: A, kernel: F) -> Result<Event>
    where
        S: DeviceSliceMut,
        A: KernelArg<PerItem>,
        F: for<'k> Fn(ItemIndex<'k, S::Items>, &'k mut S::Element, View<'k, A, PerItem>)
            + Copy
            + Send
            + 'static,
    {
        self.launch().for_each(elements, arguments, kernel)
    }

    /// Runs `kernel` once. `&mut buffer` arrives as `&mut [T]`, `GLOBAL.exclusive()` as `&mut T`.
    ///
    /// ```
    /// use crosscut::prelude::*;
    /// static TOTAL: DeviceGlobal<u64> = DeviceGlobal::zeroed();
    ///
    /// let queue = Queue::new()?;
    /// let x = queue.upload(&[1u64, 2, 3])?;
    /// queue.single_task((&x, TOTAL.exclusive()), |(x, total)| *total += x.iter().sum::<u64>())?;
    /// assert_eq!(queue.read(&TOTAL)?, 6);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`parallel_for`](Self::parallel_for).
    pub fn single_task<A, F>(&self, arguments: A, kernel: F) -> Result<Event>
    where
        A: KernelArg<Once>,
        F: for<'k> Fn(View<'k, A, Once>) + Copy + Send + 'static,
    {
        self.launch().single_task(arguments, kernel)
    }

    /// Blocks until every command submitted so far has completed.
    ///
    /// ```
    /// use crosscut::prelude::*;
    /// use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
    /// static DONE: AtomicBool = AtomicBool::new(false);
    ///
    /// let queue = Queue::new()?;
    /// queue.host_task(|| DONE.store(true, Relaxed))?;
    /// queue.wait()?;
    /// assert!(DONE.load(Relaxed));
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// A command failed, or a kernel panicked and nobody has been told.
    pub fn wait(&self) -> Result<()> {
        self.outside_kernels()?;
        self.queue.wait()
    }

    /// A kernel that waits for commands behind itself would wait for ever, and so would a host task.
    pub(crate) fn outside_kernels(&self) -> Result<()> {
        if place::inside_kernel() {
            return Err(Error::invalid(
                "a queue is used inside a kernel",
                "submit from the host program, after the kernel",
            ));
        }
        self.queue.outside_own_tasks()
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Queue").field("device", self.device()).finish_non_exhaustive()
    }
}

/// A line that native code prints, as the runtime knows it.
fn print_natively(text: &str, values: &[print::Value]) {
    let value = |value: &print::Value| LineValue { kind: value.kind, bits: value.bits };
    crosscut_runtime::print_line(text, &values.iter().map(value).collect::<Vec<_>>());
}
