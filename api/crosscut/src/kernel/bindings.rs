//! The arguments of one launch, collected for the runtime.

use crosscut_device::property::Properties;
use crosscut_device::{DeviceData, DeviceGlobal};
use crosscut_runtime::{Access, Binding, Few, GlobalHandle, Region, Source};

use crate::{Error, Event, Result};

/// Launches with more slots than this allocate.
const FEW: usize = 8;

/// The arguments of one launch, as the runtime wants them.
#[doc(hidden)]
pub struct Bindings<'a> {
    list: Few<Binding<'a>, FEW>,
    items: Option<usize>,
    extents: &'a [usize],
    /// What changes once the launch has been submitted, and to what.
    launched: Vec<(&'a mut usize, usize)>,
}

impl<'a> Bindings<'a> {
    /// For a launch of `items` items, which are the product of `extents`; `None` for a single task.
    #[inline]
    pub(crate) fn new(items: Option<usize>, extents: &'a [usize]) -> Self {
        Self { list: Few::new(), items, extents, launched: Vec::new() }
    }

    /// How many items the launch has; `None` for a single task.
    pub(super) fn items(&self) -> Option<usize> {
        self.items
    }

    /// Has `place` become `value` once the launch has been submitted. Not if it is known to have
    /// panicked: then items have been left out.
    pub(super) fn once_launched(&mut self, place: &'a mut usize, value: usize) {
        self.launched.push((place, value));
    }

    /// The launch has been submitted, and this is its event.
    pub(super) fn are_launched(self, event: &Event) {
        for (place, value) in self.launched {
            if !event.has_panicked() {
                *place = value;
            }
        }
    }

    /// Every item owns one element: what is left over, on either side, is a mistake.
    pub(super) fn one_element_each(&self, elements: usize) -> Result<()> {
        match self.items {
            Some(items) if items != elements => Err(Error::invalid(
                format!("a range of {items} items over a `&mut` buffer of {elements} elements"),
                "make both equal: `for_each` takes the range from a buffer, and `slice_mut` a part of a longer one",
            )),
            _ => Ok(()),
        }
    }

    /// Every item owns one chunk.
    pub(super) fn one_chunk_each(&self, chunks: usize) -> Result<()> {
        match self.items {
            Some(items) if items != chunks => Err(Error::invalid(
                format!("a range of {items} items over {chunks} chunks of a buffer"),
                "make both equal: `parallel_for(chunks.len(), chunks, ..)`",
            )),
            _ => Ok(()),
        }
    }

    /// The same as `one_element_each`, in every dimension.
    pub(super) fn same_shape(&self, shape: &[usize]) -> Result<()> {
        if self.items.is_none() || self.extents == shape {
            return Ok(());
        }
        Err(Error::invalid(
            format!(
                "a range of {:?} items over a `&mut` buffer of {shape:?} elements",
                self.extents
            ),
            "make both equal: `for_each` takes the range from a buffer, and `slice_mut` a part of a longer one",
        ))
    }

    /// A slot that tells a length and nothing else.
    pub(super) fn length(&mut self, length: usize) {
        self.list.push(Binding { source: Source::Nothing, access: Access::Read, length, align: 1 });
    }

    pub(super) fn part<T: DeviceData>(&mut self, region: Region<'a>, len: usize, access: Access) {
        let (source, align) = (Source::Buffer(region), align_of::<T>());
        self.list.push(Binding { source, access, length: len, align });
    }

    pub(crate) fn list(&self) -> &[Binding<'a>] {
        &self.list
    }

    pub(super) fn local<T: DeviceData>(&mut self, length: usize) {
        let size = length.saturating_mul(size_of::<T>());
        self.list.push(Binding {
            source: Source::Local { size },
            access: Access::Write,
            length,
            align: align_of::<T>(),
        });
    }

    pub(super) fn global<T: DeviceData, P: Properties>(
        &mut self,
        global: &'static DeviceGlobal<T, P>,
        access: Access,
    ) {
        self.list.push(Binding {
            source: Source::Global(handle(global)),
            access,
            length: 1,
            align: align_of::<T>(),
        });
    }
}

/// A global as the runtime knows it.
pub(crate) fn handle<T: DeviceData, P: Properties>(
    global: &'static DeviceGlobal<T, P>,
) -> GlobalHandle {
    let it = global.description();
    // SAFETY: a `DeviceGlobal` has its storage first and, unless its properties say otherwise, the
    // initial value directly behind it, and describes its own type; being `'static` it stays there.
    unsafe { GlobalHandle::new(it.address, it.size, it.align, it.atomic_width, it.properties) }
}
