//! The functions that others call: one on a device, one on the host.

use core::any::{TypeId, type_name};
use core::hash::{Hash, Hasher};
use core::marker::PhantomData;
use core::ops;

use crosscut_device::{hooks, place};
use crosscut_runtime::{
    Event, KernelDefinition, KernelLaunch, NativeLaunch, NativePanic, NativeScope,
};

use super::argument::{KernelArg, Shape};
use super::bindings::Bindings;
use super::body::Body;
use super::native;
use super::range::Sealed as Range;
use crate::{Launch, Result};

/// A kernel as a type: index space, arguments, kind and body. Never made; its `TypeId` is the
/// kernel's identity, because release builds merge functions that look alike.
struct Kernel<R, S, K, B>(PhantomData<(R, S, K, B)>);

impl<R, S, K, B> Kernel<R, S, K, B>
where
    R: Range,
    S: Shape<K>,
    K: 'static,
    B: Body<R, S, K>,
{
    /// Mentions the device entry, so that every compile of this crate contains it.
    const DEFINITION: &'static KernelDefinition = {
        // The toolchain aligns captures up to here.
        assert!(
            align_of::<B>() <= 64,
            "a kernel captures something that is aligned to more than 64 bytes: pass it in a buffer"
        );
        &KernelDefinition {
            key: key::<Self>,
            name: type_name::<B::Closure>,
            dimensions: R::DIMENSIONS,
            captures_size: size_of::<B>(),
            native: native_entry::<R, S, K, B>,
            device_entry: device_entry::<R, S, K, B>,
        }
    };
}

/// Takes what `TypeId` writes as it is, so that a key is a constant once optimised.
struct Plain(u64);

impl Hasher for Plain {
    #[inline(always)]
    fn finish(&self) -> u64 {
        self.0
    }

    #[inline(always)]
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ byte as u64;
        }
    }

    #[inline(always)]
    fn write_u64(&mut self, value: u64) {
        self.0 ^= value;
    }
}

/// The number by which the host program and the device image know a kernel: the same wherever this
/// compiler compiles the type.
#[inline(always)]
fn key<T: 'static>() -> u64 {
    let mut hasher = Plain(0);
    TypeId::of::<T>().hash(&mut hasher);
    hasher.finish()
}

/// The kernel on a device, for one item. The toolchain finds it by its first call.
#[inline(never)]
fn device_entry<R, S, K, B>()
where
    R: Range,
    S: Shape<K>,
    K: 'static,
    B: Body<R, S, K>,
{
    hooks::__crosscut_kernel(
        key::<Kernel<R, S, K, B>>(),
        R::DIMENSIONS as u32,
        size_of::<B>() as u64 | (align_of::<B>().trailing_zeros() as u64) << 32,
    );
    // SAFETY: on a device this is the closure that was launched, whose wrapper `B` is transparent. Its
    // alignment was told.
    let body = unsafe { &*hooks::__crosscut_captures().cast::<B>() };
    // SAFETY: this is a device entry.
    let (item, linear) = unsafe { R::on_device() };
    // SAFETY: this is a device entry, and it makes the views of its item once.
    let view = unsafe { S::on_device(0, linear) };
    body.call(item, view);
}

/// The kernel on the host, for a range of items.
///
/// # Safety
/// As `NativeEntry`; the last slot is a [`NativeScope`].
unsafe fn native_entry<R, S, K, B>(
    launch: &NativeLaunch<'_>,
    range: ops::Range<u64>,
) -> core::result::Result<(), NativePanic>
where
    R: Range,
    S: Shape<K>,
    K: 'static,
    B: Body<R, S, K>,
{
    let (scope, slots) = launch.slots.split_last().expect("the runtime adds the scope's slot");
    // SAFETY: the runtime put its scope there and keeps it until the launch has returned.
    let scope = unsafe { &*scope.address.cast::<NativeScope<'_>>() };
    // SAFETY: the captures are those of the closure inside `B`, which is transparent and `Copy`.
    // Every thread takes a copy: the closure is `Send` and may not be `Sync`.
    let body = unsafe { launch.captures.cast::<B>().read() };
    // SAFETY: the slots are those of `S`, in order.
    let native = unsafe { S::native(slots) };
    // Items are counted in `usize`s: the extents they come from are.
    let range = range.start as usize..range.end as usize;
    // SAFETY: the runtime keeps writers of plain globals away while the launch runs; the scope
    // lives until then, and what it finds is never freed.
    let _inside = unsafe { place::enter_with(place_of(scope), scope.settings()) };
    native::catch(range.start, |at| {
        // SAFETY: the caller's promise is passed on.
        unsafe { R::run::<S, K, B>(&body, native, launch, range, at) }
    })
}

fn place_of(scope: &NativeScope<'_>) -> place::Place {
    if scope.uses_statics() {
        place::Place::Statics
    } else {
        place::Place::Ask { data: core::ptr::from_ref(scope).cast(), find }
    }
}

/// # Safety
/// `data` is a live [`NativeScope`], and the rest describes a `DeviceGlobal`.
unsafe fn find(
    data: *const (),
    address: *const u8,
    size: usize,
    align: usize,
    properties: u64,
) -> core::result::Result<*const u8, String> {
    // SAFETY: the caller's promise.
    let scope = unsafe { &*data.cast::<NativeScope<'_>>() };
    // SAFETY: the caller's promise: a `DeviceGlobal` has its initial bytes behind the storage.
    unsafe { scope.find(address, size, align, properties) }
}

/// Launches `body` over `range`, with what `launch` says.
pub(crate) fn launch<R, A, K, B>(
    launch: &Launch<'_>,
    range: R,
    arguments: A,
    body: B,
) -> Result<Event>
where
    R: Range,
    A: KernelArg<K>,
    K: 'static,
    B: Body<R, A::Shape, K>,
{
    let size = range.size();
    let items = size.iter().try_fold(1usize, |items, &extent| items.checked_mul(extent));
    // What does not even fit a `usize` is refused by the runtime, and equals no buffer's length.
    let items = (R::DIMENSIONS > 0).then_some(items.unwrap_or(usize::MAX));
    let mut bindings = Bindings::new(items, &size[..usize::from(R::DIMENSIONS)]);
    arguments.bind(&mut bindings)?;
    let kernel = KernelLaunch {
        definition: Kernel::<R, A::Shape, K, B>::DEFINITION,
        captures: core::ptr::from_ref(&body).cast(),
        size,
        group: range.group(),
        bindings: bindings.list(),
        after: launch.events(),
        variant: launch.variant()?,
    };
    // SAFETY: the definition is of this very body and these arguments' shape; `bindings` borrow
    // what `arguments` borrowed, until this returns.
    let event = unsafe { launch.queue().runtime().launch(&kernel) }?;
    bindings.are_launched(&event);
    Ok(event)
}

#[cfg(test)]
mod tests {
    use super::key;

    fn key_of<T: 'static>(_: &T) -> u64 {
        key::<T>()
    }

    #[test]
    fn closures_with_equal_bodies_have_different_keys() {
        let one = |x: u32| x + 1;
        let other = |x: u32| x + 1;
        assert_ne!(key_of(&one), key_of(&other));
        assert_eq!(key_of(&one), key_of(&one));
    }
}
