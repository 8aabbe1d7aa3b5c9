//! Tuples of arguments.

use crosscut_runtime::Slot;

use super::argument::{KernelArg, Shape};
use super::bindings::Bindings;
use crate::Result;

macro_rules! tuple {
    ($($name:ident $value:ident),*) => {
        // SAFETY: the slots of the parts follow one another, in both worlds and in `bind`.
        unsafe impl<K, $($name: Shape<K>),*> Shape<K> for ($($name,)*) {
            type View<'k> = ($($name::View<'k>,)*);
            type Native = ($($name::Native,)*);
            const SLOTS: u32 = 0 $(+ $name::SLOTS)*;

            #[inline(always)]
            #[allow(unused_assignments, reason = "the last part's slots are counted for nobody")]
            unsafe fn on_device<'k>(mut slot: u32, item: usize) -> Self::View<'k> {
                ($({
                    // SAFETY: the caller's promise, for the slots that follow the parts before.
                    let view = unsafe { $name::on_device(slot, item) };
                    slot = slot.wrapping_add($name::SLOTS);
                    view
                },)*)
            }

            #[inline(always)]
            #[allow(unused_assignments, reason = "the last part's slots are counted for nobody")]
            unsafe fn native(mut slots: &[Slot]) -> Self::Native {
                ($({
                    // SAFETY: as above.
                    let native = unsafe { $name::native(slots) };
                    slots = &slots[$name::SLOTS as usize..];
                    native
                },)*)
            }

            #[inline(always)]
            fn covers(($($value,)*): Self::Native, end: usize) -> bool {
                $($name::covers($value, end))&&*
            }

            #[inline(always)]
            unsafe fn assume(($($value,)*): Self::Native, item: usize) {
                $(
                    // SAFETY: all parts cover it.
                    unsafe { $name::assume($value, item) };
                )*
            }

            #[inline(always)]
            unsafe fn view<'k>(($($value,)*): Self::Native, item: usize) -> Self::View<'k> {
                ($(
                    // SAFETY: the caller's promise, for each part.
                    unsafe { $name::view($value, item) },
                )*)
            }
        }

        impl<K, $($name: KernelArg<K>),*> KernelArg<K> for ($($name,)*) {
            type Shape = ($($name::Shape,)*);

            fn bind<'a>(self, bindings: &mut Bindings<'a>) -> Result<()>
            where
                Self: 'a,
            {
                let ($($value,)*) = self;
                $($value.bind(bindings)?;)*
                Ok(())
            }
        }
    };
}

tuple!(A a);
tuple!(A a, B b);
tuple!(A a, B b, C c);
tuple!(A a, B b, C c, D d);
tuple!(A a, B b, C c, D d, E e);
tuple!(A a, B b, C c, D d, E e, F f);
tuple!(A a, B b, C c, D d, E e, F f, G g);
tuple!(A a, B b, C c, D d, E e, F f, G g, H h);
