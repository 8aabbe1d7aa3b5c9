//! What the items of a sub-group compute together.

use core::arch::asm;

use crate::collective::Slots;
use crate::nd::{Index, NdItem};
use crate::{DeviceCopy, hooks, on_device};

/// The items of a sub-group on the host.
pub const HOST_SUB_GROUP: usize = 8;

/// The steps of waiting from this one on are of a sub-group. This one itself waits for nobody: it says
/// that the item's group has sub-groups.
#[doc(hidden)]
pub const SUB_GROUP_STEP: u32 = 1 << 16;

/// The sub-group of an item: the items of a work-group that a device runs in step, for what they
/// compute together without a barrier of the whole work-group.
///
/// How many items it has, and which, is the device's choice; on the host it is up to eight with
/// consecutive linear indices. Every item of the sub-group must make the same calls, in the same order;
/// other sub-groups of the work-group may make others. An item that has panicked takes part no more, and
/// what the others get from it is any value.
///
/// ```
/// use crosscut::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut x = queue.upload(&(0..32).collect::<Vec<u32>>())?;
/// let mut sums = queue.zeroed::<u32>(32)?;
/// queue.parallel_for(NdRange::new(32, 16), (&mut x, &mut sums), |item, (x, sum)| {
///     let group = item.sub_group();
///     assert!(group.local_id() < group.size() && group.size() <= group.max_size());
///     assert!(group.group_id() < group.group_count());
///     let first = group.broadcast(*x, 0);
///     assert_eq!(group.inclusive_scan(1, |a, b| a + b), group.local_id() + 1);
///     assert_eq!(group.exclusive_scan(1, 0, |a, b| a + b), group.local_id());
///     *sum = group.reduce(*x - first, |a, b| a + b);
///     *x = group.size() as u32;
/// })?;
/// let (sizes, sums) = (queue.download(&x)?, queue.download(&sums)?);
/// assert!(sizes.iter().zip(&sums).all(|(n, sum)| *sum == n * (n - 1) / 2));
/// # Ok::<(), crosscut::Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct SubGroup<'a, 'k, I>(&'a NdItem<'k, I>);

impl<'k, I: Index> NdItem<'k, I> {
    /// Its sub-group. If one item of a work-group asks for it, all must.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut sizes = queue.zeroed::<u32>(16)?;
    /// queue.parallel_for(NdRange::new(16, 16), &mut sizes, |item, size| {
    ///     *size = item.sub_group().size() as u32;
    /// })?;
    /// assert!(queue.download(&sizes)?.iter().all(|size| (1..=16).contains(size)));
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    #[inline(always)]
    #[must_use]
    #[track_caller]
    pub fn sub_group(&self) -> SubGroup<'_, 'k, I> {
        if !on_device() {
            self.wait(SUB_GROUP_STEP, 0);
        }
        SubGroup(self)
    }
}

impl<I: Index> SubGroup<'_, '_, I> {
    /// The item's index in it.
    #[inline(always)]
    #[must_use]
    pub fn local_id(&self) -> usize {
        if on_device() {
            hooks::__crosscut_sub_group_local_id() as usize
        } else {
            self.0.local_linear() % HOST_SUB_GROUP
        }
    }

    /// How many items it has. The last one of a work-group may have fewer than the others.
    #[inline(always)]
    #[must_use]
    pub fn size(&self) -> usize {
        if on_device() {
            hooks::__crosscut_sub_group_size() as usize
        } else {
            let left = self.0.local_len() - self.first();
            if left < HOST_SUB_GROUP { left } else { HOST_SUB_GROUP }
        }
    }

    /// The most items that a sub-group of this kernel has.
    #[inline(always)]
    #[must_use]
    pub fn max_size(&self) -> usize {
        if on_device() { hooks::__crosscut_sub_group_max_size() as usize } else { HOST_SUB_GROUP }
    }

    /// Its index among the sub-groups of the work-group.
    #[inline(always)]
    #[must_use]
    pub fn group_id(&self) -> usize {
        if on_device() {
            hooks::__crosscut_sub_group_id() as usize
        } else {
            self.0.local_linear() / HOST_SUB_GROUP
        }
    }

    /// How many sub-groups the work-group has.
    #[inline(always)]
    #[must_use]
    pub fn group_count(&self) -> usize {
        if on_device() {
            hooks::__crosscut_sub_group_count() as usize
        } else {
            self.0.local_len().div_ceil(HOST_SUB_GROUP)
        }
    }

    /// Waits until every item of the sub-group has come here. What any of them wrote before, all see
    /// afterwards.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// queue.parallel_for(NdRange::new(32, 16), (), |item, ()| {
    ///     item.sub_group().barrier(); // those of other sub-groups are not waited for
    /// })?;
    /// queue.wait()?;
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn barrier(&self) {
        if on_device() {
            keep_in_place();
            hooks::__crosscut_sub_group_barrier();
            keep_in_place();
        } else {
            self.wait(1, 0);
        }
    }

    /// The value of the item with this index, which is the same for all.
    ///
    /// # Panics
    /// The sub-group has no such item.
    #[inline(always)]
    #[track_caller]
    pub fn broadcast<T: DeviceCopy>(&self, value: T, from: usize) -> T {
        assert!(from < self.size(), "a sub-group has no item with this index to broadcast");
        self.take(value, from)
    }

    /// The value of the item with this index, which each item chooses for itself; its own value where
    /// there is no such item.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut ids = queue.zeroed::<[u32; 4]>(16)?;
    /// queue.parallel_for(NdRange::new(16, 16), &mut ids, |item, found| {
    ///     let group = item.sub_group();
    ///     let own = group.local_id() as u32;
    ///     *found = [
    ///         group.shuffle(own, group.size() - 1 - group.local_id()), // the other way round
    ///         group.shuffle_up(own, 1),
    ///         group.shuffle_down(own, 1),
    ///         group.shuffle_xor(own, 1),
    ///     ];
    /// })?;
    /// let ids = queue.download(&ids)?;
    /// assert_eq!((ids[0][1], ids[1][1]), (0, 0)); // the first one has nobody before it
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn shuffle<T: DeviceCopy>(&self, value: T, from: usize) -> T {
        let own = self.local_id();
        self.take(value, if from < self.size() { from } else { own })
    }

    /// The value of the item whose index is `by` less; its own value where there is no such item.
    #[inline(always)]
    #[track_caller]
    pub fn shuffle_up<T: DeviceCopy>(&self, value: T, by: usize) -> T {
        let own = self.local_id();
        self.take(value, if by <= own { own - by } else { own })
    }

    /// The value of the item whose index is `by` more; its own value where there is no such item.
    #[inline(always)]
    #[track_caller]
    pub fn shuffle_down<T: DeviceCopy>(&self, value: T, by: usize) -> T {
        let own = self.local_id();
        let left = self.size() - own;
        self.take(value, if by < left { own + by } else { own })
    }

    /// The value of the item whose index differs in the bits of `mask`; its own value where there is no
    /// such item.
    #[inline(always)]
    #[track_caller]
    pub fn shuffle_xor<T: DeviceCopy>(&self, value: T, mask: usize) -> T {
        self.shuffle(value, self.local_id() ^ mask)
    }

    /// The values of all items, combined in the order of their indices. `combine` is associative.
    #[inline(always)]
    #[track_caller]
    pub fn reduce<T: DeviceCopy>(&self, value: T, combine: impl Fn(T, T) -> T) -> T {
        let last = self.size() - 1;
        if on_device() {
            let up_to_here = self.scan_in_steps(value, &combine);
            return self.take(up_to_here, last);
        }
        self.fold(value, &combine, last)
    }

    /// The values of the items up to this one and its own, combined. `combine` is associative.
    #[inline(always)]
    #[track_caller]
    pub fn inclusive_scan<T: DeviceCopy>(&self, value: T, combine: impl Fn(T, T) -> T) -> T {
        if on_device() {
            return self.scan_in_steps(value, &combine);
        }
        self.fold(value, &combine, self.local_id())
    }

    /// `first` and the values of the items before this one, combined. `combine` is associative.
    #[inline(always)]
    #[track_caller]
    pub fn exclusive_scan<T: DeviceCopy>(
        &self,
        value: T,
        first: T,
        combine: impl Fn(T, T) -> T,
    ) -> T {
        let up_to_here = self.inclusive_scan(value, &combine);
        let before = self.shuffle_up(up_to_here, 1);
        if self.local_id() == 0 { first } else { combine(first, before) }
    }

    /// Whether it is so for any item.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// queue.parallel_for(NdRange::new(32, 16), (), |item, ()| {
    ///     let group = item.sub_group();
    ///     let first = group.local_id() == 0;
    ///     assert!(group.any(first) && !group.none(first));
    ///     assert_eq!(group.all(first), group.size() == 1);
    /// })?;
    /// queue.wait()?;
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

    /// The value of the item with this index, which there is.
    #[inline(always)]
    #[track_caller]
    fn take<T: DeviceCopy>(&self, value: T, from: usize) -> T {
        if on_device() {
            return shuffle_words(value, from as u32);
        }
        let slots = Slots::<T>::of(self.0);
        slots.put(self.0.local_linear(), &value);
        if !self.wait(2, size_of::<T>()) {
            return value;
        }
        let found = slots.get(self.first() + from);
        // Nobody may change what others still read.
        self.wait(3, size_of::<T>());
        found
    }

    /// On the host: the values of the items up to this index, combined.
    #[inline(always)]
    #[track_caller]
    fn fold<T: DeviceCopy>(&self, value: T, combine: &impl Fn(T, T) -> T, last: usize) -> T {
        let slots = Slots::<T>::of(self.0);
        slots.put(self.0.local_linear(), &value);
        if !self.wait(2, size_of::<T>()) {
            return value;
        }
        let first = self.first();
        let mut values = [value; HOST_SUB_GROUP];
        let mut at = 0;
        while at <= last {
            values[at] = slots.get(first + at);
            at += 1;
        }
        // Nobody may change what others still read. What is the user's comes after that: it may
        // panic, and this item would be gone with its value.
        self.wait(3, size_of::<T>());
        let mut folded = values[0];
        let mut at = 1;
        while at <= last {
            folded = combine(folded, values[at]);
            at += 1;
        }
        folded
    }

    /// On a device: an inclusive scan, which reaches twice as far with each step.
    #[inline(always)]
    #[track_caller]
    fn scan_in_steps<T: DeviceCopy>(&self, value: T, combine: &impl Fn(T, T) -> T) -> T {
        let (own, size) = (self.local_id(), self.size());
        let mut reached = value;
        let mut distance = 1;
        while distance < size {
            let before = self.shuffle_up(reached, distance);
            if distance <= own {
                reached = combine(before, reached);
            }
            distance *= 2;
        }
        reached
    }

    /// On the host: the linear index of its first item in the work-group.
    #[inline(always)]
    fn first(&self) -> usize {
        self.0.local_linear() / HOST_SUB_GROUP * HOST_SUB_GROUP
    }

    /// On the host: waits for the sub-group, whose items show one another values of `size` bytes.
    /// Answers whether all have come.
    #[inline(always)]
    #[track_caller]
    fn wait(&self, step: u32, size: usize) -> bool {
        self.0.wait(SUB_GROUP_STEP + step, size)
    }
}

/// Hands over a value of any size in pieces of at most four bytes.
#[inline(always)]
fn shuffle_words<T: DeviceCopy>(value: T, from: u32) -> T {
    let mut found = value;
    let source = (&raw const value).cast::<u8>();
    let target = (&raw mut found).cast::<u8>();
    let mut at = 0;
    while at + 4 <= size_of::<T>() {
        // SAFETY: four bytes from here on are inside the value, and plain data has no padding.
        let piece = unsafe { source.wrapping_add(at).cast::<u32>().read_unaligned() };
        let piece = shuffle_piece(piece, from);
        // SAFETY: as above; any bits are a value of plain data.
        unsafe { target.wrapping_add(at).cast::<u32>().write_unaligned(piece) };
        at += 4;
    }
    while at < size_of::<T>() {
        // SAFETY: this byte is inside the value.
        let piece = unsafe { source.wrapping_add(at).read() };
        let piece = shuffle_piece(u32::from(piece), from);
        // SAFETY: as above.
        unsafe { target.wrapping_add(at).write(piece as u8) };
        at += 1;
    }
    found
}

#[inline(always)]
fn shuffle_piece(piece: u32, from: u32) -> u32 {
    keep_in_place();
    let found = hooks::__crosscut_sub_group_shuffle(piece, from);
    keep_in_place();
    found
}

/// Keeps what stands beside it from being copied into the branches around: all items of a sub-group
/// must meet at one and the same place.
#[inline(always)]
fn keep_in_place() {
    // SAFETY: empty assembly touches nothing.
    unsafe { asm!("", options(nostack)) };
}
