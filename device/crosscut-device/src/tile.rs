//! Memory that the items of a work-group share.

use core::marker::PhantomData;

use crate::nd::{Index, NdItem};
use crate::{DeviceData, on_device};

/// Local memory as a kernel sees it: the work-group's own, written by all of its items together and then
/// lent to each of them.
///
/// What is lent lives until the next call: the borrow checker sees to it that no item still looks at the
/// memory when it lets the others write, and the barrier in each call that none writes before all have
/// let go. Every item of the work-group must make the same calls, in the same order, with the same
/// memory, as for every barrier.
///
/// ```
/// use crosscut::prelude::*;
///
/// let queue = Queue::new()?;
/// let x = queue.upload(&[1, 2, 3, 4, 5, 6])?;
/// let mut y = queue.zeroed::<i32>(6)?;
/// queue.parallel_for(NdRange::new(6, 3), (&x, &mut y, Local::new(5)), |item, (x, y, mut tile)| {
///     assert!(tile.len() == 5 && !tile.is_empty());
///     let own = tile.share(&item, x[item.global()]); // one element for each item of the group
///     let sum: i32 = own.iter().sum();
///     let powers = tile.fill(&item, |i| 10i32.pow(i as u32)); // all five, whoever writes them
///     *y = sum * powers[item.local()];
/// })?;
/// assert_eq!(queue.download(&y)?, [6, 60, 600, 15, 150, 1500]);
/// # Ok::<(), crosscut::Error>(())
/// ```
#[derive(Debug)]
pub struct Tile<'k, T> {
    /// On a device the first element, on the host its offset in the group's memory.
    address: *mut T,
    length: usize,
    kernel: PhantomData<&'k mut [T]>,
}

impl<T: DeviceData> Tile<'_, T> {
    /// Local memory at `address`: on the host, an offset.
    ///
    /// # Safety
    /// The group has that many elements there, of any value, which only its tiles for this argument
    /// use, one in each item; on the host, that far into the memory of the items it is used with.
    #[doc(hidden)]
    #[inline(always)]
    #[must_use]
    pub unsafe fn new(address: *mut T, length: usize) -> Self {
        Self { address, length, kernel: PhantomData }
    }

    /// How many elements there are.
    #[inline(always)]
    #[must_use]
    pub fn len(&self) -> usize {
        self.length
    }

    /// Whether there are none.
    #[inline(always)]
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Every item writes `value` to the element with its own linear index in the group; then all see
    /// those elements. Items beyond the end of the memory write nothing. An item that unwinds, in a
    /// destructor of its own, is lent nothing.
    #[inline(always)]
    #[track_caller]
    pub fn share<I: Index>(&mut self, item: &NdItem<'_, I>, value: T) -> &[T] {
        let Some(address) = self.begin(item) else { return &[] };
        let (at, items) = (item.local_linear(), item.local_len());
        if at < self.length {
            // SAFETY: below the length, and this item's own element between the two barriers.
            let element = unsafe { address.add(at) };
            // SAFETY: as above.
            unsafe { element.write(value) };
        }
        let shared = if items < self.length { items } else { self.length };
        self.end(item, address, shared)
    }

    /// The items write every element together, each as `value` says for its index; then all see them.
    #[inline(always)]
    #[track_caller]
    pub fn fill<I: Index>(&mut self, item: &NdItem<'_, I>, value: impl Fn(usize) -> T) -> &[T] {
        let Some(address) = self.begin(item) else { return &[] };
        let items = item.local_len();
        let mut at = item.local_linear();
        while at < self.length {
            let value = value(at);
            // SAFETY: below the length, and of all items only this one comes to it: they begin at
            // different numbers below `items` and take steps of that size.
            let element = unsafe { address.add(at) };
            // SAFETY: as above, between the two barriers.
            unsafe { element.write(value) };
            at += items;
        }
        self.end(item, address, self.length)
    }

    /// Waits until no item looks at the memory any more, and answers where it is; nowhere for an item
    /// that unwinds, which cannot wait.
    #[inline(always)]
    #[track_caller]
    fn begin<I: Index>(&self, item: &NdItem<'_, I>) -> Option<*mut T> {
        if !item.wait(1, self.address.addr()) {
            return None;
        }
        if on_device() {
            Some(self.address)
        } else {
            Some(item.memory().wrapping_add(self.address.addr()).cast())
        }
    }

    /// Waits until every item has written, and lends the first elements.
    #[inline(always)]
    #[track_caller]
    fn end<I: Index>(&self, item: &NdItem<'_, I>, address: *mut T, length: usize) -> &[T] {
        if !item.wait(2, self.address.addr()) {
            return &[];
        }
        // SAFETY: so many elements are there, of which any bits are valid values. Nobody writes them
        // before every item of the group has come to the barrier of another call, for which it needs
        // this tile mutably.
        unsafe { core::slice::from_raw_parts(address, length) }
    }
}
