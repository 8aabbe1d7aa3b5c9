//! Kernels: what makes a closure run once per item, on a device and on the host.
//!
//! - `argument`: what may be passed, and how a kernel sees it; `bindings`: what the runtime is told.
//! - `memory`, `grid`: buffers as arguments, with one and with more dimensions; `rectangle`: parts
//!   of the latter; `chunks`: a part for each item.
//! - `range`: index spaces; `nd_range`: those with work-groups.
//! - `local`: memory of a work-group as an argument; `reducer`: reductions.
//! - `body`: the three ways a closure is called.
//! - `entry`: the functions the toolchain and the runtime call.
//! - `native`: panics of native kernels.
//!
//! Nothing reachable from the device entry allocates, unwinds, drops or calls through a pointer.

mod argument;
mod bindings;
mod body;
mod chunks;
mod entry;
mod grid;
mod local;
mod memory;
mod native;
mod nd_range;
mod range;
mod rectangle;
mod reducer;
mod tuple;

pub(crate) use argument::Lent;
pub use argument::{KernelArg, Once, PerItem, Shape};
pub(crate) use bindings::{Bindings, handle};
pub(crate) use body::{Direct, Element, Task};
pub(crate) use entry::launch;
pub use grid::{Grid, GridMut};
pub use local::Local;
pub(crate) use native::install_panic_hook;
pub use nd_range::NdRange;
pub use range::Range;
pub(crate) use range::Sealed;
pub(crate) use range::Single;
pub use rectangle::{GridPart, GridPartMut};
pub use reducer::Reducer;

/// The index that a kernel over a range of type `R` gets.
pub type ItemIndex<'k, R> = <R as Sealed>::Item<'k>;

/// How a kernel of kind `K` sees the argument `A`.
pub type View<'k, A, K> = <<A as KernelArg<K>>::Shape as Shape<K>>::View<'k>;
