//! Device globals: statics with one instance per device and context.

use core::cell::UnsafeCell;
use core::fmt;
use core::marker::PhantomData;
use core::mem::{ManuallyDrop, MaybeUninit};
use core::ops::Deref;

use crate::property::{FirstUse, Policy, Properties};
use crate::{ByName, DeviceCopy, DeviceData, hooks, on_device, place};

/// A global variable that kernels use; put it in a `static`.
///
/// Every device and context has its own instance, which starts with the initial value and lives
/// across launches. The rule: **atomics by name; plain values by argument (`&G`), by copy
/// ([`get`](Self::get)), or, in a single task, by [`exclusive`](Self::exclusive).** The host reads
/// and writes it through a queue.
///
/// `P` is one of the [properties](crate::property) or a tuple of them.
///
/// ```
/// use crosscut::prelude::*;
/// use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
///
/// static HITS: DeviceGlobal<[AtomicU32; 2]> = DeviceGlobal::new([0, 100]); // plain values for atomics
/// static GAIN: DeviceGlobal<f32> = DeviceGlobal::new(0.5);
/// static BEST: DeviceGlobal<f32> = DeviceGlobal::zeroed();
///
/// let queue = Queue::new()?;
/// queue.parallel_for(10, (), |i, ()| { HITS[i % 2].fetch_add(1, Relaxed); })?; // by name
/// queue.single_task(BEST.exclusive(), |best| *best = 4.0 * GAIN.get())?; // exclusively, by copy
/// let mut y = queue.zeroed::<f32>(3)?;
/// queue.for_each(&mut y, &BEST, |i, y, best| *y = i as f32 * best)?; // by argument
/// assert_eq!(queue.read(&HITS)?, [5, 105]);
/// assert_eq!(queue.download(&y)?, [0.0, 2.0, 4.0]);
/// # Ok::<(), crosscut::Error>(())
/// ```
// The initial value lies directly behind the storage: the runtime finds it from the static's
// address and the value's size alone. Both have one type, so there is no gap.
#[repr(C)]
pub struct DeviceGlobal<T: DeviceData, P: Properties = ()> {
    storage: UnsafeCell<T>,
    initial: <P::Policy as Policy>::Initial<T>,
    properties: PhantomData<fn() -> P>,
}

// SAFETY: the storage is shared only as atomics or as data that nobody writes meanwhile: kernels
// write plain values through `exclusive`, host copies go through the runtime, and the runtime lets
// neither run beside a kernel of the same context.
unsafe impl<T: DeviceData, P: Properties> Sync for DeviceGlobal<T, P> {}

/// Where a global's static is and what it holds: what the runtime needs to make an instance.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GlobalDescription {
    /// The static; the initial bytes are `size` behind it, unless `properties` say otherwise.
    pub address: *const u8,
    /// The bytes of its value.
    pub size: usize,
    /// The alignment of its value.
    pub align: usize,
    /// [`DeviceData::ATOMIC_WIDTH`] of its value.
    pub atomic_width: usize,
    /// [`Properties::BITS`].
    pub properties: u64,
}

/// The same bits as the host's and as the device's type.
union Bits<T: DeviceData> {
    host: T::Host,
    device: ManuallyDrop<T>,
}

impl<T: DeviceData, P: Properties> DeviceGlobal<T, P> {
    /// A global that starts as all zeros. It takes no space in the program file.
    #[must_use]
    pub const fn zeroed() -> Self {
        // SAFETY: all zeros is a valid value of every `DeviceData`.
        let storage = unsafe { MaybeUninit::<T>::zeroed().assume_init() };
        let initial = MaybeUninit::<<P::Policy as Policy>::Initial<T>>::zeroed();
        // SAFETY: as above, or there are no bytes.
        let initial = unsafe { initial.assume_init() };
        Self { storage: UnsafeCell::new(storage), initial, properties: PhantomData }
    }

    /// What the runtime needs to know.
    #[doc(hidden)]
    #[must_use]
    pub fn description(&'static self) -> GlobalDescription {
        GlobalDescription {
            address: core::ptr::from_ref(self).cast(),
            size: size_of::<T>(),
            align: align_of::<T>(),
            atomic_width: T::ATOMIC_WIDTH,
            properties: P::BITS,
        }
    }

    /// This device's and context's instance.
    #[inline(always)]
    #[track_caller]
    pub(crate) fn address(&self) -> *const T {
        let global: *const u8 = core::ptr::from_ref(self).cast();
        if on_device() {
            let (size, align) = (size_of::<T>() as u64, align_of::<T>() as u64);
            hooks::__crosscut_global_address(global, size, align, P::BITS).cast()
        } else {
            place::host_storage(global, size_of::<T>(), align_of::<T>(), P::BITS).cast()
        }
    }
}

impl<T: DeviceData, P: Properties<Policy = FirstUse>> DeviceGlobal<T, P> {
    /// A global that starts with `value`; for atomics the plain values: `new([0, 1])`.
    #[must_use]
    pub const fn new(value: T::Host) -> Self {
        Self {
            storage: UnsafeCell::new(Self::device_value(value)),
            initial: Self::device_value(value),
            properties: PhantomData,
        }
    }

    const fn device_value(value: T::Host) -> T {
        let bits = Bits::<T> { host: value };
        // SAFETY: by `DeviceData`'s contract both types have the same bits and any are valid.
        ManuallyDrop::into_inner(unsafe { bits.device })
    }
}

impl<T: DeviceCopy, P: Properties> DeviceGlobal<T, P> {
    /// A copy of the value, inside a kernel.
    ///
    /// # Panics
    /// Outside a kernel (use `queue.read`), and in a task that has it by
    /// [`exclusive`](Self::exclusive).
    #[inline(always)]
    #[track_caller]
    #[must_use]
    pub fn get(&'static self) -> T {
        // SAFETY: the instance is a valid `T` in live memory, and nobody writes it while a kernel
        // of its context runs: a task that holds it exclusively runs alone and gets no address.
        unsafe { *self.address() }
    }

    /// The global as an argument of a single task, which sees it as `&mut T`.
    #[must_use]
    pub fn exclusive(&'static self) -> Exclusive<T, P> {
        Exclusive { global: self }
    }
}

impl<T: ByName, P: Properties> Deref for DeviceGlobal<T, P> {
    type Target = T;

    /// The atomics, inside a kernel.
    ///
    /// # Panics
    /// Outside a kernel: use `queue.read`.
    #[inline(always)]
    #[track_caller]
    fn deref(&self) -> &T {
        // SAFETY: the instance is a valid `T` that lives as long as the static and is only ever
        // changed by atomic operations. One that is no static is its own instance, which is there for
        // as long as it is borrowed, or has none: that is a panic.
        unsafe { &*self.address() }
    }
}

impl<T: DeviceData, P: Properties> fmt::Debug for DeviceGlobal<T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DeviceGlobal").finish_non_exhaustive()
    }
}

/// A plain global lent to one single task: see [`DeviceGlobal::exclusive`].
pub struct Exclusive<T: DeviceCopy, P: Properties = ()> {
    global: &'static DeviceGlobal<T, P>,
}

impl<T: DeviceCopy, P: Properties> Exclusive<T, P> {
    /// The global.
    #[doc(hidden)]
    #[must_use]
    pub fn global(&self) -> &'static DeviceGlobal<T, P> {
        self.global
    }
}

impl<T: DeviceCopy, P: Properties> fmt::Debug for Exclusive<T, P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Exclusive").field(self.global).finish()
    }
}

#[cfg(test)]
mod tests {
    use core::sync::atomic::{AtomicU16, AtomicU64, Ordering::Relaxed};

    use super::DeviceGlobal;
    use crate::place::{Place, enter, inside_kernel};

    #[test]
    fn the_initial_value_lies_directly_behind_the_storage() {
        static WORDS: DeviceGlobal<[AtomicU16; 3]> = DeviceGlobal::new([1, 2, 3]);
        let it = WORDS.description();
        assert_eq!((it.size, it.align, it.atomic_width), (6, 2, 2));
        let both = it.address.cast::<[u16; 6]>();
        // SAFETY: storage and initial value are 12 bytes of this static, which nobody writes.
        assert_eq!(unsafe { both.read() }, [1, 2, 3, 1, 2, 3]);
    }

    #[test]
    fn inside_a_kernel_of_the_default_context_globals_are_the_statics() {
        static COUNT: DeviceGlobal<AtomicU64> = DeviceGlobal::new(5);
        assert!(!inside_kernel());
        {
            // SAFETY: this test's globals are atomics.
            let _inside = unsafe { enter(Place::Statics) };
            assert_eq!(COUNT.fetch_add(1, Relaxed), 5);
            assert!(inside_kernel());
        }
        assert!(!inside_kernel());
    }

    #[test]
    fn elsewhere_the_place_is_asked_and_left_again_on_unwinding() {
        static COUNT: DeviceGlobal<AtomicU64> = DeviceGlobal::new(5);
        static OTHER: AtomicU64 = AtomicU64::new(70);

        /// # Safety
        /// None needed.
        unsafe fn find(
            data: *const (),
            _: *const u8,
            size: usize,
            align: usize,
            _: u64,
        ) -> Result<*const u8, String> {
            assert_eq!((size, align), (8, 8));
            Ok(data.cast())
        }

        let place = Place::Ask { data: (&raw const OTHER).cast(), find };
        let unwound = std::panic::catch_unwind(|| {
            // SAFETY: `find` answers with a static `AtomicU64`, which is what is asked for.
            let _inside = unsafe { enter(place) };
            assert_eq!(COUNT.fetch_add(1, Relaxed), 70);
            std::panic::resume_unwind(Box::new("out"));
        });
        assert!(unwound.is_err() && !inside_kernel());
        assert_eq!(OTHER.load(Relaxed), 71);
    }
}
