//! Launch options: what a command is told besides its arguments.

use std::fmt;

use crate::kernel::{
    self, Direct, Element, ItemIndex, KernelArg, Once, PerItem, Range, Single, Task, View,
};
use crate::{BufferSliceMut, DeviceSliceMut, Event, Queue, Result};

/// A command about to be submitted, made by [`Queue::launch`].
///
/// Options come first, the command last: [`after`](Self::after) says what it waits for. Commands that
/// use the same buffers and globals wait for one another without being told.
///
/// ```
/// use crosscut::prelude::*;
///
/// let (one, other) = (Queue::new()?, Queue::new()?);
/// let mut x = one.zeroed::<u32>(4)?;
/// let mut y = one.zeroed::<u32>(4)?;
/// let first = one.for_each(&mut x, (), |i, x, ()| *x = i as u32)?;
/// let second = other.launch().after(&first).for_each(&mut y, (), |i, y, ()| *y = 2 * i as u32)?;
/// one.launch().after([&first, &second]).for_each(&mut x, &y, |i, x, y| *x += y[i])?;
/// assert_eq!(one.download(&x)?, [0, 3, 6, 9]);
/// # Ok::<(), crosscut::Error>(())
/// ```
#[must_use = "nothing is submitted before a command is named, such as `parallel_for`"]
pub struct Launch<'q> {
    queue: &'q Queue,
    after: Vec<Event>,
}

impl<'q> Launch<'q> {
    pub(crate) fn new(queue: &'q Queue) -> Self {
        Self { queue, after: Vec::new() }
    }

    pub(crate) fn queue(&self) -> &'q Queue {
        self.queue
    }

    pub(crate) fn events(&self) -> &[Event] {
        &self.after
    }

    /// Starts the command once these events have completed, too: one event, or any number of them.
    ///
    /// Events may come from any queue, of other contexts and devices also. Where a kernel among them
    /// panicked, the command runs all the same.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut x = queue.zeroed::<u32>(1)?;
    /// let events: Vec<Event> = (0..3)
    ///     .map(|_| queue.for_each(&mut x, (), |_, x, ()| *x += 1))
    ///     .collect::<crosscut::Result<_>>()?;
    /// queue.launch().after(&events).after(&events[0]).single_task((), |()| ())?.wait()?;
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    pub fn after<'e>(mut self, events: impl IntoIterator<Item = &'e Event>) -> Self {
        self.after.extend(events.into_iter().cloned());
        self
    }

    /// [`Queue::parallel_for`], with these options.
    ///
    /// # Errors
    /// As there, or what it waits for failed.
    pub fn parallel_for<R, A, F>(self, range: R, arguments: A, kernel: F) -> Result<Event>
    where
        R: Range,
        A: KernelArg<PerItem>,
        F: for<'k> Fn(R::Item, View<'k, A, PerItem>) + Copy + Send + 'static,
    {
        self.queue.outside_kernels()?;
        kernel::launch::<R, A, PerItem, Direct<F>>(&self, range, arguments, Direct(kernel))
    }

    /// [`Queue::for_each`], with these options.
    ///
    /// # Errors
    /// As there, or what it waits for failed.
    pub fn for_each<S, A, F>(self, elements: &mut S, arguments: A, kernel: F) -> Result<Event>
    where
        S: DeviceSliceMut,
        A: KernelArg<PerItem>,
        F: for<'k> Fn(ItemIndex<S::Items>, &'k mut S::Element, View<'k, A, PerItem>)
            + Copy
            + Send
            + 'static,
    {
        self.queue.outside_kernels()?;
        let range = elements.items();
        let arguments = (elements.as_slice_mut(), arguments);
        kernel::launch::<S::Items, (BufferSliceMut<'_, S::Element>, A), PerItem, Element<F>>(
            &self,
            range,
            arguments,
            Element(kernel),
        )
    }

    /// [`Queue::single_task`], with these options.
    ///
    /// # Errors
    /// As there, or what it waits for failed.
    pub fn single_task<A, F>(self, arguments: A, kernel: F) -> Result<Event>
    where
        A: KernelArg<Once>,
        F: for<'k> Fn(View<'k, A, Once>) + Copy + Send + 'static,
    {
        self.queue.outside_kernels()?;
        kernel::launch::<Single, A, Once, Task<F>>(&self, Single, arguments, Task(kernel))
    }
}

impl fmt::Debug for Launch<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Launch").field("queue", &self.queue).finish_non_exhaustive()
    }
}
