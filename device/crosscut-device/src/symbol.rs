//! Symbols: a value of the host and one of each device, which meet only when somebody says so.

use core::fmt;
use core::marker::PhantomData;
use std::sync::{PoisonError, RwLock};

use crate::property::BundleScope;
use crate::{DeviceCopy, DeviceData, DeviceGlobal};

/// The space of symbols that kernels only read.
#[derive(Debug)]
pub enum Constant {}

/// The space of symbols that kernels read and write.
#[derive(Debug)]
pub enum Global {}

/// Where a symbol's device value lives: [`Constant`] or [`Global`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not the space of a symbol",
    label = "not a space",
    note = "a symbol is in the space `Constant` or `Global`"
)]
pub trait Space: sealed::Sealed + 'static {}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Constant {}
    impl Sealed for super::Global {}
}

impl Space for Constant {}
impl Space for Global {}

/// A global variable of the host with a value of its own on every device and context; put it in a
/// `static`. All start as the initial value, and only commands of a queue copy one to the other.
///
/// A kernel bundle has a device value of its own: kernels and copies with `use_bundle` use that one, and
/// it ends with the bundle. All others use the context's.
///
/// In kernels a symbol is read by [`get`](Self::get) or as an argument; one of the space [`Global`]
/// is written through [`device`](Self::device), as any device global.
///
/// ```
/// use crosscut::prelude::*;
/// use crosscut::Global;
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
///
/// static SCALE: Symbol<u32> = Symbol::new(3); // kernels only read it
/// static COUNT: Symbol<AtomicU32, Global> = Symbol::new(0);
///
/// let queue = Queue::new()?;
/// queue.parallel_for(10, (), |_, ()| { COUNT.device().fetch_add(SCALE.get(), Relaxed); })?;
/// assert_eq!(COUNT.host(), 0); // the host has a value of its own
/// queue.update_host(&COUNT)?;
/// assert_eq!(COUNT.host(), 30);
/// SCALE.set_host(5);
/// queue.update_device(&SCALE)?;
/// # Ok::<(), crosscut::Error>(())
/// ```
// The global is first: to device code the symbol's address is the global's.
#[repr(C)]
pub struct Symbol<T: DeviceData, S: Space = Constant> {
    global: DeviceGlobal<T, BundleScope>,
    host: RwLock<T::Host>,
    space: PhantomData<S>,
}

// SAFETY: the global and the lock may be shared, and there is nothing else.
unsafe impl<T: DeviceData, S: Space> Sync for Symbol<T, S> {}

impl<T: DeviceData, S: Space> Symbol<T, S> {
    /// A symbol whose values start as `value`.
    #[must_use]
    pub const fn new(value: T::Host) -> Self {
        Self { global: DeviceGlobal::new(value), host: RwLock::new(value), space: PhantomData }
    }

    /// The host's value.
    #[must_use]
    pub fn host(&self) -> T::Host {
        *self.host.read().unwrap_or_else(PoisonError::into_inner)
    }

    /// Sets the host's value; those of devices stay as they are.
    pub fn set_host(&self, value: T::Host) {
        *self.host.write().unwrap_or_else(PoisonError::into_inner) = value;
    }

    /// The device's value as a global.
    #[doc(hidden)]
    #[must_use]
    pub fn any_global(&'static self) -> &'static DeviceGlobal<T, BundleScope> {
        &self.global
    }
}

impl<T: DeviceCopy, S: Space> Symbol<T, S> {
    /// A copy of the device's value, inside a kernel.
    ///
    /// # Panics
    /// Outside a kernel: use [`host`](Self::host).
    #[inline(always)]
    #[track_caller]
    #[must_use]
    pub fn get(&'static self) -> T {
        self.global.get()
    }
}

impl<T: DeviceData> Symbol<T, Global> {
    /// The device's value as the global that it is: atomics by name, plain values by argument or
    /// `exclusive()`.
    #[inline(always)]
    #[must_use]
    pub const fn device(&'static self) -> &'static DeviceGlobal<T, BundleScope> {
        &self.global
    }
}

impl<T: DeviceData, S: Space> fmt::Debug for Symbol<T, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Symbol").finish_non_exhaustive()
    }
}
