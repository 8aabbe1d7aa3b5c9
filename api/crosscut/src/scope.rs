//! Copies that borrow the host's memory while they are on their way.

use std::fmt;
use std::marker::PhantomData;
use std::sync::{Mutex, PoisonError};

use crosscut_device::DeviceData;
use crosscut_runtime::Reading;

use crate::copies::equal;
use crate::{DeviceSlice, DeviceSliceMut, Event, Queue, Result};

/// Where copies may borrow: given to the closure of [`Queue::scope`].
///
/// ```
/// use crosscut::prelude::*;
///
/// let queue = Queue::new()?;
/// let (input, mut low, mut high) = ([1u8, 2, 3, 4], [0; 2], [0; 2]);
/// let mut x = queue.zeroed::<u8>(4)?;
/// queue.scope(|s| {
///     s.upload(&mut x, &input)?;
///     s.download(&x.slice(..2)?, &mut low)?; // none of the three has been waited for
///     s.download(&x.slice(2..)?, &mut high)?;
///     Ok(())
/// })?;
/// assert_eq!((low, high), ([1, 2], [3, 4]));
/// # Ok::<(), crosscut::Error>(())
/// ```
pub struct CopyScope<'scope, 'env: 'scope> {
    queue: &'env Queue,
    copies: Mutex<Vec<Copy>>,
    /// Neither may be shortened or stretched by whoever has the scope.
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

/// A copy on its way.
enum Copy {
    There(Event),
    Back(Reading),
}

impl Copy {
    fn event(&self) -> &Event {
        match self {
            Self::There(event) => event,
            Self::Back(reading) => &reading.event,
        }
    }

    fn wait(&self) -> Result<()> {
        match self {
            Self::There(event) => event.wait(),
            Self::Back(reading) => reading.wait(),
        }
    }
}

impl Queue {
    /// Runs `body` with a [`CopyScope`], whose copies borrow memory of the host instead of waiting. All
    /// have ended when this returns, whatever becomes of `body`.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let (input, mut output) = (vec![1u32, 2, 3], vec![0; 3]);
    /// let mut x = queue.zeroed::<u32>(3)?;
    /// queue.scope(|s| {
    ///     s.upload(&mut x, &input)?;
    ///     queue.for_each(&mut x, (), |_, x, ()| *x *= 2)?;
    ///     s.download(&x, &mut output)?;
    ///     Ok(())
    /// })?;
    /// assert_eq!(output, [2, 4, 6]);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// That of `body`; otherwise a copy failed, or a kernel panicked that wrote what was copied.
    pub fn scope<'env, R>(
        &'env self,
        body: impl for<'scope> FnOnce(&'scope CopyScope<'scope, 'env>) -> Result<R>,
    ) -> Result<R> {
        self.outside_kernels()?;
        let scope = CopyScope {
            queue: self,
            copies: Mutex::default(),
            scope: PhantomData,
            env: PhantomData,
        };
        let end = End(&scope.copies, self);
        let outcome = body(&scope);
        let ended = end.wait();
        let outcome = outcome?;
        ended?;
        self.runtime().settle_pending()?;
        Ok(outcome)
    }
}

/// Waits for the copies, also where the body unwinds.
struct End<'a>(&'a Mutex<Vec<Copy>>, &'a Queue);

impl End<'_> {
    /// Waits for all, and tells the first that went wrong.
    fn wait(&self) -> Result<()> {
        let copies = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        let mut first = Ok(());
        for copy in copies {
            // The wait may have failed and not the copy, and what is borrowed is given back now.
            let ended = copy.wait();
            let ended = ended.map_err(|error| self.1.runtime().see_end_of(copy.event(), error));
            first = first.and(ended);
        }
        first
    }
}

impl Drop for End<'_> {
    fn drop(&mut self) {
        let _ = self.wait();
    }
}

/// A copy of a scope about to be started, made by [`CopyScope::after`].
///
/// ```
/// use crosscut::prelude::*;
///
/// let queue = Queue::builder().out_of_order().build()?;
/// let (one, other) = (queue.single_task((), |()| ())?, queue.single_task((), |()| ())?);
/// let (input, mut output) = ([1u8, 2], [0; 2]);
/// let mut x = queue.zeroed::<u8>(2)?;
/// queue.scope(|s| {
///     s.after(&one).after(&other).upload(&mut x, &input)?;
///     s.after(&other).download(&x, &mut output)?;
///     Ok(())
/// })?;
/// assert_eq!(output, [1, 2]);
/// # Ok::<(), crosscut::Error>(())
/// ```
#[must_use = "nothing is copied before `upload` or `download`"]
pub struct ScopedCopy<'scope, 'env: 'scope> {
    scope: &'scope CopyScope<'scope, 'env>,
    after: Vec<Event>,
}

impl<'scope, 'env> CopyScope<'scope, 'env> {
    /// Begins a copy that starts once these events have completed, too: one event, or any number of
    /// them, of any queue. Copies wait without being told for what uses the same buffer.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let (one, other) = (Queue::new()?, Queue::builder().out_of_order().build()?);
    /// let (input, mut output) = ([1u8, 2, 3, 4], [0; 4]);
    /// let mut x = other.zeroed::<u8>(4)?;
    /// let ready = one.single_task((), |()| ())?;
    /// other.scope(|s| {
    ///     let there = s.after(&ready).upload(&mut x, &input)?;
    ///     s.after([&ready, &there]).download(&x, &mut output)?;
    ///     Ok(())
    /// })?;
    /// assert_eq!(output, input);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    pub fn after<'e>(
        &'scope self,
        events: impl IntoIterator<Item = &'e Event>,
    ) -> ScopedCopy<'scope, 'env> {
        ScopedCopy { scope: self, after: Vec::new() }.after(events)
    }

    /// Starts to copy `source` into a buffer or a part of one, which is as long.
    ///
    /// # Errors
    /// The lengths differ, the buffer is of another context, or the driver refuses.
    pub fn upload<S: DeviceSliceMut>(
        &'scope self,
        target: &mut S,
        source: &'scope [<S::Element as DeviceData>::Host],
    ) -> Result<Event> {
        self.after([]).upload(target, source)
    }

    /// Starts to copy the elements of a buffer or a part of one into `target`, which is as long.
    ///
    /// # Errors
    /// The lengths differ, the buffer is of another context, or the driver refuses.
    pub fn download<S: DeviceSlice>(
        &'scope self,
        source: &S,
        target: &'scope mut [<S::Element as DeviceData>::Host],
    ) -> Result<Event> {
        self.after([]).download(source, target)
    }

    fn note(&self, copy: Copy) {
        self.copies.lock().unwrap_or_else(PoisonError::into_inner).push(copy);
    }
}

impl<'scope> ScopedCopy<'scope, '_> {
    /// Starts it once these events have completed, too.
    pub fn after<'e>(mut self, events: impl IntoIterator<Item = &'e Event>) -> Self {
        self.after.extend(events.into_iter().cloned());
        self
    }

    /// [`CopyScope::upload`], after these events.
    ///
    /// # Errors
    /// As there, or what it waits for failed.
    pub fn upload<S: DeviceSliceMut>(
        self,
        target: &mut S,
        source: &'scope [<S::Element as DeviceData>::Host],
    ) -> Result<Event> {
        let Self { scope, after } = self;
        scope.queue.outside_kernels()?;
        let target = target.as_slice_mut();
        equal(source.len(), target.len())?;
        let (queue, source) = (scope.queue.runtime(), source.as_ptr().cast());
        // SAFETY: the source is borrowed until the scope has ended, which waits for the event; the
        // target is borrowed mutably, and later commands that use it come after.
        let event = unsafe { queue.start_write(target.region(), source, &after) }?;
        scope.note(Copy::There(event.clone()));
        Ok(event)
    }

    /// [`CopyScope::download`], after these events.
    ///
    /// # Errors
    /// As there, or what it waits for failed.
    pub fn download<S: DeviceSlice>(
        self,
        source: &S,
        target: &'scope mut [<S::Element as DeviceData>::Host],
    ) -> Result<Event> {
        let Self { scope, after } = self;
        scope.queue.outside_kernels()?;
        let source = source.as_slice();
        equal(source.len(), target.len())?;
        let (queue, width) = (scope.queue.runtime(), S::Element::ATOMIC_WIDTH);
        let target = target.as_mut_ptr().cast();
        // SAFETY: the target is borrowed mutably until the scope has ended, which waits for the
        // event; the width is that of the type.
        let reading = unsafe { queue.start_read(source.region(), target, width, &after) }?;
        let event = reading.event.clone();
        scope.note(Copy::Back(reading));
        Ok(event)
    }
}

impl fmt::Debug for ScopedCopy<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ScopedCopy").field("queue", &self.scope.queue).finish_non_exhaustive()
    }
}

impl fmt::Debug for CopyScope<'_, '_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CopyScope").field("queue", &self.queue).finish_non_exhaustive()
    }
}
