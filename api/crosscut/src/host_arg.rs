//! Arguments of host tasks: memory of devices as the host sees it.

use crosscut_device::DeviceData;
use crosscut_runtime::{HostTask, Slot};

use crate::kernel::{KernelArg, Once, Shape};
use crate::usm::{Kind, Usm};
use crate::{Buffer, BufferPart, BufferPartMut, BufferSlice, BufferSliceMut};

/// What may be passed to a [host task](crate::Queue::host_task_with): `()`, buffers and parts of them, USM,
/// and tuples of up to eight. They arrive as in a [single task](crate::Queue::single_task).
///
/// | passed | arrives |
/// |---|---|
/// | `&Buffer<T>`, `&Usm<T, _>`, `buffer.slice(a..b)?` | `&[T]` |
/// | `&mut Buffer<T>`, `&mut Usm<T, _>`, `buffer.slice_mut(a..b)?` | `&mut [T]` |
/// | `&Buffer<T, 2>`, `&Buffer<T, 3>` | [`Grid`](crate::Grid) |
/// | `&mut Buffer<T, 2>`, `&mut Buffer<T, 3>` | [`GridMut`](crate::GridMut) |
/// | `buffer.part([a..b, c..d])?` | [`GridPart`](crate::GridPart) |
/// | `buffer.part_mut([a..b, c..d])?` | [`GridPartMut`](crate::GridPartMut) |
///
/// ```
/// use crosscut::prelude::*;
///
/// let queue = Queue::new()?;
/// let x = queue.upload(&[1u32, 2, 3, 4])?;
/// let mut table = queue.zeroed::<u32>(4)?.shaped([2, 2])?;
/// queue.host_task_with((x.slice(1..)?, &mut table), |(x, mut table)| {
///     table[[1, 0]] = x.iter().sum();
/// })?;
/// assert_eq!(queue.download(&table)?, [0, 0, 9, 0]);
/// # Ok::<(), crosscut::Error>(())
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an argument of a host task",
    label = "not an argument of a host task",
    note = "pass `&buffer`, `&mut buffer`, `buffer.slice(a..b)?`, `buffer.slice_mut(a..b)?`, `buffer.part([a..b, c..d])?`, USM, `()`, or a tuple of up to eight of them",
    note = "device globals are read by `queue.read`; other values are captured: use `move |..|`"
)]
pub trait HostArg: KernelArg<Once> {}

impl HostArg for () {}
impl<T: DeviceData> HostArg for &Buffer<T> {}
impl<T: DeviceData> HostArg for &mut Buffer<T> {}
impl<T: DeviceData> HostArg for &Buffer<T, 2> {}
impl<T: DeviceData> HostArg for &mut Buffer<T, 2> {}
impl<T: DeviceData> HostArg for &Buffer<T, 3> {}
impl<T: DeviceData> HostArg for &mut Buffer<T, 3> {}
impl<T: DeviceData> HostArg for BufferPart<'_, T, 2> {}
impl<T: DeviceData> HostArg for &BufferPart<'_, T, 2> {}
impl<T: DeviceData> HostArg for BufferPart<'_, T, 3> {}
impl<T: DeviceData> HostArg for &BufferPart<'_, T, 3> {}
impl<T: DeviceData> HostArg for BufferPartMut<'_, T, 2> {}
impl<T: DeviceData> HostArg for &BufferPartMut<'_, T, 2> {}
impl<T: DeviceData> HostArg for &mut BufferPartMut<'_, T, 2> {}
impl<T: DeviceData> HostArg for BufferPartMut<'_, T, 3> {}
impl<T: DeviceData> HostArg for &BufferPartMut<'_, T, 3> {}
impl<T: DeviceData> HostArg for &mut BufferPartMut<'_, T, 3> {}
impl<T: DeviceData> HostArg for BufferSlice<'_, T> {}
impl<T: DeviceData> HostArg for &BufferSlice<'_, T> {}
impl<T: DeviceData> HostArg for BufferSliceMut<'_, T> {}
impl<T: DeviceData> HostArg for &BufferSliceMut<'_, T> {}
impl<T: DeviceData> HostArg for &mut BufferSliceMut<'_, T> {}
impl<T: DeviceData, K: Kind> HostArg for &Usm<T, K> {}
impl<T: DeviceData, K: Kind> HostArg for &mut Usm<T, K> {}

macro_rules! tuple {
    ($($name:ident)*) => {
        impl<$($name: HostArg),*> HostArg for ($($name,)*) {}
    };
}

tuple!(A);
tuple!(A B);
tuple!(A B C);
tuple!(A B C D);
tuple!(A B C D E);
tuple!(A B C D E F);
tuple!(A B C D E F G);
tuple!(A B C D E F G H);

/// `task` as the runtime runs it: with the slots that arguments of shape `S` were bound to.
pub(crate) fn host_task<S, F>(task: F) -> HostTask
where
    S: Shape<Once>,
    F: for<'h> FnOnce(S::View<'h>) + Send + 'static,
{
    Box::new(move |slots: &[Slot]| {
        // SAFETY: the slots are those of these arguments, there until the task has returned.
        let native = unsafe { S::native(slots) };
        // SAFETY: the one item of a task, of which this is the one view.
        task(unsafe { S::view(native, 0) });
    })
}
