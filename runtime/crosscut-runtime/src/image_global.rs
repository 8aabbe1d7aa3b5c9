//! Device globals with image scope, on devices that run images: variables of the built program.
//!
//! The host reaches one through two kernels of its image, which copy between the variable and a
//! staging block laid out like it. The block's uses order everybody who touches the variable, and
//! only the bytes that were asked for are moved: what a kernel writes beside them stays.

use std::num::NonZeroUsize;
use std::sync::Arc;

use crosscut_adapter_api::{self as adapter, Argument, Extent, MemoryKind};

use crate::command::{Access, Command, Outcome};
use crate::context::Context;
use crate::global::GlobalHandle;
use crate::memory::{Allocation, allocate};
use crate::queue::Queue;
use crate::registry::{self, Found};
use crate::{Error, ErrorKind};

/// No launch moves more bytes: every extent is below 2^31.
const LARGEST_PIECE: usize = 1 << 30;

/// A global with image scope in one context.
pub(crate) struct ImageGlobal {
    /// As large as the variable.
    pub(crate) staging: Arc<Allocation>,
    get: Box<dyn adapter::Kernel>,
    set: Box<dyn adapter::Kernel>,
}

/// Which variable: the program's number, the image and the global in it.
pub(crate) type Variable = (u64, usize, u32);

/// Which way bytes go.
#[derive(Clone, Copy)]
pub(crate) enum Direction {
    /// From the variable to the staging block.
    Get,
    /// From the staging block to the variable.
    Set,
}

impl ImageGlobal {
    /// Takes the accessors of global `index` from its built program.
    pub(crate) fn new(
        context: &Context,
        program: &dyn adapter::Program,
        index: u32,
        size: NonZeroUsize,
        align: usize,
    ) -> Result<Self, Error> {
        let kernel = |what: &str| {
            program
                .kernel(&format!("crosscut_{what}_{index}"))
                .map_err(|error| Error::driver("finding a device global in its image", error))
        };
        Ok(Self {
            get: kernel("get")?,
            set: kernel("set")?,
            staging: allocate(context, MemoryKind::Device, size, align)?,
        })
    }
}

/// The one image in which a kernel uses the global at `address`, and its number there.
///
/// # Errors
/// There is no such image, or more than one.
pub(crate) fn find(context: &Context, global: GlobalHandle) -> Result<(Found, u32), Error> {
    let targets = crate::program::targets(context);
    let mut places = registry::image_scope(global.address().addr(), &targets)?.into_iter();
    match (places.next(), places.next()) {
        (Some(place), None) => Ok(place),
        (None, _) => Err(Error::new(
            ErrorKind::KernelNotSupported,
            "no kernel of this program uses the device global, which has image scope",
        )
        .with_help("name it in a kernel, or leave `DeviceImageScope` out")),
        (Some((found, index)), Some(_)) => {
            let name = &found.image.globals[index as usize].display_name;
            Err(Error::invalid(
                format!("`{name}` has image scope and is in more than one image of the device"),
                "leave `DeviceImageScope` out, or use it in kernels of one program only",
            ))
        }
    }
}

impl Queue {
    /// The variable behind a global with image scope; its program is built if it is not.
    pub(crate) fn image_global(&self, global: GlobalHandle) -> Result<Arc<ImageGlobal>, Error> {
        let context = self.context();
        let (found, index) = find(context, global)?;
        context.inner().kernels.image_global(context, &found, index)
    }

    /// Moves `size` bytes from byte `offset` on between a variable and its staging block.
    pub(crate) fn move_staged(
        &self,
        global: &ImageGlobal,
        direction: Direction,
        offset: usize,
        size: NonZeroUsize,
        after: &[Arc<Command>],
    ) -> Result<Arc<Command>, Error> {
        let kernel = match direction {
            Direction::Get => &*global.get,
            Direction::Set => &*global.set,
        };
        let (mut done, mut last) = (0, None);
        while done < size.get() {
            let piece = (size.get() - done).min(LARGEST_PIECE);
            let start = ((offset + done) as u64).to_ne_bytes();
            let arguments = [
                Argument::Memory { memory: global.staging.memory(), offset: 0 },
                Argument::Value(&start),
            ];
            let extent = Extent { dimensions: 1, size: [piece, 1, 1], group: None };
            let uses = [(&global.staging, Access::Write)];
            let command = self.submit(&uses, after.to_vec(), Outcome::Settled, |after| {
                // SAFETY: the link step made the kernel with these two parameters; the range lies
                // inside the variable and the block, and dropping the block waits for this command.
                unsafe { self.adapter.launch(kernel, extent, &arguments, after) }
            });
            let failed = |error| Error::driver("copying a device global with image scope", error);
            last = Some(command.map_err(failed)?);
            done += piece;
        }
        last.ok_or_else(|| {
            Error::invalid("a copy of no bytes was to be made", "report this as a bug of Crosscut")
        })
    }
}
