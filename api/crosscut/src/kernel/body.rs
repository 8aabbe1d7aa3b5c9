//! The ways a closure is called.
//!
//! Each wrapper has the layout of its closure, so that a pointer to one is a pointer to the other.

use crosscut_device::DeviceData;

use super::argument::{Once, PerItem, Shape, Written};
use super::range::{Sealed as Range, Single};

/// What runs for one item. Only this crate's wrappers of closures implement it.
pub trait Body<R: Range, S: Shape<K>, K>: Copy + Send + 'static {
    /// The user's closure, for its name.
    type Closure;

    /// Runs it.
    fn call<'k>(&self, item: R::Item<'k>, view: S::View<'k>);
}

/// `parallel_for`: item and view.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Direct<F>(pub(crate) F);

impl<R, S, F> Body<R, S, PerItem> for Direct<F>
where
    R: Range,
    S: Shape<PerItem>,
    F: for<'k> Fn(R::Item<'k>, S::View<'k>) + Copy + Send + 'static,
{
    type Closure = F;

    #[inline(always)]
    fn call<'k>(&self, item: R::Item<'k>, view: S::View<'k>) {
        (self.0)(item, view);
    }
}

/// `for_each`: item, its element, and the view of the rest.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Element<F>(pub(crate) F);

impl<R, T, S, F> Body<R, (Written<T>, S), PerItem> for Element<F>
where
    R: Range,
    T: DeviceData,
    S: Shape<PerItem>,
    F: for<'k> Fn(R::Item<'k>, &'k mut T, S::View<'k>) + Copy + Send + 'static,
{
    type Closure = F;

    #[inline(always)]
    fn call<'k>(&self, item: R::Item<'k>, (element, view): (&'k mut T, S::View<'k>)) {
        (self.0)(item, element, view);
    }
}

/// `single_task`: the view alone.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Task<F>(pub(crate) F);

impl<S, F> Body<Single, S, Once> for Task<F>
where
    S: Shape<Once>,
    F: for<'k> Fn(S::View<'k>) + Copy + Send + 'static,
{
    type Closure = F;

    #[inline(always)]
    fn call<'k>(&self, (): (), view: S::View<'k>) {
        (self.0)(view);
    }
}
