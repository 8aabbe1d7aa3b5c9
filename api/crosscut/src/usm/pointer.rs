//! Addresses of unified shared memory in kernels.

use core::fmt;
use core::marker::PhantomData;

use crosscut_device::{DeviceCopy, DeviceData};

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
///
/// It is data for devices itself, so that memory can lead to other memory. All zeros is the null pointer.
///
/// ```
/// use crosscut::prelude::*;
/// use crosscut::UsmPtr;
///
/// #[derive(Clone, Copy, DeviceCopy)]
/// #[repr(C)]
/// struct Node {
///     value: u64,
///     next: UsmPtr<Node>,
/// }
///
/// let queue = Queue::new()?;
/// let mut nodes = queue.alloc_shared::<Node>(2)?;
/// let first = nodes.device_ptr();
/// nodes.write()?[0] = Node { value: 3, next: first.add(1) };
/// nodes.write()?[1] = Node { value: 4, next: UsmPtr::null() };
/// let mut sum = queue.zeroed::<u64>(1)?;
/// queue.single_task((&nodes, &mut sum), |(nodes, sum)| {
///     let mut node = nodes[0];
///     sum[0] += node.value;
///     while !node.next.is_null() {
///         // SAFETY: the host wrote addresses of nodes, which are lent to this kernel.
///         node = unsafe { *node.next.get() };
///         sum[0] += node.value;
///     }
/// })?;
/// assert_eq!(queue.download(&sum)?, [7]);
/// # Ok::<(), crosscut::Error>(())
/// ```
#[repr(transparent)]
pub struct UsmPtr<T> {
    /// Every bit of the address turned over. Device code that follows an address as it was captured
    /// follows one of the host, and is refused when the program is linked.
    complement: u64,
    target: PhantomData<*mut T>,
}

// SAFETY: it is a number, and following it is unsafe.
unsafe impl<T> Send for UsmPtr<T> {}
// SAFETY: as above.
unsafe impl<T> Sync for UsmPtr<T> {}

// SAFETY: a 64-bit number, of which every value may be held; following it is unsafe.
unsafe impl<T: 'static> DeviceData for UsmPtr<T> {
    type Host = Self;
    type Element = Self;
    const ATOMIC_WIDTH: usize = 0;
}

// SAFETY: a number has no interior mutability.
unsafe impl<T: 'static> DeviceCopy for UsmPtr<T> {}

impl<T> UsmPtr<T> {
    pub(super) fn to(address: u64) -> Self {
        Self { complement: !address, target: PhantomData }
    }

    /// The pointer to nothing, which no memory has.
    #[must_use]
    pub const fn null() -> Self {
        Self { complement: 0, target: PhantomData }
    }

    /// Whether this is the pointer to nothing.
    #[inline(always)]
    #[must_use]
    pub const fn is_null(self) -> bool {
        self.complement == 0
    }

    /// The address of the element `count` behind.
    #[inline(always)]
    #[must_use]
    pub const fn add(self, count: usize) -> Self {
        let bytes = (count as u64).wrapping_mul(size_of::<T>() as u64);
        Self { complement: self.complement.wrapping_sub(bytes), target: PhantomData }
    }

    /// The address as a pointer; it leads nowhere if this [is null](Self::is_null).
    #[inline(always)]
    #[must_use]
    pub fn get(self) -> *mut T {
        core::ptr::with_exposed_provenance_mut(!self.complement as usize)
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
        match self.is_null() {
            true => f.write_str("null"),
            false => write!(f, "{:#x}", !self.complement),
        }
    }
}
