//! Queues with options.

use crosscut_runtime::{QueueOptions, QueueOrder};

use crate::{Context, Device, Queue, Result};

/// What a queue is to be, made by [`Queue::builder`].
///
/// ```
/// use crosscut::prelude::*;
///
/// let queue = Queue::builder().out_of_order().profiling().build()?;
/// let event = queue.single_task((), |()| ())?;
/// println!("it took {:?}", event.times()?.duration());
/// # Ok::<(), crosscut::Error>(())
/// ```
#[derive(Clone, Debug, Default)]
#[must_use = "there is no queue before `build`"]
pub struct QueueBuilder {
    options: QueueOptions,
    device: Option<Device>,
    context: Option<Context>,
}

impl QueueBuilder {
    /// Commands start as soon as what they wait for has completed, not in the order of their
    /// submission. Commands that use the same buffers and globals, and one of them writes, still
    /// run one after the other; so do those with [`after`](crate::Launch::after).
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::builder().out_of_order().build()?;
    /// let mut x = queue.zeroed::<u32>(100)?;
    /// let mut y = queue.zeroed::<u32>(100)?;
    /// queue.for_each(&mut x, (), |i, x, ()| *x = i as u32)?; // these two may overlap
    /// queue.for_each(&mut y, (), |i, y, ()| *y = i as u32)?;
    /// queue.for_each(&mut x, &y, |i, x, y| *x += y[i])?; // this one waits for both
    /// assert_eq!(queue.download(&x)?[99], 198);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    pub fn out_of_order(mut self) -> Self {
        self.options.order = QueueOrder::OutOfOrder;
        self
    }

    /// Events tell [when their commands ran](crate::Event::times).
    pub fn profiling(mut self) -> Self {
        self.options.profiling = true;
        self
    }

    /// On this device, in its default context unless told otherwise.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// for device in crosscut::devices()? {
    ///     let queue = Queue::builder().on(&device).out_of_order().build()?;
    ///     assert_eq!(queue.device(), &device);
    /// }
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    pub fn on(mut self, device: &Device) -> Self {
        self.device = Some(device.clone());
        self
    }

    /// In this context: on its [device](Context::device), or on another one of its devices if that is
    /// [named](Self::on), too.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let context = crosscut::default_device()?.create_context()?;
    /// let queue = Queue::builder().in_context(&context).profiling().build()?;
    /// assert_eq!(queue.context(), &context);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    pub fn in_context(mut self, context: &Context) -> Self {
        self.context = Some(context.clone());
        self
    }

    /// Makes the queue: on the best device, unless told otherwise.
    ///
    /// # Errors
    /// There is no such device, it is not in the context, or the driver refuses.
    pub fn build(self) -> Result<Queue> {
        let device = match (&self.context, &self.device) {
            (Some(context), None) => return Queue::with_options(context, self.options),
            (Some(context), Some(device)) => {
                return Queue::with_options(&context.on(device)?, self.options);
            }
            (None, Some(device)) => device.clone(),
            (None, None) => crate::device::runtime().default_device()?,
        };
        Queue::with_options(&device.default_context()?, self.options)
    }
}
