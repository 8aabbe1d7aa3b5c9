//! Items of work-groups.

use core::marker::PhantomData;
use core::panic::Location;
use core::sync::atomic::{Ordering, fence};

use crate::{device_barrier, hooks, on_device};

/// The index of an item or a group: `usize` or `[usize; D]` with `D` of 1 to 3, the last one fastest.
pub trait Index: sealed::Sealed + Copy + 'static {
    /// How many numbers it has.
    const DIMENSIONS: u8;

    /// The index whose number in each dimension `number` tells.
    #[doc(hidden)]
    fn from_numbers(number: impl Fn(u32) -> usize) -> Self;

    /// Its numbers, and `filler` beyond its dimensions.
    #[doc(hidden)]
    fn numbers(self, filler: usize) -> [usize; 3];
}

/// What code relies on for memory's sake nobody else may claim.
mod sealed {
    pub trait Sealed {}
    impl Sealed for usize {}
    impl<const D: usize> Sealed for [usize; D] {}
}

impl Index for usize {
    const DIMENSIONS: u8 = 1;

    #[inline(always)]
    fn from_numbers(number: impl Fn(u32) -> usize) -> Self {
        number(0)
    }

    #[inline(always)]
    fn numbers(self, filler: usize) -> [usize; 3] {
        [self, filler, filler]
    }
}

macro_rules! arrays {
    ($($dimensions:literal: $($at:literal)*;)*) => {$(
        impl Index for [usize; $dimensions] {
            const DIMENSIONS: u8 = $dimensions;

            #[inline(always)]
            fn from_numbers(number: impl Fn(u32) -> usize) -> Self {
                [$(number($at)),*]
            }

            #[inline(always)]
            fn numbers(self, filler: usize) -> [usize; 3] {
                let mut numbers = [filler; 3];
                $(numbers[$at] = self[$at];)*
                numbers
            }
        }
    )*};
}

arrays! {
    1: 0;
    2: 0 1;
    3: 0 1 2;
}

/// On the host: how an item waits for its group. The function gets `data`, the place of the barrier,
/// which of several at that place it is, and the memory it is about; it answers whether all have come.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Waiter {
    /// What is called.
    pub wait: unsafe fn(*const (), &'static Location<'static>, u32, usize) -> bool,
    /// What is handed over.
    pub data: *const (),
}

/// On the host: the sizes of a launch with groups, 1 beyond its dimensions.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Groups {
    /// Items.
    pub size: [usize; 3],
    /// Items of one group.
    pub group: [usize; 3],
}

/// On the host: an item's place in its group, and what its group shares.
#[doc(hidden)]
#[derive(Clone, Copy, Debug)]
pub struct Members {
    /// The sizes of the launch.
    pub groups: Groups,
    /// The group's index.
    pub group: [usize; 3],
    /// The item's index in the group.
    pub local: [usize; 3],
    /// The group's local memory.
    pub memory: *mut u8,
    /// Room for two addresses and a word for each item of the group; the words, behind all addresses,
    /// are 0 when the group starts.
    pub scratch: *mut u8,
    /// How it waits; `None` on a device.
    pub waiter: Option<Waiter>,
}

impl Members {
    const ON_A_DEVICE: Self = Self {
        groups: Groups { size: [1; 3], group: [1; 3] },
        group: [0; 3],
        local: [0; 3],
        memory: core::ptr::null_mut(),
        scratch: core::ptr::null_mut(),
        waiter: None,
    };
}

/// One item of a kernel over work-groups: where it is, and how it waits for its group.
///
/// Every item of a work-group must come to the same barriers, in the same order. On the host CPU a
/// group whose items do not is an error that says where they wait; on devices it is an error when the
/// program is linked if it can be seen there, and otherwise a kernel with no defined result.
///
/// ```
/// use crosscut::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut table = queue.zeroed::<[u32; 3]>(4 * 6)?.shaped([4, 6])?;
/// queue.parallel_for(NdRange::new([4, 6], [2, 3]), &mut table, |item, cell| {
///     let ([y, x], [v, u]) = (item.local(), item.group());
///     assert_eq!(item.global(), [2 * v + y, 3 * u + x]);
///     assert_eq!((item.global_range(), item.local_range(), item.group_range()), ([4, 6], [2, 3], [2, 2]));
///     *cell = [item.global_linear(), item.local_linear(), item.group_linear()].map(|it| it as u32);
/// })?;
/// assert_eq!(queue.download(&table)?[10], [10, 4, 1]); // row 1, column 4
/// # Ok::<(), crosscut::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct NdItem<'k, I> {
    host: Members,
    index: PhantomData<fn() -> I>,
    /// It may not outlive the run of its kernel, nor leave its thread.
    kernel: PhantomData<(&'k (), *const ())>,
}

impl<I: Index> NdItem<'_, I> {
    /// The item that this device code runs for.
    ///
    /// # Safety
    /// This is device code: on the host such an item has no group, and no memory of one.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub unsafe fn on_device() -> Self {
        Self { host: Members::ON_A_DEVICE, index: PhantomData, kernel: PhantomData }
    }

    /// An item on the host.
    ///
    /// # Safety
    /// `host` is true for as long as the item is used; its waiter may be called by it.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub unsafe fn on_host(host: Members) -> Self {
        Self { host, index: PhantomData, kernel: PhantomData }
    }

    /// Its index among all items.
    #[inline(always)]
    #[must_use]
    pub fn global(&self) -> I {
        I::from_numbers(|dimension| self.global_number(dimension))
    }

    /// Its index in its work-group.
    #[inline(always)]
    #[must_use]
    pub fn local(&self) -> I {
        I::from_numbers(|dimension| self.local_number(dimension))
    }

    /// The index of its work-group among the work-groups.
    #[inline(always)]
    #[must_use]
    pub fn group(&self) -> I {
        I::from_numbers(|dimension| self.group_number(dimension))
    }

    /// The extents of the whole range, in items.
    #[inline(always)]
    #[must_use]
    pub fn global_range(&self) -> I {
        I::from_numbers(|dimension| self.global_size(dimension))
    }

    /// The extents of a work-group, in items.
    #[inline(always)]
    #[must_use]
    pub fn local_range(&self) -> I {
        I::from_numbers(|dimension| self.local_size(dimension))
    }

    /// The extents of the whole range, in work-groups.
    #[inline(always)]
    #[must_use]
    pub fn group_range(&self) -> I {
        I::from_numbers(|dimension| self.group_count(dimension))
    }

    /// Its index among all items as one number, the last dimension being the fastest.
    #[inline(always)]
    #[must_use]
    pub fn global_linear(&self) -> usize {
        linear::<I>(|at| self.global_number(at), |at| self.global_size(at))
    }

    /// Its index in its work-group as one number, the last dimension being the fastest.
    #[inline(always)]
    #[must_use]
    pub fn local_linear(&self) -> usize {
        linear::<I>(|at| self.local_number(at), |at| self.local_size(at))
    }

    /// The index of its work-group as one number, the last dimension being the fastest.
    #[inline(always)]
    #[must_use]
    pub fn group_linear(&self) -> usize {
        linear::<I>(|at| self.group_number(at), |at| self.group_count(at))
    }

    /// How many items its work-group has.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut lengths = queue.zeroed::<u32>(12)?;
    /// queue.parallel_for(NdRange::new(12, 4), &mut lengths, |item, n| *n = item.local_len() as u32)?;
    /// assert_eq!(queue.download(&lengths)?, [4; 12]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn local_len(&self) -> usize {
        let sizes = I::from_numbers(|dimension| self.local_size(dimension)).numbers(1);
        sizes[0] * sizes[1] * sizes[2]
    }

    /// Waits until every item of the work-group has come here. What any of them wrote before, all see
    /// afterwards.
    ///
    /// On the host CPU the items of a group take turns on one thread, each on a stack of its own. **Do
    /// not wait, here or in any other call of a group, while the item holds something that belongs to the
    /// thread for the time of a call**, such as a borrow of a thread local, or a scope of the crate
    /// `scoped_tls`: the items do not leave it in the order they came, and that is not sound.
    ///
    /// ```
    /// use crosscut::prelude::*;
    /// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    ///
    /// let queue = Queue::new()?;
    /// let arrived = queue.zeroed::<AtomicU32>(2)?;
    /// let mut seen = queue.zeroed::<u32>(8)?;
    /// queue.parallel_for(NdRange::new(8, 4), (&arrived, &mut seen), |item, (arrived, seen)| {
    ///     arrived[item.group()].fetch_add(1, Relaxed);
    ///     item.barrier();
    ///     *seen = arrived[item.group()].load(Relaxed);
    /// })?;
    /// assert_eq!(queue.download(&seen)?, [4; 8]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn barrier(&self) {
        // An item that unwinds waits for nobody, and learns nothing here.
        self.wait(0, 0);
    }

    /// What this item wrote before, others see before what it writes after.
    ///
    /// It orders atomics that are relaxed in themselves; it waits for nobody.
    ///
    /// ```
    /// use crosscut::prelude::*;
    /// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
    ///
    /// let queue = Queue::new()?;
    /// let (data, ready) = (queue.zeroed::<AtomicU32>(2)?, queue.zeroed::<AtomicU32>(2)?);
    /// queue.parallel_for(NdRange::new(2, 2), (&data, &ready), |item, (data, ready)| {
    ///     data[item.global()].store(7, Relaxed);
    ///     item.fence(); // whoever sees that it is ready, and fences too, sees the 7
    ///     ready[item.global()].store(1, Relaxed);
    /// })?;
    /// assert_eq!((queue.download(&data)?, queue.download(&ready)?), (vec![7, 7], vec![1, 1]));
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    #[inline(always)]
    pub fn fence(&self) {
        fence(Ordering::AcqRel);
    }

    /// A barrier; `step` and `memory` tell it from others at the same place, on the host. Answers
    /// whether all items have come: one that unwinds does not wait.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn wait(&self, step: u32, memory: usize) -> bool {
        if on_device() {
            device_barrier();
            true
        } else if let Some(Waiter { wait, data }) = self.host.waiter {
            // SAFETY: whoever made this item promised that it may call its waiter.
            unsafe { wait(data, Location::caller(), step, memory) }
        } else {
            false
        }
    }

    /// How it waits, on the host.
    #[inline(always)]
    pub(crate) fn waiter(&self) -> Option<Waiter> {
        self.host.waiter
    }

    /// The group's memory, on the host.
    #[inline(always)]
    pub(crate) fn memory(&self) -> *mut u8 {
        self.host.memory
    }

    /// Room for two addresses and a word for each item, on the host.
    #[inline(always)]
    pub(crate) fn scratch(&self) -> *mut u8 {
        self.host.scratch
    }

    #[inline(always)]
    fn global_number(&self, at: u32) -> usize {
        if on_device() {
            hooks::__crosscut_global_id(at) as usize
        } else {
            let at = at as usize;
            self.host.group[at] * self.host.groups.group[at] + self.host.local[at]
        }
    }

    #[inline(always)]
    fn local_number(&self, at: u32) -> usize {
        if on_device() {
            hooks::__crosscut_local_id(at) as usize
        } else {
            self.host.local[at as usize]
        }
    }

    #[inline(always)]
    fn group_number(&self, at: u32) -> usize {
        if on_device() {
            hooks::__crosscut_group_id(at) as usize
        } else {
            self.host.group[at as usize]
        }
    }

    #[inline(always)]
    fn global_size(&self, at: u32) -> usize {
        if on_device() {
            hooks::__crosscut_global_size(at) as usize
        } else {
            self.host.groups.size[at as usize]
        }
    }

    #[inline(always)]
    fn local_size(&self, at: u32) -> usize {
        if on_device() {
            hooks::__crosscut_local_size(at) as usize
        } else {
            self.host.groups.group[at as usize]
        }
    }

    #[inline(always)]
    fn group_count(&self, at: u32) -> usize {
        if on_device() {
            hooks::__crosscut_group_count(at) as usize
        } else {
            self.host.groups.size[at as usize] / self.host.groups.group[at as usize]
        }
    }
}

/// An index as one number. No product overflows: the runtime has checked the whole range.
#[inline(always)]
fn linear<I: Index>(number: impl Fn(u32) -> usize, size: impl Fn(u32) -> usize) -> usize {
    let mut linear = number(0);
    let mut at = 1;
    while at < I::DIMENSIONS as u32 {
        linear = linear.wrapping_mul(size(at)).wrapping_add(number(at));
        at += 1;
    }
    linear
}
