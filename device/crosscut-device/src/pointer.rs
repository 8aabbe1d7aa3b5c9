//! Addresses of device globals, kept in memory for a later kernel.

use core::fmt;
use core::marker::PhantomData;

use crate::property::Properties;
use crate::{DeviceCopy, DeviceData, DeviceGlobal};

/// Where a device global is on one device and context: what a kernel may store in a buffer or in
/// another global for a later kernel of the same device and context. All zeros is the null pointer.
///
/// The host can do nothing with it but carry it.
///
/// ```
/// use crosscut::prelude::*;
/// use crosscut::DevicePtr;
///
/// static TABLE: DeviceGlobal<[u32; 2]> = DeviceGlobal::new([10, 20]);
///
/// let queue = Queue::new()?;
/// let mut places = queue.upload(&[DevicePtr::<[u32; 2]>::null(); 2])?;
/// queue.parallel_for(2, &mut places, |i, place| if i == 0 { *place = TABLE.device_ptr() })?;
/// let mut found = queue.zeroed::<u32>(2)?;
/// queue.for_each(&mut found, &places, |i, found, places| {
///     if !places[i].is_null() {
///         // SAFETY: from the kernel before, of the same queue, and nobody writes the table.
///         *found = unsafe { places[i].as_ref() }[1];
///     }
/// })?;
/// assert_eq!(queue.download(&found)?, [20, 0]);
/// # Ok::<(), crosscut::Error>(())
/// ```
#[repr(transparent)]
pub struct DevicePtr<T> {
    address: u64,
    target: PhantomData<fn() -> T>,
}

impl<T> Clone for DevicePtr<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DevicePtr<T> {}

impl<T> PartialEq for DevicePtr<T> {
    fn eq(&self, other: &Self) -> bool {
        self.address == other.address
    }
}

impl<T> Eq for DevicePtr<T> {}

// SAFETY: a 64-bit number, of which every value may be held; only `as_ref` follows it, and its
// caller answers for that.
unsafe impl<T: DeviceData> DeviceData for DevicePtr<T> {
    type Host = Self;
    type Element = Self;
    const ATOMIC_WIDTH: usize = 0;
}

// SAFETY: a number has no interior mutability.
unsafe impl<T: DeviceData> DeviceCopy for DevicePtr<T> {}

impl<T> DevicePtr<T> {
    /// The pointer to nothing.
    #[must_use]
    pub const fn null() -> Self {
        Self { address: 0, target: PhantomData }
    }

    /// Whether it points to nothing.
    #[must_use]
    pub const fn is_null(self) -> bool {
        self.address == 0
    }

    /// What it points to, inside a kernel.
    ///
    /// # Safety
    /// It came from [`DeviceGlobal::device_ptr`] in an earlier kernel of the same device and
    /// context, whose event this kernel waits for or whose queue is in order; and nobody writes the
    /// global while this kernel runs, except as atomics. If the global is a symbol's and the earlier
    /// kernel used a bundle, the bundle is still there.
    #[inline(always)]
    #[must_use]
    pub unsafe fn as_ref<'k>(self) -> &'k T {
        let address = core::ptr::with_exposed_provenance::<T>(self.address as usize);
        // SAFETY: the caller's promise: a live instance of the global, a valid `T`.
        unsafe { &*address }
    }
}

impl<T: DeviceData, P: Properties> DeviceGlobal<T, P> {
    /// Where this kernel's device and context have the global, for a later kernel.
    ///
    /// ```
    /// use crosscut::DevicePtr;
    /// use crosscut::prelude::*;
    ///
    /// static TABLE: DeviceGlobal<[u32; 2]> = DeviceGlobal::zeroed();
    ///
    /// let queue = Queue::new()?;
    /// let mut places = queue.upload(&[DevicePtr::<[u32; 2]>::null(); 2])?;
    /// queue.for_each(&mut places, (), |_, place, ()| *place = TABLE.device_ptr())?;
    /// let places = queue.download(&places)?;
    /// assert!(places[0] == places[1] && !places[0].is_null());
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Panics
    /// Outside a kernel.
    #[inline(always)]
    #[track_caller]
    #[must_use]
    pub fn device_ptr(&'static self) -> DevicePtr<T> {
        DevicePtr { address: self.address().expose_provenance() as u64, target: PhantomData }
    }
}

impl<T> fmt::Debug for DevicePtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DevicePtr({:#x})", self.address)
    }
}
