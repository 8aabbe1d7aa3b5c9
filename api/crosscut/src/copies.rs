//! Copies and fills.

use crosscut_device::{DeviceCopy, DeviceData};
use crosscut_runtime::kept_if_in_use;

use crate::{DeviceRows, DeviceRowsMut, Error, Event, Launch, Queue, Result};

/// Copies of buffers, with options.
///
/// ```
/// use crosscut::prelude::*;
///
/// let queue = Queue::builder().out_of_order().build()?;
/// let event = queue.single_task((), |()| ())?;
/// let (mut x, mut y) = (queue.zeroed::<u8>(4)?, queue.zeroed::<u8>(4)?);
/// queue.launch().after(&event).upload_into(&mut x, &[1, 2, 3, 4])?;
/// let copied = queue.launch().after(&event).copy(&x, &mut y)?;
/// let filled = queue.launch().after(&copied).fill(&mut y.slice_mut(2..)?, 9)?;
/// let mut all = [0; 4];
/// queue.launch().after(&filled).download_into(&y, &mut all)?;
/// assert_eq!(all, [1, 2, 9, 9]);
/// assert_eq!(queue.launch().after(&filled).download(&x)?, [1, 2, 3, 4]);
/// # Ok::<(), crosscut::Error>(())
/// ```
impl Launch<'_> {
    /// [`Queue::download`], with these options.
    ///
    /// # Errors
    /// As there, or what it waits for failed.
    pub fn download<S: DeviceRows>(
        self,
        source: &S,
    ) -> Result<Vec<<S::Element as DeviceData>::Host>> {
        self.queue().outside_kernels()?;
        let source = source.rows();
        let mut data: Vec<<S::Element as DeviceData>::Host> = Vec::new();
        data.try_reserve_exact(source.len()).map_err(|_| {
            Error::invalid(
                format!("{} elements do not fit the host's memory beside the buffer", source.len()),
                "use several smaller buffers",
            )
        })?;
        let (queue, target) = (self.queue().runtime(), data.as_mut_ptr().cast());
        let width = S::Element::ATOMIC_WIDTH;
        // SAFETY: the vector has room for `len` elements, which are as large on the host, and the
        // width is that of the type.
        let read = unsafe { queue.read_block(source.block(), target, width, self.events()) };
        let mut data = kept_if_in_use(data, read)?;
        // SAFETY: all bytes were just written, and any are valid.
        unsafe { data.set_len(source.len()) };
        Ok(data)
    }

    /// [`Queue::download_into`], with these options.
    ///
    /// # Errors
    /// As there, or what it waits for failed.
    pub fn download_into<S: DeviceRows>(
        self,
        source: &S,
        target: &mut [<S::Element as DeviceData>::Host],
    ) -> Result<()> {
        self.queue().outside_kernels()?;
        let source = source.rows();
        equal(source.len(), target.len())?;
        let (queue, width) = (self.queue().runtime(), S::Element::ATOMIC_WIDTH);
        // SAFETY: the target has as many elements, which are as large on the host, and the width is
        // that of the type.
        unsafe {
            queue.read_block(source.block(), target.as_mut_ptr().cast(), width, self.events())
        }
    }

    /// [`Queue::upload_into`], with these options.
    ///
    /// # Errors
    /// As there, or what it waits for failed.
    pub fn upload_into<S: DeviceRowsMut>(
        self,
        target: &mut S,
        source: &[<S::Element as DeviceData>::Host],
    ) -> Result<()> {
        self.queue().outside_kernels()?;
        let target = target.rows_mut();
        equal(source.len(), target.len())?;
        let queue = self.queue().runtime();
        // SAFETY: the source has as many elements, of which any bits are valid, and the target is
        // borrowed mutably.
        unsafe { queue.write_block(target.block(), source.as_ptr().cast(), self.events()) }
    }

    /// [`Queue::copy`], with these options.
    ///
    /// # Errors
    /// As there, or what it waits for failed.
    pub fn copy<S, R>(self, source: &S, target: &mut R) -> Result<Event>
    where
        S: DeviceRows,
        R: DeviceRowsMut<Element: DeviceData<Host = <S::Element as DeviceData>::Host>>,
    {
        self.queue().outside_kernels()?;
        let (source, target) = (source.rows(), target.rows_mut());
        source.matches(&target)?;
        let (queue, width) = (self.queue().runtime(), S::Element::ATOMIC_WIDTH);
        // SAFETY: the target is borrowed mutably, so that the source is something else; the elements
        // of both have the same bits, and the width is that of the source's type.
        unsafe { queue.copy_block(target.block(), source.block(), width, self.events()) }
    }

    /// [`Queue::fill`], with these options.
    ///
    /// # Errors
    /// As there, or what it waits for failed.
    pub fn fill<S: DeviceRowsMut>(
        self,
        target: &mut S,
        value: <S::Element as DeviceData>::Host,
    ) -> Result<Event> {
        self.queue().outside_kernels()?;
        let target = target.rows_mut();
        let size = size_of_val(&value);
        // SAFETY: device data has no padding: all its bytes are initialised.
        let pattern = unsafe { std::slice::from_raw_parts((&raw const value).cast::<u8>(), size) };
        // SAFETY: the target is borrowed mutably.
        unsafe { self.queue().runtime().fill_block(target.block(), pattern, self.events()) }
    }
}

impl Queue {
    /// A copy of the elements of a buffer or a part of one; plain values for atomics. Waits for what
    /// writes them.
    ///
    /// # Errors
    /// A kernel panicked, the buffer is of another context, the host has no memory for a copy, or
    /// the driver refuses.
    pub fn download<S: DeviceRows>(
        &self,
        source: &S,
    ) -> Result<Vec<<S::Element as DeviceData>::Host>> {
        self.launch().download(source)
    }

    /// Copies the elements of a buffer or a part of one into `target`, which is as long.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let x = queue.upload(&[1u8, 2, 3, 4])?;
    /// let mut two = [0; 2];
    /// queue.download_into(&x.slice(1..3)?, &mut two)?;
    /// assert_eq!(two, [2, 3]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// The lengths differ, a kernel panicked, the buffer is of another context, or the driver
    /// refuses.
    pub fn download_into<S: DeviceRows>(
        &self,
        source: &S,
        target: &mut [<S::Element as DeviceData>::Host],
    ) -> Result<()> {
        self.launch().download_into(source, target)
    }

    /// Copies `source` into a buffer or a part of one, which is as long. Waits for what uses it.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut x = queue.zeroed::<u8>(4)?;
    /// queue.upload_into(&mut x.slice_mut(1..3)?, &[7, 8])?;
    /// assert_eq!(queue.download(&x)?, [0, 7, 8, 0]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// The lengths differ, the buffer is of another context, or the driver refuses.
    pub fn upload_into<S: DeviceRowsMut>(
        &self,
        target: &mut S,
        source: &[<S::Element as DeviceData>::Host],
    ) -> Result<()> {
        self.launch().upload_into(target, source)
    }

    /// Copies a buffer, or a part of one, into another one that is as long.
    ///
    /// One of them may be of another context, on another device even: it then goes through the host,
    /// in pieces, and is complete when this returns.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let x = queue.upload(&[1u8, 2, 3, 4])?;
    /// let mut y = queue.zeroed::<u8>(6)?;
    /// queue.copy(&x, &mut y.slice_mut(1..5)?)?;
    /// assert_eq!(queue.download(&y)?, [0, 1, 2, 3, 4, 0]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// The lengths differ, neither is of the queue's context, or the driver refuses.
    pub fn copy<S, R>(&self, source: &S, target: &mut R) -> Result<Event>
    where
        S: DeviceRows,
        R: DeviceRowsMut<Element: DeviceData<Host = <S::Element as DeviceData>::Host>>,
    {
        self.launch().copy(source, target)
    }

    /// Sets every element of a buffer, or of a part of one, to `value`.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut x = queue.zeroed::<[i16; 3]>(2)?;
    /// queue.fill(&mut x, [1, -2, 3])?;
    /// assert_eq!(queue.download(&x)?, [[1, -2, 3]; 2]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// The buffer is of another context, or the driver refuses.
    pub fn fill<S: DeviceRowsMut>(
        &self,
        target: &mut S,
        value: <S::Element as DeviceData>::Host,
    ) -> Result<Event> {
        self.launch().fill(target, value)
    }

    /// A new buffer of `len` elements that are all `value`.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// assert_eq!(queue.download(&queue.filled(3, 1.5f32)?)?, [1.5; 3]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// Not enough memory, or the driver's refusal.
    pub fn filled<T: DeviceCopy>(&self, len: usize, value: T) -> Result<crate::Buffer<T>> {
        self.outside_kernels()?;
        let mut buffer = crate::Buffer::uninitialised(self.context(), len)?;
        self.fill(&mut buffer, value)?;
        Ok(buffer)
    }
}

pub(crate) fn equal(source: usize, target: usize) -> Result<()> {
    if source == target {
        return Ok(());
    }
    Err(Error::invalid(
        format!("{source} elements were to be copied to {target}"),
        "make both equally long, for example by `slice`",
    ))
}
