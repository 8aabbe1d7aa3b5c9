//! Instances of device globals: one per device and context, and one of each symbol per bundle too, made at
//! first use.
//!
//! An instance is known by the static's address together with size and alignment, never by the
//! address alone. Where native code runs in the default context the static's own storage is the
//! instance; everywhere else it is an allocation that starts as the initial bytes behind it, or as
//! the global's properties say.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::num::NonZeroUsize;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use crosscut_adapter_api::{DriverError, MemoryKind};
use crosscut_image::global_properties;

use crate::Error;
use crate::bytes;
use crate::context::Context;
use crate::direct::kind_near_host;
use crate::home::Home;
use crate::memory::{Allocation, allocate};
use crate::record;
use crate::registry;
use crate::specialization::Setting;

/// From this size on it pays to look whether the initial bytes are all zero: filling is faster than
/// copying.
const WORTH_A_LOOK: usize = 64 << 10;

/// A device global, as the program that contains it describes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct GlobalHandle {
    address: *const u8,
    size: usize,
    align: usize,
    atomic_width: usize,
    properties: u64,
}

// SAFETY: it names a static of the program, which all threads may name.
unsafe impl Send for GlobalHandle {}
// SAFETY: as above.
unsafe impl Sync for GlobalHandle {}

#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) address: usize,
    pub(crate) size: usize,
    pub(crate) align: usize,
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

/// One instance, from the moment somebody asks for it.
#[derive(Default)]
struct Slot {
    made: OnceLock<Arc<Allocation>>,
    /// Held while the initial bytes are on their way: nobody sees an instance without them, and
    /// nobody who wants another global waits.
    making: Mutex<()>,
}

/// Addresses of statics: close together, and chosen by no attacker.
#[derive(Default)]
pub(crate) struct AddressHasher(u64);

impl Hasher for AddressHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.write_usize(usize::from(byte));
        }
    }

    fn write_usize(&mut self, value: usize) {
        // The multiplier spreads neighbours over the whole word; the rotation brings the high bits,
        // the well mixed ones, to where the table looks.
        self.0 = (self.0 ^ value as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(32);
    }
}

type Map<V> = HashMap<Key, V, BuildHasherDefault<AddressHasher>>;

/// The instances of one context, or those of one bundle.
#[derive(Default)]
pub(crate) struct Globals {
    map: RwLock<Map<Arc<Slot>>>,
    /// The registry's generation up to which `map` is free of statics that are gone.
    seen: AtomicU64,
    /// Instances of statics that are gone, by id, size and alignment: a program that is loaded again
    /// finds its contents.
    kept: Mutex<HashMap<(String, usize, usize), Arc<Allocation>>>,
}

/// Native instances of contexts and bundles that are gone. Code that ran there may have kept references to
/// their atomics, so the memory is never freed; the same global of a later context takes it over.
static RETIRED: Mutex<Option<Map<Vec<Arc<Allocation>>>>> = Mutex::new(None);

impl GlobalHandle {
    /// Describes a global.
    ///
    /// # Safety
    /// `address` is that of a static aligned to `align`: `size` bytes of storage and behind it,
    /// unless `properties` have the bits `LAZY` or `NO_INIT`, as many initial bytes, which never
    /// change. `atomic_width` is 0, or the storage is made of atomics of that many bytes.
    #[must_use]
    pub unsafe fn new(
        address: *const u8,
        size: usize,
        align: usize,
        atomic_width: usize,
        properties: u64,
    ) -> Self {
        Self { address, size, align, atomic_width, properties }
    }

    pub(crate) fn address(&self) -> *const u8 {
        self.address
    }

    /// The bytes of its value.
    #[must_use]
    pub fn size(&self) -> usize {
        self.size
    }

    pub(crate) fn align(&self) -> usize {
        self.align
    }

    pub(crate) fn atomic_width(&self) -> usize {
        self.atomic_width
    }

    pub(crate) fn properties(&self) -> u64 {
        self.properties
    }

    pub(crate) fn has_image_scope(&self) -> bool {
        self.properties & global_properties::IMAGE_SCOPE != 0
    }

    pub(crate) fn has_bundle_scope(&self) -> bool {
        self.properties & global_properties::BUNDLE_SCOPE != 0
    }

    /// What an instance starts as.
    pub(crate) fn beginning(&self) -> Beginning {
        if self.properties & global_properties::NO_INIT != 0 {
            Beginning::Anything
        } else if self.properties & global_properties::LAZY != 0 {
            Beginning::Zeros
        } else {
            Beginning::Bytes(self.address.wrapping_add(self.size))
        }
    }

    fn key(&self) -> Key {
        Key { address: self.address.addr(), size: self.size, align: self.align }
    }
}

/// What an instance starts as.
#[derive(Clone, Copy)]
pub(crate) enum Beginning {
    /// A copy of these bytes, as many as the global has.
    Bytes(*const u8),
    /// Zeros.
    Zeros,
    /// Whatever is there.
    Anything,
}

impl Globals {
    /// Puts instances of statics that are gone aside: at their addresses others may be now. What is given back
    /// is to be dropped where no lock is held: that may wait for whoever uses it.
    pub(crate) fn refresh(&self) -> impl Sized + use<> {
        let now = registry::generation();
        if self.seen.load(Ordering::Acquire) == now {
            return (Vec::new(), Vec::new());
        }
        let mut map = self.map.write().unwrap_or_else(PoisonError::into_inner);
        let since = self.seen.load(Ordering::Acquire);
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let gone = registry::gone_since(since, map.keys().map(|key| key.address));
        let (mut slots, mut replaced) = (Vec::new(), Vec::new());
        for (key, slot) in map.extract_if(|key, _| gone.contains_key(&key.address)) {
            if let (Some(Some(id)), Some(allocation)) = (gone.get(&key.address), slot.made.get()) {
                let of = (id.clone(), key.size, key.align);
                replaced.extend(kept.insert(of, Arc::clone(allocation)));
            }
            slots.push(slot);
        }
        self.seen.store(since.max(now), Ordering::Release);
        (slots, replaced)
    }

    /// The instance that a program left behind which had a static of this id and layout.
    fn take_kept(&self, key: Key) -> Option<Arc<Allocation>> {
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        if kept.is_empty() {
            return None;
        }
        kept.remove(&(registry::id_of(key.address)?, key.size, key.align))
    }

    fn slot(&self, key: Key) -> Arc<Slot> {
        if let Some(known) = self.map.read().unwrap_or_else(PoisonError::into_inner).get(&key) {
            return Arc::clone(known);
        }
        let mut map = self.map.write().unwrap_or_else(PoisonError::into_inner);
        Arc::clone(map.entry(key).or_default())
    }

    /// The instance, if it is there already.
    fn made(&self, key: Key) -> Option<Arc<Allocation>> {
        let map = self.map.read().unwrap_or_else(PoisonError::into_inner);
        map.get(&key)?.made.get().map(Arc::clone)
    }

    /// Keeps native instances for ever: see [`RETIRED`].
    pub(crate) fn retire(&self) {
        let mut map = self.map.write().unwrap_or_else(PoisonError::into_inner);
        let mut retired = RETIRED.lock().unwrap_or_else(PoisonError::into_inner);
        let retired = retired.get_or_insert_default();
        for (key, slot) in map.drain() {
            if let Some(allocation) = slot.made.get() {
                retired.entry(key).or_default().push(Arc::clone(allocation));
            }
        }
    }
}

/// The instance of `global` at `home`, made with its initial bytes if there is none.
///
/// It waits for nobody's commands: who asks may be a host task, or somebody whom one waits for.
///
/// # Errors
/// There is no memory for it, or the driver refused the copy.
pub(crate) fn instance(home: Home<'_>, global: GlobalHandle) -> Result<Instance, Error> {
    instance_if(home, global, || Ok(()))
}

/// The same, where one is made only if `may_be` has nothing against it.
fn instance_if(
    home: Home<'_>,
    global: GlobalHandle,
    may_be: impl FnOnce() -> Result<(), Error>,
) -> Result<Instance, Error> {
    let Some(size) = NonZeroUsize::new(global.size) else { return Ok(Instance::Empty) };
    let Some(globals) = home.keeper(&global) else { return Ok(Instance::Static) };
    let context = home.context();
    drop(globals.refresh());
    if let Some(known) = globals.made(global.key()) {
        return Ok(Instance::Allocated(known));
    }
    may_be()?;
    let slot = globals.slot(global.key());
    let _making = slot.making.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = slot.made.get() {
        return Ok(Instance::Allocated(Arc::clone(known)));
    }
    let made = if let Some(kept) = globals.take_kept(global.key()) {
        kept
    } else if context.is_native() {
        native_instance(context, global, size)?
    } else {
        let made = allocate(context, kind_near_host(context), size, global.align)?;
        begin(&made, global, context, size)
            .map_err(|error| Error::driver("initialising a device global", error))?;
        made
    };
    Ok(Instance::Allocated(Arc::clone(slot.made.get_or_init(|| made))))
}

/// Brings the first bytes of a new instance.
fn begin(
    made: &Arc<Allocation>,
    global: GlobalHandle,
    context: &Context,
    size: NonZeroUsize,
) -> Result<(), DriverError> {
    let beginning = global.beginning();
    if matches!(beginning, Beginning::Anything) {
        return Ok(());
    }
    let by_host = made.visit_on_host(&mut |target| {
        // SAFETY: the new instance has the size, and nobody else knows it.
        unsafe { store_beginning(global, target.as_ptr(), 0) };
    })?;
    if by_host {
        return Ok(());
    }
    match beginning {
        Beginning::Bytes(bytes) if !(size.get() >= WORTH_A_LOOK && is_zero(bytes, size)) => {
            let queue = context.inner().records.queue(context)?;
            // SAFETY: the initial bytes are there and never change (see `GlobalHandle::new`), and `kept` has the
            // allocation for as long as the copy runs.
            let written = unsafe { queue.write(made.memory(), 0, bytes, size, &[]) };
            Ok(record::kept(made, queue, written)?)
        }
        _ => record::zero(made, 0, size, context),
    }
}

/// Whether all initial bytes of a global, as many as its size, are zero.
fn is_zero(bytes: *const u8, size: NonZeroUsize) -> bool {
    // SAFETY: by `GlobalHandle::new` the bytes are there and never change.
    let bytes = unsafe { std::slice::from_raw_parts(bytes, size.get()) };
    let (chunks, rest) = bytes.as_chunks::<64>();
    rest.iter().all(|&byte| byte == 0) && chunks.iter().all(|chunk| *chunk == [0; 64])
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
    // SAFETY: the target has `size` bytes, a multiple of the alignment and so of the width, and is
    // used through atomics at most.
    unsafe { store_beginning(global, target.as_ptr(), width) };
    Ok(made)
}

/// Writes what the global starts as; zeros where it may start as anything, because host code must not
/// read bytes that nobody wrote.
///
/// # Safety
/// `target` is writable for the global's size, and used by others as atomics of `width` bytes at
/// most; 0 if nobody uses it.
pub(crate) unsafe fn store_beginning(global: GlobalHandle, target: *mut u8, width: usize) {
    match global.beginning() {
        // SAFETY: the initial bytes are there and never change; the rest is the caller's promise.
        Beginning::Bytes(source) => unsafe { bytes::store(source, target, global.size, width) },
        Beginning::Zeros | Beginning::Anything => {
            let mut done = 0;
            while done < global.size {
                const ZEROS: [u64; 512] = [0; 512];
                let piece = size_of_val(&ZEROS).min(global.size - done);
                let target = target.wrapping_add(done);
                // SAFETY: inside the target; pieces begin and end at multiples of every width.
                unsafe { bytes::store(ZEROS.as_ptr().cast(), target, piece, width) };
                done += piece;
            }
        }
    }
}

const NO_STATIC: &str = "a device global must be a `static`";

/// What native code of one launch sees of its context.
///
/// Launches hand its address to the native entry as an extra slot behind the arguments.
pub struct NativeScope<'a> {
    pub(crate) home: Home<'a>,
    /// Statics that this launch holds exclusively.
    pub(crate) exclusives: &'a [*const u8],
    /// The specialization constants that this launch sets, and where their values are.
    pub(crate) settings: &'a [Setting],
}

// SAFETY: the addresses are only compared, and the values are only read.
unsafe impl Sync for NativeScope<'_> {}

impl NativeScope<'_> {
    /// Whether globals are the statics themselves, with nothing to watch for.
    #[must_use]
    pub fn uses_statics(&self) -> bool {
        self.exclusives.is_empty() && !self.home.has_symbols() && self.home.context().uses_statics()
    }

    /// The specialization constants that this launch sets: the address of each one's static, and that of
    /// its value.
    #[must_use]
    pub fn settings(&self) -> &[Setting] {
        self.settings
    }

    /// The storage of the global whose static is at `address`.
    ///
    /// # Errors
    /// What to panic with: the launch holds it exclusively, it is no static, or there is no memory for it.
    ///
    /// # Safety
    /// As [`GlobalHandle::new`], but it may lie outside of every static: then it has no instance.
    pub unsafe fn find(
        &self,
        address: *const u8,
        size: usize,
        align: usize,
        properties: u64,
    ) -> Result<*const u8, String> {
        if self.exclusives.contains(&address) {
            return Err(
                "a device global is used by name in a task that has it by exclusive()".into()
            );
        }
        // Atomics by name have only the lifetime of whoever names them. What goes away has no instances:
        // another may come to its address.
        let is_static = || match crate::loaded::contains(address) {
            true => Ok(()),
            false => Err(Error::invalid(NO_STATIC, "put it in a `static`")),
        };
        // SAFETY: passed on; what is no static is only looked for. The width plays no part in finding it.
        let global = unsafe { GlobalHandle::new(address, size, align, 0, properties) };
        match instance_if(self.home, global, is_static).map_err(|error| error.to_string())? {
            Instance::Static | Instance::Empty => Ok(address),
            Instance::Allocated(allocation) => match allocation.memory().host_address() {
                Some(host) => Ok(host.as_ptr().cast_const()),
                None => Err("native code on a device without host memory".into()),
            },
        }
    }
}
