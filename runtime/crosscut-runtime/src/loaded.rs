//! What lies in the program and its libraries, as the system's loader has put them.

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
pub(crate) use elf::contains;

/// Elsewhere there is nobody to ask.
#[cfg(not(all(target_os = "linux", target_pointer_width = "64")))]
pub(crate) fn contains(_: *const u8) -> bool {
    true
}

#[cfg(all(target_os = "linux", target_pointer_width = "64"))]
mod elf {
    use std::ffi::{c_char, c_int, c_void};

    /// Whether an address is of a `static`: inside what was loaded, where stacks and heap never are.
    ///
    /// It looks through all libraries, and so is for what happens once.
    pub(crate) fn contains(address: *const u8) -> bool {
        let mut asked = Asked { address: address.addr(), found: false };
        // SAFETY: `look` is given what the system says, and `asked`, which outlives the call.
        unsafe { dl_iterate_phdr(look, (&raw mut asked).cast()) };
        asked.found
    }

    struct Asked {
        address: usize,
        found: bool,
    }

    /// The beginning of the system's `dl_phdr_info`.
    #[repr(C)]
    struct Object {
        base: usize,
        name: *const c_char,
        segments: *const Segment,
        count: u16,
    }

    /// `Elf64_Phdr`.
    #[repr(C)]
    struct Segment {
        kind: u32,
        flags: u32,
        offset: u64,
        address: usize,
        physical: u64,
        in_file: u64,
        in_memory: usize,
        align: u64,
    }

    /// The kind of a segment that is loaded.
    const LOADED: u32 = 1;

    unsafe extern "C" {
        fn dl_iterate_phdr(
            look: unsafe extern "C" fn(*const Object, usize, *mut c_void) -> c_int,
            data: *mut c_void,
        ) -> c_int;
    }

    /// Not zero, which ends the search, where the address lies in this object.
    ///
    /// # Safety
    /// `object` is of the system's loader, and `asked` an [`Asked`] that nobody else uses.
    unsafe extern "C" fn look(object: *const Object, _: usize, asked: *mut c_void) -> c_int {
        // SAFETY: the caller's promise.
        let object = unsafe { &*object };
        // SAFETY: as above.
        let asked = unsafe { &mut *asked.cast::<Asked>() };
        if object.segments.is_null() {
            return 0;
        }
        // SAFETY: the loader says how many there are, and they stay there for the time of the call.
        let segments = unsafe { std::slice::from_raw_parts(object.segments, object.count.into()) };
        asked.found = segments.iter().any(|segment| {
            let start = object.base.wrapping_add(segment.address);
            segment.kind == LOADED && asked.address.wrapping_sub(start) < segment.in_memory
        });
        c_int::from(asked.found)
    }
}

#[cfg(all(test, target_os = "linux", target_pointer_width = "64"))]
mod tests {
    use std::sync::atomic::AtomicU64;

    use super::contains;

    #[test]
    fn statics_are_in_the_program_and_nothing_else_is() {
        static ZEROS: AtomicU64 = AtomicU64::new(0);
        static WORDS: [AtomicU64; 2] = [const { AtomicU64::new(7) }; 2];
        thread_local!(static OWN: AtomicU64 = const { AtomicU64::new(7) });
        assert!(contains((&raw const ZEROS).cast()) && contains((&raw const WORDS[1]).cast()));
        let (local, boxed) = (AtomicU64::new(7), Box::new(7u64));
        assert!(!contains((&raw const local).cast()) && !contains((&raw const *boxed).cast()));
        OWN.with(|own| assert!(!contains(std::ptr::from_ref(own).cast())));
        assert!(!contains(std::ptr::null()));
    }
}
