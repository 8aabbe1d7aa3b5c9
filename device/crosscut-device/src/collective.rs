//! What the items of a work-group compute together.

use core::marker::PhantomData;
use core::panic::Location;

use crate::nd::{Index, NdItem, Waiter};
use crate::{DeviceCopy, hooks, on_device};

/// The items whose values one item looks at one by one: with this many, and one value more for each run
/// of so many items, no item reads more than it must in groups of the usual sizes.
const RUN: usize = 16;

/// The numbers of the steps at which items wait. Operations that put other values have other numbers,
/// so that nobody gets past a step whose values are not there: the place of a call alone does not tell
/// them apart, because functions with `track_caller` share their caller's.
mod step {
    pub(super) const SCAN: u32 = 3;
    pub(super) const BROADCAST: u32 = 6;
}

/// On the host, a step that waits for nobody: this item unwinds out of the middle of what its group
/// computes together, and the group ends.
#[doc(hidden)]
pub const LEFT_STEP: u32 = u32::MAX;

/// The work-group of an item, for what its items compute together.
///
/// Every item of the group must make the same calls, in the same order, as for barriers. Values are
/// combined in the order of the items' linear indices, so that an operation need only be associative,
/// and every device gives the same answer. How often an item calls the operation is not said, so it
/// must make no calls of groups itself: on the host that is a panic, on devices the result is any.
/// A panic of the operation ends the group, also one that a kernel on the host catches.
///
/// Questions have the same answer for every item of a group:
///
/// ```
/// use crosscut::prelude::*;
///
/// let queue = Queue::new()?;
/// let x = queue.upload(&[3, 1, 4, 1, 5, 9, 2, 6])?;
/// let mut results = queue.zeroed::<[i32; 4]>(8)?;
/// queue.parallel_for(NdRange::new(8, 4), (&x, &mut results), |item, (x, result)| {
///     let (group, own) = (item.work_group(), x[item.global()]);
///     let sum = group.reduce(own, |a, b| a + b);
///     let up_to = group.inclusive_scan(own, |a, b| a + b);
///     let before = group.exclusive_scan(own, 100, |a, b| a + b);
///     *result = [sum, up_to, before, group.broadcast(own, 3)];
/// })?;
/// let results = queue.download(&results)?;
/// assert_eq!(results[2], [9, 8, 104, 1]); // of 3, 1, 4, 1: the third
/// assert_eq!(results[4], [22, 5, 100, 6]); // of 5, 9, 2, 6: the first
/// # Ok::<(), crosscut::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct WorkGroup<'a, 'k, I>(&'a NdItem<'k, I>);

impl<'k, I: Index> NdItem<'k, I> {
    /// Its work-group.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut firsts = queue.zeroed::<u32>(6)?;
    /// queue.parallel_for(NdRange::new(6, 3), &mut firsts, |item, first| {
    ///     *first = item.work_group().broadcast(item.global() as u32, 0);
    /// })?;
    /// assert_eq!(queue.download(&firsts)?, [0, 0, 0, 3, 3, 3]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    #[inline(always)]
    #[must_use]
    pub fn work_group(&self) -> WorkGroup<'_, 'k, I> {
        WorkGroup(self)
    }
}

impl<I: Index> WorkGroup<'_, '_, I> {
    /// The value of the item with this linear index in the group.
    #[inline(always)]
    #[track_caller]
    pub fn broadcast<T: DeviceCopy>(&self, value: T, from: usize) -> T {
        assert!(from < self.0.local_len(), "a work-group has no item with this index to broadcast");
        let slots = Slots::<T>::of(self.0);
        slots.put(self.0.local_linear(), &value);
        if !self.0.wait(step::BROADCAST, size_of::<T>()) {
            return value;
        }
        let found = slots.get(from);
        self.0.wait(step::BROADCAST + 1, size_of::<T>());
        found
    }

    /// The values of all items, combined.
    #[inline(always)]
    #[track_caller]
    pub fn reduce<T: DeviceCopy>(&self, value: T, combine: impl Fn(T, T) -> T) -> T {
        self.scan(value, &combine, |_, _, all| all)
    }

    /// The values of the items up to this one and its own, combined.
    #[inline(always)]
    #[track_caller]
    pub fn inclusive_scan<T: DeviceCopy>(&self, value: T, combine: impl Fn(T, T) -> T) -> T {
        self.scan(value, &combine, |before, value, _| match before {
            Some(before) => combine(before, value),
            None => value,
        })
    }

    /// `first` and the values of the items before this one, combined.
    #[inline(always)]
    #[track_caller]
    pub fn exclusive_scan<T: DeviceCopy>(
        &self,
        value: T,
        first: T,
        combine: impl Fn(T, T) -> T,
    ) -> T {
        self.scan(value, &combine, |before, _, _| match before {
            Some(before) => combine(first, before),
            None => first,
        })
    }

    /// Whether it is so for any item.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut answers = queue.zeroed::<[u32; 3]>(4)?;
    /// queue.parallel_for(NdRange::new(4, 2), &mut answers, |item, answer| {
    ///     let (group, first) = (item.work_group(), item.global() == 0);
    ///     let (any, all, none) = (group.any(first), group.all(first), group.none(first));
    ///     *answer = [any, all, none].map(u32::from);
    /// })?;
    /// assert_eq!(queue.download(&answers)?, [[1, 0, 0], [1, 0, 0], [0, 0, 1], [0, 0, 1]]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn any(&self, condition: bool) -> bool {
        self.reduce(u32::from(condition), |one, other| one | other) != 0
    }

    /// Whether it is so for all items.
    #[inline(always)]
    #[track_caller]
    pub fn all(&self, condition: bool) -> bool {
        self.reduce(u32::from(condition), |one, other| one & other) != 0
    }

    /// Whether it is so for no item.
    #[inline(always)]
    #[track_caller]
    pub fn none(&self, condition: bool) -> bool {
        !self.any(condition)
    }

    /// Combines the values before this item's, if there are any, and all of them, and has `choose` make
    /// the answer: of those before, its own, and all.
    #[inline(always)]
    #[track_caller]
    fn scan<T: DeviceCopy>(
        &self,
        value: T,
        combine: &impl Fn(T, T) -> T,
        choose: impl Fn(Option<T>, T, T) -> T,
    ) -> T {
        let slots = Slots::<T>::of(self.0);
        // Until the last wait others may be reading what this item has put.
        let combining = slots.combine_alone(self.0);
        slots.put(self.0.local_linear(), &value);
        let answer = self.scan_shown(&slots, &value, combine, choose);
        Combining::end(combining);
        answer
    }

    /// The same, once the item's own value is shown.
    #[inline(always)]
    #[track_caller]
    fn scan_shown<T: DeviceCopy>(
        &self,
        slots: &Slots<T>,
        &value: &T,
        combine: &impl Fn(T, T) -> T,
        choose: impl Fn(Option<T>, T, T) -> T,
    ) -> T {
        let (at, items) = (self.0.local_linear(), self.0.local_len());
        if !self.0.wait(step::SCAN, size_of::<T>()) {
            return value;
        }
        // Before it in its run.
        let run = at / RUN;
        let mut before = None;
        let mut other = run * RUN;
        while other < at {
            before = Some(join(combine, before, slots.get(other)));
            other += 1;
        }
        // The last of a run knows all of it, and puts it behind the items' own.
        let whole = join(combine, before, value);
        if at % RUN == RUN - 1 || at == items - 1 {
            slots.put(items + run, &whole);
        }
        if !self.0.wait(step::SCAN + 1, size_of::<T>()) {
            return value;
        }
        let (mut earlier, mut all) = (None, None);
        let mut other = 0;
        while other * RUN < items {
            if other == run {
                earlier = all;
            }
            all = Some(join(combine, all, slots.get(items + other)));
            other += 1;
        }
        let before = match (earlier, before) {
            (Some(earlier), Some(before)) => Some(combine(earlier, before)),
            (earlier, before) => earlier.or(before),
        };
        let answer = choose(before, value, all.unwrap_or(value));
        // Nobody may change what others still read.
        self.0.wait(step::SCAN + 2, size_of::<T>());
        answer
    }
}

#[inline(always)]
fn join<T>(combine: &impl Fn(T, T) -> T, before: Option<T>, value: T) -> T {
    match before {
        Some(before) => combine(before, value),
        None => value,
    }
}

/// What the items of a group show one another: on a device copies in local memory, on the host the
/// addresses of values on the items' own stacks, where they stay until all have waited again. Whoever
/// unwinds before that ends the group: nobody reads after it.
///
/// Behind the addresses the host has a word for each item: whether it is in the middle of combining.
pub(crate) struct Slots<T> {
    base: *mut u8,
    values: PhantomData<T>,
}

impl<T: DeviceCopy> Slots<T> {
    /// # Panics
    /// On the host: an operation that combines values makes calls of groups itself, whose values would
    /// take the place of those that are being combined.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn of<I: Index>(item: &NdItem<'_, I>) -> Self {
        if on_device() {
            // One value for each item, and as many for runs.
            let base = hooks::__crosscut_group_scratch(2 * size_of::<T>() as u32);
            return Self { base, values: PhantomData };
        }
        let slots = Self { base: item.scratch(), values: PhantomData };
        let word = slots.combining(item.local_linear(), item.local_len());
        // SAFETY: whoever runs the group gives three words for each item, and this one is its own.
        let combining = unsafe { word.read() };
        assert!(
            combining == 0,
            "an operation that combines the values of a group makes calls of groups itself"
        );
        slots
    }

    /// On the host: has calls of groups panic in this item until the answer [ends](Combining::end).
    #[inline(always)]
    #[track_caller]
    fn combine_alone<I: Index>(&self, item: &NdItem<'_, I>) -> Option<Combining> {
        if on_device() {
            return None;
        }
        let word = self.combining(item.local_linear(), item.local_len());
        // SAFETY: as in `of`.
        unsafe { word.write(1) };
        Some(Combining { word, waiter: item.waiter(), place: Location::caller() })
    }

    /// On the host: the word that says whether this item is combining.
    #[inline(always)]
    fn combining(&self, at: usize, items: usize) -> *mut usize {
        self.base.cast::<usize>().wrapping_add(2 * items + at)
    }

    /// Shows `value` as the one with this number. Each item has its own numbers.
    #[inline(always)]
    pub(crate) fn put(&self, number: usize, value: &T) {
        if on_device() {
            let slot = self.base.cast::<T>().wrapping_add(number);
            // SAFETY: the runtime gives two values for each item, and the number is this item's alone
            // until all have waited.
            unsafe { slot.write(*value) };
        } else {
            let slot = self.base.cast::<*const T>().wrapping_add(number);
            // SAFETY: whoever runs the group gives room for two addresses for each item; as above.
            unsafe { slot.write(value) };
        }
    }

    /// The value with this number, which some item has put before all waited.
    #[inline(always)]
    pub(crate) fn get(&self, number: usize) -> T {
        if on_device() {
            let slot = self.base.cast::<T>().wrapping_add(number);
            // SAFETY: an item has written it, and nobody writes it before all have waited again.
            unsafe { slot.read() }
        } else {
            let slot = self.base.cast::<*const T>().wrapping_add(number);
            // SAFETY: as above.
            let value = unsafe { slot.read() };
            // SAFETY: the item that put the address waits, or is this one, or has unwound: then its group
            // has ended, and nobody comes back here from waiting. So the value is there. It has as many
            // bytes, because items wait for one another with the size of what they show, and any bytes
            // are a value; only its alignment may be that of another type.
            unsafe { value.read_unaligned() }
        }
    }
}

/// On the host: an item in the middle of combining, which shows others a value on its stack.
struct Combining {
    word: *mut usize,
    waiter: Option<Waiter>,
    place: &'static Location<'static>,
}

impl Combining {
    /// The item is through: nobody reads its value any more.
    #[inline(always)]
    fn end(this: Option<Self>) {
        if let Some(this) = this {
            this.clear();
            core::mem::forget(this);
        }
    }

    #[inline(always)]
    fn clear(&self) {
        // SAFETY: the item's own word, which is there for as long as the item is.
        unsafe { self.word.write(0) };
    }
}

/// The item unwinds. A kernel may catch that and wait elsewhere, but others may still be about to read
/// what is now gone.
impl Drop for Combining {
    // Inlined, so that the parts need not lie in memory where nothing unwinds.
    #[inline(always)]
    fn drop(&mut self) {
        self.clear();
        if let Some(Waiter { wait, data }) = self.waiter {
            // SAFETY: the item that it was made for runs, and whoever made it promised that it may call
            // its waiter.
            unsafe { wait(data, self.place, LEFT_STEP, 0) };
        }
    }
}
