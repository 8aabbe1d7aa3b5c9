//! Copies between device globals and the host.

use std::mem::MaybeUninit;
use std::ops::{Bound, RangeBounds};

use crosscut_device::property::{HostReadable, HostWritable, Properties};
use crosscut_device::{DeviceCopy, DeviceData, DeviceGlobal};
use crosscut_runtime::{GlobalHandle, kept_if_in_use};

use crate::kernel::handle;
use crate::{Buffer, Error, Event, Launch, Result};

/// What the arrays inside a device global's value are made of, as the host handles it: `i32` for
/// `[[i32; 4]; 3]`, `u32` for `[AtomicU32; 26]`.
pub type HostElement<T> = <<T as DeviceData>::Element as DeviceData>::Host;

pub use source::CopySource;
pub use target::CopyTarget;

mod source {
    use super::{Buffer, DeviceCopy, DeviceData};

    /// Where the elements are.
    pub enum Place<'a, E> {
        Host(&'a [E]),
        /// A buffer, its length, and the size of the atomics it is made of.
        Buffer(&'a crosscut_runtime::Buffer, usize, usize),
    }

    /// What elements are copied from: slices, arrays, vectors and buffers.
    #[diagnostic::on_unimplemented(
        message = "elements of `{E}` cannot be copied from `{Self}`",
        label = "not a source of `{E}`",
        note = "a slice, array, vector or buffer of the innermost elements can: `&[7, 8]` for a global of `[[i32; 4]; 3]`"
    )]
    pub trait CopySource<E> {
        /// Where they are.
        #[doc(hidden)]
        fn place(&self) -> Place<'_, E>;
    }

    impl<E: DeviceCopy> CopySource<E> for &[E] {
        fn place(&self) -> Place<'_, E> {
            Place::Host(self)
        }
    }

    impl<E: DeviceCopy, const N: usize> CopySource<E> for &[E; N] {
        fn place(&self) -> Place<'_, E> {
            Place::Host(*self)
        }
    }

    impl<E: DeviceCopy> CopySource<E> for &Vec<E> {
        fn place(&self) -> Place<'_, E> {
            Place::Host(self)
        }
    }

    impl<T: DeviceData> CopySource<T::Host> for &Buffer<T> {
        fn place(&self) -> Place<'_, T::Host> {
            Place::Buffer(self.runtime(), self.len(), T::ATOMIC_WIDTH)
        }
    }
}

mod target {
    use super::{Buffer, DeviceCopy, DeviceData};

    /// Where the elements go.
    pub enum Place<'a, E> {
        Host(&'a mut [E]),
        Buffer(&'a mut crosscut_runtime::Buffer, usize),
    }

    /// What elements are copied to: slices, arrays, vectors and buffers.
    #[diagnostic::on_unimplemented(
        message = "elements of `{E}` cannot be copied to `{Self}`",
        label = "not a target of `{E}`",
        note = "a mutable slice, array, vector or buffer of the innermost elements can: `&mut [0; 2]` for a global of `[[i32; 4]; 3]`"
    )]
    pub trait CopyTarget<E> {
        /// Where they go.
        #[doc(hidden)]
        fn place(&mut self) -> Place<'_, E>;
    }

    impl<E: DeviceCopy> CopyTarget<E> for &mut [E] {
        fn place(&mut self) -> Place<'_, E> {
            Place::Host(self)
        }
    }

    impl<E: DeviceCopy, const N: usize> CopyTarget<E> for &mut [E; N] {
        fn place(&mut self) -> Place<'_, E> {
            Place::Host(*self)
        }
    }

    impl<E: DeviceCopy> CopyTarget<E> for &mut Vec<E> {
        fn place(&mut self) -> Place<'_, E> {
            Place::Host(self)
        }
    }

    impl<T: DeviceData> CopyTarget<T::Host> for &mut Buffer<T> {
        fn place(&mut self) -> Place<'_, T::Host> {
            let len = self.len();
            Place::Buffer(self.runtime_mut(), len)
        }
    }
}

/// Copies of device globals, with options.
///
/// ```
/// use crosscut::prelude::*;
/// static TABLE: DeviceGlobal<[u16; 4]> = DeviceGlobal::new([1, 2, 3, 4]);
///
/// let queue = Queue::builder().out_of_order().build()?;
/// let event = queue.single_task((), |()| ())?;
/// let launch = || queue.launch().after(&event);
/// launch().write(&TABLE, &[5, 6, 7, 8])?;
/// launch().copy_to(&TABLE, &[60, 70], 1)?;
/// launch().copy_bytes_to(&TABLE, &9u16.to_ne_bytes(), 6)?;
/// assert_eq!(launch().read(&TABLE)?, [5, 60, 70, 9]);
/// let (mut all, mut two, mut bytes) = ([0; 4], [0; 2], [0; 2]);
/// launch().read_into(&TABLE, &mut all)?;
/// launch().copy_from(&TABLE, &mut two, 2)?.wait()?;
/// launch().copy_bytes_from(&TABLE, &mut bytes, 0)?;
/// assert_eq!((all, two, bytes), ([5, 60, 70, 9], [70, 9], 5u16.to_ne_bytes()));
/// launch().fill_global(&TABLE, ..3, &0)?;
/// assert_eq!(*launch().read_boxed(&TABLE)?, [0, 0, 0, 9]);
/// launch().reset(&TABLE)?;
/// assert_eq!(launch().read(&TABLE)?, [1, 2, 3, 4]);
/// # Ok::<(), crosscut::Error>(())
/// ```
impl Launch<'_> {
    /// [`Queue::read`](crate::Queue::read), with these options.
    ///
    /// # Errors
    /// As there, or what it waits for failed.
    pub fn read<T: DeviceData, P: Properties<Access: HostReadable>>(
        self,
        global: &'static DeviceGlobal<T, P>,
    ) -> Result<T::Host> {
        if size_of::<T::Host>() > crosscut_runtime::Queue::SMALL_READ {
            // A driver that fails may go on writing, and this place cannot stay.
            return self.read_boxed(global).map(|value| *value);
        }
        self.queue().outside_kernels()?;
        let mut value = MaybeUninit::<T::Host>::uninit();
        // SAFETY: there is room for a value, which is as large on the host; it is small.
        unsafe { self.read_whole(handle(global), value.as_mut_ptr().cast()) }?;
        // SAFETY: all bytes were just written, and any are valid.
        Ok(unsafe { value.assume_init() })
    }

    /// [`Queue::read_into`](crate::Queue::read_into), with these options.
    ///
    /// # Errors
    /// As there, or what it waits for failed.
    pub fn read_into<T: DeviceData, P: Properties<Access: HostReadable>>(
        self,
        global: &'static DeviceGlobal<T, P>,
        value: &mut T::Host,
    ) -> Result<()> {
        self.queue().outside_kernels()?;
        // SAFETY: a value of the host's type, as large, of which any bytes are valid. It is the caller's: what to do where
        // the copy may go on, its error says.
        unsafe { self.read_whole(handle(global), std::ptr::from_mut(value).cast()) }
    }

    /// [`Queue::read_boxed`](crate::Queue::read_boxed), with these options.
    ///
    /// # Errors
    /// As there, or what it waits for failed.
    pub fn read_boxed<T: DeviceData, P: Properties<Access: HostReadable>>(
        self,
        global: &'static DeviceGlobal<T, P>,
    ) -> Result<Box<T::Host>> {
        self.queue().outside_kernels()?;
        let mut value = Box::<T::Host>::new_uninit();
        // SAFETY: there is room for a value, which is as large on the host, and stays if need be.
        let read = unsafe { self.read_whole(handle(global), value.as_mut_ptr().cast()) };
        let value = kept_if_in_use(value, read)?;
        // SAFETY: all bytes were just written, and any are valid.
        Ok(unsafe { value.assume_init() })
    }

    /// [`Queue::write`](crate::Queue::write), with these options.
    ///
    /// # Errors
    /// As there, or what it waits for failed.
    pub fn write<T: DeviceData, P: Properties<Access: HostWritable>>(
        self,
        global: &'static DeviceGlobal<T, P>,
        value: &T::Host,
    ) -> Result<Event> {
        self.queue().outside_kernels()?;
        let (global, source) = (self.global(handle(global)), std::ptr::from_ref(value).cast());
        // SAFETY: a value has its bytes, and any are valid for the global's type.
        unsafe {
            self.queue().runtime().copy_to_global(global, 0, source, global.size(), self.events())
        }
    }

    /// [`Queue::copy_to`](crate::Queue::copy_to), with these options.
    ///
    /// # Errors
    /// As there, or what it waits for failed.
    pub fn copy_to<T, P, S>(
        self,
        global: &'static DeviceGlobal<T, P>,
        source: S,
        offset: usize,
    ) -> Result<Event>
    where
        T: DeviceData,
        P: Properties<Access: HostWritable>,
        S: CopySource<HostElement<T>>,
    {
        self.queue().outside_kernels()?;
        let global = self.global(handle(global));
        let (queue, after) = (self.queue().runtime(), self.events());
        match source.place() {
            source::Place::Host(source) => {
                let (from, size) = bytes_of::<T>(&global, offset, source.len())?;
                // SAFETY: the slice has as many bytes, and any are valid for the global's type.
                unsafe { queue.copy_to_global(global, from, source.as_ptr().cast(), size, after) }
            }
            source::Place::Buffer(buffer, len, atomic_width) => {
                let (from, size) = bytes_of::<T>(&global, offset, len)?;
                let buffer = (buffer, atomic_width);
                // SAFETY: the width is that of the buffer's type.
                unsafe { queue.copy_buffer_to_global(global, from, buffer, size, after) }
            }
        }
    }

    /// [`Queue::copy_from`](crate::Queue::copy_from), with these options.
    ///
    /// # Errors
    /// As there, or what it waits for failed.
    pub fn copy_from<T, P, S>(
        self,
        global: &'static DeviceGlobal<T, P>,
        mut target: S,
        offset: usize,
    ) -> Result<Event>
    where
        T: DeviceData,
        P: Properties<Access: HostReadable>,
        S: CopyTarget<HostElement<T>>,
    {
        self.queue().outside_kernels()?;
        let global = self.global(handle(global));
        let (queue, after) = (self.queue().runtime(), self.events());
        match target.place() {
            target::Place::Host(target) => {
                let (from, size) = bytes_of::<T>(&global, offset, target.len())?;
                let target = target.as_mut_ptr().cast();
                // SAFETY: the slice has as many bytes, and any are valid for its type. It is the caller's: what to do
                // where the copy may go on, its error says.
                unsafe { queue.copy_from_global(global, from, target, size, after) }?;
                Ok(Event::default())
            }
            target::Place::Buffer(buffer, len) => {
                let (from, size) = bytes_of::<T>(&global, offset, len)?;
                queue.copy_global_to_buffer(global, from, buffer, size, after)
            }
        }
    }

    /// [`Queue::copy_bytes_to`](crate::Queue::copy_bytes_to), with these options.
    ///
    /// # Errors
    /// As there, or what it waits for failed.
    pub fn copy_bytes_to<T: DeviceData, P: Properties<Access: HostWritable>>(
        self,
        global: &'static DeviceGlobal<T, P>,
        source: &[u8],
        offset: usize,
    ) -> Result<Event> {
        self.queue().outside_kernels()?;
        let (from, size) = (source.as_ptr(), source.len());
        // SAFETY: the slice has as many bytes, and any are valid for the global's type.
        unsafe {
            self.queue().runtime().copy_to_global(
                self.global(handle(global)),
                offset,
                from,
                size,
                self.events(),
            )
        }
    }

    /// [`Queue::copy_bytes_from`](crate::Queue::copy_bytes_from), with these options.
    ///
    /// # Errors
    /// As there, or what it waits for failed.
    pub fn copy_bytes_from<T: DeviceData, P: Properties<Access: HostReadable>>(
        self,
        global: &'static DeviceGlobal<T, P>,
        target: &mut [u8],
        offset: usize,
    ) -> Result<()> {
        self.queue().outside_kernels()?;
        let (to, size) = (target.as_mut_ptr(), target.len());
        // SAFETY: the slice has as many bytes. It is the caller's: what to do where the copy may go on, its error says.
        unsafe {
            self.queue().runtime().copy_from_global(
                self.global(handle(global)),
                offset,
                to,
                size,
                self.events(),
            )
        }
    }

    /// [`Queue::fill_global`](crate::Queue::fill_global), with these options.
    ///
    /// # Errors
    /// As there, or what it waits for failed.
    pub fn fill_global<T: DeviceData, P: Properties<Access: HostWritable>>(
        self,
        global: &'static DeviceGlobal<T, P>,
        range: impl RangeBounds<usize>,
        value: &HostElement<T>,
    ) -> Result<Event> {
        self.queue().outside_kernels()?;
        let global = self.global(handle(global));
        let start = match range.start_bound() {
            Bound::Included(start) => *start,
            Bound::Excluded(before) => before.saturating_add(1),
            Bound::Unbounded => 0,
        };
        let end = match range.end_bound() {
            Bound::Included(last) => last.saturating_add(1),
            Bound::Excluded(end) => *end,
            Bound::Unbounded => elements::<T>(),
        };
        let count = end.saturating_sub(start);
        let (offset, _) = bytes_of::<T>(&global, start, count)?;
        // SAFETY: a value has its bytes, all of them initialised: device data has no padding.
        let pattern = unsafe {
            std::slice::from_raw_parts(
                std::ptr::from_ref(value).cast::<u8>(),
                size_of::<HostElement<T>>(),
            )
        };
        self.queue().runtime().fill_global(global, offset, pattern, count, self.events())
    }

    /// [`Queue::reset`](crate::Queue::reset), with these options.
    ///
    /// # Errors
    /// As there, or what it waits for failed.
    pub fn reset<T: DeviceData, P: Properties<Access: HostWritable>>(
        self,
        global: &'static DeviceGlobal<T, P>,
    ) -> Result<Event> {
        self.queue().outside_kernels()?;
        self.queue().runtime().reset_global(self.global(handle(global)), self.events())
    }

    /// [`Queue::address_of`](crate::Queue::address_of), of the value that commands with these options use: a bundle
    /// has one of its own of every [`Symbol`](crate::Symbol). Nothing is waited for.
    ///
    /// ```
    /// use crosscut::prelude::*;
    /// use crosscut::{Bundle, Global};
    /// static LEVEL: Symbol<u32, Global> = Symbol::new(1);
    ///
    /// let queue = Queue::new()?;
    /// let bundle = Bundle::of(queue.context()).build()?;
    /// // SAFETY: nobody follows the addresses.
    /// let own = unsafe { queue.launch().use_bundle(&bundle).address_of(LEVEL.device()) }?;
    /// // SAFETY: as above.
    /// let shared = unsafe { queue.address_of(LEVEL.device()) }?;
    /// assert_ne!(own, shared);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// As there, or the bundle belongs to another context.
    ///
    /// # Safety
    /// As there; and the address of a bundle's own value is good for as long as the bundle is.
    pub unsafe fn address_of<T: DeviceData, P: Properties>(
        self,
        global: &'static DeviceGlobal<T, P>,
    ) -> Result<u64> {
        self.queue().outside_kernels()?;
        self.queue().runtime().global_address(self.global(handle(global)))
    }

    /// # Safety
    /// `target` has room for the global's value.
    unsafe fn read_whole(&self, global: GlobalHandle, target: *mut u8) -> Result<()> {
        let global = self.global(global);
        // SAFETY: passed on.
        unsafe {
            self.queue().runtime().copy_from_global(global, 0, target, global.size(), self.events())
        }
    }
}

/// How many innermost elements a value has.
fn elements<T: DeviceData>() -> usize {
    size_of::<T>().checked_div(size_of::<T::Element>()).unwrap_or(0)
}

/// Where a copy of `count` elements from element `offset` on begins, and how many bytes it has.
fn bytes_of<T: DeviceData>(
    global: &GlobalHandle,
    offset: usize,
    count: usize,
) -> Result<(usize, usize)> {
    let (size, all) = (size_of::<T::Element>(), elements::<T>());
    if size == 0 {
        // As many elements without bytes as anybody likes.
        return Ok((0, 0));
    }
    if offset.checked_add(count).is_none_or(|end| end > all) {
        return Err(Error::invalid(
            format!(
                "{count} elements from element {offset} on go beyond the end of a `DeviceGlobal<{}>`, which has {all}",
                std::any::type_name::<T>()
            ),
            "copy less, or from further in front",
        ));
    }
    debug_assert_eq!(global.size(), all * size);
    Ok((offset * size, count * size))
}
