//! Index spaces with work-groups.

use core::ops;

use crosscut_device::{
    Groups, HOST_SUB_GROUP, Index, LEFT_STEP, Members, NdItem, SUB_GROUP_STEP, Waiter,
};
use crosscut_runtime::{NativeLaunch, NativePanic, work_group};

use super::argument::Shape;
use super::body::Body;
use super::native;
use super::range::{Sealed, line};

/// A range of items in work-groups: `NdRange::new([rows, columns], [16, 16])`.
///
/// Its items arrive as [`NdItem`]s. Those of one group run at the same time: they wait for one another
/// at [barriers](NdItem::barrier) and share [`Local`](crate::Local) memory.
///
/// ```
/// use crosscut::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut y = queue.zeroed::<usize>(6)?;
/// queue.parallel_for(NdRange::new(6, 3), &mut y, |item, y| *y = 10 * item.group() + item.local())?;
/// assert_eq!(queue.download(&y)?, [0, 1, 2, 10, 11, 12]);
/// # Ok::<(), crosscut::Error>(())
/// ```
///
/// What a group computes together, [`NdItem::work_group`] has:
///
/// ```
/// use crosscut::prelude::*;
///
/// let queue = Queue::new()?;
/// let x = queue.upload(&[3, 1, 4, 1, 5, 9, 2, 6])?;
/// let mut sums = queue.zeroed::<i32>(8)?;
/// queue.parallel_for(NdRange::new(8, 4), (&x, &mut sums), |item, (x, sum)| {
///     *sum = item.work_group().inclusive_scan(x[item.global()], |a, b| a + b);
/// })?;
/// assert_eq!(queue.download(&sums)?, [3, 4, 8, 9, 5, 14, 16, 22]);
/// # Ok::<(), crosscut::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NdRange<I> {
    range: I,
    group: I,
}

impl<I: Index> NdRange<I> {
    /// `range` items in groups of `group`, which divides it in every dimension.
    ///
    /// Whether it does, and whether the device has room for such groups, is checked when a kernel is
    /// submitted.
    #[must_use]
    pub const fn new(range: I, group: I) -> Self {
        Self { range, group }
    }
}

impl<I: Index> Sealed for NdRange<I> {
    type Item<'k> = NdItem<'k, I>;
    const DIMENSIONS: u8 = I::DIMENSIONS;

    fn size(self) -> [usize; 3] {
        self.range.numbers(1)
    }

    fn group(self) -> Option<[usize; 3]> {
        Some(self.group.numbers(1))
    }

    #[inline(always)]
    unsafe fn on_device<'k>() -> (NdItem<'k, I>, usize) {
        // SAFETY: the caller's promise.
        let item = unsafe { NdItem::on_device() };
        (item, item.global_linear())
    }

    #[inline(always)]
    unsafe fn run<S: Shape<K>, K, B: Body<Self, S, K>>(
        body: &B,
        native: S::Native,
        launch: &NativeLaunch<'_>,
        range: ops::Range<usize>,
        _at: &mut usize,
    ) -> Result<(), NativePanic> {
        let extent = launch.extent;
        let groups = Groups { size: extent.size, group: extent.group.unwrap_or([1; 3]) };
        let count = extent.groups();
        // The local memory, then two addresses and a word for each item.
        let shown = launch.local_memory.next_multiple_of(align_of::<*const u8>());
        let items = groups.group.iter().product::<usize>();
        let mut memory = work_group::LocalMemory::take(shown + 3 * items * size_of::<*const u8>());
        let address = memory.address();
        let scratch = address.wrapping_add(shown);
        let words = scratch.cast::<usize>().wrapping_add(2 * items);
        // SAFETY: there is room for so many words behind the addresses; every item leaves its own as
        // it is here.
        unsafe { words.write_bytes(0, items) };
        let members = Members {
            groups,
            group: [0; 3],
            local: [0; 3],
            memory: address,
            scratch,
            waiter: None,
        };
        for number in range {
            let members = Members { group: index_of(number, count), ..members };
            // SAFETY: passed on, group by group.
            unsafe { run_group::<I, S, K, B>(body, native, members) }?;
        }
        Ok(())
    }
}

/// The index with this linear number in a space of these extents.
#[inline(always)]
fn index_of(number: usize, [_, rows, columns]: [usize; 3]) -> [usize; 3] {
    let row = number / columns;
    [row / rows, row % rows, number % columns]
}

/// Runs the items of one group. `members` is true of all of them but for the item's own index and its
/// waiter.
///
/// # Safety
/// As [`Sealed::run`], for this group.
#[inline(always)]
unsafe fn run_group<I: Index, S: Shape<K>, K, B: Body<NdRange<I>, S, K>>(
    body: &B,
    native: S::Native,
    members: Members,
) -> Result<(), NativePanic> {
    let Groups { size, group } = members.groups;
    let [depth, height, width] = group;
    // The linear index in the launch of the first item in a row of the group.
    let row_start = |plane: usize, row: usize| {
        let plane = members.group[0] * depth + plane;
        let row = members.group[1] * height + row;
        (plane * size[1] + row) * size[2] + members.group[2] * width
    };
    // Items of one row, from `columns.start` on, straight on.
    let run_row = |plane: usize, row: usize, columns: ops::Range<usize>, waiter, at: &mut usize| {
        let first = row_start(plane, row);
        let range = first + columns.start..first + columns.end;
        let item = |index: usize| {
            let local = [plane, row, index - first];
            // SAFETY: this is the item with that index, and the waiter is its own.
            unsafe { NdItem::on_host(Members { local, waiter: Some(waiter), ..members }) }
        };
        // SAFETY: the caller's promise; no item is in two rows.
        unsafe { line::<NdRange<I>, S, K, B>(body, native, range, at, item) };
        Ok(())
    };
    let one = |index: usize, waiter: work_group::Waiter| {
        let [plane, row, column] = index_of(index, group);
        native::catch(row_start(plane, row) + column, |at| {
            run_row(plane, row, column..column + 1, for_items(waiter), at)
        })
    };
    let linear = |index: usize| {
        let [plane, row, column] = index_of(index, group);
        (row_start(plane, row) + column) as u64
    };
    let rest = |waiter: work_group::Waiter| {
        native::catch(row_start(0, 0), |at| {
            for plane in 0..depth {
                for row in 0..height {
                    let skipped = usize::from(plane + row == 0);
                    run_row(plane, row, skipped..width, for_items(waiter), at)?;
                }
            }
            Ok(())
        })
    };
    let items = work_group::Items {
        count: depth * height * width,
        sub_group: HOST_SUB_GROUP,
        member: &one,
        linear: &linear,
    };
    work_group::run(items, |waiter| one(0, waiter), rest)
}

/// The same as the device crate knows it.
#[inline(always)]
fn for_items(work_group::Waiter { wait, data }: work_group::Waiter) -> Waiter {
    Waiter { wait, data }
}

// The same numbers mean the same on both sides.
const _: () = assert!(SUB_GROUP_STEP == work_group::SUB_GROUP_STEP);
const _: () = assert!(LEFT_STEP == work_group::LEFT_STEP);
