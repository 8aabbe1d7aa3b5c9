//! Reductions: one value out of what all items contribute.

use std::fmt;

use crosscut_device::DeviceCopy;

use crate::{Buffer, BufferSlice, BufferSliceMut, DeviceSlice as _, Queue, Result};

/// How many values are combined by one item of the kernels that follow a launch. It decides how values
/// are put into brackets, and so it is the same for every device.
const RUN: usize = 256;

/// What a [`Reduction`] combines values by: an associative closure or function that captures nothing.
pub trait Operator<T>: Fn(T, T) -> T + Copy + Send + 'static {}

impl<T, F: Fn(T, T) -> T + Copy + Send + 'static> Operator<T> for F {}

/// One value out of what all items of a launch contribute: SYCL's reduction.
///
/// Passed to a kernel as `&mut reduction`, it arrives as a [`Reducer`](crate::Reducer).
///
/// ```
/// use crosscut::prelude::*;
///
/// let queue = Queue::new()?;
/// let x = queue.upload(&[3.0f32, -1.5, 4.0])?;
/// let mut sum = Reduction::sum(&queue)?;
/// let mut longest = Reduction::new(&queue, 0.0, |a: f32, b| a.max(b))?;
/// queue.parallel_for(x.len(), (&x, &mut sum, &mut longest), |i, (x, sum, longest)| {
///     sum.combine(x[i]);
///     longest.combine(x[i].abs());
/// })?;
/// assert_eq!((sum.get()?, longest.get()?), (5.5, 4.0));
/// # Ok::<(), crosscut::Error>(())
/// ```
///
/// Values are combined in the order of the items, in the same brackets everywhere, so that the operator
/// need not be commutative.
///
/// A launch that panics contributes nothing on the host CPU, and on a device what its items had
/// contributed, and anything for those that panicked. Who waits first is told of the panic: [`get`](Self::get) is not if `queue.wait()` was, or
/// if the launch was on another queue.
///
/// A launch needs memory for one value of each item, which the reduction keeps for the next. Over very
/// large ranges let each item combine many values.
pub struct Reduction<'q, T: DeviceCopy, F> {
    queue: &'q Queue,
    operator: F,
    /// One element: what an item that contributes nothing contributes.
    identity: Buffer<T>,
    /// One element: all that was contributed and has been combined.
    total: Buffer<T>,
    /// What the items of the last launch contributed, then what runs of them did, and so on.
    levels: Vec<Buffer<T>>,
    /// How many values of the first level have not been combined. None of a launch that left items out:
    /// theirs are of a launch before it, or of none.
    pending: usize,
}

impl<'q, T: DeviceCopy, F: Operator<T>> Reduction<'q, T, F> {
    /// A reduction by `operator`, for kernels in the context of `queue`.
    ///
    /// `identity` combined with any value is that value: it is the answer where nothing is contributed.
    ///
    /// # Errors
    /// Not enough memory, or the driver's refusal.
    pub fn new(queue: &'q Queue, identity: T, operator: F) -> Result<Self> {
        Ok(Self {
            queue,
            operator,
            identity: queue.upload(&[identity])?,
            total: queue.upload(&[identity])?,
            levels: Vec::new(),
            pending: 0,
        })
    }

    /// All that launches have contributed since it was made or [taken](Self::take). Waits for them.
    ///
    /// # Errors
    /// A kernel panicked, and nobody was told before; or the driver's refusal.
    pub fn get(&mut self) -> Result<T> {
        self.combine_pending()?;
        Ok(self.queue.download(&self.total)?[0])
    }

    /// The same, and starts anew.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut sum = Reduction::sum(&queue)?;
    /// queue.parallel_for(5, &mut sum, |i, sum| sum.combine(i as u32))?;
    /// assert_eq!((sum.get()?, sum.take()?, sum.take()?), (10, 10, 0));
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`get`](Self::get). It starts anew all the same.
    pub fn take(&mut self) -> Result<T> {
        let answer = self.get();
        self.pending = 0;
        self.queue.copy(&self.identity, &mut self.total)?;
        answer
    }

    /// The total as a buffer of one element, for kernels and copies that need not wait on the host.
    ///
    /// ```
    /// use crosscut::prelude::*;
    ///
    /// let queue = Queue::new()?;
    /// let mut sum = Reduction::sum(&queue)?;
    /// queue.parallel_for(4, &mut sum, |i, sum| sum.combine(i as f32))?;
    /// let mut shares = queue.upload(&[0.0f32, 1.0, 2.0, 3.0])?;
    /// queue.for_each(&mut shares, sum.as_buffer()?, |_, share, sum| *share /= sum[0])?;
    /// assert_eq!(queue.download(&shares)?[3], 0.5);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    ///
    /// # Errors
    /// The driver's refusal.
    pub fn as_buffer(&mut self) -> Result<&Buffer<T>> {
        self.combine_pending()?;
        Ok(&self.total)
    }

    /// Room for what a launch of so many items contributes: the identity, a value for each item, and
    /// where to note their number once it is launched.
    pub(crate) fn make_room(
        &mut self,
        items: usize,
    ) -> Result<(BufferSlice<'_, T>, BufferSliceMut<'_, T>, &mut usize)> {
        self.combine_pending()?;
        self.room(0, items)?;
        let values = self.levels[0].slice_mut(..items)?;
        Ok((self.identity.as_slice(), values, &mut self.pending))
    }

    /// Makes a level at least so large.
    fn room(&mut self, level: usize, length: usize) -> Result<()> {
        if self.levels.get(level).is_some_and(|buffer| length <= buffer.len()) {
            return Ok(());
        }
        let buffer = self.queue.zeroed(length)?;
        match self.levels.get_mut(level) {
            Some(smaller) => *smaller = buffer,
            None => self.levels.push(buffer),
        }
        Ok(())
    }

    /// Combines what the last launch contributed with the total.
    fn combine_pending(&mut self) -> Result<()> {
        let operator = self.operator;
        let (mut level, mut length) = (0, self.pending);
        while length > RUN {
            let runs = length.div_ceil(RUN);
            self.room(level + 1, runs)?;
            let (before, after) = self.levels.split_at_mut(level + 1);
            let values = before[level].slice(..length)?;
            let mut next = after[0].slice_mut(..runs)?;
            let event = self.queue.for_each(&mut next, values, move |run, next, values| {
                let (mut at, end) = (run * RUN + 1, values.len().min((run + 1) * RUN));
                let mut combined = values[run * RUN];
                // The operator may panic, and what is there has counted before.
                *next = combined;
                while at < end {
                    combined = operator(combined, values[at]);
                    at += 1;
                }
                *next = combined;
            })?;
            if event.has_panicked() {
                // Runs were left out. Who waits is told.
                self.pending = 0;
                return Ok(());
            }
            (level, length) = (level + 1, runs);
        }
        if length > 0 {
            let values = self.levels[level].slice(..length)?;
            self.queue.for_each(&mut self.total, values, move |_, total, values| {
                let mut combined = *total;
                for value in values {
                    combined = operator(combined, *value);
                }
                *total = combined;
            })?;
        }
        // Not before: what could not be combined stays, and is combined by whoever asks next.
        self.pending = 0;
        Ok(())
    }
}

impl<T: DeviceCopy, F> fmt::Debug for Reduction<'_, T, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reduction").field("pending", &self.pending).finish_non_exhaustive()
    }
}

/// Numbers of which there are sums, products, minima and maxima.
pub trait Number: DeviceCopy {
    /// Nothing, for sums.
    const ZERO: Self;
    /// Nothing, for products.
    const ONE: Self;
    /// No number is smaller.
    const SMALLEST: Self;
    /// No number is larger.
    const LARGEST: Self;
    /// The sum.
    #[must_use]
    fn add(self, other: Self) -> Self;
    /// The product.
    #[must_use]
    fn multiply(self, other: Self) -> Self;
    /// The smaller one.
    #[must_use]
    fn smaller(self, other: Self) -> Self;
    /// The larger one.
    #[must_use]
    fn larger(self, other: Self) -> Self;
}

macro_rules! numbers {
    ($($type:ty: $zero:expr, $one:expr, $smallest:ident $largest:ident;)*) => {$(
        impl Number for $type {
            const ZERO: Self = $zero;
            const ONE: Self = $one;
            const SMALLEST: Self = <$type>::$smallest;
            const LARGEST: Self = <$type>::$largest;

            #[inline(always)]
            fn add(self, other: Self) -> Self {
                self + other
            }

            #[inline(always)]
            fn multiply(self, other: Self) -> Self {
                self * other
            }

            #[inline(always)]
            fn smaller(self, other: Self) -> Self {
                self.min(other)
            }

            #[inline(always)]
            fn larger(self, other: Self) -> Self {
                self.max(other)
            }
        }
    )*};
}

numbers! {
    u8: 0, 1, MIN MAX;
    i8: 0, 1, MIN MAX;
    u16: 0, 1, MIN MAX;
    i16: 0, 1, MIN MAX;
    u32: 0, 1, MIN MAX;
    i32: 0, 1, MIN MAX;
    u64: 0, 1, MIN MAX;
    i64: 0, 1, MIN MAX;
    usize: 0, 1, MIN MAX;
    isize: 0, 1, MIN MAX;
    f32: 0.0, 1.0, NEG_INFINITY INFINITY;
    f64: 0.0, 1.0, NEG_INFINITY INFINITY;
}

#[cfg(feature = "half")]
numbers! {
    half::f16: half::f16::ZERO, half::f16::ONE, NEG_INFINITY INFINITY;
    half::bf16: half::bf16::ZERO, half::bf16::ONE, NEG_INFINITY INFINITY;
}

macro_rules! named {
    ($($name:ident, $identity:ident, $operator:ident, $what:literal;)*) => {
        // The operator of each is a type of its own, which only its maker can name.
        impl Reduction<'_, u32, fn(u32, u32) -> u32> {$(
            #[doc = $what]
            ///
            /// # Errors
            /// Not enough memory, or the driver's refusal.
            pub fn $name<T: Number>(queue: &Queue) -> Result<Reduction<'_, T, impl Operator<T>>> {
                Reduction::new(queue, T::$identity, |one: T, other: T| one.$operator(other))
            }
        )*}
    };
}

named! {
    sum, ZERO, add, "The sum, 0 of nothing.";
    product, ONE, multiply, "The product, 1 of nothing.";
    min, LARGEST, smaller, "The smallest, and of nothing what no number is larger than.";
    max, SMALLEST, larger, "The largest, and of nothing what no number is smaller than.";
}
