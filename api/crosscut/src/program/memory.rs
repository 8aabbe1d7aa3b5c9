//! Memory as an argument of kernels by name.

use crosscut_device::DeviceData;
use crosscut_runtime::{Access, SpirvArgument};

use super::ProgramArg;
use crate::usm::{Kind, Usm};
use crate::{Buffer, BufferSlice, BufferSliceMut, DeviceSlice as _};

/// What is passed by a shared reference.
fn read<'a, T: DeviceData>(part: BufferSlice<'a, T>) -> SpirvArgument<'a> {
    // Through a shared reference only atomics are written.
    let access = if T::ATOMIC_WIDTH == 0 { Access::Read } else { Access::Write };
    SpirvArgument::Buffer { region: part.region().shared(), access, element: size_of::<T>() }
}

/// What is borrowed mutably.
fn written<'a, T: DeviceData>(part: BufferSlice<'a, T>) -> SpirvArgument<'a> {
    let (region, access) = (part.region(), Access::Write);
    SpirvArgument::Buffer { region, access, element: size_of::<T>() }
}

macro_rules! memory {
    ($([$($generics:tt)*] $argument:ty: $access:ident($this:ident => $part:expr);)*) => {$(
        impl<$($generics)*> ProgramArg for $argument {
            fn argument<'a>(self) -> SpirvArgument<'a>
            where
                Self: 'a,
            {
                let $this = self;
                $access($part)
            }
        }
    )*};
}

memory! {
    [T: DeviceData, const D: usize] &Buffer<T, D>: read(it => it.whole());
    [T: DeviceData, const D: usize] &mut Buffer<T, D>: written(it => it.whole());
    [T: DeviceData, K: Kind] &Usm<T, K>: read(it => it.as_slice());
    [T: DeviceData, K: Kind] &mut Usm<T, K>: written(it => it.as_slice());
    [T: DeviceData] BufferSlice<'_, T>: read(it => it);
    [T: DeviceData] &BufferSlice<'_, T>: read(it => *it);
    [T: DeviceData] &BufferSliceMut<'_, T>: read(it => it.as_slice());
    [T: DeviceData] &mut BufferSliceMut<'_, T>: written(it => it.as_slice());
    [T: DeviceData] BufferSliceMut<'_, T>: written(it => BufferSlice::<T>::new(it.region(), it.len()));
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicU32;

    use super::*;
    use crate::Queue;

    /// Whether it may be written, and by others meanwhile.
    fn how<'a>(argument: impl ProgramArg + 'a) -> (bool, bool) {
        match argument.argument() {
            SpirvArgument::Buffer { region, access, .. } => {
                (access == Access::Write, region.is_shared())
            }
            _ => panic!("memory is a buffer"),
        }
    }

    #[test]
    fn atomics_by_a_shared_reference_are_written_by_others_meanwhile() -> crate::Result<()> {
        let queue = Queue::new()?;
        let mut sums = queue.zeroed::<AtomicU32>(4)?;
        assert_eq!(how(&sums), (true, true));
        // A device without addresses would make a copy of a part, and lose what others add.
        assert_eq!(how(sums.slice(1..)?), (true, true));
        assert_eq!(how(&mut sums), (true, false));
        let mut numbers = queue.zeroed::<u32>(4)?;
        assert_eq!(how(&numbers), (false, true));
        assert_eq!(how(&mut numbers), (true, false));
        Ok(())
    }
}
