//! Buffers and borrowed parts of them as arguments: as the parts they are.

use crosscut_device::DeviceData;

use super::argument::{KernelArg, Once, PerItem, Slice, Written};
use super::bindings::Bindings;
use crate::usm::{Kind, Usm};
use crate::{Buffer, BufferSlice, BufferSliceMut, DeviceSlice as _, DeviceSliceMut as _, Result};

macro_rules! lent {
    ($([$($generics:tt)*] $argument:ty, $kind:ty, $shape:ty, $method:ident, $part:ident;)*) => {$(
        impl<$($generics)*> KernelArg<$kind> for $argument {
            type Shape = $shape;

            fn bind<'a>(self, bindings: &mut Bindings<'a>) -> Result<()>
            where
                Self: 'a,
            {
                <$part<'_, T> as KernelArg<$kind>>::bind(self.$method(), bindings)
            }
        }
    )*};
}

lent! {
    [K, T: DeviceData] &Buffer<T>, K, Slice<T>, as_slice, BufferSlice;
    [T: DeviceData] &mut Buffer<T>, PerItem, Written<T>, as_slice_mut, BufferSliceMut;
    [T: DeviceData] &mut Buffer<T>, Once, Written<T>, as_slice_mut, BufferSliceMut;
    [K, T: DeviceData, U: Kind] &Usm<T, U>, K, Slice<T>, as_slice, BufferSlice;
    [T: DeviceData, U: Kind] &mut Usm<T, U>, PerItem, Written<T>, as_slice_mut, BufferSliceMut;
    [T: DeviceData, U: Kind] &mut Usm<T, U>, Once, Written<T>, as_slice_mut, BufferSliceMut;
    [K, T: DeviceData] &BufferSlice<'_, T>, K, Slice<T>, as_slice, BufferSlice;
    [K, T: DeviceData] &BufferSliceMut<'_, T>, K, Slice<T>, as_slice, BufferSlice;
    [T: DeviceData] &mut BufferSliceMut<'_, T>, PerItem, Written<T>, as_slice_mut, BufferSliceMut;
    [T: DeviceData] &mut BufferSliceMut<'_, T>, Once, Written<T>, as_slice_mut, BufferSliceMut;
}
