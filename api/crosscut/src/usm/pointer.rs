//! Addresses of unified shared memory in kernels.

use core::fmt;
use core::marker::PhantomData;

/// The address of unified shared memory, for kernels that capture it or find it in other memory.
///
/// The runtime does not know which kernels follow it: who does promises that the memory lives and
/// that nobody else writes what is read, by waiting for events.
///
/// ```
/// use crosscut::prelude::*;
///
/// let queue = Queue::new()?;
/// let mut list = queue.alloc_shared::<u32>(3)?;
/// let pointer = list.device_ptr();
/// let kernel = queue.parallel_for(3, (), move |i, ()| {
///     // SAFETY: inside the list, which lives until the kernel is waited for; each item has its own.
///     unsafe { *pointer.get().wrapping_add(i) = 7 * i as u32 };
/// })?;
/// kernel.wait()?;
/// assert_eq!(list.write()?[..], [0, 7, 14]);
/// # Ok::<(), crosscut::Error>(())
/// ```
pub struct UsmPtr<T> {
    /// Every bit of the address turned over. Device code that follows an address as it was captured
    /// follows one of the host, and is refused when the program is linked.
    complement: usize,
    target: PhantomData<*mut T>,
}

// SAFETY: it is a number, and following it is unsafe.
unsafe impl<T> Send for UsmPtr<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for UsmPtr<T> {}

impl<T> UsmPtr<T> {
    pub(super) fn to(address: usize) -> Self {
        Self { complement: !address, target: PhantomData }
    }

    /// The address as a pointer.
    #[inline(always)]
    #[must_use]
    pub fn get(self) -> *mut T {
        core::ptr::with_exposed_provenance_mut(!self.complement)
    }
}

impl<T> Clone for UsmPtr<T> {
    #[inline(always)]
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for UsmPtr<T> {}

impl<T> PartialEq for UsmPtr<T> {
    fn eq(&self, other: &Self) -> bool {
        self.complement == other.complement
    }
}

impl<T> Eq for UsmPtr<T> {}

impl<T> fmt::Debug for UsmPtr<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#x}", !self.complement)
    }
}
