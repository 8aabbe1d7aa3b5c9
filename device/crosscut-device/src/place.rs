//! On the host: which context's device globals this thread sees, and which values of specialization
//! constants.
//!
//! One byte per thread decides, so that a global or a constant read in a hot loop of the default
//! context costs no call. The runtime's native kernels enter a [`Place`] for as long as they run.

use core::any::TypeId;
use core::cell::Cell;
use core::marker::PhantomData;

/// Finds the storage of a global in a context: data of the place, address of the static, size and
/// alignment of its value, and its properties as bits.
pub type Find = unsafe fn(*const (), *const u8, usize, usize, u64) -> Result<*const u8, String>;

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

/// What a launch gives to one specialization constant: the address of the constant's static, its type,
/// and its value, aligned to nothing. All others have their defaults.
pub type Setting = (*const u8, TypeId, *const u8);

const OUTSIDE: u8 = 0;
/// Globals are the statics and no constant is set.
const STATICS: u8 = 1;
const ASK: u8 = 2;
/// Globals are the statics, and some constants are set.
const STATICS_AND_SETTINGS: u8 = 3;

thread_local! {
    static STATE: Cell<u8> = const { Cell::new(OUTSIDE) };
    static ASKED: Cell<Option<(*const (), Find)>> = const { Cell::new(None) };
    static SETTINGS: Cell<*const [Setting]> = const { Cell::new(&[]) };
}

/// Leaves the place again when dropped, also on unwinding.
#[derive(Debug)]
pub struct Entered {
    state: u8,
    rest: Option<Rest>,
    // Bound to the thread whose state it restores.
    thread: PhantomData<*const ()>,
}

/// What only those ask for who do not see plain statics: a launch that does, the usual one, need not
/// touch it.
#[derive(Debug)]
struct Rest {
    asked: Option<(*const (), Find)>,
    settings: *const [Setting],
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
    // SAFETY: the caller's promise; nothing is set.
    unsafe { enter_with(place, &[]) }
}

/// Puts this thread into `place`, where these specialization constants are set.
///
/// # Safety
/// As [`enter`]; and `settings`, and the value that each holds, stay there for as long as the result
/// lives: a value of the type that is said.
#[inline]
#[must_use = "dropping it leaves the place at once"]
pub unsafe fn enter_with(place: Place, settings: &[Setting]) -> Entered {
    let (state, asked) = match place {
        Place::Statics if settings.is_empty() => {
            return Entered { state: STATE.replace(STATICS), rest: None, thread: PhantomData };
        }
        Place::Statics => (STATICS_AND_SETTINGS, None),
        Place::Ask { data, find } => (ASK, Some((data, find))),
    };
    let rest = Rest { asked: ASKED.replace(asked), settings: SETTINGS.replace(settings) };
    Entered { state: STATE.replace(state), rest: Some(rest), thread: PhantomData }
}

impl Drop for Entered {
    #[inline]
    fn drop(&mut self) {
        STATE.set(self.state);
        if let Some(Rest { asked, settings }) = self.rest.take() {
            ASKED.set(asked);
            SETTINGS.set(settings);
        }
    }
}

/// Whether this thread is inside a kernel.
#[inline]
#[must_use]
pub fn inside_kernel() -> bool {
    STATE.get() != OUTSIDE
}

/// Whether globals are the statics themselves and constants have their defaults: what a loop over items may assume after asking once.
#[inline(always)]
#[must_use]
pub fn in_statics() -> bool {
    STATE.get() == STATICS
}

/// The storage of the global whose static is at `storage`, for the code this thread runs.
#[inline(always)]
#[track_caller]
pub(crate) fn host_storage(
    storage: *const u8,
    size: usize,
    align: usize,
    properties: u64,
) -> *const u8 {
    if in_statics() { storage } else { ask(storage, size, align, properties) }
}

#[cold]
#[inline(never)]
#[track_caller]
fn ask(storage: *const u8, size: usize, align: usize, properties: u64) -> *const u8 {
    if STATE.get() == STATICS_AND_SETTINGS {
        return storage;
    }
    let Some((data, find)) = ASKED.get() else {
        panic!(
            "a device global is used outside a kernel: there it is queue.read(&GLOBAL) and queue.write(&GLOBAL, ..)"
        )
    };
    // SAFETY: whoever entered the place promised that `data` is what `find` expects.
    match unsafe { find(data, storage, size, align, properties) } {
        Ok(found) => found,
        // A panic that formats nothing: this is linked with every kernel that names a global, only to
        // be found unreachable there, and the toolchain leaves out what `expect` would call.
        Err(why) => Option::expect(None, &why),
    }
}

/// The value that this launch gives the specialization constant whose static is at `constant`; `None`
/// for its default.
#[inline(always)]
#[track_caller]
pub(crate) fn host_setting(constant: *const u8, kind: TypeId) -> Option<*const u8> {
    if in_statics() { None } else { look_up(constant, kind) }
}

#[inline(never)]
#[track_caller]
fn look_up(constant: *const u8, kind: TypeId) -> Option<*const u8> {
    if !inside_kernel() {
        panic!("a specialization constant is read outside a kernel: use CONSTANT.default_value()")
    }
    // SAFETY: whoever entered the place keeps the settings there.
    let settings = unsafe { &*SETTINGS.get() };
    let set = |setting: &&Setting| setting.0 == constant && setting.1 == kind;
    settings.iter().find(set).map(|setting| setting.2)
}
