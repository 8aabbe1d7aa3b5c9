//! Arguments of kernels: what is passed, and what arrives.

use core::hint::assert_unchecked;
use core::marker::PhantomData;

use crosscut_device::property::Properties;
use crosscut_device::{DeviceCopy, DeviceData, DeviceGlobal, Exclusive, hooks};
use crosscut_runtime::{Access, Slot};

use super::bindings::Bindings;
use crate::{BufferSlice, BufferSliceMut, Result};

/// The kind of kernels that run once per item.
#[derive(Clone, Copy, Debug)]
pub enum PerItem {}

/// The kind of kernels that run once: single tasks.
#[derive(Clone, Copy, Debug)]
pub enum Once {}

/// What may be passed to a kernel of kind `K`; `Shape` says how it arrives.
///
/// | passed | arrives per item | arrives in a single task |
/// |---|---|---|
/// | `()` | `()` | `()` |
/// | `&Buffer<T>` | `&[T]` | `&[T]` |
/// | `&mut Buffer<T>` | `&mut T`, this item's own | `&mut [T]` |
/// | `&Usm<T, _>`, `&mut Usm<T, _>` | as a buffer | as a buffer |
/// | `&Buffer<T, 2>`, `&Buffer<T, 3>` | [`Grid`](crate::Grid) | [`Grid`](crate::Grid) |
/// | `&mut Buffer<T, 2>`, `&mut Buffer<T, 3>` | `&mut T`, this item's own | [`GridMut`](crate::GridMut) |
/// | `buffer.slice(a..b)?` | `&[T]` | `&[T]` |
/// | `buffer.slice_mut(a..b)?` | `&mut T`, this item's own | `&mut [T]` |
/// | `buffer.part([a..b, c..d])?` | [`GridPart`](crate::GridPart) | [`GridPart`](crate::GridPart) |
/// | `buffer.part_mut([a..b, c..d])?` | `&mut T`, this item's own | [`GridPartMut`](crate::GridPartMut) |
/// | `buffer.chunks(k)?` | `&[T]`, this item's `k` elements | |
/// | `buffer.chunks_mut(k)?` | `&mut [T]`, this item's `k` elements | |
/// | `&GLOBAL` of plain data | `&T` | `&T` |
/// | `GLOBAL.exclusive()` | | `&mut T` |
/// | [`Local::<T>::new(n)`](crate::Local) over an [`NdRange`](crate::NdRange) | [`Tile<T>`](crate::Tile), shared by the work-group | |
/// | `&mut` [`Reduction`](crate::Reduction) | [`Reducer`](crate::Reducer) | [`Reducer`](crate::Reducer) |
/// | a tuple of up to eight | a tuple | a tuple |
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of this kernel",
    label = "not a kernel argument",
    note = "pass `&buffer`, `&mut buffer`, `buffer.slice(a..b)?`, `buffer.chunks_mut(k)?`, `Local::new(n)`, `&mut reduction`, `&GLOBAL` (plain data), `()`, or a tuple of up to eight of them; in a single task also `GLOBAL.exclusive()`",
    note = "plain `Copy` values are captured: use `move |..|` and name them in the closure"
)]
pub trait KernelArg<K> {
    /// The argument without its lifetime.
    type Shape: Shape<K>;

    /// Adds what the runtime must know. `bindings` live no longer than the argument.
    #[doc(hidden)]
    fn bind<'a>(self, bindings: &mut Bindings<'a>) -> Result<()>
    where
        Self: 'a;
}

/// How an argument arrives in a kernel of kind `K`.
///
/// # Safety
/// `SLOTS` is how many slots it takes, and [`KernelArg::bind`] adds as many bindings, with the
/// access that the view allows.
#[doc(hidden)]
pub unsafe trait Shape<K>: 'static {
    /// What the closure gets.
    type View<'k>;
    /// What a native loop keeps to make views from.
    type Native: Copy;
    /// How many slots it takes.
    const SLOTS: u32;

    /// The view of one item, on a device.
    ///
    /// # Safety
    /// Called in a device entry, once per item; `slot` is the first slot of this argument, `item`
    /// the linear index of the item.
    unsafe fn on_device<'k>(slot: u32, item: usize) -> Self::View<'k>;

    /// Prepares views of a native launch.
    ///
    /// # Safety
    /// `slots` begins with this argument's slots, of the right types, valid while views are used.
    unsafe fn native(slots: &[Slot]) -> Self::Native;

    /// Whether every slice has an element for every item below `end`. This and [`assume`](Self::assume)
    /// are for those with slices: where there is none, all of them have.
    #[inline(always)]
    fn covers(_native: Self::Native, _end: usize) -> bool {
        true
    }

    /// Tells the optimiser that every slice has an element for `item`.
    ///
    /// # Safety
    /// [`covers`](Self::covers) held for a larger end.
    #[inline(always)]
    unsafe fn assume(_native: Self::Native, _item: usize) {}

    /// The view of one item.
    ///
    /// # Safety
    /// `item` is below the launch's number of items, and no other view of that item is alive.
    unsafe fn view<'k>(native: Self::Native, item: usize) -> Self::View<'k>;
}

// SAFETY: no slots, no bindings.
unsafe impl<K> Shape<K> for () {
    type View<'k> = ();
    type Native = ();
    const SLOTS: u32 = 0;

    #[inline(always)]
    unsafe fn on_device<'k>(_slot: u32, _item: usize) -> <Self as Shape<K>>::View<'k> {}
    #[inline(always)]
    unsafe fn native(_slots: &[Slot]) {}
    #[inline(always)]
    unsafe fn view<'k>(_native: (), _item: usize) -> <Self as Shape<K>>::View<'k> {}
}

impl<K> KernelArg<K> for () {
    type Shape = ();

    fn bind<'a>(self, _bindings: &mut Bindings<'a>) -> Result<()>
    where
        Self: 'a,
    {
        Ok(())
    }
}

/// The shape of `&Buffer<T>` and of a part of it.
#[doc(hidden)]
pub struct Slice<T>(PhantomData<fn() -> T>);

// SAFETY: one slot and one binding; the view only reads, except through atomics, which are bound
// for writing.
unsafe impl<K, T: DeviceData> Shape<K> for Slice<T> {
    type View<'k> = &'k [T];
    type Native = (*const T, usize);
    const SLOTS: u32 = 1;

    #[inline(always)]
    unsafe fn on_device<'k>(slot: u32, _item: usize) -> &'k [T] {
        let address = if T::ATOMIC_WIDTH == 0 {
            hooks::__crosscut_read_argument_address(slot)
        } else {
            hooks::__crosscut_argument_address(slot).cast_const()
        };
        let length = hooks::__crosscut_argument_length(slot) as usize;
        // SAFETY: the runtime binds this slot to that many elements, which live and are not
        // written otherwise while the kernel runs.
        unsafe { core::slice::from_raw_parts(address.cast(), length) }
    }

    #[inline(always)]
    unsafe fn native(slots: &[Slot]) -> (*const T, usize) {
        (slots[0].address.cast(), slots[0].length)
    }

    #[inline(always)]
    fn covers((_, length): (*const T, usize), end: usize) -> bool {
        end <= length
    }

    #[inline(always)]
    unsafe fn assume((_, length): (*const T, usize), item: usize) {
        // SAFETY: `item` is below an end that the length covers.
        unsafe { assert_unchecked(item < length) }
    }

    #[inline(always)]
    unsafe fn view<'k>((address, length): (*const T, usize), _item: usize) -> &'k [T] {
        // SAFETY: the slot has that many elements, which live and are not written otherwise while
        // the launch runs.
        unsafe { core::slice::from_raw_parts(address, length) }
    }
}

impl<K, T: DeviceData> KernelArg<K> for BufferSlice<'_, T> {
    type Shape = Slice<T>;

    fn bind<'a>(self, bindings: &mut Bindings<'a>) -> Result<()>
    where
        Self: 'a,
    {
        // Through a shared reference only atomics are written.
        let access = if T::ATOMIC_WIDTH == 0 { Access::Read } else { Access::Write };
        bindings.part::<T>(self.region().shared(), self.len(), access);
        Ok(())
    }
}

/// The shape of `&mut Buffer<T>` and of a part of it.
#[doc(hidden)]
pub struct Written<T>(PhantomData<fn() -> T>);

// SAFETY: one slot, bound for writing; each item gets its own element, and `bind` has checked that
// there are as many.
unsafe impl<T: DeviceData> Shape<PerItem> for Written<T> {
    type View<'k> = &'k mut T;
    type Native = *mut T;
    const SLOTS: u32 = 1;

    #[inline(always)]
    unsafe fn on_device<'k>(slot: u32, item: usize) -> &'k mut T {
        let address = hooks::__crosscut_argument_address(slot).cast::<T>();
        // SAFETY: there are as many elements as items.
        let element = unsafe { address.add(item) };
        // SAFETY: this item's element is nobody else's.
        unsafe { &mut *element }
    }

    #[inline(always)]
    unsafe fn native(slots: &[Slot]) -> *mut T {
        slots[0].address.cast()
    }

    #[inline(always)]
    unsafe fn view<'k>(native: *mut T, item: usize) -> &'k mut T {
        // SAFETY: there are as many elements as items.
        let element = unsafe { native.add(item) };
        // SAFETY: this item's element is nobody else's.
        unsafe { &mut *element }
    }
}

// SAFETY: one slot, bound for writing; a single task is alone with it.
unsafe impl<T: DeviceData> Shape<Once> for Written<T> {
    type View<'k> = &'k mut [T];
    type Native = (*mut T, usize);
    const SLOTS: u32 = 1;

    #[inline(always)]
    unsafe fn on_device<'k>(slot: u32, _item: usize) -> &'k mut [T] {
        let address = hooks::__crosscut_argument_address(slot).cast();
        let length = hooks::__crosscut_argument_length(slot) as usize;
        // SAFETY: the runtime binds this slot to that many elements, for this one item alone.
        unsafe { core::slice::from_raw_parts_mut(address, length) }
    }

    #[inline(always)]
    unsafe fn native(slots: &[Slot]) -> (*mut T, usize) {
        (slots[0].address.cast(), slots[0].length)
    }

    #[inline(always)]
    unsafe fn view<'k>((address, length): (*mut T, usize), _item: usize) -> &'k mut [T] {
        // SAFETY: the slot has that many elements, for this one item alone.
        unsafe { core::slice::from_raw_parts_mut(address, length) }
    }
}

impl<T: DeviceData> KernelArg<PerItem> for BufferSliceMut<'_, T> {
    type Shape = Written<T>;

    fn bind<'a>(self, bindings: &mut Bindings<'a>) -> Result<()>
    where
        Self: 'a,
    {
        bindings.one_element_each(self.len())?;
        bindings.part::<T>(self.region(), self.len(), Access::Write);
        Ok(())
    }
}

impl<T: DeviceData> KernelArg<Once> for BufferSliceMut<'_, T> {
    type Shape = Written<T>;

    fn bind<'a>(self, bindings: &mut Bindings<'a>) -> Result<()>
    where
        Self: 'a,
    {
        bindings.part::<T>(self.region(), self.len(), Access::Write);
        Ok(())
    }
}

/// The shape of `&GLOBAL`.
#[doc(hidden)]
pub struct Lent<T>(PhantomData<fn() -> T>);

// SAFETY: one slot, bound for reading; plain data, so the view only reads.
unsafe impl<K, T: DeviceCopy> Shape<K> for Lent<T> {
    type View<'k> = &'k T;
    type Native = *const T;
    const SLOTS: u32 = 1;

    #[inline(always)]
    unsafe fn on_device<'k>(slot: u32, _item: usize) -> &'k T {
        let address = hooks::__crosscut_read_argument_address(slot).cast::<T>();
        // SAFETY: the runtime binds this slot to the global's instance, and nobody writes it while
        // the kernel runs.
        unsafe { &*address }
    }

    #[inline(always)]
    unsafe fn native(slots: &[Slot]) -> *const T {
        slots[0].address.cast()
    }

    #[inline(always)]
    unsafe fn view<'k>(native: *const T, _item: usize) -> &'k T {
        // SAFETY: the slot is the global's instance, and nobody writes it while the launch runs.
        unsafe { &*native }
    }
}

impl<K, T: DeviceCopy, P: Properties> KernelArg<K> for &'static DeviceGlobal<T, P> {
    type Shape = Lent<T>;

    fn bind<'a>(self, bindings: &mut Bindings<'a>) -> Result<()>
    where
        Self: 'a,
    {
        bindings.global(self, Access::Read);
        Ok(())
    }
}

/// The shape of `GLOBAL.exclusive()`.
#[doc(hidden)]
pub struct Owned<T>(PhantomData<fn() -> T>);

// SAFETY: one slot, bound for writing; a single task is alone with it.
unsafe impl<T: DeviceCopy> Shape<Once> for Owned<T> {
    type View<'k> = &'k mut T;
    type Native = *mut T;
    const SLOTS: u32 = 1;

    #[inline(always)]
    unsafe fn on_device<'k>(slot: u32, _item: usize) -> &'k mut T {
        let address = hooks::__crosscut_argument_address(slot).cast::<T>();
        // SAFETY: the runtime binds this slot to the global's instance, refuses kernels that reach
        // the global otherwise, and there is one item.
        unsafe { &mut *address }
    }

    #[inline(always)]
    unsafe fn native(slots: &[Slot]) -> *mut T {
        slots[0].address.cast()
    }

    #[inline(always)]
    unsafe fn view<'k>(native: *mut T, _item: usize) -> &'k mut T {
        // SAFETY: the slot is the global's instance; the launch runs alone in its context and using
        // the global by name panics.
        unsafe { &mut *native }
    }
}

impl<T: DeviceCopy, P: Properties> KernelArg<Once> for Exclusive<T, P> {
    type Shape = Owned<T>;

    fn bind<'a>(self, bindings: &mut Bindings<'a>) -> Result<()>
    where
        Self: 'a,
    {
        bindings.global(self.global(), Access::Write);
        Ok(())
    }
}
