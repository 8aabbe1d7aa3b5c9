//! On the host: which context's device globals this thread sees.
//!
//! One byte per thread decides, so that a global read in a hot loop of the default context costs no
//! call. The runtime's native kernels enter a [`Place`] for as long as they run.

use core::cell::Cell;
use core::marker::PhantomData;

/// Finds the storage of a global in a context: data of the place, address of the static, size and
/// alignment of its value.
pub type Find = unsafe fn(*const (), *const u8, usize, usize) -> Result<*const u8, String>;

/// Where globals are found.
#[derive(Clone, Copy, Debug)]
pub enum Place {
    /// In the statics themselves: the host CPU's default context.
    Statics,
    /// By asking: any other context, and launches that must be watched.
    Ask {
        /// Handed to `find`.
        data: *const (),
        /// Answers with storage that lives as long as the static, or with what to panic with: the
        /// panic is then at the place in the user's code that names the global.
        find: Find,
    },
}

const OUTSIDE: u8 = 0;
const STATICS: u8 = 1;
const ASK: u8 = 2;

thread_local! {
    static STATE: Cell<u8> = const { Cell::new(OUTSIDE) };
    static ASKED: Cell<Option<(*const (), Find)>> = const { Cell::new(None) };
}

/// Leaves the place again when dropped, also on unwinding.
#[derive(Debug)]
pub struct Entered {
    state: u8,
    asked: Option<(*const (), Find)>,
    // Bound to the thread whose state it restores.
    thread: PhantomData<*const ()>,
}

/// Puts this thread into `place`.
///
/// # Safety
/// Results of one thread are dropped in the reverse order of entering, and none is forgotten: each
/// restores the place that was there before it, whose promise must still hold then.
/// For [`Place::Statics`], nobody writes a static's storage while the result lives, except through
/// atomics. For [`Place::Ask`], `data` is what `find` expects for as long as the result lives, and
/// what `find` answers is valid for reads of that size for the rest of the program.
#[must_use = "dropping it leaves the place at once"]
pub unsafe fn enter(place: Place) -> Entered {
    let (state, asked) = match place {
        Place::Statics => (STATICS, None),
        Place::Ask { data, find } => (ASK, Some((data, find))),
    };
    Entered { state: STATE.replace(state), asked: ASKED.replace(asked), thread: PhantomData }
}

impl Drop for Entered {
    fn drop(&mut self) {
        STATE.set(self.state);
        ASKED.set(self.asked);
    }
}

/// Whether this thread is inside a kernel.
#[inline]
#[must_use]
pub fn inside_kernel() -> bool {
    STATE.get() != OUTSIDE
}

/// Whether globals are the statics themselves: what a loop over items may assume after asking once.
#[inline(always)]
#[must_use]
pub fn in_statics() -> bool {
    STATE.get() == STATICS
}

/// The storage of the global whose static is at `storage`, for the code this thread runs.
#[inline(always)]
#[track_caller]
pub(crate) fn host_storage(storage: *const u8, size: usize, align: usize) -> *const u8 {
    if in_statics() { storage } else { ask(storage, size, align) }
}

#[cold]
#[inline(never)]
#[track_caller]
fn ask(storage: *const u8, size: usize, align: usize) -> *const u8 {
    let Some((data, find)) = ASKED.get() else {
        panic!("a device global is read outside a kernel: use queue.read(&GLOBAL)")
    };
    // SAFETY: whoever entered the place promised that `data` is what `find` expects.
    match unsafe { find(data, storage, size, align) } {
        Ok(found) => found,
        // A panic that formats nothing: this is linked with every kernel that names a global, only to
        // be found unreachable there, and the toolchain leaves out what `expect` would call.
        Err(why) => Option::expect(None, &why),
    }
}
