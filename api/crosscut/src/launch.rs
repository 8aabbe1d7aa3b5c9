//! Launch options: what a command is told besides its arguments.

use std::fmt;

use crosscut_device::{SpecConstant, SpecValue};
use crosscut_runtime::{GlobalHandle, GlobalIn, Specialization, Variant};

use crate::kernel::{
    self, Direct, Element, ItemIndex, KernelArg, Once, PerItem, Range, Single, Task, View,
};
use crate::{BufferSliceMut, Bundle, DeviceSliceMut, Error, Event, Queue, Result, specialize};

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
    values: Specialization,
    bundle: Option<Bundle>,
}

impl<'q> Launch<'q> {
    pub(crate) fn new(queue: &'q Queue) -> Self {
        Self { queue, after: Vec::new(), values: Specialization::new(), bundle: None }
    }

    pub(crate) fn queue(&self) -> &'q Queue {
        self.queue
    }

    pub(crate) fn events(&self) -> &[Event] {
        &self.after
    }

    /// Whether it asks for a size of sub-groups.
    pub(crate) fn has_sub_group_size(&self) -> bool {
        self.values.sub_group_size().is_some()
    }

    /// Whether it says nothing about the build of the kernel.
    pub(crate) fn is_plain(&self) -> bool {
        self.values.is_empty() && self.bundle.is_none()
    }

    /// Which build of the kernel is launched.
    pub(crate) fn variant(&self) -> Result<Variant<'_>> {
        match &self.bundle {
            None => Ok(Variant::With(&self.values)),
            Some(bundle) if self.values.is_empty() => Ok(Variant::Of(bundle.runtime())),
            Some(_) if self.values.sub_group_size().is_some() => Err(Error::invalid(
                "a launch with a bundle and with a size of sub-groups",
                "give the size to the bundle: `Bundle::of(context).sub_group_size(items)`",
            )),
            Some(_) => Err(Error::invalid(
                "a launch with a bundle and with values for specialization constants",
                "give the values to the bundle: `Bundle::of(context).with(&CONSTANT, value)`",
            )),
        }
    }

    /// The device global whose value this command uses.
    pub(crate) fn global(&self, global: GlobalHandle) -> GlobalIn<'_> {
        global.under(self.bundle.as_ref().map(Bundle::runtime))
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

    /// Gives a specialization constant its value for this launch; without it the default counts.
    ///
    /// A device builds its kernel once for every value: see [`SpecConstant`]. Constants that the kernel
    /// does not read make no difference.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// static FACTOR: SpecConstant<u32> = SpecConstant::new(2);
    ///
    /// fn multiply(launch: crosscut::Launch<'_>, x: &mut Buffer<u32>) -> crosscut::Result<Event> {
    ///     launch.for_each(x, (), |_, x, ()| *x *= FACTOR.get())
    /// }
    ///
    /// let queue = Queue::new()?;
    /// let mut x = queue.upload(&[1u32, 2, 3])?;
    /// multiply(queue.launch(), &mut x)?;
    /// multiply(queue.launch().with(&FACTOR, 10), &mut x)?;
    /// assert_eq!(queue.download(&x)?, [20, 40, 60]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    pub fn with<T: SpecValue>(mut self, constant: &'static SpecConstant<T>, value: T) -> Self {
        specialize::set(&mut self.values, constant, value);
        self
    }

    /// Asks for sub-groups of so many items, one of the sizes that
    /// [`DeviceInfo::sub_group_sizes`](crate::DeviceInfo::sub_group_sizes) has; without it the device chooses. SYCL's
    /// `reqd_sub_group_size`.
    ///
    /// A device builds its kernel once for every size. Another size is an error of the launch, which names those that
    /// there are.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut sums = queue.zeroed::<u32>(64)?;
    /// if let Some(&largest) = queue.device().info().sub_group_sizes.last() {
    ///     queue.launch().sub_group_size(largest).parallel_for(
    ///         NdRange::new(64, 64),
    ///         &mut sums,
    ///         |item, sum| *sum = item.sub_group().reduce(1, |a, b| a + b),
    ///     )?;
    ///     assert_eq!(queue.download(&sums)?, [largest as u32; 64]);
    /// }
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    pub fn sub_group_size(mut self, items: usize) -> Self {
        specialize::set_sub_group_size(&mut self.values, items);
        self
    }

    /// Runs the kernel as it was built in this bundle, with the bundle's values of specialization
    /// constants. A kernel that is not inside is an error of the launch.
    ///
    /// Kernels and copies with a bundle use its value of each [`Symbol`](crate::Symbol). It starts as the
    /// symbol's initial value and is gone with the last copy of the bundle.
    ///
    /// ```
    /// use crosscut::prelude::*;
    /// use crosscut::Bundle;
    ///
    /// static SCALE: Symbol<u32> = Symbol::new(1);
    ///
    /// let queue = Queue::new()?;
    /// let bundle = Bundle::of(queue.context()).build()?;
    /// queue.launch().use_bundle(&bundle).copy_to_symbol(&SCALE, &10)?;
    /// assert_eq!(queue.copy_from_symbol(&SCALE)?, 1);
    /// assert_eq!(queue.launch().use_bundle(&bundle).copy_from_symbol(&SCALE)?, 10);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    pub fn use_bundle(mut self, bundle: &Bundle) -> Self {
        self.bundle = Some(bundle.clone());
        self
    }

    /// [`Queue::parallel_for`], with these options.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::builder().out_of_order().build()?;
    /// let mut x = queue.zeroed::<u32>(3)?;
    /// let first = queue.single_task((), |()| ())?;
    /// queue.launch().after(&first).parallel_for(3, &mut x, |i, x| *x = i as u32)?;
    /// assert_eq!(queue.download(&x)?, [0, 1, 2]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// As there, or what it waits for failed.
    pub fn parallel_for<R, A, F>(self, range: R, arguments: A, kernel: F) -> Result<Event>
    where
        R: Range,
        A: KernelArg<PerItem>,
        F: for<'k> Fn(R::Item<'k>, View<'k, A, PerItem>) + Copy + Send + 'static,
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
        F: for<'k> Fn(ItemIndex<'k, S::Items>, &'k mut S::Element, View<'k, A, PerItem>)
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
