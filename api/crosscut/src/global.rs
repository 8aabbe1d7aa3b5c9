//! Device globals as a queue sees them: see [`Launch`](crate::Launch) for the same with options.

use std::ops::RangeBounds;

use crosscut_device::property::{HostReadable, HostWritable, Properties};
use crosscut_device::{DeviceData, DeviceGlobal};

use crate::{CopySource, CopyTarget, Event, HostElement, Queue, Result};

impl Queue {
    /// The value of a device global; plain values for atomics. Waits for the kernels that write it.
    ///
    /// The value passes over the stack: for large ones there are [`read_into`](Self::read_into) and
    /// [`read_boxed`](Self::read_boxed).
    ///
    /// ```
    /// use crosscut::prelude::*;
    /// static LIMITS: DeviceGlobal<[u32; 2]> = DeviceGlobal::new([1, 2]);
    ///
    /// let queue = Queue::new()?;
    /// assert_eq!(queue.read(&LIMITS)?, [1, 2]);
    /// let mut limits = [0; 2];
    /// queue.read_into(&LIMITS, &mut limits)?;
    /// assert_eq!(limits, [1, 2]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// A kernel panicked, or the driver refuses.
    pub fn read<T: DeviceData, P: Properties<Access: HostReadable>>(
        &self,
        global: &'static DeviceGlobal<T, P>,
    ) -> Result<T::Host> {
        self.launch().read(global)
    }

    /// Copies the value of a device global into `value`, without a stop on the stack.
    ///
    /// # Errors
    /// As [`read`](Self::read); `value` may have been written nevertheless.
    pub fn read_into<T: DeviceData, P: Properties<Access: HostReadable>>(
        &self,
        global: &'static DeviceGlobal<T, P>,
        value: &mut T::Host,
    ) -> Result<()> {
        self.launch().read_into(global, value)
    }

    /// The value of a device global in a box, without a stop on the stack.
    ///
    /// ```
    /// use crosscut::prelude::*;
    /// static FIELD: DeviceGlobal<[[f32; 1024]; 1024]> = DeviceGlobal::zeroed();
    ///
    /// let queue = Queue::new()?;
    /// let field = queue.read_boxed(&FIELD)?;
    /// assert_eq!(field[1023][1023], 0.0);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`read`](Self::read).
    pub fn read_boxed<T: DeviceData, P: Properties<Access: HostReadable>>(
        &self,
        global: &'static DeviceGlobal<T, P>,
    ) -> Result<Box<T::Host>> {
        self.launch().read_boxed(global)
    }

    /// Sets a device global on this queue's device. Waits for the kernels that use it.
    ///
    /// ```
    /// use crosscut::prelude::*;
    /// static LIMIT: DeviceGlobal<u32> = DeviceGlobal::new(10);
    ///
    /// let queue = Queue::new()?;
    /// assert_eq!(queue.read(&LIMIT)?, 10);
    /// queue.write(&LIMIT, &20)?;
    /// assert_eq!(queue.read(&LIMIT)?, 20);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn write<T: DeviceData, P: Properties<Access: HostWritable>>(
        &self,
        global: &'static DeviceGlobal<T, P>,
        value: &T::Host,
    ) -> Result<Event> {
        self.launch().write(global, value)
    }

    /// Copies elements to a device global, from its element `offset` on. Elements are the innermost
    /// ones of nested arrays.
    ///
    /// ```
    /// use crosscut::prelude::*;
    /// static TABLE: DeviceGlobal<[[i32; 4]; 3]> = DeviceGlobal::zeroed();
    ///
    /// let queue = Queue::new()?;
    /// queue.copy_to(&TABLE, &[7, 8], 3)?;
    /// assert_eq!(queue.read(&TABLE)?, [[0, 0, 0, 7], [8, 0, 0, 0], [0; 4]]);
    /// assert!(queue.copy_to(&TABLE, &[0; 13], 0).is_err()); // 13 elements into 12
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// They go beyond the end, and nothing is written; a buffer is of another context; the driver's
    /// refusal.
    pub fn copy_to<T, P, S>(
        &self,
        global: &'static DeviceGlobal<T, P>,
        source: S,
        offset: usize,
    ) -> Result<Event>
    where
        T: DeviceData,
        P: Properties<Access: HostWritable>,
        S: CopySource<HostElement<T>>,
    {
        self.launch().copy_to(global, source, offset)
    }

    /// Copies elements of a device global, from its element `offset` on, until `target` is full.
    ///
    /// ```
    /// use crosscut::prelude::*;
    /// static TABLE: DeviceGlobal<[[i32; 2]; 2]> = DeviceGlobal::new([[1, 2], [3, 4]]);
    ///
    /// let queue = Queue::new()?;
    /// let mut middle = [0; 2];
    /// queue.copy_from(&TABLE, &mut middle, 1)?;
    /// assert_eq!(middle, [2, 3]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// They go beyond the end, and nothing is written; a buffer is of another context; a kernel
    /// panicked; the driver's refusal.
    pub fn copy_from<T, P, S>(
        &self,
        global: &'static DeviceGlobal<T, P>,
        target: S,
        offset: usize,
    ) -> Result<Event>
    where
        T: DeviceData,
        P: Properties<Access: HostReadable>,
        S: CopyTarget<HostElement<T>>,
    {
        self.launch().copy_from(global, target, offset)
    }

    /// Copies bytes to a device global, from its byte `offset` on.
    ///
    /// ```
    /// use crosscut::prelude::*;
    /// static WORD: DeviceGlobal<u32> = DeviceGlobal::zeroed();
    ///
    /// let queue = Queue::new()?;
    /// queue.copy_bytes_to(&WORD, &[7, 7], 1)?;
    /// let mut bytes = [0; 4];
    /// queue.copy_bytes_from(&WORD, &mut bytes, 0)?;
    /// assert_eq!(bytes, [0, 7, 7, 0]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// They go beyond the end or cut an atomic in two, and nothing is written; the driver's refusal.
    pub fn copy_bytes_to<T: DeviceData, P: Properties<Access: HostWritable>>(
        &self,
        global: &'static DeviceGlobal<T, P>,
        source: &[u8],
        offset: usize,
    ) -> Result<Event> {
        self.launch().copy_bytes_to(global, source, offset)
    }

    /// Copies bytes of a device global, from its byte `offset` on, until `target` is full.
    ///
    /// # Errors
    /// They go beyond the end or cut an atomic in two, and nothing is written; a kernel panicked;
    /// the driver's refusal.
    pub fn copy_bytes_from<T: DeviceData, P: Properties<Access: HostReadable>>(
        &self,
        global: &'static DeviceGlobal<T, P>,
        target: &mut [u8],
        offset: usize,
    ) -> Result<()> {
        self.launch().copy_bytes_from(global, target, offset)
    }

    /// Sets every element of a device global in `range` to `value`; `..` means all.
    ///
    /// ```
    /// use crosscut::prelude::*;
    /// static TABLE: DeviceGlobal<[[i32; 2]; 2]> = DeviceGlobal::zeroed();
    ///
    /// let queue = Queue::new()?;
    /// queue.fill_global(&TABLE, .., &5)?;
    /// queue.fill_global(&TABLE, 1..3, &6)?;
    /// assert_eq!(queue.read(&TABLE)?, [[5, 6], [6, 5]]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// The range goes beyond the end, and nothing is written; the driver's refusal.
    pub fn fill_global<T: DeviceData, P: Properties<Access: HostWritable>>(
        &self,
        global: &'static DeviceGlobal<T, P>,
        range: impl RangeBounds<usize>,
        value: &HostElement<T>,
    ) -> Result<Event> {
        self.launch().fill_global(global, range, value)
    }

    /// Gives a device global the value that it started with.
    ///
    /// ```
    /// use crosscut::prelude::*;
    /// static LIMIT: DeviceGlobal<u32> = DeviceGlobal::new(10);
    ///
    /// let queue = Queue::new()?;
    /// queue.write(&LIMIT, &20)?;
    /// queue.reset(&LIMIT)?;
    /// assert_eq!(queue.read(&LIMIT)?, 10);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn reset<T: DeviceData, P: Properties<Access: HostWritable>>(
        &self,
        global: &'static DeviceGlobal<T, P>,
    ) -> Result<Event> {
        self.launch().reset(global)
    }

    /// Where this queue's device has the global, for other software that uses the same device.
    ///
    /// ```
    /// use crosscut::prelude::*;
    /// static FIELD: DeviceGlobal<[f32; 64]> = DeviceGlobal::zeroed();
    ///
    /// let queue = Queue::new()?;
    /// // SAFETY: nobody follows the address.
    /// let address = unsafe { queue.address_of(&FIELD) }?;
    /// assert_eq!(address % align_of::<f32>() as u64, 0);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// The driver tells no addresses.
    ///
    /// # Safety
    /// The address is good for this device and context only. Crosscut knows nothing of what is done
    /// with it: the caller sees to it that nobody else uses the global meanwhile, except as atomics.
    pub unsafe fn address_of<T: DeviceData, P: Properties>(
        &self,
        global: &'static DeviceGlobal<T, P>,
    ) -> Result<u64> {
        // SAFETY: passed on.
        unsafe { self.launch().address_of(global) }
    }
}
