//! Properties of device globals: types that say what host and device may do with one.
//!
//! `P` of [`DeviceGlobal<T, P>`](crate::DeviceGlobal) is one property or a tuple of them, in any
//! order, each at most once:
//!
//! ```
//! use crosscut_device::DeviceGlobal;
//! use crosscut_device::property::{DeviceImageScope, HostAccess, HostRead};
//!
//! static HITS: DeviceGlobal<u64, (DeviceImageScope, HostAccess<HostRead>)> = DeviceGlobal::zeroed();
//! ```

use core::marker::PhantomData;

use crate::DeviceData;
use sealed::{OrFirstUse, OrReadWrite, Place};

/// The global is a variable of the one device image that uses it, not shared by the images of a
/// device. All kernels that name it are then in one image.
#[derive(Debug)]
pub enum DeviceImageScope {}

/// What the host does with the global: [`HostRead`], [`HostWrite`], [`HostReadWrite`] or
/// [`HostNone`]. Copies that are not allowed do not compile.
#[derive(Debug)]
pub struct HostAccess<A>(PhantomData<A>);

/// The host reads the global, and never writes it.
#[derive(Debug)]
pub enum HostRead {}

/// The host writes the global, and never reads it.
#[derive(Debug)]
pub enum HostWrite {}

/// The host reads and writes the global: what is meant without [`HostAccess`].
#[derive(Debug)]
pub enum HostReadWrite {}

/// The host neither reads nor writes the global.
#[derive(Debug)]
pub enum HostNone {}

/// How an FPGA initialises the global: [`Reprogram`] or [`Reset`]. Recorded in the image and of no
/// meaning elsewhere.
#[derive(Debug)]
pub struct InitMode<M>(PhantomData<M>);

/// Initialised by programming the device again.
#[derive(Debug)]
pub enum Reprogram {}

/// Initialised by a reset signal.
#[derive(Debug)]
pub enum Reset {}

/// Whether an FPGA has the global in its control and status registers. Recorded in the image and of
/// no meaning elsewhere.
#[derive(Debug)]
pub enum ImplementInCsr<const ON: bool> {}

/// How an instance gets its first bytes: [`FirstUse`], [`Lazy`] or [`NoInit`]. The last two are for
/// very large globals, which are then made by `zeroed`.
#[derive(Debug)]
pub struct InitPolicy<M>(PhantomData<M>);

/// A copy of the initial value before the first use: what is meant without [`InitPolicy`].
#[derive(Debug)]
pub enum FirstUse {}

/// Zeros, written by the device itself before the first use. The program keeps no initial value.
#[derive(Debug)]
pub enum Lazy {}

/// Whatever bytes the memory has. The program keeps no initial value, and nothing is written.
#[derive(Debug)]
pub enum NoInit {}

/// What the global inside a [`Symbol`](crate::Symbol) has: besides the value of each context there is
/// one of each kernel bundle. It comes without others; the host reads and writes the global.
#[derive(Debug)]
pub enum BundleScope {}

impl sealed::Sealed for BundleScope {}
impl Properties for BundleScope {
    type Access = HostReadWrite;
    type Policy = FirstUse;
    const BITS: u64 = HostReadWrite::BITS | bits::BUNDLE_SCOPE;
}

/// One property, or a tuple of up to five, each kind at most once.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a list of properties of a device global",
    label = "not properties",
    note = "a property is `DeviceImageScope`, `HostAccess<..>`, `InitMode<..>`, `ImplementInCsr<..>` or `InitPolicy<..>`; several are a tuple of them"
)]
pub trait Properties: sealed::Sealed + 'static {
    /// What the host may do.
    type Access: Access;
    /// How instances get their first bytes.
    type Policy: Policy;
    /// All of them as the number that the link step and the runtime know, see [`bits`].
    const BITS: u64;
}

/// Properties as one number: what stands in images and in the hook that names a global.
pub mod bits {
    /// Has image scope.
    pub const IMAGE_SCOPE: u64 = 1;
    /// The host reads it.
    pub const HOST_READS: u64 = 1 << 1;
    /// The host writes it.
    pub const HOST_WRITES: u64 = 1 << 2;
    /// `InitMode<Reprogram>`.
    pub const INIT_REPROGRAM: u64 = 1 << 3;
    /// `InitMode<Reset>`.
    pub const INIT_RESET: u64 = 1 << 4;
    /// `ImplementInCsr<false>`.
    pub const CSR_OFF: u64 = 1 << 5;
    /// `ImplementInCsr<true>`.
    pub const CSR_ON: u64 = 1 << 6;
    /// Starts as zeros; there are no initial bytes behind the storage.
    pub const LAZY: u64 = 1 << 7;
    /// Starts as anything; there are no initial bytes behind the storage.
    pub const NO_INIT: u64 = 1 << 8;
    /// Every kernel bundle has one of its own.
    pub const BUNDLE_SCOPE: u64 = 1 << 9;
}

mod sealed {
    use super::{Access, FirstUse, Found, Free, HostReadWrite, Policy};

    pub trait Sealed {}

    /// A set of properties: what it says of a global's memory nobody else may claim.
    pub trait Properties {}

    impl<S, A, M, C, L> Properties for Found<S, A, M, C, L> {}

    /// What is in a place.
    pub trait Place {
        const BIT: u64;
    }

    /// The access in a place, or what is meant where there is none.
    pub trait OrReadWrite {
        type Access: Access;
    }

    impl OrReadWrite for Free {
        type Access = HostReadWrite;
    }

    impl<W: Access> OrReadWrite for W {
        type Access = W;
    }

    /// The policy in a place, or what is meant where there is none.
    pub trait OrFirstUse {
        type Policy: Policy;
    }

    impl OrFirstUse for Free {
        type Policy = FirstUse;
    }

    impl<W: Policy> OrFirstUse for W {
        type Policy = W;
    }
}

/// A word of [`HostAccess`].
#[doc(hidden)]
pub trait Access: sealed::Sealed + 'static {
    const BITS: u64;
}

/// Globals that the host may read.
#[diagnostic::on_unimplemented(
    message = "the host may not read this device global",
    label = "it has the property `HostAccess<{Self}>`",
    note = "give it `HostAccess<HostRead>` or `HostAccess<HostReadWrite>`, or leave the property out"
)]
pub trait HostReadable: Access {}

/// Globals that the host may write.
#[diagnostic::on_unimplemented(
    message = "the host may not write this device global",
    label = "it has the property `HostAccess<{Self}>`",
    note = "give it `HostAccess<HostWrite>` or `HostAccess<HostReadWrite>`, or leave the property out"
)]
pub trait HostWritable: Access {}

macro_rules! words {
    ($trait:ident: $($type:ident $bits:expr;)*) => {$(
        impl sealed::Sealed for $type {}
        impl $trait for $type {
            const BITS: u64 = $bits;
        }
    )*};
}

words! { Access:
    HostRead bits::HOST_READS;
    HostWrite bits::HOST_WRITES;
    HostReadWrite bits::HOST_READS | bits::HOST_WRITES;
    HostNone 0;
}

impl HostReadable for HostRead {}
impl HostReadable for HostReadWrite {}
impl HostWritable for HostWrite {}
impl HostWritable for HostReadWrite {}

/// A word of [`InitMode`].
#[doc(hidden)]
pub trait Mode: sealed::Sealed + 'static {
    const BITS: u64;
}

words! { Mode:
    Reprogram bits::INIT_REPROGRAM;
    Reset bits::INIT_RESET;
}

/// A word of [`InitPolicy`].
///
/// # Safety
/// `Initial<T>` is `T` where `BITS` is 0 and has no bytes otherwise.
#[doc(hidden)]
pub unsafe trait Policy: sealed::Sealed + 'static {
    /// What the static holds behind its storage.
    type Initial<T: DeviceData>: Send + Sync;
    const BITS: u64;
}

impl sealed::Sealed for FirstUse {}
// SAFETY: the initial value, and no bits.
unsafe impl Policy for FirstUse {
    type Initial<T: DeviceData> = T;
    const BITS: u64 = 0;
}

impl sealed::Sealed for Lazy {}
// SAFETY: nothing, and a bit.
unsafe impl Policy for Lazy {
    type Initial<T: DeviceData> = ();
    const BITS: u64 = bits::LAZY;
}

impl sealed::Sealed for NoInit {}
// SAFETY: as above.
unsafe impl Policy for NoInit {
    type Initial<T: DeviceData> = ();
    const BITS: u64 = bits::NO_INIT;
}

/// The properties found so far, one place for each kind.
#[doc(hidden)]
#[derive(Debug)]
pub struct Found<S, A, M, C, L>(PhantomData<(S, A, M, C, L)>);

/// A place that is still free.
#[doc(hidden)]
#[derive(Debug)]
pub enum Free {}

type Nothing = Found<Free, Free, Free, Free, Free>;
type Plus<S, P> = <S as With<P>>::Output;

/// Adds a property where its place is free.
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{P}` cannot be added to the properties of this device global",
    label = "given twice, contradicting another one, or not a property",
    note = "each of `DeviceImageScope`, `HostAccess<..>`, `InitMode<..>`, `ImplementInCsr<..>` and `InitPolicy<..>` is given once"
)]
pub trait With<P>: sealed::Properties {
    type Output;
}

impl<A, M, C, L> With<DeviceImageScope> for Found<Free, A, M, C, L> {
    type Output = Found<DeviceImageScope, A, M, C, L>;
}
impl<S, W: Access, M, C, L> With<HostAccess<W>> for Found<S, Free, M, C, L> {
    type Output = Found<S, W, M, C, L>;
}
impl<S, A, W: Mode, C, L> With<InitMode<W>> for Found<S, A, Free, C, L> {
    type Output = Found<S, A, W, C, L>;
}
impl<S, A, M, L, const ON: bool> With<ImplementInCsr<ON>> for Found<S, A, M, Free, L> {
    type Output = Found<S, A, M, ImplementInCsr<ON>, L>;
}
impl<S, A, M, C, W: Policy> With<InitPolicy<W>> for Found<S, A, M, C, Free> {
    type Output = Found<S, A, M, C, W>;
}

impl Place for Free {
    const BIT: u64 = 0;
}
impl Place for DeviceImageScope {
    const BIT: u64 = bits::IMAGE_SCOPE;
}
impl<const ON: bool> Place for ImplementInCsr<ON> {
    const BIT: u64 = if ON { bits::CSR_ON } else { bits::CSR_OFF };
}
impl Place for Reprogram {
    const BIT: u64 = <Self as Mode>::BITS;
}
impl Place for Reset {
    const BIT: u64 = <Self as Mode>::BITS;
}

/// What all places together say.
#[doc(hidden)]
pub trait Whole: sealed::Properties {
    type Access: Access;
    type Policy: Policy;
    const BITS: u64;
}

impl<S: Place, A: OrReadWrite, M: Place, C: Place, L: OrFirstUse> Whole for Found<S, A, M, C, L> {
    type Access = A::Access;
    type Policy = L::Policy;
    const BITS: u64 = S::BIT | A::Access::BITS | M::BIT | C::BIT | L::Policy::BITS;
}

macro_rules! properties {
    ([$($generics:tt)*] $list:ty => $whole:ty $(, $bound:ty: With<$added:ident>)*) => {
        impl<$($generics)*> sealed::Sealed for $list {}
        impl<$($generics)*> Properties for $list
        where
            Self: 'static,
            $($bound: With<$added>,)*
            $whole: Whole,
        {
            type Access = <$whole as Whole>::Access;
            type Policy = <$whole as Whole>::Policy;
            const BITS: u64 = <$whole as Whole>::BITS;
        }
    };
}

properties!([] () => Nothing);
properties!([] DeviceImageScope => Plus<Nothing, DeviceImageScope>);
properties!([W: Access] HostAccess<W> => Plus<Nothing, HostAccess<W>>);
properties!([W: Mode] InitMode<W> => Plus<Nothing, InitMode<W>>);
properties!([const ON: bool] ImplementInCsr<ON> => Plus<Nothing, ImplementInCsr<ON>>);
properties!([W: Policy] InitPolicy<W> => Plus<Nothing, InitPolicy<W>>);
properties!([A] (A,) => Plus<Nothing, A>, Nothing: With<A>);
properties!([A, B] (A, B) => Plus<Plus<Nothing, A>, B>, Nothing: With<A>, Plus<Nothing, A>: With<B>);
properties!([A, B, C] (A, B, C) => Plus<Plus<Plus<Nothing, A>, B>, C>,
    Nothing: With<A>, Plus<Nothing, A>: With<B>, Plus<Plus<Nothing, A>, B>: With<C>);
properties!([A, B, C, D] (A, B, C, D) => Plus<Plus<Plus<Plus<Nothing, A>, B>, C>, D>,
    Nothing: With<A>, Plus<Nothing, A>: With<B>, Plus<Plus<Nothing, A>, B>: With<C>,
    Plus<Plus<Plus<Nothing, A>, B>, C>: With<D>);
properties!([A, B, C, D, E] (A, B, C, D, E) => Plus<Plus<Plus<Plus<Plus<Nothing, A>, B>, C>, D>, E>,
    Nothing: With<A>, Plus<Nothing, A>: With<B>, Plus<Plus<Nothing, A>, B>: With<C>,
    Plus<Plus<Plus<Nothing, A>, B>, C>: With<D>,
    Plus<Plus<Plus<Plus<Nothing, A>, B>, C>, D>: With<E>);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn properties_count_in_any_order_and_host_access_is_both_by_default() {
        assert_eq!(<() as Properties>::BITS, bits::HOST_READS | bits::HOST_WRITES);
        let all = bits::IMAGE_SCOPE | bits::INIT_RESET | bits::CSR_ON | bits::LAZY;
        type One = (
            DeviceImageScope,
            HostAccess<HostNone>,
            InitMode<Reset>,
            ImplementInCsr<true>,
            InitPolicy<Lazy>,
        );
        type Other = (
            InitPolicy<Lazy>,
            ImplementInCsr<true>,
            InitMode<Reset>,
            HostAccess<HostNone>,
            DeviceImageScope,
        );
        assert_eq!((One::BITS, Other::BITS), (all, all));
        type Few = (InitMode<Reprogram>, HostAccess<HostRead>, ImplementInCsr<false>);
        assert_eq!(Few::BITS, bits::INIT_REPROGRAM | bits::HOST_READS | bits::CSR_OFF);
        assert_eq!(<(DeviceImageScope,)>::BITS, DeviceImageScope::BITS);
        assert_eq!(HostAccess::<HostWrite>::BITS, bits::HOST_WRITES);
        assert_eq!(InitPolicy::<NoInit>::BITS & bits::NO_INIT, bits::NO_INIT);
        assert_eq!(InitPolicy::<FirstUse>::BITS, <()>::BITS);
        assert_eq!(InitMode::<Reset>::BITS & bits::INIT_RESET, bits::INIT_RESET);
        assert_eq!(ImplementInCsr::<true>::BITS & bits::CSR_ON, bits::CSR_ON);
    }
}
