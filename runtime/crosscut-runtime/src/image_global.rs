//! Device globals with image scope, on devices that run images: variables of the built program.
//!
//! The host reaches one by the driver's own calls where it has them, and otherwise through two kernels of
//! its image, which copy between the variable and a staging block laid out like it. The block's uses order
//! everybody who touches the variable, and only the bytes that were asked for are moved: what a kernel
//! writes beside them stays. The kernels also serve copies that no call of the driver's makes: between the
//! variable and a buffer, and those that the global's own properties refuse to the host's program.

use std::num::NonZeroUsize;
use std::sync::{Arc, MutexGuard, PoisonError};

use crosscut_adapter_api::{self as adapter, Argument, Extent, MemoryKind};
use crosscut_image::global_properties;

use crate::command::{Command, Outcome};
use crate::context::Context;
use crate::global::GlobalHandle;
use crate::lines::{Delivery, Postponed};
use crate::memory::{Allocation, allocate};
use crate::queue::Queue;
use crate::registry::{self, Found};
use crate::uses::Access;
use crate::{Error, ErrorKind};

/// No launch moves more bytes: every extent is below 2^31.
const LARGEST_PIECE: usize = 1 << 30;

/// A global with image scope in one context.
pub(crate) struct ImageGlobal {
    /// As large as the variable.
    pub(crate) staging: Arc<Allocation>,
    get: Box<dyn adapter::Kernel>,
    set: Box<dyn adapter::Kernel>,
    /// The variable itself, if the driver knows it by name.
    named: Option<Box<dyn adapter::Variable>>,
    /// The directions that its decoration in the code allows the driver's calls.
    readable: bool,
    writable: bool,
}

/// The lock of [`Queue::together`].
// Dropped in this order: lines are printed where nothing is held.
pub(crate) struct Together<'a> {
    _lock: MutexGuard<'a, ()>,
    _postponed: Postponed,
    _delivery: Delivery,
}

/// Which variable: the program's number, the image and the global in it.
pub(crate) type Variable = (u64, usize, u32);

/// Which way bytes go.
#[derive(Clone, Copy, PartialEq, Eq)]
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
        (index, id): (u32, &str),
        global: GlobalHandle,
        size: NonZeroUsize,
    ) -> Result<Self, Error> {
        let kernel = |what: &str| {
            program
                .kernel(&format!("crosscut_{what}_{index}"))
                .map_err(|error| Error::driver("finding a device global in its image", error))
        };
        Ok(Self {
            get: kernel("get")?,
            set: kernel("set")?,
            staging: allocate(context, MemoryKind::Device, size, global.align())?,
            named: program.variable(id).filter(|variable| variable.size() == size),
            readable: global.properties() & global_properties::HOST_READS != 0,
            writable: global.properties() & global_properties::HOST_WRITES != 0,
        })
    }

    /// The variable, if the driver's own calls can copy in this direction.
    fn named(&self, direction: Direction) -> Option<&dyn adapter::Variable> {
        let allowed = match direction {
            Direction::Get => self.readable,
            Direction::Set => self.writable,
        };
        self.named.as_deref().filter(|_| allowed)
    }

    /// Where the device has the variable, if the driver tells.
    pub(crate) fn device_address(&self) -> Option<u64> {
        self.named.as_ref()?.device_address()
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

    /// Held while commands are submitted of which the one leaves something in a variable's staging block
    /// for the other: nobody's command comes in between. Nothing that waits may be done meanwhile.
    pub(crate) fn together(&self) -> Together<'_> {
        let lock = &self.context().inner().kernels.together;
        Together {
            _lock: lock.lock().unwrap_or_else(PoisonError::into_inner),
            _postponed: Postponed::begin(),
            _delivery: Delivery,
        }
    }

    /// Copies between host memory and a variable by the driver's own call. `None` if it has none for
    /// that.
    ///
    /// # Safety
    /// `size` bytes at `host` are readable (`Set`) or writable by nobody else (`Get`) until the command
    /// has completed, and the range lies inside the variable.
    pub(crate) unsafe fn copy_named(
        &self,
        global: &ImageGlobal,
        direction: Direction,
        offset: usize,
        host: *mut u8,
        size: NonZeroUsize,
        after: &[Arc<Command>],
    ) -> Option<Result<Arc<Command>, Error>> {
        let (calls, variable) = (self.adapter.as_variables()?, global.named(direction)?);
        // The staging block stands for the variable: whoever writes it changes the variable.
        let access = if direction == Direction::Get { Access::Read } else { Access::Write };
        let uses = [(&global.staging, access)];
        // A kernel that has the variable as an argument writes all of it back.
        let _together = (direction == Direction::Set).then(|| self.together());
        let command =
            self.submit(&uses, after.to_vec(), Outcome::Settled, |after| match direction {
                // SAFETY: the caller's promise; dropping the block, which lives with the variable, waits.
                Direction::Get => unsafe {
                    calls.read_variable(variable, offset, host, size, after)
                },
                // SAFETY: as above.
                Direction::Set => unsafe {
                    calls.write_variable(variable, offset, host, size, after)
                },
            });
        Some(command.map_err(|error| Error::driver("copying a device global by its name", error)))
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
