//! The programs that registered themselves: images and device globals.
//!
//! Registration runs before `main`, from constructors the link step adds, and at `dlopen`. So this
//! state is constant-initialised, registering only notes the descriptor, and bytes are decoded when
//! a device first needs them. Everything a descriptor points at lies in the binary that registered
//! it and stays mapped until it unregisters.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use crosscut_image::registration::{self, DESCRIPTOR_VERSION, Descriptor, HostObject};
use crosscut_image::{Global, Image, Kernel, Target, decode};

use crate::extent::Extent;
use crate::gone::Gone;
use crate::{Error, ErrorKind};

/// One registered binary.
pub(crate) struct Program {
    descriptor: Descriptor,
    /// Its descriptor's address: what it unregisters with.
    address: usize,
    /// Which registration it was: another program may later lie at the same address.
    serial: u64,
    /// Where it lies, if it says.
    extent: Option<Extent>,
    decoded: OnceLock<Result<Decoded, String>>,
}

// SAFETY: the descriptor's pointers are to constant data of a mapped binary.
unsafe impl Send for Program {}
// SAFETY: as above; nothing writes through them.
unsafe impl Sync for Program {}

/// A program's images, ready to be searched.
#[derive(Default)]
pub(crate) struct Decoded {
    pub(crate) images: Vec<Arc<Image>>,
    /// Kernel key to image and kernel; several if there are several targets.
    kernels: HashMap<u64, Vec<(usize, usize)>>,
    /// Id of a global to the address of its static.
    objects: HashMap<String, usize>,
    /// The address of a static to its id, and whether others are there too.
    ids: HashMap<usize, (String, bool)>,
}

/// A kernel found in a program.
#[derive(Clone)]
pub(crate) struct Found {
    pub(crate) program: Arc<Program>,
    pub(crate) image: Arc<Image>,
    /// Which image of the program: what built programs are remembered by.
    pub(crate) image_index: usize,
    pub(crate) kernel: usize,
}

static PROGRAMS: Mutex<Vec<Arc<Program>>> = Mutex::new(Vec::new());
/// Grows with every change of `PROGRAMS`, so that contexts notice that what they cached is old.
static GENERATION: AtomicU64 = AtomicU64::new(0);

/// For contexts that have instances of what is gone. Locked last, and for no more than a look.
static GONE: Mutex<Gone> = Mutex::new(Gone::new());

/// Takes a program's images and device globals. Called by the program's own constructor.
///
/// # Safety
/// `descriptor` is null or points to a [`Descriptor`] whose arrays are as long as it says, and all
/// stays mapped and unchanged until [`__crosscut_unregister`] is called with it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn __crosscut_register(descriptor: *const Descriptor) {
    if descriptor.is_null() || !descriptor.is_aligned() {
        return;
    }
    static SERIAL: AtomicU64 = AtomicU64::new(0);
    // SAFETY: not null, aligned, and by the caller's promise a descriptor, which begins with its version.
    let version = unsafe { descriptor.cast::<u64>().read() };
    let contents = if version == DESCRIPTOR_VERSION {
        // SAFETY: as above; of this version it has this length.
        unsafe { descriptor.read() }
    } else {
        without_contents(version)
    };
    // SAFETY: of this version or without contents, and as its program made it.
    let extent = unsafe { Extent::of(&contents) };
    let program = Arc::new(Program {
        extent,
        descriptor: contents,
        address: descriptor.addr(),
        serial: SERIAL.fetch_add(1, Ordering::Relaxed),
        decoded: OnceLock::new(),
    });
    let mut programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
    programs.push(program);
    // Under the lock, like every change of it: generations count changes of the list.
    GENERATION.fetch_add(1, Ordering::Release);
}

/// What stands for a descriptor of another version, which may be shorter.
fn without_contents(version: u64) -> Descriptor {
    let extent = registration::Extent::UNKNOWN;
    let (images, objects) = (std::ptr::null(), std::ptr::null());
    // Some bytes, so that the program is not taken for one without images.
    Descriptor { version, images, images_length: 1, objects, objects_length: 0, extent }
}

/// Forgets what was registered with this descriptor. Called when the binary is unloaded: nobody reads
/// it once this has returned.
#[unsafe(no_mangle)]
pub extern "C" fn __crosscut_unregister(descriptor: *const Descriptor) {
    let address = descriptor.addr();
    let mut programs = PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner);
    let next = generation() + 1;
    let leaves_us = |program: &&Arc<Program>| program.address == address && !program.has_runtime();
    for program in programs.iter().filter(leaves_us) {
        let Descriptor { version, objects, objects_length, .. } = program.descriptor;
        // SAFETY: the program is still mapped: it is just saying that it will not be.
        let table = (version == DESCRIPTOR_VERSION)
            .then(|| unsafe { array(objects, objects_length) })
            .flatten();
        // A table that cannot be read is one that no context has read either.
        let statics = table.and_then(|table| statics(table).ok()).unwrap_or_default();
        let mut gone = GONE.lock().unwrap_or_else(PoisonError::into_inner);
        let listed = by_address(&statics).into_iter().map(|(address, (id, _))| (address, id));
        gone.add(next, listed.collect(), program.extent.clone());
    }
    let going = programs.extract_if(.., |program| program.address == address).collect::<Vec<_>>();
    GENERATION.fetch_add(1, Ordering::Release);
    drop(programs);
    for program in going {
        // Others may have it in a list from before. Who is decoding it is waited for; who comes later
        // finds nothing in it.
        program.decoded.get_or_init(|| Ok(Decoded::default()));
    }
}

/// Those of the statics at these addresses that went after generation `since`, with their ids; without one if
/// nobody can tell which they were. Costs as much as there are addresses for each program that went, however many
/// statics those had.
pub(crate) fn gone_since(
    since: u64,
    addresses: impl Iterator<Item = usize>,
) -> HashMap<usize, Option<String>> {
    let gone = GONE.lock().unwrap_or_else(PoisonError::into_inner);
    addresses.filter_map(|address| Some((address, gone.after(since, address)?))).collect()
}

/// Another program's global of the same id that is not the same global: another size, alignment or
/// property. Programs that cannot be decoded have none.
pub(crate) fn contradiction(program: u64, global: &Global) -> Option<Global> {
    let same = |other: &Global| {
        (other.size, other.align, other.properties)
            == (global.size, global.align, global.properties)
    };
    programs().iter().filter(|other| other.id() != program).find_map(|other| {
        let decoded = other.decoded.get()?.as_ref().ok()?;
        let mut globals = decoded.images.iter().flat_map(|image| &image.globals);
        globals.find(|other| other.id == global.id && !same(other)).cloned()
    })
}

/// The id of the static at this address, if a registered program has one there.
pub(crate) fn id_of(address: usize) -> Option<String> {
    let programs = programs();
    let listed = |program: &Arc<Program>| {
        program.decoded().ok()?.ids.get(&address).map(|(id, _)| id.clone())
    };
    programs.iter().find_map(listed).or_else(|| {
        let extents = programs.iter().filter_map(|program| program.extent.as_ref());
        extents.filter(|extent| extent.contains(address)).find_map(|extent| extent.id_of(address))
    })
}

/// Grows with every registration and unregistration.
pub(crate) fn generation() -> u64 {
    GENERATION.load(Ordering::Acquire)
}

/// What is registered now.
pub(crate) fn programs() -> Vec<Arc<Program>> {
    PROGRAMS.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

/// Whether any program brought images, decodable or not.
pub(crate) fn has_images() -> bool {
    programs().iter().any(|program| program.descriptor.images_length > 0)
}

/// Finds the kernel of this key in an image of one of `targets`, best target first.
///
/// # Errors
/// A program's images cannot be decoded, and no other program has the kernel.
pub(crate) fn find(key: u64, targets: &[Target]) -> Result<Option<Found>, Error> {
    let mut corrupt = None;
    for program in programs() {
        match program.decoded() {
            Ok(decoded) => {
                let Some(places) = decoded.kernels.get(&key) else { continue };
                let best = targets.iter().find_map(|&target| {
                    places.iter().find(|&&(image, _)| decoded.images[image].target == target)
                });
                if let Some(&(image_index, kernel)) = best {
                    let image = Arc::clone(&decoded.images[image_index]);
                    return Ok(Some(Found {
                        program: Arc::clone(&program),
                        image,
                        image_index,
                        kernel,
                    }));
                }
            }
            Err(error) => corrupt = Some(error),
        }
    }
    corrupt.map_or(Ok(None), Err)
}

/// All kernels in images of one of `targets`, each once; in any image for `None`.
///
/// # Errors
/// A program's images cannot be decoded.
pub(crate) fn kernels(targets: Option<&[Target]>) -> Result<Vec<Found>, Error> {
    let mut all: Vec<Found> = Vec::new();
    for program in programs() {
        let decoded = program.decoded()?;
        for (image_index, image) in decoded.images.iter().enumerate() {
            if targets.is_some_and(|targets| !targets.contains(&image.target)) {
                continue;
            }
            for (kernel, key) in image.kernels.iter().map(|kernel| kernel.key).enumerate() {
                if !all.iter().any(|known| known.key() == key) {
                    let (program, image) = (Arc::clone(&program), Arc::clone(image));
                    all.push(Found { program, image, image_index, kernel });
                }
            }
        }
    }
    Ok(all)
}

/// The images of these targets in which the static at `address` is a variable of the image itself, and
/// its number there.
///
/// # Errors
/// A program's images cannot be decoded.
pub(crate) fn image_scope(address: usize, targets: &[Target]) -> Result<Vec<(Found, u32)>, Error> {
    let mut places = Vec::new();
    for program in programs() {
        let decoded = program.decoded()?;
        for (image_index, image) in decoded.images.iter().enumerate() {
            let wanted = targets.contains(&image.target) && !image.kernels.is_empty();
            for (index, global) in (0u32..).zip(&image.globals).filter(|_| wanted) {
                if global.has_image_scope() && decoded.objects.get(&global.id) == Some(&address) {
                    let (program, image) = (Arc::clone(&program), Arc::clone(image));
                    places.push((Found { program, image, image_index, kernel: 0 }, index));
                }
            }
        }
    }
    Ok(places)
}

impl Found {
    fn entry(&self) -> &Kernel {
        &self.image.kernels[self.kernel]
    }

    /// Its key in the host program.
    pub(crate) fn key(&self) -> u64 {
        self.entry().key
    }

    /// Its name for people.
    pub(crate) fn display_name(&self) -> &str {
        &self.entry().display_name
    }
}

impl Program {
    /// The number that tells this program from every other one that is or was registered.
    pub(crate) fn id(&self) -> u64 {
        self.serial
    }

    /// Whether this very runtime is a part of it. Then the runtime goes with it, and until that nothing else comes to
    /// lie there: nobody need know that it went. So it is with what the link step makes, a library included, which
    /// brings its own runtime.
    fn has_runtime(&self) -> bool {
        let of_ours = (&raw const GENERATION).addr();
        self.extent.as_ref().is_some_and(|extent| extent.contains(of_ours))
    }

    /// The images, decoded at the first call.
    pub(crate) fn decoded(&self) -> Result<&Decoded, Error> {
        self.decoded.get_or_init(|| self.decode()).as_ref().map_err(|why| {
            Error::new(ErrorKind::Build, format!("corrupt device image: {why}"))
                .with_help("rebuild with `cargo crosscut build`")
        })
    }

    /// The address of the static with this id, if this program contains it.
    pub(crate) fn object(&self, id: &str) -> Result<Option<*const u8>, Error> {
        let address = self.decoded()?.objects.get(id).copied();
        Ok(address.map(std::ptr::with_exposed_provenance))
    }

    /// Whether several statics of this program have this address.
    pub(crate) fn is_shared(&self, address: *const u8) -> Result<bool, Error> {
        Ok(self.decoded()?.ids.get(&address.addr()).is_some_and(|(_, shared)| *shared))
    }

    fn decode(&self) -> Result<Decoded, String> {
        let Descriptor { version, images, images_length, objects, objects_length, .. } =
            self.descriptor;
        if version != DESCRIPTOR_VERSION {
            return Err(format!(
                "the program was linked for version {version} of the runtime, this is {DESCRIPTOR_VERSION}"
            ));
        }
        // SAFETY: whoever registered promised that the array is there.
        let bytes = unsafe { array(images, images_length) }.ok_or("no bytes where it should be")?;
        let images = if bytes.is_empty() {
            Vec::new()
        } else {
            decode(bytes).map_err(|error| error.to_string())?
        };
        // SAFETY: as above.
        let table = unsafe { array(objects, objects_length) }.ok_or("no table of statics")?;
        let kernels = images.iter().map(|image| image.kernels.len()).sum::<usize>();
        log::debug!("a program brought {} device images with {kernels} kernels", images.len());
        let objects = statics(table)?;
        Ok(Decoded {
            kernels: index(&images),
            ids: by_address(&objects),
            objects,
            images: images.into_iter().map(Arc::new).collect(),
        })
    }
}

fn index(images: &[Image]) -> HashMap<u64, Vec<(usize, usize)>> {
    let mut kernels: HashMap<u64, Vec<(usize, usize)>> = HashMap::new();
    for (image_index, image) in images.iter().enumerate() {
        for (kernel_index, kernel) in image.kernels.iter().enumerate() {
            kernels.entry(kernel.key).or_default().push((image_index, kernel_index));
        }
    }
    kernels
}

/// The table of statics by id, without those the program does not contain.
fn statics(table: &[HostObject]) -> Result<HashMap<String, usize>, String> {
    let mut found = HashMap::with_capacity(table.len());
    for object in table.iter().filter(|object| object.offset != 0) {
        // SAFETY: whoever registered promised that the ids are there.
        let id = unsafe { array(object.id, object.id_length) }.ok_or("a static without id")?;
        let id = std::str::from_utf8(id).map_err(|_| "the id of a static is not text")?;
        let address = table.as_ptr().expose_provenance().wrapping_add_signed(
            isize::try_from(object.offset).map_err(|_| "a static outside the address space")?,
        );
        found.insert(id.to_owned(), address);
    }
    Ok(found)
}

/// The same table by address. Of several statics at one, the first id by name stands for all, each time the same.
fn by_address(statics: &HashMap<String, usize>) -> HashMap<usize, (String, bool)> {
    let mut found: HashMap<usize, (String, bool)> = HashMap::with_capacity(statics.len());
    for (id, address) in statics {
        match found.entry(*address) {
            Entry::Vacant(vacant) => {
                vacant.insert((id.clone(), false));
            }
            Entry::Occupied(mut known) => {
                let (first, shared) = known.get_mut();
                *shared = true;
                if id < first {
                    first.clone_from(id);
                }
            }
        }
    }
    found
}

/// An array of a descriptor; `None` if it is null or misaligned although not empty, or too long.
///
/// # Safety
/// If `start` is aligned and not null, `length` elements lie there, unchanged for as long as the
/// result is used.
unsafe fn array<'a, T>(start: *const T, length: u64) -> Option<&'a [T]> {
    if length == 0 {
        return Some(&[]);
    }
    let length = usize::try_from(length).ok()?;
    let bytes = length.checked_mul(size_of::<T>())?;
    if start.is_null() || !start.is_aligned() || isize::try_from(bytes).is_err() {
        return None;
    }
    // SAFETY: aligned, not null, no longer than an object may be, and by the caller's promise there.
    Some(unsafe { std::slice::from_raw_parts(start, length) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_has_a_program_in_a_list_does_not_read_it_once_it_is_unloaded() {
        // No image: whoever decodes it says so.
        static IMAGES: [u8; 4] = *b"gone";
        let descriptor = Descriptor {
            version: DESCRIPTOR_VERSION,
            images: IMAGES.as_ptr(),
            images_length: 4,
            objects: std::ptr::null(),
            objects_length: 0,
            extent: registration::Extent::UNKNOWN,
        };
        let ours = |program: &Arc<Program>| program.address == (&raw const descriptor).addr();
        // SAFETY: a descriptor, which is there until it is unregistered.
        unsafe { __crosscut_register(&raw const descriptor) };
        let listed = programs().into_iter().find(ours).unwrap();
        __crosscut_unregister(&raw const descriptor);
        assert!(!programs().iter().any(ours));
        assert!(listed.decoded().unwrap().images.is_empty(), "it is as if it had never been there");
    }

    #[test]
    fn of_several_statics_at_one_address_the_first_by_name_is_known() {
        let names = ["c", "a", "b"].map(str::to_owned);
        let statics = names.into_iter().map(|id| (id, 7)).chain([("z".to_owned(), 8)]).collect();
        let found = by_address(&statics);
        assert_eq!(found[&7], ("a".to_owned(), true));
        assert_eq!(found[&8], ("z".to_owned(), false));
    }

    #[test]
    fn of_a_program_that_has_this_runtime_nothing_is_noted() {
        // In one piece with the registry's own state, and once beside it.
        let ours = (&raw const GENERATION).cast::<u8>();
        static ELSEWHERE: [u8; 8] = [0; 8];
        let gone_with_extent_at = |start: *const u8| {
            let descriptor = Descriptor {
                version: DESCRIPTOR_VERSION,
                images: std::ptr::null(),
                images_length: 0,
                objects: std::ptr::null(),
                objects_length: 0,
                extent: registration::Extent {
                    start,
                    end: start.wrapping_add(8),
                    layout: std::ptr::null(),
                },
            };
            let before = generation();
            // SAFETY: a descriptor, which is there until it is unregistered.
            unsafe { __crosscut_register(&raw const descriptor) };
            __crosscut_unregister(&raw const descriptor);
            gone_since(before, std::iter::once(start.addr()))
        };
        assert!(gone_with_extent_at(ours).is_empty());
        assert_eq!(gone_with_extent_at(ELSEWHERE.as_ptr()).len(), 1);
    }
}
