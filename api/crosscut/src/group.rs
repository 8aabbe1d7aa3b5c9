//! Command groups: several commands submitted as one.

use std::fmt;

use crosscut_device::DeviceData;

use crate::kernel::{ItemIndex, KernelArg, Once, PerItem, Range, View};
use crate::{DeviceRows, DeviceRowsMut, DeviceSliceMut, Event, HostArg, Launch, Queue, Result};

/// The commands of a group, in [`Queue::submit`].
///
/// Each is submitted as it is named. On a queue in order they run one after the other. On a queue out
/// of order they may overlap, unless they use the same buffers and globals or a
/// [`barrier`](Self::barrier) is between them.
///
/// ```
/// use crosscut::prelude::*;
///
/// let queue = Queue::builder().out_of_order().build()?;
/// let (mut x, mut y) = (queue.zeroed::<u32>(4)?, queue.zeroed::<u32>(4)?);
/// let before = queue.single_task((), |()| ())?;
/// queue.submit(|group| {
///     group.depends_on(&before);
///     group.fill(&mut x, 1)?;
///     group.copy(&x, &mut y)?;
///     group.parallel_for(4, &mut x, |i, x| *x += i as u32)?;
///     group.single_task(&mut y, |y| y[0] = 9)?;
///     group.barrier(); // what follows waits for all of the above
///     group.host_task(|| println!("both are there"))?;
///     group.for_each(&mut x, &y, |i, x, y| *x *= y[i])?;
///     Ok(())
/// })?;
/// assert_eq!(queue.download(&x)?, [9, 2, 3, 4]);
/// # Ok::<(), crosscut::Error>(())
/// ```
pub struct Handler<'q> {
    queue: &'q Queue,
    /// What the next command waits for.
    after: Vec<Event>,
    /// The commands since the last barrier.
    since: Vec<Event>,
    /// All commands.
    events: Vec<Event>,
}

impl<'q> Handler<'q> {
    /// The commands that follow wait for these events: one, or any number of them.
    pub fn depends_on<'e>(&mut self, events: impl IntoIterator<Item = &'e Event>) {
        self.after.extend(events.into_iter().cloned());
    }

    /// The commands that follow wait for those of this group so far.
    pub fn barrier(&mut self) {
        self.after.append(&mut self.since);
    }

    /// Any command of [`Launch`], with further options if it takes some.
    ///
    /// ```
    /// use crosscut::prelude::*;
    /// static LIMIT: DeviceGlobal<u32> = DeviceGlobal::new(1);
    ///
    /// let queue = Queue::new()?;
    /// queue.submit(|group| {
    ///     group.command(|launch| launch.write(&LIMIT, &2))?;
    ///     Ok(())
    /// })?;
    /// assert_eq!(queue.read(&LIMIT)?, 2);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// Those of the command.
    pub fn command(&mut self, command: impl FnOnce(Launch<'q>) -> Result<Event>) -> Result<Event> {
        let event = command(self.queue.launch().after(&self.after))?;
        self.since.push(event.clone());
        self.events.push(event.clone());
        Ok(event)
    }

    /// [`Queue::parallel_for`], in this group.
    ///
    /// # Errors
    /// As there.
    pub fn parallel_for<R, A, F>(&mut self, range: R, arguments: A, kernel: F) -> Result<Event>
    where
        R: Range,
        A: KernelArg<PerItem>,
        F: for<'k> Fn(R::Item<'k>, View<'k, A, PerItem>) + Copy + Send + 'static,
    {
        self.command(|launch| launch.parallel_for(range, arguments, kernel))
    }

    /// [`Queue::for_each`], in this group.
    ///
    /// # Errors
    /// As there.
    pub fn for_each<S, A, F>(&mut self, elements: &mut S, arguments: A, kernel: F) -> Result<Event>
    where
        S: DeviceSliceMut,
        A: KernelArg<PerItem>,
        F: for<'k> Fn(ItemIndex<'k, S::Items>, &'k mut S::Element, View<'k, A, PerItem>)
            + Copy
            + Send
            + 'static,
    {
        self.command(|launch| launch.for_each(elements, arguments, kernel))
    }

    /// [`Queue::single_task`], in this group.
    ///
    /// # Errors
    /// As there.
    pub fn single_task<A, F>(&mut self, arguments: A, kernel: F) -> Result<Event>
    where
        A: KernelArg<Once>,
        F: for<'k> Fn(View<'k, A, Once>) + Copy + Send + 'static,
    {
        self.command(|launch| launch.single_task(arguments, kernel))
    }

    /// [`Queue::fill`], in this group.
    ///
    /// # Errors
    /// As there.
    pub fn fill<S: DeviceRowsMut>(
        &mut self,
        target: &mut S,
        value: <S::Element as DeviceData>::Host,
    ) -> Result<Event> {
        self.command(|launch| launch.fill(target, value))
    }

    /// [`Queue::copy`], in this group.
    ///
    /// # Errors
    /// As there.
    pub fn copy<S, R>(&mut self, source: &S, target: &mut R) -> Result<Event>
    where
        S: DeviceRows,
        R: DeviceRowsMut<Element: DeviceData<Host = <S::Element as DeviceData>::Host>>,
    {
        self.command(|launch| launch.copy(source, target))
    }

    /// [`Queue::host_task`], in this group.
    ///
    /// # Errors
    /// As there.
    pub fn host_task<F: FnOnce() + Send + 'static>(&mut self, task: F) -> Result<Event> {
        self.command(|launch| launch.host_task(task))
    }

    /// [`Queue::host_task_with`], in this group.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::builder().out_of_order().build()?;
    /// let (mut x, mut sum) = (queue.zeroed::<u32>(4)?, queue.zeroed::<u32>(1)?);
    /// queue.submit(|group| {
    ///     group.for_each(&mut x, (), |i, x, ()| *x = i as u32)?;
    ///     group.host_task_with((&x, &mut sum), |(x, sum)| sum[0] = x.iter().sum())?;
    ///     group.for_each(&mut x, &sum, |_, x, sum| *x = sum[0] - *x)?;
    ///     Ok(())
    /// })?;
    /// assert_eq!(queue.download(&x)?, [6, 5, 4, 3]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// As there.
    pub fn host_task_with<A, F>(&mut self, arguments: A, task: F) -> Result<Event>
    where
        A: HostArg,
        F: for<'h> FnOnce(View<'h, A, Once>) + Send + 'static,
    {
        self.command(|launch| launch.host_task_with(arguments, task))
    }
}

impl fmt::Debug for Handler<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Handler").field("queue", &self.queue).finish_non_exhaustive()
    }
}

impl Queue {
    /// Submits the commands that `group` names. The event completes when all of them have.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut x = queue.zeroed::<u32>(4)?;
    /// let before = queue.single_task((), |()| ())?;
    /// let group = queue.submit(|group| {
    ///     group.depends_on(&before);
    ///     group.for_each(&mut x, (), |i, x, ()| *x = i as u32)?;
    ///     group.barrier();
    ///     group.host_task(|| println!("filled"))?;
    ///     group.for_each(&mut x, (), |_, x, ()| *x += 1)?;
    ///     Ok(())
    /// })?;
    /// group.wait()?;
    /// assert_eq!(queue.download(&x)?, [1, 2, 3, 4]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// The first that `group` returns. The commands before it have been submitted, and run.
    pub fn submit(&self, group: impl FnOnce(&mut Handler<'_>) -> Result<()>) -> Result<Event> {
        self.outside_kernels()?;
        let mut handler =
            Handler { queue: self, after: Vec::new(), since: Vec::new(), events: Vec::new() };
        group(&mut handler)?;
        Ok(Event::all(&handler.events))
    }
}
