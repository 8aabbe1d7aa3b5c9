//! The ways a closure is called.
//!
//! Each wrapper has the layout of its closure, so that a pointer to one is a pointer to the other.

use crosscut_device::DeviceData;

use super::argument::{Once, PerItem, Shape, Written};

/// What runs for one item. Only this crate's wrappers of closures implement it.
pub trait Body<I, S: Shape<K>, K>: Copy + Send + 'static {
    /// The user's closure, for its name.
    type Closure;

    /// Runs it.
    fn call<'k>(&self, item: I, view: S::View<'k>);
}

/// `parallel_for`: item and view.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Direct<F>(pub(crate) F);

impl<I, S, F> Body<I, S, PerItem> for Direct<F>
where
    S: Shape<PerItem>,
    F: for<'k> Fn(I, S::View<'k>) + Copy + Send + 'static,
{
    type Closure = F;

    #[inline(always)]
    fn call<'k>(&self, item: I, view: S::View<'k>) {
        (self.0)(item, view);
    }
}

/// `for_each`: item, its element, and the view of the rest.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Element<F>(pub(crate) F);

impl<I, T, S, F> Body<I, (Written<T>, S), PerItem> for Element<F>
where
    T: DeviceData,
    S: Shape<PerItem>,
    F: for<'k> Fn(I, &'k mut T, S::View<'k>) + Copy + Send + 'static,
{
    type Closure = F;

    #[inline(always)]
    fn call<'k>(&self, item: I, (element, view): (&'k mut T, S::View<'k>)) {
        (self.0)(item, element, view);
    }
}

/// `single_task`: the view alone.
#[derive(Clone, Copy)]
#[repr(transparent)]
pub(crate) struct Task<F>(pub(crate) F);

impl<S, F> Body<(), S, Once> for Task<F>
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
