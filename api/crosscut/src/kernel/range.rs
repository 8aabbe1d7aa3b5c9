//! Index spaces, and the loops over them on the host.

use core::hint::assert_unchecked;
use core::ops;

use crosscut_device::{hooks, place};
use crosscut_runtime::{NativeLaunch, NativePanic};

use super::argument::Shape;
use super::body::Body;

/// What a kernel runs over: `usize` or `[usize; D]` with `D` of 1 to 3, the last one fastest; or an
/// [`NdRange`](crate::NdRange), whose items form work-groups.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a range of items",
    label = "not a range",
    note = "a range is a number of items: `n`, or `[rows, columns]`, or `[planes, rows, columns]`, or `NdRange::new(range, group)`; items count from 0, so write `4` for `0..4` and `[4, 4]` for `(4, 4)`"
)]
pub trait Range: Sealed {}

impl<R: Sealed> Range for R {}

/// The part of [`Range`] that is nobody's business.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a range of items",
    label = "not a range",
    note = "a range is a number of items: `n`, or `[rows, columns]`, or `[planes, rows, columns]`, or `NdRange::new(range, group)`; items count from 0, so write `4` for `0..4` and `[4, 4]` for `(4, 4)`"
)]
pub trait Sealed: Copy + 'static {
    /// The index a kernel gets.
    type Item<'k>;
    /// 0 for a single task.
    const DIMENSIONS: u8;

    /// The extents, 1 beyond the dimensions.
    fn size(self) -> [usize; 3];

    /// The items of a work-group, 1 beyond the dimensions; `None` where the device chooses.
    fn group(self) -> Option<[usize; 3]> {
        None
    }

    /// This item and its linear index, on a device.
    ///
    /// # Safety
    /// Called in a device entry.
    unsafe fn on_device<'k>() -> (Self::Item<'k>, usize);

    /// Calls `body` for every linear index of `range`, in order. `at` is the index of the item that
    /// unwound, if one does. Over work-groups, `range` is one of groups.
    ///
    /// # Safety
    /// `native` was made for this launch; `range` lies inside and no item of it runs elsewhere.
    ///
    /// # Errors
    /// A panic that did not unwind this thread's own stack.
    unsafe fn run<S: Shape<K>, K, B: Body<Self, S, K>>(
        body: &B,
        native: S::Native,
        launch: &NativeLaunch<'_>,
        range: ops::Range<usize>,
        at: &mut usize,
    ) -> Result<(), NativePanic>;
}

/// Holds the index of a loop. Where the loop unwinds, its drop says how far it had come; otherwise
/// it is forgotten, and the index can live in a register.
struct At<'a> {
    index: usize,
    at: &'a mut usize,
}

impl Drop for At<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        *self.at = self.index;
    }
}

#[inline(always)]
fn id(dimension: u32) -> usize {
    hooks::__crosscut_global_id(dimension) as usize
}

#[inline(always)]
fn size(dimension: u32) -> usize {
    hooks::__crosscut_global_size(dimension) as usize
}

/// One row of consecutive items. With `KNOWN`, every slice covers them and globals are the statics:
/// both checks then fold away, and what is left can be vectorised.
///
/// # Safety
/// As [`Sealed::run`]; `KNOWN` only if both hold.
#[inline(always)]
unsafe fn row<'k, R: Sealed, S: Shape<K>, K, B: Body<R, S, K>, const KNOWN: bool>(
    body: &B,
    native: S::Native,
    range: ops::Range<usize>,
    at: &mut usize,
    item: impl Fn(usize) -> R::Item<'k>,
) {
    let mut here = At { index: range.start, at };
    while here.index < range.end {
        let index = here.index;
        if KNOWN {
            // SAFETY: the caller says so.
            unsafe { S::assume(native, index) };
            let statics = place::in_statics();
            // SAFETY: the caller says so, and the place does not change while a kernel runs.
            unsafe { assert_unchecked(statics) };
        }
        // SAFETY: inside the launch, and the view of each item is made once.
        let view = unsafe { S::view(native, index) };
        body.call(item(index), view);
        here.index = index + 1;
    }
    core::mem::forget(here);
}

/// # Safety
/// As [`Sealed::run`], for one dimension.
#[inline(always)]
pub(super) unsafe fn line<'k, R: Sealed, S: Shape<K>, K, B: Body<R, S, K>>(
    body: &B,
    native: S::Native,
    range: ops::Range<usize>,
    at: &mut usize,
    item: impl Fn(usize) -> R::Item<'k>,
) {
    if S::covers(native, range.end) && place::in_statics() {
        // SAFETY: passed on, and both were just asked for.
        unsafe { row::<R, S, K, B, true>(body, native, range, at, item) }
    } else {
        // SAFETY: passed on.
        unsafe { row::<R, S, K, B, false>(body, native, range, at, item) }
    }
}

impl Sealed for usize {
    type Item<'k> = usize;
    const DIMENSIONS: u8 = 1;

    fn size(self) -> [usize; 3] {
        [self, 1, 1]
    }

    #[inline(always)]
    unsafe fn on_device<'k>() -> (Self::Item<'k>, usize) {
        (id(0), id(0))
    }

    #[inline(always)]
    unsafe fn run<S: Shape<K>, K, B: Body<Self, S, K>>(
        body: &B,
        native: S::Native,
        _launch: &NativeLaunch<'_>,
        range: ops::Range<usize>,
        at: &mut usize,
    ) -> Result<(), NativePanic> {
        // SAFETY: passed on.
        unsafe { line::<Self, S, K, B>(body, native, range, at, |index| index) };
        Ok(())
    }
}

impl Sealed for [usize; 1] {
    type Item<'k> = [usize; 1];
    const DIMENSIONS: u8 = 1;

    fn size(self) -> [usize; 3] {
        [self[0], 1, 1]
    }

    #[inline(always)]
    unsafe fn on_device<'k>() -> (Self::Item<'k>, usize) {
        ([id(0)], id(0))
    }

    #[inline(always)]
    unsafe fn run<S: Shape<K>, K, B: Body<Self, S, K>>(
        body: &B,
        native: S::Native,
        _launch: &NativeLaunch<'_>,
        range: ops::Range<usize>,
        at: &mut usize,
    ) -> Result<(), NativePanic> {
        // SAFETY: passed on.
        unsafe { line::<Self, S, K, B>(body, native, range, at, |index| [index]) };
        Ok(())
    }
}

/// Cuts `range` into rows of `columns` items: one division for all of them.
#[inline(always)]
fn rows(columns: usize, range: ops::Range<usize>, mut row: impl FnMut(usize, ops::Range<usize>)) {
    let mut number = range.start / columns;
    let mut start = range.start;
    while start < range.end {
        let end = range.end.min((number + 1) * columns);
        row(number, start..end);
        start = end;
        number += 1;
    }
}

impl Sealed for [usize; 2] {
    type Item<'k> = [usize; 2];
    const DIMENSIONS: u8 = 2;

    fn size(self) -> [usize; 3] {
        [self[0], self[1], 1]
    }

    #[inline(always)]
    unsafe fn on_device<'k>() -> (Self::Item<'k>, usize) {
        let item = [id(0), id(1)];
        (item, item[0].wrapping_mul(size(1)).wrapping_add(item[1]))
    }

    #[inline(always)]
    unsafe fn run<S: Shape<K>, K, B: Body<Self, S, K>>(
        body: &B,
        native: S::Native,
        launch: &NativeLaunch<'_>,
        range: ops::Range<usize>,
        at: &mut usize,
    ) -> Result<(), NativePanic> {
        let columns = launch.extent.size[1];
        rows(columns, range, |number, range| {
            let first = number * columns;
            let item = |index| [number, index - first];
            // SAFETY: passed on, row by row.
            unsafe { line::<Self, S, K, B>(body, native, range, at, item) }
        });
        Ok(())
    }
}

impl Sealed for [usize; 3] {
    type Item<'k> = [usize; 3];
    const DIMENSIONS: u8 = 3;

    fn size(self) -> [usize; 3] {
        self
    }

    #[inline(always)]
    unsafe fn on_device<'k>() -> (Self::Item<'k>, usize) {
        let item = [id(0), id(1), id(2)];
        let row = item[0].wrapping_mul(size(1)).wrapping_add(item[1]);
        (item, row.wrapping_mul(size(2)).wrapping_add(item[2]))
    }

    #[inline(always)]
    unsafe fn run<S: Shape<K>, K, B: Body<Self, S, K>>(
        body: &B,
        native: S::Native,
        launch: &NativeLaunch<'_>,
        range: ops::Range<usize>,
        at: &mut usize,
    ) -> Result<(), NativePanic> {
        let [_, height, columns] = launch.extent.size;
        rows(columns, range, |number, range| {
            let first = number * columns;
            let (plane, row) = (number / height, number % height);
            let item = |index| [plane, row, index - first];
            // SAFETY: passed on, row by row.
            unsafe { line::<Self, S, K, B>(body, native, range, at, item) }
        });
        Ok(())
    }
}

/// The range of a single task.
#[derive(Clone, Copy)]
pub(crate) struct Single;

impl Sealed for Single {
    type Item<'k> = ();
    const DIMENSIONS: u8 = 0;

    fn size(self) -> [usize; 3] {
        [1, 1, 1]
    }

    #[inline(always)]
    unsafe fn on_device<'k>() -> (Self::Item<'k>, usize) {
        ((), 0)
    }

    #[inline(always)]
    unsafe fn run<S: Shape<K>, K, B: Body<Self, S, K>>(
        body: &B,
        native: S::Native,
        _launch: &NativeLaunch<'_>,
        range: ops::Range<usize>,
        at: &mut usize,
    ) -> Result<(), NativePanic> {
        // SAFETY: passed on.
        unsafe { row::<Self, S, K, B, false>(body, native, range, at, |_| ()) };
        Ok(())
    }
}
