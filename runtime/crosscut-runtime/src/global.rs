//! Instances of device globals: one per context, made at first use.
//!
//! An instance is known by the static's address together with size and alignment, never by the
//! address alone. Where native code runs in the default context the static's own storage is the
//! instance; everywhere else it is an allocation that starts as the initial bytes behind it.

use std::collections::HashMap;
use std::num::NonZeroUsize;
use std::sync::{Arc, Mutex, PoisonError};

use crosscut_adapter_api::{self as adapter, MemoryKind};

use crate::Error;
use crate::bytes;
use crate::context::Context;
use crate::memory::{Allocation, allocate};

/// A device global, as the program that contains it describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GlobalHandle {
    address: *const u8,
    size: usize,
    align: usize,
    atomic_width: usize,
}

// SAFETY: it names a static of the program, which all threads may name.
unsafe impl Send for GlobalHandle {}
// SAFETY: as above.
unsafe impl Sync for GlobalHandle {}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    address: usize,
    size: usize,
    align: usize,
}

/// Where a context keeps a global.
pub(crate) enum Instance {
    /// In the static itself.
    Static,
    /// Here.
    Allocated(Arc<Allocation>),
    /// Nowhere: it has no bytes.
    Empty,
}

/// The instances of one context.
#[derive(Default)]
pub(crate) struct Globals(Mutex<HashMap<Key, Arc<Allocation>>>);

/// Native instances of contexts that are gone. Code that ran there may have kept references to
/// their atomics, so the memory is never freed; the same global of a later context takes it over.
static RETIRED: Mutex<Option<HashMap<Key, Vec<Arc<Allocation>>>>> = Mutex::new(None);

impl GlobalHandle {
    /// Describes a global.
    ///
    /// # Safety
    /// `address` is that of a static of at least `2 * size` bytes, aligned to `align`: the storage
    /// and behind it the initial bytes, which never change. `atomic_width` is 0, or the storage is
    /// made of atomics of that many bytes.
    #[must_use]
    pub unsafe fn new(address: *const u8, size: usize, align: usize, atomic_width: usize) -> Self {
        Self { address, size, align, atomic_width }
    }

    pub(crate) fn address(&self) -> *const u8 {
        self.address
    }

    /// The bytes of its value.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn atomic_width(&self) -> usize {
        self.atomic_width
    }

    fn initial(&self) -> *const u8 {
        self.address.wrapping_add(self.size)
    }

    fn key(&self) -> Key {
        Key { address: self.address.addr(), size: self.size, align: self.align }
    }
}

impl Globals {
    /// Forgets the instances of statics that are no longer there.
    pub(crate) fn retain(&self, still_there: impl Fn(usize) -> bool) {
        let mut map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        map.retain(|key, _| still_there(key.address));
    }

    /// Keeps native instances for ever: see [`RETIRED`].
    pub(crate) fn retire(&self) {
        let mut map = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut retired = RETIRED.lock().unwrap_or_else(PoisonError::into_inner);
        let retired = retired.get_or_insert_default();
        for (key, allocation) in map.drain() {
            retired.entry(key).or_default().push(allocation);
        }
    }
}

/// The instance of `global` in `context`; `queue`, one of the context's, brings the initial bytes.
///
/// # Errors
/// There is no memory for it, or the driver refused the copy.
pub(crate) fn instance(
    context: &Context,
    global: GlobalHandle,
    queue: Option<&dyn adapter::Queue>,
) -> Result<Instance, Error> {
    let Some(size) = NonZeroUsize::new(global.size) else { return Ok(Instance::Empty) };
    if context.uses_statics() {
        return Ok(Instance::Static);
    }
    // Held while the initial bytes are on their way: nobody sees an instance without them.
    let mut map = context.inner().globals.0.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = map.get(&global.key()) {
        return Ok(Instance::Allocated(Arc::clone(known)));
    }
    let made = if context.is_native() {
        native_instance(context, global, size)?
    } else {
        let Some(queue) = queue else {
            return Err(Error::invalid(
                "a device global was asked for without a queue",
                "report this as a bug of Crosscut",
            ));
        };
        let made = allocate(context, MemoryKind::Device, size, global.align)?;
        let failed = |error| Error::driver("initialising a device global", error);
        // SAFETY: the initial bytes are there and never change (see `GlobalHandle::new`), and the
        // allocation lives on: both until the wait below has returned.
        let event = unsafe { queue.write(made.memory(), 0, global.initial(), size, &[]) };
        event.map_err(failed)?.wait().map_err(failed)?;
        made
    };
    map.insert(global.key(), Arc::clone(&made));
    Ok(Instance::Allocated(made))
}

fn native_instance(
    context: &Context,
    global: GlobalHandle,
    size: NonZeroUsize,
) -> Result<Arc<Allocation>, Error> {
    let retired = RETIRED
        .lock()
        .unwrap_or_else(PoisonError::into_inner)
        .as_mut()
        .and_then(|retired| retired.get_mut(&global.key())?.pop());
    let made = match retired {
        Some(retired) => retired,
        None => allocate(context, MemoryKind::Device, size, global.align)?,
    };
    let Some(target) = made.memory().host_address() else {
        return Err(Error::invalid(
            "native code on a device without host memory",
            "report this as a bug of Crosscut",
        ));
    };
    // Whoever kept a reference to a retired instance uses it as atomics, whose alignment is their
    // size; a fresh one is known to nobody, so the width matters to nobody either.
    let width = global.align.min(8);
    // SAFETY: source and target have `size` bytes, which is a multiple of the alignment and so of
    // the width; the source never changes, the target is used through atomics at most.
    unsafe { bytes::store(global.initial(), target.as_ptr(), size.get(), width) };
    Ok(made)
}

/// What native code of one launch sees of its context.
///
/// Launches hand its address to the native entry as an extra slot behind the arguments.
pub struct NativeScope<'a> {
    pub(crate) context: &'a Context,
    /// Statics that this launch holds exclusively.
    pub(crate) exclusives: &'a [*const u8],
}

// SAFETY: the addresses are only compared.
unsafe impl Sync for NativeScope<'_> {}

impl NativeScope<'_> {
    /// Whether globals are the statics themselves, with nothing to watch for.
    #[must_use]
    pub fn uses_statics(&self) -> bool {
        self.exclusives.is_empty() && self.context.uses_statics()
    }

    /// The storage of the global whose static is at `address`.
    ///
    /// # Errors
    /// What to panic with: the launch holds it exclusively, or there is no memory for it.
    ///
    /// # Safety
    /// As [`GlobalHandle::new`].
    pub unsafe fn find(
        &self,
        address: *const u8,
        size: usize,
        align: usize,
    ) -> Result<*const u8, String> {
        if self.exclusives.contains(&address) {
            return Err(
                "a device global is used by name in a task that has it by exclusive()".into()
            );
        }
        // SAFETY: passed on. The width plays no part in finding it.
        let global = unsafe { GlobalHandle::new(address, size, align, 0) };
        match instance(self.context, global, None).map_err(|error| error.to_string())? {
            Instance::Static | Instance::Empty => Ok(address),
            Instance::Allocated(allocation) => match allocation.memory().host_address() {
                Some(host) => Ok(host.as_ptr().cast_const()),
                None => Err("native code on a device without host memory".into()),
            },
        }
    }
}
