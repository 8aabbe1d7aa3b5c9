//! Unified shared memory: allocations of a kind, with addresses that host and device share.

use std::collections::BTreeMap;
use std::fmt;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use crosscut_adapter_api::{Feature, MemoryKind};

use crate::context::Context;
use crate::memory::{Allocation, Buffer, allocate};
use crate::{Error, ErrorKind};

/// The kinds of unified shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UsmKind {
    /// On the device: the host does not reach it.
    Device,
    /// On the host: the device reaches it there.
    Host,
    /// Wherever it is used, moving between the two.
    Shared,
}

impl UsmKind {
    fn memory(self) -> MemoryKind {
        match self {
            Self::Device => MemoryKind::Device,
            Self::Host => MemoryKind::Host,
            Self::Shared => MemoryKind::Shared,
        }
    }

    fn feature(self) -> Feature {
        match self {
            Self::Device => Feature::UsmDevice,
            Self::Host => Feature::UsmHost,
            Self::Shared => Feature::UsmShared,
        }
    }
}

impl fmt::Display for UsmKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Device => "device",
            Self::Host => "host",
            Self::Shared => "shared",
        })
    }
}

/// What is known of a pointer into unified shared memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct UsmPointer {
    /// Of which kind the memory is.
    pub kind: UsmKind,
    /// Where the allocation begins.
    pub start: usize,
    /// How many bytes the allocation has.
    pub size: usize,
}

/// The allocations of a context, by address. Those that are gone are looked for when one is added.
#[derive(Default)]
pub(crate) struct Allocations(Mutex<BTreeMap<usize, (Weak<Allocation>, UsmKind)>>);

impl Context {
    /// What is known of a pointer: its kind of unified shared memory, and the allocation it points
    /// into. `None` for every other pointer.
    ///
    /// ```
    /// use crosscut::prelude::*;
    /// use crosscut::usm::UsmKind;
    ///
    /// let queue = Queue::new()?;
    /// let list = queue.alloc_shared::<u32>(4)?;
    /// let known = queue.context().usm_pointer(list.as_ptr().wrapping_add(1)).expect("into the list");
    /// assert_eq!((known.kind, known.start), (UsmKind::Shared, list.as_ptr().addr()));
    /// assert!(known.size >= 16);
    /// let local = 1;
    /// assert_eq!(queue.context().usm_pointer(&local), None);
    /// # Ok::<(), crosscut::Error>(())
    /// ```
    #[must_use]
    pub fn usm_pointer<T>(&self, pointer: *const T) -> Option<UsmPointer> {
        let address = pointer.addr();
        let map = self.space().usm.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (&start, (allocation, kind)) = map.range(..=address).next_back()?;
        let (allocation, kind) = (allocation.upgrade()?, *kind);
        // First: where its owner has dropped it meanwhile it goes here, and waits for commands.
        drop(map);
        let size = allocation.memory().size().get();
        (address - start < size).then_some(UsmPointer { kind, start, size })
    }
}

impl Buffer {
    /// Allocates uninitialised unified shared memory.
    ///
    /// # Errors
    /// The device has none of this kind, or not enough of it.
    pub fn allocate_usm(
        context: &Context,
        kind: UsmKind,
        size: usize,
        align: usize,
    ) -> Result<Self, Error> {
        let (device, feature) = (context.device(), kind.feature());
        if !device.has(feature) {
            return Err(Error::new(
                ErrorKind::FeatureNotSupported,
                format!(
                    "{kind} memory needs {feature}, which `{}` ({}) does not have",
                    device.name(),
                    device.backend()
                ),
            )
            .with_help("use a `Buffer`, or choose a device that has it by CROSSCUT_DEVICE"));
        }
        if context.inner().adapter.lacks(feature) {
            return Err(Error::new(
                ErrorKind::FeatureNotSupported,
                format!(
                    "{kind} memory needs {feature}, which the {} devices of the context do not share",
                    context.devices().len()
                ),
            )
            .with_help("use a `Buffer`, or a context of this device alone"));
        }
        let Some(size) = NonZeroUsize::new(size) else { return Ok(Self::over(context, None)) };
        let allocation = allocate(context, kind.memory(), size, align)?;
        if let Some(address) = allocation.memory().device_address() {
            let mut map = context.space().usm.0.lock().unwrap_or_else(PoisonError::into_inner);
            map.retain(|_, (allocation, _)| allocation.strong_count() > 0);
            map.insert(address as usize, (Arc::downgrade(&allocation), kind));
        }
        Ok(Self::over(context, Some(allocation)))
    }

    /// Where the host reaches it; `None` if it does not, or if there is nothing to reach.
    #[must_use]
    pub fn host_address(&self) -> Option<*mut u8> {
        Some(self.allocation()?.memory().host_address()?.as_ptr())
    }

    /// Where the device reaches it, if the driver tells.
    #[must_use]
    pub fn device_address(&self) -> Option<u64> {
        self.allocation()?.memory().device_address()
    }

    /// Blocks until no command writes it any more.
    ///
    /// # Errors
    /// A command that did failed, or its kernel panicked. Inside a host task: one is behind that task, on
    /// its queue.
    pub fn wait_to_read(&self) -> Result<(), Error> {
        let Some(allocation) = self.allocation() else { return Ok(()) };
        let writers = allocation.uses().writers();
        writers.tell()?;
        if writers.may_still_write() { Err(lost("may still write")) } else { Ok(()) }
    }

    /// Blocks until no command uses it any more.
    ///
    /// # Errors
    /// A command that did failed, or its kernel panicked. Inside a host task: one is behind that task, on
    /// its queue.
    pub fn wait_to_write(&self) -> Result<(), Error> {
        self.wait_to_read()?;
        let Some(allocation) = self.allocation() else { return Ok(()) };
        // Not with the lock: whoever wants the memory next would wait here, and hold up all of the context.
        let users = allocation.uses().users();
        match users.wait()? {
            true => Ok(()),
            false => Err(lost("may still use")),
        }
    }
}

fn lost(does: &str) -> Error {
    let text = format!("a command that failed {does} the memory");
    Error::new(ErrorKind::DeviceLost, text)
        .with_help("allocate the memory anew: this is never given to anybody again")
}
